"""Calibration on five splits of nine sets at the budget `standard`.

python docs/results/standard/calibration.py

Reads records.csv here and in ../optimal-gp/naval, and prints the tables of
docs/results/calibration.md.
"""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.statistics import TEST_SHARE
from gpflow_gi.datasets.uci_sets import UCI_SETS

HERE = Path(__file__).resolve().parent

figures = SimpleNamespace(**runpy.run_path(str(HERE / "figures.py")))

BEST = {f"best form, {depth}": depth for depth in figures.DEPTHS}
"""Names of rows: on each set the form of global inducing points with the best bound."""

METHODS = (
    "linear",
    "gp",
    "svgp",
    "dgp-local-2",
    "dgp-global-2",
    "best form, 2 layers",
    "dgp-local-3",
    "dgp-global-3",
    "best form, 3 layers",
    "bnn-factorised",
    "bnn-local",
    "bnn-global",
    "bnn-factorised-global",
    "bnn-laplace",
    "bnn-ensemble",
)

LEVELS = {"coverage_50": 50, "coverage_95": 95}
"""Columns of the records, and the share of rows that these intervals should hold, in percent."""


def means(metric: str) -> pd.DataFrame:
    """Means over five splits: a row for each of :data:`METHODS`, a column for each set."""
    used = figures.records()
    trials = used[used.index.get_level_values("split") < figures.NUM_SPLITS][metric]
    columns = {}
    for dataset in sorted(UCI_SETS):
        of_set = trials[dataset].unstack("split")
        names = {method: method for method in METHODS}
        names |= {row: figures.form_of(used, dataset, depth) for row, depth in BEST.items()}
        columns[dataset] = of_set.loc[[names[row] for row in METHODS]].mean(axis=1, skipna=False)
        columns[dataset].index = METHODS
    return pd.DataFrame(columns)


def expected_error() -> pd.Series:
    """The PIT error that a calibrated model has on average, by sets: 0.313 / sqrt(n) for n rows.

    The integral over u of E |F_n(u) - u|, where F_n(u) of n uniform values has the variance
    u (1 - u) / n and is nearly Gaussian: sqrt(2 / (pi n)) pi / 8.
    """
    rows = {name: TEST_SHARE * of_set.num_rows for name, of_set in sorted(UCI_SETS.items())}
    return np.sqrt(2 / (np.pi * pd.Series(rows))) * np.pi / 8


def errors_markdown() -> str:
    """The table of PIT errors."""
    table = pd.concat([expected_error().to_frame("calibrated").T, means("pit_error")])
    rows = [[name, *(f"{value:.3f}" for value in row)] for name, row in table.iterrows()]
    return pipe_table(["", *table.columns], rows)


def coverage_markdown() -> str:
    """The table of shares of test rows in two intervals, in percent."""
    narrow, wide = (100 * means(metric) for metric in LEVELS)
    levels = " / ".join(str(level) for level in LEVELS.values())
    rows = [["calibrated", *([levels] * len(narrow.columns))]]
    for name, row in narrow.iterrows():
        pairs = zip(row, wide.loc[name], strict=True)
        rows.append([name, *(f"{first:.0f} / {second:.0f}" for first, second in pairs)])
    return pipe_table(["", *narrow.columns], rows)


def on_naval() -> pd.DataFrame:
    """Coverage and PIT error on naval with an optimal last layer: means over five splits.

    After 10,000 steps at the rate 0.06: a row for each method.
    """
    table = pd.read_csv(HERE.parent / "optimal-gp" / "naval" / "records.csv")
    table = table[table["budget"].eq("standard, learning_rate=0.06") & table["status"].eq("done")]
    return table.groupby("method")[[*LEVELS, "pit_error"]].mean()


if __name__ == "__main__":
    for text in (coverage_markdown(), errors_markdown()):
        print(text, end="\n\n")
    print(on_naval())

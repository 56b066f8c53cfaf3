"""Deep GPs with an optimal last layer, with one draw and with four draws of the layers a step.

python docs/results/draws/table.py

Reads records.csv here and in ../optimal-gp, and prints the tables of docs/results/training.md.
"""

from collections.abc import Callable
from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent

SPLITS = range(5)

DRAWS = (1, 4)

METRICS = {"elbo": "bound", "log_density": "test log density"}


def trials() -> pd.DataFrame:
    """Trials at each method's best rate: columns metric, draws and split, a row a set and method.

    Only sets and methods that have been run with four draws. Beside :data:`METRICS`, "seconds" of
    training and test.
    """
    four, one = (pd.read_csv(HERE / name / "records.csv") for name in (".", "../optimal-gp"))
    one = one[~one["budget"].str.contains("=")]
    table = pd.concat([one.assign(draws=1), four.assign(draws=4)])
    table = table[(table["status"] == "done") & table["used"].eq(True)]
    table = table[table["split"].isin(SPLITS)]
    index = ["dataset", "method", "draws", "split"]
    table = table.set_index(index)[[*METRICS, "seconds"]].unstack(["draws", "split"])
    return table.loc[sorted({*zip(four["dataset"], four["method"], strict=True)})]


def _markdown(table: pd.DataFrame, cell: Callable[[pd.Series], str]) -> str:
    heads = ["", "method", *(f"{words}, {n}" for words in METRICS.values() for n in DRAWS)]
    rows = [
        [*index, *(cell(row[metric, n]) for metric in METRICS for n in DRAWS)]
        for index, row in table.iterrows()
    ]
    return pipe_table(heads, rows, num_names=2)


def first_split_markdown() -> str:
    """The table of the first split as the page has it."""
    return _markdown(trials(), lambda values: f"{values[0]:.3f}")


def means_markdown() -> str:
    """The table of five splits as the page has it: means and standard errors."""
    return _markdown(trials().dropna(), lambda values: f"{values.mean():.3f} ± {values.sem():.3f}")


if __name__ == "__main__":
    print(first_split_markdown(), end="\n\n")
    print(means_markdown())

"""Bounds of deep GPs after the steps of the budget `standard`, and after twice as many.

python docs/results/doubled/table.py

Reads records.csv here and in ../standard, and prints the table of docs/results/training.md.
"""

from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent

STEPS = (10000, 20000)

ENOUGH = 0.02
"""A gain of the bound per row below this counts as converged."""


def trials(path: Path) -> pd.DataFrame:
    """Trials of split 0 at each method's best rate: an index of dataset and method."""
    table = pd.read_csv(path)
    table = table[(table["status"] == "done") & table["used"].eq(True) & (table["split"] == 0)]
    return table.set_index(["dataset", "method"]).sort_index()


def compared(metric: str = "elbo") -> pd.DataFrame:
    """A metric after each number of steps, and the gain: an index of dataset and method.

    :param metric: name of a column of the records, the bound per row unless told.
    """
    once = trials(HERE.parent / "standard" / "records.csv")
    twice = trials(HERE / "records.csv")
    rates = once["learning_rate"].reindex(twice.index)
    # Anything else than the number of steps is the same.
    assert (twice["learning_rate"] == rates).all(), rates[twice["learning_rate"] != rates]
    table = pd.DataFrame({STEPS[0]: once[metric], STEPS[1]: twice[metric]}).loc[twice.index]
    return table.assign(gain=table[STEPS[1]] - table[STEPS[0]])


def by_method(gains: pd.Series) -> pd.DataFrame:
    """A column for each method, by depth; of two starts of five layers, each set has its own."""
    named = gains.rename(index=lambda name: name.removesuffix("-targets"), level="method")
    wide = named.unstack("method")
    return wide[sorted(wide, key=lambda name: (name.split("-")[2], name))]


def markdown(table: pd.DataFrame) -> str:
    """The gains as the page has them: a row for each set; those that are too large are bold."""
    gains = by_method(table["gain"])
    rows = []
    for dataset, row in gains.iterrows():
        cells = ["" if pd.isna(gain) else f"{gain:.3f}" for gain in row]
        cells = [f"**{c}**" if gain >= ENOUGH else c for c, gain in zip(cells, row, strict=True)]
        rows.append([dataset, *cells])
    return pipe_table(["", *gains.columns], rows)


if __name__ == "__main__":
    print(markdown(compared()))

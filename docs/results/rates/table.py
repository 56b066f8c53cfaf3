"""Bounds on the first split at more learning rates than the three of the sweeps.

python docs/results/rates/table.py

Reads records.csv here, in ../standard and in ../optimal-gp, and prints the tables of
docs/results/training.md.
"""

from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent

SWEPT = (0.015, 0.03, 0.06)
"""The learning rates of the sweeps."""


def at_rates(prefix: str, metric: str = "elbo") -> pd.DataFrame:
    """A metric on split 0: an index of dataset and method, and a column for each rate.

    Of the methods that were trained at other rates than :data:`SWEPT`.

    :param prefix: of the methods' names, "dgp" or "bnn".
    :param metric: name of a column of the records, the bound per row unless told.
    """
    here = pd.read_csv(HERE / "records.csv")
    here = here[here["method"].str.startswith(prefix)]
    others = (HERE.parent / folder / "records.csv" for folder in ("standard", "optimal-gp"))
    swept = pd.concat(pd.read_csv(path) for path in others)
    swept = swept[swept["learning_rate"].isin(SWEPT) & ~swept["budget"].str.contains("steps=")]
    table = pd.concat([here[~here["learning_rate"].isin(SWEPT)], swept])
    table = table[(table["status"] == "done") & (table["split"] == 0)]
    # The same trial of two sweeps is one.
    table = table.drop_duplicates(["dataset", "method", "learning_rate", metric])
    wide = table.pivot(index=["dataset", "method"], columns="learning_rate", values=metric)
    return wide.loc[here.set_index(["dataset", "method"]).index.unique()].sort_index()


def markdown(table: pd.DataFrame) -> str:
    """The table as the page has it, with the best of each row in bold."""
    heads = ["", "method", *(f"{rate:g}" for rate in table)]
    rows = []
    for (dataset, method), row in table.iterrows():
        cells = ["" if pd.isna(value) else f"{value:.3f}" for value in row]
        cells[row.argmax()] = f"**{cells[row.argmax()]}**"
        rows.append([dataset, method, *cells])
    return pipe_table(heads, rows, num_names=2)


if __name__ == "__main__":
    print(markdown(at_rates("dgp")), markdown(at_rates("bnn")), sep="\n\n")

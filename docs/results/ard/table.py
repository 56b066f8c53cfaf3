"""Networks with an exact last layer: scales of the prior, and one hidden layer or two.

python docs/results/ard/table.py

Reads records.csv here and in ../units, of ten splits at the budget `quick`, and scales.jsonl in
../units, of the first split. Prints the tables of docs/results/networks.md.
"""

import json
from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows

HERE = Path(__file__).resolve().parent
UNITS = HERE.parent / "units"

METHODS = tuple(
    f"bnn-global-optimal-{name}"
    for name in (
        "unshared",
        "unshared-1",
        "learned-unshared",
        "ard-unshared",
        "ard-unshared-1",
    )
)
"""The first is the one that others are compared with."""

METRICS = ("elbo", "log_density")

SPLITS = range(10)


def trials(metric: str) -> pd.DataFrame:
    """A metric of each trial: an index of set and method, a column for each split."""
    table = pd.concat([pd.read_csv(folder / "records.csv") for folder in (HERE, UNITS)])
    table = table[table["method"].isin(METHODS) & (table["status"] == "done")]
    found = table.set_index(["dataset", "method", "split"])[metric].unstack("split")
    return found[list(SPLITS)]


def means(metric: str) -> str:
    """Means over splits and their standard errors: a row for each method."""
    values = trials(metric)
    sets = list(values.index.unique("dataset"))
    rows = [
        [
            method,
            *(
                f"{values.loc[(name, method)].mean():.3f} ± {values.loc[(name, method)].sem():.3f}"
                for name in sets
            ),
        ]
        for method in METHODS
    ]
    return pipe_table(["", *sets], rows)


def gaps(metric: str) -> pd.DataFrame:
    """Differences to the first method: "mean", "error" and "p" by set and method."""
    values, rows = trials(metric), {}
    for name in values.index.unique("dataset"):
        for method in METHODS[1:]:
            gap = values.loc[(name, method)] - values.loc[(name, METHODS[0])]
            rows[name, method] = {
                "mean": gap.mean(),
                "error": gap.sem(),
                "p": p_of_shared_rows(gap),
            }
    return pd.DataFrame(rows).T


def first_split() -> pd.DataFrame:
    """Bounds and test log densities of split 0: an index of prior and number of layers."""
    lines = (UNITS / "scales.jsonl").read_text().splitlines()
    table = pd.DataFrame([json.loads(line) for line in lines])
    return table.pivot(
        index=["prior", "hidden_layers"], columns="set", values=["bound", "log_density"]
    )


def first_split_markdown() -> str:
    """The table of :func:`first_split`."""
    table = first_split()
    names = {"neal": "fixed", "learned": "of each layer", "ard": "of each input and unit"}
    heads = [f"{name}, {what}" for what in ("bound", "density") for name in table["bound"]]
    rows = [
        [names[prior], str(depth), *(f"{value:.3f}" for value in table.loc[(prior, depth)])]
        for prior in names
        for depth in sorted(table.loc[prior].index)
    ]
    return pipe_table(["scale", "hidden layers", *heads], rows, num_names=2)


if __name__ == "__main__":
    for one in METRICS:
        print(f"{one}\n\n{means(one)}\n\n{gaps(one)}\n")
    print(first_split_markdown())

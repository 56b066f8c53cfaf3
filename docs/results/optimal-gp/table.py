"""Deep GPs with an optimal last layer, on the first split, beside the others.

python docs/results/optimal-gp/table.py

Reads running.jsonl and records.csv here, and records.csv in naval and in ../standard; prints the
tables of docs/results/training.md.
"""

import json
from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table

HERE = Path(__file__).resolve().parent

FORMS = ("", "-unshared", "-whitened", "-full")
"""Suffixes of the forms of global inducing points. That with the best bound counts."""

ROWS = ("dgp-local-{}", "best form", "dgp-local-{}-optimal", "best form, optimal")
"""Names in the table, without the number of layers."""

WAYS = ("trained", "running", "running, whitened", "subset", "optimal")
"""Last layers in running.jsonl: see running.py."""


def trials() -> pd.DataFrame:
    """Trials of split 0 at each method's best rate: an index of dataset and method."""
    tables = [pd.read_csv(HERE / name) for name in ("records.csv", "../standard/records.csv")]
    table = pd.concat(tables)
    is_used = (table["status"] == "done") & table["used"].astype(bool) & (table["split"] == 0)
    return table[is_used].set_index(["dataset", "method"]).sort_index()


def best_form(found: pd.DataFrame, dataset: str, suffix: str, depth: int) -> str | None:
    """The form of global inducing points with the best bound; None without trials."""
    bounds = found.loc[dataset, "elbo"]
    names = [f"dgp-global-{depth}{form}{suffix}" for form in FORMS]
    names = [name for name in names if name in bounds.index]
    return max(names, key=lambda name: bounds[name]) if names else None


def compared(metric: str, depth: int) -> pd.DataFrame:
    """A metric of both forms, with and without an optimal last layer: a column for each set.

    :param metric: name of a column of the records.
    :param depth: number of layers.
    """
    found = trials()
    columns = {}
    ours = pd.read_csv(HERE / "records.csv")
    ours = ours[ours["method"].str.match(rf"dgp-\w+-{depth}-")]
    rows = [row.format(depth) for row in ROWS]
    for dataset in ours["dataset"].unique():
        values = found.loc[dataset, metric]
        forms = [best_form(found, dataset, suffix, depth) for suffix in ("", "-optimal")]
        names = [rows[0], forms[0], rows[2], forms[1]]
        columns[dataset] = [values.get(name) for name in names]
    return pd.DataFrame(columns, index=rows, dtype=float)


def trials_on_naval() -> pd.DataFrame:
    """Trials of naval, with their numbers of steps."""
    tables = [pd.read_csv(HERE / name) for name in ("records.csv", "naval/records.csv")]
    table = pd.concat(tables).query("dataset == 'naval'")
    steps = table["budget"].str.extract(r"steps=(\d+)")[0].fillna(10000).astype(int)
    return table.assign(steps=steps)


def naval() -> pd.DataFrame:
    """Bounds on split 0 of naval: an index of method and steps, and a column for each rate."""
    table = trials_on_naval().query("split == 0")
    return table.pivot(index=["method", "steps"], columns="learning_rate", values="elbo")


def naval_leads() -> pd.Series:
    """Bounds of global minus local inducing points after 10,000 steps on naval, by split."""
    table = trials_on_naval().query("steps == 10000")
    bounds = table.pivot(index="split", columns="method", values="elbo")
    return bounds["dgp-global-2-full-optimal"] - bounds["dgp-local-2-optimal"]


def naval_markdown() -> str:
    """The table of rates and steps as the page has it."""
    table = naval()
    rows = [[method, str(steps), *texts(row)] for (method, steps), row in table.iterrows()]
    return pipe_table(["", "steps", *(f"{rate:g}" for rate in table)], rows)


def of_minibatches() -> pd.DataFrame:
    """Last layers for minibatches: "bound" and "cpu_seconds" of each way, by set and steps."""
    lines = (HERE / "running.jsonl").read_text().splitlines()
    table = pd.DataFrame([json.loads(line) for line in lines])
    return table.pivot(index=["set", "steps"], columns="way", values=["bound", "cpu_seconds"])


def of_minibatches_markdown() -> str:
    """The table of :func:`of_minibatches`: bounds, and CPU seconds in parentheses."""
    rows = []
    for (dataset, steps), row in of_minibatches().iterrows():
        both = [(row["bound", way], row["cpu_seconds", way]) for way in WAYS]
        cells = ["" if pd.isna(bound) else f"{bound:.3f} ({cpu:.0f} s)" for bound, cpu in both]
        rows.append([dataset, str(steps), *cells])
    return pipe_table(["", "steps", *WAYS], rows)


def markdown(table: pd.DataFrame) -> str:
    """The table as the page has it."""
    rows = [[name, *texts(row)] for name, row in table.iterrows()]
    return pipe_table(["", *table.columns], rows)


def texts(values: pd.Series) -> list[str]:
    """Cells of a table, empty where a method has not been run."""
    return ["" if pd.isna(value) else f"{value:.3f}" for value in values]


if __name__ == "__main__":
    for depth in (2, 3):
        for metric in ("elbo", "log_density"):
            print(markdown(compared(metric, depth)), end="\n\n")
    print(naval_markdown(), of_minibatches_markdown(), sep="\n\n")

"""Five layers of mean zero with local and global inducing points, beside published ones.

python docs/results/standard/five_layers.py

Reads records.csv here, in ../rates, ../settings and ../twenty, and prints the tables of
docs/results/five-layers.md.
"""

from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.published import read as read_published
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows

HERE = Path(__file__).resolve().parent

STARTS = {
    "inputs": {"local": "", "global": ""},
    "inputs, unshared": {"local": "", "global": "-unshared"},
    "targets": {"local": "-targets", "global": "-targets"},
    "targets, divided, lower rates": {
        "local": "-targets, lower rates",
        "global": "-targets-divided, lower rates",
    },
    "inputs, unshared, 1000 rows": {"local": ", 1000 rows", "global": "-unshared, 1000 rows"},
}
"""Suffixes of methods whose hidden layers start as the identity, also with a pseudo-precision of
each unit in global ones (at one rate with 1000 rows a step), or at the regression, also at rates
of 0.0075 and 0.00375, with four draws that share the rows of a step in global ones."""

CHANGED = {
    "../rates": (
        "standard, learning_rate=0.0075, best learning rate of 0.00375, 0.0075",
        ", lower rates",
    ),
    "../settings": ("standard, batch_size=1000", ", 1000 rows"),
}
"""Other budgets, by the folders of their records, and what each adds to a method's name."""

FAMILIES = ("local", "global")

SPLITS = range(5)

FRESH = range(5, 20)
"""Splits that had no part in the choice of starts and rates."""

METRICS = {"elbo": "bound per row", "log_density": "test log density"}

PUBLISHED = {"DGP_GI_5": "DGP, published", "DWP_5": "deep Wishart process, published"}
"""The same architecture after 20,000 steps."""


def trials(metric: str) -> pd.DataFrame:
    """A metric of both at their best rates: an index of dataset and method, a column a split.

    Of those with all five splits.

    :param metric: one of :data:`METRICS`.
    """
    tables = [pd.read_csv(HERE / "records.csv")]
    for folder, (budget, words) in CHANGED.items():
        others = pd.read_csv(HERE / folder / "records.csv")
        others = others[others["budget"] == budget]
        tables.append(others.assign(method=others["method"] + words))
    table = pd.concat(tables)
    ends = {end for suffixes in STARTS.values() for end in suffixes.values()}
    is_meant = table["method"].isin([f"dgp-{f}-5-zero{end}" for f in FAMILIES for end in ends])
    is_used = (table["status"] == "done") & table["used"].eq(True) & table["split"].isin(SPLITS)
    table = table[is_meant & is_used].set_index(["dataset", "method", "split"])
    return table[metric].unstack("split").reindex(columns=SPLITS).dropna()


def compared(metric: str) -> pd.DataFrame:
    """Medians of five splits for both families, and published means.

    Medians, since a rare draw can move the bound of one split by nats per row.

    :param metric: one of :data:`METRICS`.
    :return: an index of dataset and start; columns "local" and "global" (medians, and with
        "_least" and "_most" the range), "gap" (the median of global minus local) and "ahead" (on
        how many splits it is positive), NaN where one of both has not been run, and a column for
        each of :data:`PUBLISHED`.
    """
    found = trials(metric)
    theirs = read_published().query("metric == @metric").set_index(["dataset", "method"])["mean"]
    rows = {}
    for dataset in found.index.unique("dataset"):
        for start, suffixes in STARTS.items():
            of_set = found.loc[dataset]
            names = {family: f"dgp-{family}-5-zero{end}" for family, end in suffixes.items()}
            values = {f: of_set.loc[name] for f, name in names.items() if name in of_set.index}
            if "global" not in values:
                continue
            row: dict[str, float] = {}
            for family, splits in values.items():
                row |= {
                    family: splits.median(),
                    f"{family}_least": splits.min(),
                    f"{family}_most": splits.max(),
                }
            if len(values) == 2:
                gap = values["global"] - values["local"]
                row |= {"gap": gap.median(), "ahead": (gap > 0).sum()}
            row |= {name: float(theirs[dataset, name]) for name in PUBLISHED}
            rows[dataset, start] = row
    table = pd.DataFrame.from_dict(rows, orient="index").sort_index()
    return table.reindex(columns=table.columns.union(["local", "gap", "ahead"]))


def markdown(table: pd.DataFrame) -> str:
    """The table as the page has it."""
    heads = ["", "start", "local", "global", "global minus local", *PUBLISHED.values()]
    rows = []
    for (dataset, start), row in table.iterrows():
        cells = [
            ""
            if pd.isna(row[name])
            else f"{row[name]:.3f} ({row[f'{name}_least']:.3f} to {row[f'{name}_most']:.3f})"
            for name in FAMILIES
        ]
        gap = "" if pd.isna(row["gap"]) else f"{row['gap']:.3f} (ahead on {row['ahead']:.0f})"
        theirs = [f"{row[name]:.2f}" for name in PUBLISHED]
        rows.append([dataset, start, *cells, gap, *theirs])
    return pipe_table(heads, rows, num_names=2)


def fresh(metric: str) -> dict[str, pd.DataFrame]:
    """A metric of both from the targets, by set: an index of families, a column a fresh split.

    :param metric: one of :data:`METRICS`.
    """
    table = pd.read_csv(HERE / "../twenty/records.csv")
    assert (table["status"] == "done").all() and table["split"].isin(FRESH).all()
    table = table.set_index(["dataset", "method", "split"])[metric].unstack("split")
    names = {f"dgp-{family}-5-zero-targets": family for family in FAMILIES}
    sets = table.index.unique("dataset")
    found = {name: table.loc[name].reindex(list(names)).rename(index=names) for name in sets}
    return {name: values for name, values in found.items() if values.notna().all(axis=None)}


def fresh_markdown() -> str:
    """Means on the fresh splits, and the differences; bold where p is below 5%."""
    rows = []
    of_each = {metric: fresh(metric) for metric in METRICS}
    for name, bounds in of_each["elbo"].items():
        means = [f"{values.mean():.3f} ± {values.sem():.3f}" for _, values in bounds.iterrows()]
        cells = []
        for metric in METRICS:
            values = of_each[metric][name]
            gap = values.loc["global"] - values.loc["local"]
            stars = "**" if p_of_shared_rows(gap) < 0.05 else ""
            cells.append(f"{stars}{gap.mean():.4f} ± {gap.sem():.4f}{stars}")
            cells.append(f"{(gap > 0).sum()} of {len(gap)}")
        rows.append([name, *means, *cells])
    heads = ["", *FAMILIES, "global minus local", "ahead on", "test log density", "ahead on"]
    return pipe_table(heads, rows)


if __name__ == "__main__":
    for metric in METRICS:
        print(markdown(compared(metric)), end="\n\n")
    print(fresh_markdown())

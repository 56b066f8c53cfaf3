"""Means of one list of methods over twenty splits, of sets where all that were run have them.

python docs/results/twenty/table.py

Reads records.csv here and in ../standard, and prints the tables of docs/results/twenty-splits.md.
"""

import math
from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows

HERE = Path(__file__).resolve().parent

SPLITS = range(20)

FRESH = range(5, 20)
"""Splits that had no part in the choice of learning rates."""

METRICS = {"elbo": "bound per row", "log_density": "test log density", "crps": "CRPS"}

PAIRS = (
    ("dgp-global-2", "dgp-local-2"),
    ("dgp-global-3", "dgp-local-3"),
    ("bnn-global", "bnn-local"),
    ("bnn-global", "bnn-factorised"),
    ("bnn-factorised-global", "bnn-global"),
)
"""Methods, and those with which they are compared."""

LIST = (
    *("linear", "gp", "svgp"),
    *("dgp-local-2", "dgp-global-2", "dgp-local-3", "dgp-global-3"),
    *("dgp-local-5-zero", "dgp-global-5-zero"),
    *("bnn-factorised", "bnn-local", "bnn-global", "bnn-factorised-global"),
    *("bnn-laplace", "bnn-ensemble"),
)
"""Methods in their default forms."""


def trials() -> pd.DataFrame:
    """Trials of the list at each method's best rate: an index of dataset, method and split."""
    table = pd.concat([pd.read_csv(HERE / name / "records.csv") for name in ("../standard", ".")])
    table = table[(table["status"] == "done") & table["used"].eq(True)]
    table = table[table["method"].isin(LIST) & table["split"].isin(SPLITS)]
    table = table.set_index(["dataset", "method", "split"]).sort_index()
    assert table.index.is_unique
    assert (table.groupby(["dataset", "method"])["learning_rate"].nunique() <= 1).all()
    return table


def complete() -> dict[str, list[str]]:
    """Methods of the list that have all splits, by set; of sets where all that were begun have."""
    begun = pd.read_csv(HERE / "records.csv").groupby("dataset")["method"].unique()
    number = trials().groupby(["dataset", "method"]).size()
    found = {}
    for dataset, methods in begun.items():
        done = [method for method in LIST if number[dataset].get(method) == len(SPLITS)]
        if set(methods) & set(LIST) <= set(done):
            found[str(dataset)] = done
    return found


def digits(scores: pd.Series) -> int:
    """Digits after the point: three, or as many as the least score needs to show three."""
    return max(3, 2 - math.floor(math.log10(scores.min())))


def means(dataset: str) -> str:
    """The table of a set, the best bound first.

    A rank is the mean over splits of the place by the test log density, 1 for the best.
    """
    methods = complete()[dataset]
    of_set = trials().loc[dataset].loc[methods]
    ranks = of_set["log_density"].unstack("split").rank(ascending=False).mean(axis=1)
    found = {metric: of_set[metric].groupby("method") for metric in METRICS}
    order = found["elbo"].mean().sort_values(ascending=False).index
    rows = []
    for method in order:
        cells = []
        for metric, groups in found.items():
            mean, error = groups.mean()[method], groups.sem()[method]
            number = digits(groups.mean()) if metric == "crps" else 3
            cells.append("" if pd.isna(mean) else f"{mean:.{number}f} ± {error:.{number}f}")
        rows.append([method, *cells, f"{ranks[method]:.1f}"])
    return pipe_table(["", *METRICS.values(), "mean rank by density"], rows)


def comparisons() -> pd.DataFrame:
    """Differences of pairs on the fresh splits, with the p-value of a test for shared rows.

    :return: "dataset", "method", "other", "metric", "gap", "error", "p" and "ahead".
    """
    table = trials()
    rows = []
    for dataset, methods in complete().items():
        for method, other in PAIRS:
            if not {method, other} <= set(methods):
                continue
            for metric in ("elbo", "log_density"):
                values = table.loc[dataset][metric].unstack("split")[list(FRESH)]
                gap = values.loc[method] - values.loc[other]
                p, ahead = p_of_shared_rows(gap), int((gap > 0).sum())
                rows.append((dataset, method, other, metric, gap.mean(), gap.sem(), p, ahead))
    columns = ["dataset", "method", "other", "metric", "gap", "error", "p", "ahead"]
    return pd.DataFrame(rows, columns=columns)


def compared() -> str:
    """The table of :func:`comparisons`; bold where p is below 5%."""
    rows = []
    for (dataset, method, other), group in comparisons().groupby(
        ["dataset", "method", "other"], sort=False
    ):
        cells = []
        for row in group.itertuples():
            stars = "**" if row.p < 0.05 else ""
            cells += [
                f"{stars}{row.gap:.4f} ± {row.error:.4f}{stars}",
                f"{row.ahead} of {len(FRESH)}",
            ]
        rows.append([dataset, method, other, *cells])
    heads = ["", "method", "minus", "bound per row", "ahead on", "test log density", "ahead on"]
    return pipe_table(heads, rows, num_names=3)


if __name__ == "__main__":
    for name in complete():
        print(f"{name}\n\n{means(name)}\n")
    print(compared())
    print(comparisons()[["dataset", "method", "metric", "p"]])

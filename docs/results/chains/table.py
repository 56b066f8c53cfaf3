"""Test scores of deep GPs by the density of the paper on SGHMC, and by that of its program.

python docs/results/chains/table.py

Reads records.csv here and in ../standard, and prints the tables of docs/results/chains.md.
"""

from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.published import read as read_published

HERE = Path(__file__).resolve().parent

BY_BOUND = ("svgp", "svgp-sghmc", "dgp-local-2", "dgp-sghmc-2")
"""By E log p(y | f)."""

BY_LOG_DENSITY = (
    "svgp-alpha-1",
    "svgp-sghmc-alpha-1",
    "dgp-local-2-alpha-1",
    "dgp-global-2-alpha-1",
    "dgp-sghmc-2-alpha-1",
)
"""By log E p(y | f)."""

SPLITS = range(5)

PUBLISHED = {
    "SGP": "sparse GP",
    "SGHMC_1": "SGHMC, one layer",
    "SGHMC_DGP_2": "SGHMC, two layers",
    "SGHMC_DGP_3": "SGHMC, three layers",
}
"""Of Lindinger et al. (2020)."""

OURS = ("svgp-alpha-1", "dgp-local-2", "dgp-local-2-alpha-1")


def trials(metric: str) -> pd.DataFrame:
    """A metric of each trial: an index of dataset and method, a column for each split.

    :param metric: name of a column of the records.
    """
    usual = pd.read_csv(HERE.parent / "standard" / "records.csv")
    usual = usual[usual["used"].eq(True) & usual["method"].isin(BY_BOUND)]
    table = pd.concat([pd.read_csv(HERE / "records.csv"), usual])
    table = table[(table["status"] == "done") & table["split"].isin(SPLITS)]
    return table.set_index(["dataset", "method", "split"])[metric].unstack("split")


def first_split(metric: str) -> pd.DataFrame:
    """A metric of split 0: a row for each set that has chains, a column for each method."""
    table = trials(metric)[0].unstack("method").reindex(columns=[*BY_BOUND, *BY_LOG_DENSITY])
    return table[table.filter(like="sghmc").notna().any(axis=1)]


def gains(metric: str) -> pd.DataFrame:
    """A metric with log E p(y | f) minus that with E log p(y | f), on the splits of both.

    :return: an index of dataset and method, by the bound; "n" splits, "bound" and "log_density"
        (their means), "gain" (the mean difference), "error" (its standard error), "least" and
        "most".
    """
    table = trials(metric)
    rows = {}
    for dataset, method in table.index:
        other = dataset, method.removesuffix("-alpha-1")
        if other[1] == method or other not in table.index:
            continue
        both = table.loc[[other, (dataset, method)]].dropna(axis=1)
        gap = both.iloc[1] - both.iloc[0]
        rows[other] = {
            "n": len(gap),
            "bound": both.iloc[0].mean(),
            "log_density": both.iloc[1].mean(),
            "gain": gap.mean(),
            "error": gap.sem(),
            "least": gap.min(),
            "most": gap.max(),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def over_sparse_gp() -> pd.DataFrame:
    """Test log densities minus those of a sparse GP with the bound, of the same study: a row a set.

    :return: published ones of SGHMC, and :data:`OURS` as means over the splits that both have;
        "error" is the standard error of the first of these.
    """
    table = read_published().query("metric == 'log_density' and method in @PUBLISHED")
    means = table.assign(mean=table["mean"].astype(float)).pivot(
        index="dataset", columns="method", values="mean"
    )
    means = means[list(PUBLISHED)].dropna()
    gaps = means.iloc[:, 1:].sub(means["SGP"], axis=0)
    found = trials("log_density")
    for method in OURS:
        ours = found.xs(method, level="method").reindex(gaps.index)
        of_splits = ours - found.xs("svgp", level="method").reindex(gaps.index)
        # One split shows little.
        gaps[method] = of_splits.mean(axis=1).where(of_splits.count(axis=1) == len(SPLITS))
        if method == OURS[0]:
            gaps["error"] = of_splits.sem(axis=1)
    return gaps


def first_split_markdown() -> str:
    """The table of split 0 as the page has it."""
    table = first_split("log_density").T
    rows = [
        [method, *("" if pd.isna(value) else f"{value:.3f}" for value in row)]
        for method, row in table.iterrows()
    ]
    return pipe_table(["", *table.columns], rows)


def gains_markdown() -> str:
    """The table of gains as the page has it: those of chains are on split 0 alone."""
    crps = gains("crps")
    heads = ["", "method", "splits", "test log density", "of single splits", "CRPS, in percent"]
    rows = []
    for place, row in gains("log_density").iterrows():
        of_crps = 100.0 * crps.loc[place, ["gain", "error"]] / crps.loc[place, "bound"]
        cells = [f"{row['gain']:.3f}", "", f"{of_crps['gain']:.1f}"]
        if row["n"] > 1:
            cells[0] += f" ± {row['error']:.3f}"
            cells[1] = f"{row['least']:.3f} to {row['most']:.3f}"
            cells[2] += f" ± {of_crps['error']:.1f}"
        rows.append([*place, f"{row['n']:.0f}", *cells])
    return pipe_table(heads, rows, num_names=2)


def over_sparse_gp_markdown() -> str:
    """The table of gains over a sparse GP as the page has it."""
    table = over_sparse_gp()
    rows = []
    for dataset, row in table.iterrows():
        theirs = [f"{row[name]:.2f}" for name in PUBLISHED if name in row]
        first, *others = ("" if pd.isna(row[name]) else f"{row[name]:.3f}" for name in OURS)
        rows.append([dataset, *theirs, f"{first} ± {row['error']:.3f}" if first else "", *others])
    names = [words for name, words in PUBLISHED.items() if name in table]
    return pipe_table(["", *names, *OURS], rows)


if __name__ == "__main__":
    print(over_sparse_gp_markdown(), first_split_markdown(), gains_markdown(), sep="\n\n")

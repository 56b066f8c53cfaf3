"""Test scores of deep GPs by the bound's data term, and by that of the program of SGHMC.

python docs/results/chains/table.py

Reads records.csv here and in ../standard, and prints the tables of docs/results/chains.md.
"""

import json
import runpy
from pathlib import Path

import pandas as pd

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.published import read as read_published
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows

HERE = Path(__file__).resolve().parent

RATE = 0.03
"""The learning rate of all trials."""

BY_BOUND = ("svgp", "svgp-sghmc", "dgp-local-2", "dgp-sghmc-2")
"""Methods with E log p(y | f)."""

BY_LOG_DENSITY = (
    "svgp-alpha-1",
    "svgp-sghmc-alpha-1",
    "dgp-local-2-alpha-1",
    "dgp-global-2-alpha-1",
    "dgp-sghmc-2-alpha-1",
)
"""Methods with log E p(y | f)."""

SPLITS = range(5)

PUBLISHED = {
    "SGP": "sparse GP",
    "SGHMC_1": "SGHMC, one layer",
    "SGHMC_DGP_2": "SGHMC, two layers",
    "SGHMC_DGP_3": "SGHMC, three layers",
}
"""Methods of Lindinger et al. (2020), as the page names them."""

OURS = ("svgp-alpha-1", "dgp-local-2", "dgp-local-2-alpha-1", "dgp-global-2-alpha-1")
"""Methods that are compared with `svgp` over five splits."""

CHAINS = "dgp-sghmc-2"
"""Chains with E log p(y | f)."""

TWO_LAYERS = ("dgp-local-2", "dgp-global-2")
"""Methods whose terms are compared on test rows."""

RIVALS = r"DSVI|DGP_GI"
"""Published deep GPs with local and with global inducing points, a regular expression."""


def trials(metric: str) -> pd.DataFrame:
    """A metric of each trial: an index of dataset and method, a column for each split.

    :param metric: name of a column of the records.
    """
    usual = pd.read_csv(HERE.parent / "standard" / "records.csv")
    table = pd.concat([pd.read_csv(HERE / "records.csv"), usual[usual["method"].isin(BY_BOUND)]])
    is_meant = (table["learning_rate"] == RATE) & table["split"].isin(SPLITS)
    table = table[is_meant & (table["status"] == "done")]
    return table.set_index(["dataset", "method", "split"])[metric].unstack("split")


def first_split() -> pd.DataFrame:
    """Test log densities of split 0: a row for each set with a chain, a column for each method."""
    table = trials("log_density")[0].unstack("method").reindex(columns=[*BY_BOUND, *BY_LOG_DENSITY])
    return table[table.filter(like="sghmc").notna().any(axis=1)]


def gains(metric: str) -> pd.DataFrame:
    """A metric with log E p(y | f) minus that with E log p(y | f), on the splits of both.

    :param metric: name of a column of the records.
    :return: an index of dataset and method, by the bound; "n" splits, "bound" (the mean with
        E log p(y | f)), "mean" and "error" (its standard error) of the differences, "median",
        "least", "most", and "above" (on how many splits they are positive).
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
            "mean": gap.mean(),
            "error": gap.sem(),
            "median": gap.median(),
            "least": gap.min(),
            "most": gap.max(),
            "above": (gap > 0).sum(),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def published_gains() -> pd.DataFrame:
    """Published test log densities of SGHMC minus those of the sparse GP of the same study."""
    table = read_published().query("metric == 'log_density' and method in @PUBLISHED")
    means = table.assign(mean=table["mean"].astype(float)).pivot(
        index="dataset", columns="method", values="mean"
    )
    means = means[list(PUBLISHED)].dropna()
    return means.iloc[:, 1:].sub(means["SGP"], axis=0)


def over_sparse_gp(method: str) -> pd.DataFrame:
    """Test log densities of a method minus those of `svgp`, of the sets with five splits of both.

    :return: an index of datasets, and "mean", "error" (its standard error) and "median".
    """
    found = trials("log_density")
    gap = found.xs(method, level="method") - found.xs("svgp", level="method")
    gap = gap.dropna()
    return pd.DataFrame(
        {"mean": gap.mean(axis=1), "error": gap.sem(axis=1), "median": gap.median(axis=1)}
    )


def over_sparse_gp_markdown() -> str:
    """The table of gains over a sparse GP as the page has it."""
    theirs = published_gains()
    ours = {method: over_sparse_gp(method) for method in OURS}
    rows = []
    for dataset, row in theirs.iterrows():
        cells = [f"{value:.2f}" for value in row]
        for table in ours.values():
            is_there = dataset in table.index
            one = table.loc[dataset] if is_there else None
            cells.append(f"{one['mean']:.3f} ± {one['error']:.3f}" if is_there else "")
        rows.append([dataset, *cells])
    return pipe_table(["", *(PUBLISHED[name] for name in theirs), *ours], rows)


def first_split_markdown() -> str:
    """The table of split 0 as the page has it."""
    table = first_split().T
    rows = [
        [method, *("" if pd.isna(value) else f"{value:.3f}" for value in row)]
        for method, row in table.iterrows()
    ]
    return pipe_table(["", *table.columns], rows)


def gains_markdown() -> str:
    """The table of differences of the two terms as the page has it."""
    crps = gains("crps")
    heads = ["", "method", "splits", "test log density", "median", "higher on", "CRPS, in percent"]
    rows = []
    for place, row in gains("log_density").iterrows():
        of_crps = 100.0 * crps.loc[place, ["mean", "error"]] / crps.loc[place, "bound"]
        is_one = row["n"] == 1
        cells = [
            f"{row['mean']:.3f}" + ("" if is_one else f" ± {row['error']:.3f}"),
            "" if is_one else f"{row['median']:.3f}",
            f"{row['above']:.0f}",
            f"{of_crps['mean']:.1f}" + ("" if is_one else f" ± {of_crps['error']:.1f}"),
        ]
        rows.append([*place, f"{row['n']:.0f}", *cells])
    return pipe_table(heads, rows, num_names=2)


def held_out() -> pd.DataFrame:
    """Log densities of rows held out in training: "log_density" and "error" by set and method."""
    lines = (HERE / "held-out.jsonl").read_text().splitlines()
    table = pd.DataFrame([json.loads(line) for line in lines])
    return table.set_index(["set", "method"])[["log_density", "error"]].unstack("method")


def held_out_markdown() -> str:
    """The table of :func:`held_out`."""
    table = held_out()
    names = list(table["log_density"])
    rows = [
        [
            str(name),
            *(f"{row['log_density', one]:.3f} ± {row['error', one]:.3f}" for one in names),
        ]
        for name, row in table.iterrows()
    ]
    return pipe_table(["", *names], rows)


def by_terms() -> pd.DataFrame:
    """Test log densities of two layers by both terms: a row for each set and method.

    The bound's term at the best of three rates, as on the other pages.

    :return: an index of dataset and method; "bound" and "second" (means over five splits), "gain"
        and "error" (the mean of the differences and its standard error) and "p".
    """
    usual = pd.read_csv(HERE.parent / "standard" / "records.csv")
    usual = usual[usual["used"].eq(True) & usual["split"].isin(SPLITS)]
    usual = usual.set_index(["dataset", "method", "split"])["log_density"].unstack("split")
    second = trials("log_density")
    rows = {}
    for dataset in usual.index.unique("dataset"):
        for method in TWO_LAYERS:
            place = dataset, f"{method}-alpha-1"
            if place not in second.index or second.loc[place].isna().any():
                continue
            gap = second.loc[place] - usual.loc[(dataset, method)]
            rows[dataset, method] = {
                "bound": usual.loc[(dataset, method)].mean(),
                "second": second.loc[place].mean(),
                "gain": gap.mean(),
                "error": gap.sem(),
                "p": p_of_shared_rows(gap),
            }
    return pd.DataFrame.from_dict(rows, orient="index")


def at_best_rates(metric: str) -> pd.DataFrame:
    """A metric of two layers by chains on five splits, beside variational posteriors at their best.

    Those have the best of three rates, and global ones the form with the best bound on split 0;
    chains have one rate. "sparse" is the sparse GP. Sets with five splits of chains.

    :param metric: name of a column of the records.
    :return: an index of dataset and of "local", "global", "sparse" or "chains"; a column a split.
    """
    figures = runpy.run_path(str(HERE.parent / "standard" / "figures.py"))
    records, chains = figures["records"](), trials(metric)
    rows = {}
    for dataset in chains.index.unique("dataset"):
        if (dataset, CHAINS) not in chains.index or chains.loc[(dataset, CHAINS)].isna().any():
            continue
        form = figures["form_of"](records, dataset, "2 layers")
        for name, method in ("local", TWO_LAYERS[0]), ("global", form), ("sparse", "svgp"):
            rows[dataset, name] = records.loc[(dataset, method), metric].loc[list(SPLITS)]
        rows[dataset, "chains"] = chains.loc[(dataset, CHAINS)]
    return pd.DataFrame.from_dict(rows, orient="index")


def chains_compared(metric: str = "log_density") -> pd.DataFrame:
    """Chains minus variational posteriors over five splits: a row for each set.

    :param metric: name of a column of the records.
    :return: a column of means for each of "local", "global", "sparse" and "chains"; and for each of
        the first three "gain", "error" (its standard error), "p" and "above" (on how many splits).
    """
    table = at_best_rates(metric)
    rows = {}
    for dataset in table.index.unique(0):
        of_set = table.loc[dataset]
        row = {name: values.mean() for name, values in of_set.iterrows()}
        for other in ("local", "global", "sparse"):
            gap = of_set.loc["chains"] - of_set.loc[other]
            row |= {
                f"gain over {other}": gap.mean(),
                f"error over {other}": gap.sem(),
                f"p over {other}": p_of_shared_rows(gap),
                f"above {other}": int((gap > 0).sum()),
            }
        rows[dataset] = row
    return pd.DataFrame.from_dict(rows, orient="index")


def chains_compared_markdown() -> str:
    """The table of :func:`chains_compared`: bold gains have p below 5%."""
    published = read_published().query("metric == 'log_density' and method == 'SGHMC_DGP_2'")
    published = published.set_index("dataset")["mean"].astype(float)
    rows = []
    for dataset, row in chains_compared().iterrows():
        cells = [f"{row[name]:.3f}" for name in ("local", "global", "chains")]
        for other in ("local", "global"):
            stars = "**" if row[f"p over {other}"] < 0.05 else ""
            gain, error = row[f"gain over {other}"], row[f"error over {other}"]
            cells.append(f"{stars}{gain:.3f} ± {error:.3f}{stars}")
        cells.append(f"{published[dataset]:.2f}" if dataset in published else "")
        rows.append([dataset, *cells])
    heads = ["local", "global", "chains", "chains minus local", "chains minus global"]
    return pipe_table(["", *heads, "published chains"], rows)


def best_rivals() -> pd.Series:
    """The best published test log density of DSVI and of global inducing points, by sets."""
    table = read_published().query("metric == 'log_density'")
    table = table[table["method"].str.contains(RIVALS)]
    return table.assign(mean=table["mean"].astype(float)).groupby("dataset")["mean"].max()


def by_terms_markdown() -> str:
    """The table of :func:`by_terms`: bold gains have p below 5%."""
    published = best_rivals()
    rows = []
    for (dataset, method), row in by_terms().iterrows():
        stars = "**" if row["p"] < 0.05 else ""
        gain = f"{stars}{row['gain']:.3f} ± {row['error']:.3f}{stars}"
        means = [f"{row[name]:.3f}" for name in ("bound", "second")]
        rows.append([dataset, method, *means, gain, f"{published[dataset]:.2f}"])
    heads = ["", "method", "the bound's term", "the second", "gain", "published"]
    return pipe_table(heads, rows, num_names=2)


if __name__ == "__main__":
    tables = (
        over_sparse_gp_markdown,
        first_split_markdown,
        chains_compared_markdown,
        gains_markdown,
        by_terms_markdown,
    )
    print(*(table() for table in tables), sep="\n\n")

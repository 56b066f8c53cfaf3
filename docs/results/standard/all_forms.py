"""Local against global inducing points in all forms that have five splits, and published bounds.

python docs/results/standard/all_forms.py

Reads records.csv here, in ../twenty, ../optimal-gp, its folder naval, ../draws, ../warm-up and
../rates.
Prints tables of docs/results/README.md, local-and-global.md and published.md, and writes
global-local.png.
"""

import functools
import re
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.published import read as read_published
from gpflow_gi.benchmark.report.statistics import factor_of_shared_rows, p_of_shared_rows

HERE = Path(__file__).resolve().parent

FOLDERS = (
    ".",
    "../twenty",
    "../optimal-gp",
    "../optimal-gp/naval",
    "../draws",
    "../warm-up",
    "../rates",
)

CHANGES = {
    "kl_warmup=3000": "long warm-up",
    "steps=3000": "3000 steps",
    "num_samples=4": "four draws",
    "learning_rate=0.0075": "lower rates",
    "learning_rate=0.015": "rate 0.015",
    "learning_rate=0.06": "rate 0.06",
    "learning_rate=0.12": "higher rate",
}
"""Changes of the budget, as records and the page name them."""

SPLITS = range(5)

FRESH = range(5, 20)
"""Splits that had no part in the choice of forms and rates."""

TRIED_LAST = "-own|four draws"
"""Forms that were tried where local inducing points were ahead in all others: a pattern."""

LEVEL = 0.001
"""Mean bounds per row that differ by less are level."""

METRICS = {"elbo": "bound", "log_density": "test log density"}

PUBLISHED = {"DGP_GI_5": "deep GP, published", "DWP_5": "deep Wishart process, published"}
"""Five layers without skip connections, after 20,000 steps."""

OF_LINDINGER = {
    "DSVI": ("DSVI_DGP_2", "DSVI_DGP_3"),
    "STAR": ("STAR_DGP_2", "STAR_DGP_3"),
    "SGHMC": ("SGHMC_DGP_2", "SGHMC_DGP_3"),
}
"""Deep GPs of Lindinger et al. (2020); the better depth of each counts, by the test log density."""


def name_of(method: str, budget: str) -> str:
    """A method and the changes of its budget, as on the page.

    :raises KeyError: if a change has no name here.
    """
    changes = re.findall(r"\w+=[\w.]+", budget)
    return ", ".join([method, *(CHANGES[change] for change in changes)])


@functools.cache
def records() -> pd.DataFrame:
    """Trials of all folders; read once."""
    return pd.concat([pd.read_csv(HERE / folder / "records.csv") for folder in FOLDERS])


def candidates(depth: int, splits: range = SPLITS) -> pd.DataFrame:
    """Trials at each method's best rate: an index of dataset and name, columns metric and split.

    Those of deep GPs with local or global inducing points, on all of the splits.

    :param depth: number of layers.
    :param splits: those that count.
    """
    table = records()
    is_compared = table["method"].str.match(rf"dgp-(local|global)-{depth}(?!-zero)\b")
    table = table[is_compared & (table["status"] == "done") & table["used"].eq(True)]
    table = table[table["split"].isin(splits)]
    names = [name_of(*row) for row in zip(table["method"], table["budget"], strict=True)]
    table = table.assign(name=names).set_index(["dataset", "name", "split"])
    return table[list(METRICS)].unstack("split").dropna()


def best_of(trials: pd.DataFrame, dataset: str, prefix: str) -> str:
    """The name with this prefix that has the best mean bound over the five splits."""
    means = trials.loc[dataset]["elbo"].mean(axis=1)
    return str(means[means.index.str.startswith(prefix)].idxmax())


def comparisons(depth: int, splits: range = SPLITS, without: str = "^$") -> pd.DataFrame:
    """Names, and the means, errors, p-values and numbers above zero of global minus local.

    A row a set. The first five splits choose the names. Sets where both names have all the splits
    have rows.

    :param depth: number of layers.
    :param splits: those whose means are taken.
    :param without: a pattern of the names that are left out.
    """
    first, trials = candidates(depth), candidates(depth, splits)
    first = first[~first.index.get_level_values("name").str.contains(without)]
    rows = {}
    for dataset in first.index.unique("dataset"):
        names = {family: best_of(first, dataset, f"dgp-{family}") for family in ("local", "global")}
        if not all((dataset, name) in trials.index for name in names.values()):
            continue
        row: dict[str, object] = dict(names)
        for metric in METRICS:
            ours, theirs = (trials.loc[(dataset, names[f]), metric] for f in ("global", "local"))
            gap = (ours - theirs).astype(float)
            row[f"{metric}_local"], row[f"{metric}_global"] = theirs.mean(), ours.mean()
            row[metric], row[f"{metric}_error"] = gap.mean(), gap.sem()
            row[f"{metric}_p"] = p_of_shared_rows(gap)
            row[f"{metric}_ahead"] = int((gap > 0).sum())
        rows[dataset] = row
    return pd.DataFrame(rows).T


def in_short() -> str:
    """The table of sets by who is ahead, as the page has it.

    One star: a p-value below 5%. Two stars: also after Holm's correction for the number of sets.
    A dagger: local ones are ahead without the forms that were tried because of that.
    """
    rows = []
    for depth, words in ((2, "two layers"), (3, "three layers")):
        found = comparisons(depth)
        gaps, p = found["elbo"].astype(float), found["elbo_p"].astype(float)
        stars = (p < 0.05).astype(int) + (holm(p) < 0.05).astype(int)
        before = comparisons(depth, without=TRIED_LAST)["elbo"].astype(float)
        daggers = (gaps >= LEVEL) & (before <= -LEVEL)
        marked = {
            name: name + "†" * int(daggers[name]) + r"\*" * stars[name] for name in gaps.index
        }
        groups = [gaps[gaps >= LEVEL], gaps[gaps.abs() < LEVEL], gaps[gaps <= -LEVEL]]
        cells = [", ".join(marked[name] for name in group.index) for group in groups]
        rows.append([words, *cells])
    return pipe_table(["", "global ahead", "level", "local ahead"], rows, num_names=4)


def holm(p: pd.Series) -> pd.Series:
    """P-values corrected for their number by Holm's method, in ascending order."""
    ordered = p.astype(float).sort_values()
    return (ordered * range(len(ordered), 0, -1)).cummax().clip(upper=1.0)


def beside_published() -> pd.DataFrame:
    """Mean bounds of `gp` and of the best of two layers, its name, published ones: a row a set."""
    table = read_published().query("metric == 'elbo'")
    theirs = table.assign(mean=table["mean"].astype(float)).pivot(
        index="dataset", columns="method", values="mean"
    )
    trials = candidates(2)
    gp = pd.read_csv(HERE / "records.csv").query("method == 'gp' and split in @SPLITS")
    gp = gp.groupby("dataset")["elbo"].mean()
    rows = {}
    for dataset in trials.index.unique("dataset"):
        best = best_of(trials, dataset, "dgp")
        bound = trials.loc[(dataset, best), "elbo"].mean()
        of_others = theirs.loc[dataset, list(PUBLISHED)]
        rows[dataset] = {"gp": gp[dataset], "name": best, "bound": bound, **of_others}
    return pd.DataFrame.from_dict(rows, orient="index")


def draw() -> Figure:
    """Global minus local with intervals of 95%: a panel for each metric, a row for each set."""
    tables = {depth: comparisons(depth) for depth in (2, 3)}
    datasets = sorted(tables[2].index, reverse=True)
    figure = Figure(figsize=(8.0, 1.2 + 0.45 * len(datasets)), layout="constrained")
    panels = figure.subplots(1, len(METRICS), sharey=True)
    factor = stats.t.ppf(0.975, len(SPLITS) - 1) * factor_of_shared_rows(len(SPLITS))
    for axes, (metric, words) in zip(panels, METRICS.items(), strict=True):
        axes.axvline(0.0, color="#888888", linewidth=0.8)
        for (depth, table), colour, shift in zip(
            tables.items(), ("#0072b2", "#d55e00"), (0.1, -0.1), strict=True
        ):
            axes.errorbar(
                table[metric].astype(float),
                [datasets.index(name) + shift for name in table.index],
                xerr=factor * table[f"{metric}_error"].astype(float),
                fmt="o",
                markersize=4,
                color=colour,
                label=f"{depth} layers",
            )
        axes.set_xlabel(f"{words}: global minus local")
        axes.set_xscale("symlog", linthresh=0.01)
        axes.grid(axis="x", color="#e5e5e5")
        axes.set_axisbelow(True)
    panels[0].set_yticks(range(len(datasets)), datasets)
    panels[0].set_ylim(-0.5, len(datasets) - 0.5)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(tables), frameon=False)
    return figure


def gains() -> pd.DataFrame:
    """Test log densities of deep GPs minus those of a sparse GP of the same study: a row a set.

    :return: "name" of the deep GP of two or three layers that has the best mean bound here,
        "sparse" and "deep" (mean test log densities over five splits), their difference "gain", and
        published gains: those of :data:`OF_LINDINGER`, and "DSVI, bb" of bayesian_benchmarks.
    """
    table = read_published().query("metric == 'log_density'")
    theirs = table.assign(mean=table["mean"].astype(float)).pivot(
        index="dataset", columns="method", values="mean"
    )
    trials = pd.concat([candidates(2), candidates(3)])
    sparse = pd.read_csv(HERE / "records.csv").query("method == 'svgp' and split in @SPLITS")
    sparse = sparse[sparse["used"]].groupby("dataset")["log_density"].mean()
    rows = {}
    for dataset in trials.index.unique("dataset"):
        name = best_of(trials, dataset, "dgp")
        deep = trials.loc[(dataset, name), "log_density"].mean()
        row = {"name": name, "sparse": sparse[dataset], "deep": deep}
        row["gain"] = deep - sparse[dataset]
        of_set = theirs.loc[dataset]
        for family, depths in OF_LINDINGER.items():
            row[family] = of_set[list(depths)].max() - of_set["SGP"]
        rows[dataset] = row | {"DSVI, bb": of_set["DSVI_DGP_bb"] - of_set["SVGP_bb"]}
    return pd.DataFrame.from_dict(rows, orient="index")


def gains_markdown() -> str:
    """The table of gains over a sparse GP as the page has it."""
    published = [*OF_LINDINGER, "DSVI, bb"]
    heads = ["", "best bound", "svgp", "its log density", "gain", *published]
    rows = []
    for dataset, row in gains().iterrows():
        cells = [f"{row[name]:.3f}" for name in ("sparse", "deep", "gain")]
        cells += ["" if pd.isna(row[name]) else f"{row[name]:.2f}" for name in published]
        rows.append([dataset, row["name"], *cells])
    return pipe_table(heads, rows, num_names=2)


def published_markdown() -> str:
    """The table of published bounds as the page has it."""
    heads = ["", "best of two layers", "bound", "gp", *PUBLISHED.values()]
    rows = []
    for dataset, row in beside_published().iterrows():
        ours = [f"{row[name]:.3f}" for name in ("bound", "gp")]
        rows.append([dataset, row["name"], *ours, *(f"{row[name]:.2f}" for name in PUBLISHED)])
    return pipe_table(heads, rows, num_names=2)


def forms_of(row: pd.Series, depth: int) -> list[str]:
    """The forms of local and of global inducing points of a comparison, as the page names them."""
    names = (row[family].split(f"-{depth}", 1)[1].strip("-, ") for family in ("local", "global"))
    return [name or "usual" for name in names]


def gap_of(row: pd.Series, metric: str) -> str:
    """A mean difference and its standard error, bold where the p-value is below 5%."""
    cell = f"{row[metric]:.4f} ± {row[f'{metric}_error']:.4f}"
    return f"**{cell}**" if row[f"{metric}_p"] < 0.05 else cell


def markdown(depth: int) -> str:
    """The table as the page has it."""
    heads = ["", "local", "global", "bound, local", "bound, global"]
    heads += [f"{name}: global minus local" for name in METRICS.values()]
    rows = []
    for dataset, row in comparisons(depth).iterrows():
        cells = [dataset, *forms_of(row, depth)]
        cells += [f"{row[f'elbo_{family}']:.3f}" for family in ("local", "global")]
        rows.append([*cells, *(gap_of(row, metric) for metric in METRICS)])
    return pipe_table(heads, rows, num_names=3)


def fresh_markdown(depth: int) -> str:
    """The table of fresh splits as the page has it."""
    first = comparisons(depth)
    heads = ["", "local", "global", "bound: global minus local", "ahead on", "on splits 0 to 4"]
    heads += ["test log density: global minus local", "ahead on"]
    rows = []
    for dataset, row in comparisons(depth, FRESH).iterrows():
        bound, density = (
            [gap_of(row, metric), f"{row[f'{metric}_ahead']} of {len(FRESH)}"] for metric in METRICS
        )
        before = f"{first.loc[dataset, 'elbo']:.4f}"
        rows.append([dataset, *forms_of(row, depth), *bound, before, *density])
    return pipe_table(heads, rows, num_names=3)


if __name__ == "__main__":
    draw().savefig(HERE / "global-local.png", dpi=150)
    print(in_short())
    for depth in (2, 3):
        print(markdown(depth))
        print(comparisons(depth)[[f"{metric}_p" for metric in METRICS]])
    for depth in (2, 3):
        print(fresh_markdown(depth))
        print(comparisons(depth, FRESH)[[f"{metric}_p" for metric in METRICS]])
    print(gains_markdown())
    print(published_markdown())

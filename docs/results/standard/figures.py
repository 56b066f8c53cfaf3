"""Figures and comparisons of the nine sets at the budget `standard`.

python docs/results/standard/figures.py

Reads records.csv beside this file, and writes first-splits.png, published.png and
comparisons.csv. Prints the tables of the first split and of five splits in
docs/results/nine-sets.md.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from gpflow_gi.benchmark.report.markdown import pipe_table
from gpflow_gi.benchmark.report.published import read as read_published
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows

HERE = Path(__file__).resolve().parent

FORMS = ("", "-unshared", "-whitened", "-full")
"""Suffixes of the forms of global inducing points. That with the best bound on split 0 counts."""

DEPTHS = {"2 layers": "dgp-{}-2", "3 layers": "dgp-{}-3"}

CHAINS = "dgp-sghmc-2"
"""Two layers by Markov chains with the bound's data term."""

STYLES = {
    "": ("one precision", "#0072b2", "o"),
    "-unshared": ("a precision of each unit", "#d55e00", "s"),
    "-whitened": ("whitened", "#009e73", "^"),
    "-full": ("free Gaussians", "#cc79a7", "D"),
}
"""Words, colour and marker of each form in the figures."""

NUM_SPLITS = 5

METRICS = {"elbo": "bound per row", "log_density": "test log density"}


def records() -> pd.DataFrame:
    """Trials at each method's best rate: an index of dataset, method and split."""
    table = pd.read_csv(HERE / "records.csv")
    table = table[(table["status"] == "done") & table["used"].astype(bool)]
    return table.set_index(["dataset", "method", "split"]).sort_index()


def form_of(trials: pd.DataFrame, dataset: str, depth: str) -> str | None:
    """The form of global inducing points with the best bound on split 0; None without trials."""
    names = [DEPTHS[depth].format("global") + suffix for suffix in FORMS]
    bounds = {
        name: trials.loc[(dataset, name, 0), "elbo"]
        for name in names
        if (dataset, name, 0) in trials.index
    }
    return max(bounds, key=lambda name: bounds[name]) if bounds else None


def first_splits(metric: str, depth: str) -> pd.DataFrame:
    """GPs and the deep GPs of a depth, on the first split of the sets that have all of them.

    :param metric: one of :data:`METRICS`.
    :param depth: one of :data:`DEPTHS`.
    :return: an index of methods, and a column for each set. The last row of the test log density
        of two layers is of Markov chains with the bound's data term, at one rate.
    """
    name = DEPTHS[depth]
    forms = [name.format("global") + form for form in FORMS]
    names = ["gp", "svgp", name.format("local"), *forms]
    table = pd.read_csv(HERE / "records.csv")
    table = table[(table["split"] == 0) & table["method"].isin(names)]
    # All but gp must have been trained at three rates.
    rates = (
        table.groupby(["dataset", "method"])["learning_rate"]
        .nunique()
        .unstack()
        .reindex(columns=names)
    )
    complete = rates.index[(rates.drop(columns="gp") == 3).all(axis=1) & rates["gp"].notna()]
    used = table[table["used"].astype(bool)].pivot(index="method", columns="dataset", values=metric)
    found = used.reindex(index=names, columns=sorted(complete))
    if metric == "log_density" and depth == "2 layers":
        found.loc[CHAINS] = of_chains(metric)[0]
    return found


def of_chains(metric: str) -> pd.DataFrame:
    """A metric of two layers by Markov chains, at one rate: a row for each set, a column a split.

    :param metric: a column of the records that chains have: they have no bound.
    """
    table = pd.read_csv(HERE.parent / "chains" / "records.csv")
    table = table[(table["method"] == CHAINS) & (table["status"] == "done")]
    return table.pivot(index="dataset", columns="split", values=metric)


def cell(values: pd.Series, digits: int = 3) -> str:
    """Mean over splits, and its standard error."""
    return f"{values.mean():.{digits}f} ± {values.sem():.{digits}f}"


def several_splits(metric: str, depth: str) -> pd.DataFrame:
    """Means over the first five splits, with standard errors, of the sets that have all of them.

    Those of local inducing points and of the best form; cells of other methods that have fewer are
    empty. Of the test log density of two layers those of Markov chains too.

    :param metric: one of :data:`METRICS`.
    :param depth: one of :data:`DEPTHS`.
    :return: cells of text: an index of sets, and columns for methods, "best form" and "best form
        minus local". Two stars mark a difference that is significant (a paired t-test at 5%
        that allows for shared rows).
    """
    trials = records()[metric]
    trials = trials[trials.index.get_level_values("split") < NUM_SPLITS]
    name = DEPTHS[depth]
    local, plain = name.format("local"), name.format("global")
    rows = {}
    for dataset in trials.index.unique("dataset"):
        of_set = trials[dataset].unstack("split")
        best = form_of(records(), dataset, depth)
        if best is None or of_set.shape[1] < NUM_SPLITS:
            continue
        if of_set.reindex(index=[local, best]).isna().any(axis=None):
            continue
        gap = of_set.loc[best] - of_set.loc[local]
        stars = "**" if p_of_shared_rows(gap) < 0.05 else ""
        form = best.removeprefix(plain) or "paper's"
        others = of_set.reindex(index=["gp", "svgp", local, plain])
        if metric == "log_density" and depth == "2 layers":
            chains = of_chains(metric).reindex(columns=range(NUM_SPLITS))
            others.loc[CHAINS] = chains.loc[dataset]
        rows[dataset] = {
            **{name: cell(row) if row.notna().all() else "" for name, row in others.iterrows()},
            "best form": f"{cell(of_set.loc[best])} ({form})",
            "best form minus local": f"{stars}{cell(gap, 4)}{stars}",
        }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("dataset")


def means_of_all(dataset: str) -> pd.DataFrame:
    """Means over five splits of all methods of a set, with standard errors, the best bound first.

    :return: cells of text, empty without a bound: an index of methods, a column for each metric.
    """
    summary = pd.read_csv(HERE / "summary.csv")
    summary = summary[(summary["dataset"] == dataset) & (summary["n"] == NUM_SPLITS)]
    values = summary["mean"].map("{:.3f} ± ".format) + summary["standard_error"].map(
        "{:.3f}".format
    )
    cells = summary.assign(value=values).pivot(index="method", columns="metric", values="value")
    bounds = summary[summary["metric"] == "elbo"].set_index("method")["mean"]
    order = bounds.reindex(cells.index).sort_values(ascending=False).index
    names = METRICS | {"crps": "CRPS"}
    return cells.loc[order, list(names)].rename(columns=names).fillna("")


def markdown(table: pd.DataFrame) -> str:
    """A table of the page, without a name of the first column."""
    rows = [
        [str(name), *(one if isinstance(one, str) else f"{one:.3f}" for one in row)]
        for name, row in table.iterrows()
    ]
    return pipe_table(["", *table.columns], rows)


def comparisons() -> pd.DataFrame:
    """Global minus local inducing points on the splits that both have.

    :return: "dataset", "depth", "form", "metric", "n", "difference", "standard_error", "p" of a
        paired t-test that allows for shared rows; of sets with at least two such splits.
    """
    trials = records()
    rows = []
    for dataset in trials.index.unique("dataset"):
        for depth, name in DEPTHS.items():
            form = form_of(trials, dataset, depth)
            local = name.format("local")
            if form is None or (dataset, local) not in trials.index.droplevel("split"):
                continue
            both = trials.loc[dataset].loc[[form, local]].unstack("method")
            for metric in METRICS:
                d = (both[metric][form] - both[metric][local]).dropna()
                if len(d) < 2:
                    continue
                error = d.std(ddof=1) / np.sqrt(len(d))
                p = p_of_shared_rows(d)
                rows.append((dataset, depth, form, metric, len(d), d.mean(), error, p))
    columns = ["dataset", "depth", "form", "metric", "n", "difference", "standard_error", "p"]
    return pd.DataFrame(rows, columns=columns)


def gaps_to_local(metric: str, depth: str) -> pd.DataFrame:
    """Each form of global inducing points minus local ones, on the first splits.

    :return: an index of forms, the suffixes of :data:`FORMS`, and a column for each set.
    """
    table = first_splits(metric, depth)
    name = DEPTHS[depth]
    forms = table.loc[[name.format("global") + form for form in FORMS]]
    gaps = forms - table.loc[name.format("local")]
    gaps.index = pd.Index(FORMS, name="form")
    return gaps


def draw_first_splits() -> Figure:
    """Differences of the bound to that of local inducing points, a panel for each depth."""
    gaps = {depth: gaps_to_local("elbo", depth) for depth in DEPTHS}
    datasets = sorted(set().union(*(table.columns for table in gaps.values())), reverse=True)
    figure = Figure(figsize=(8.0, 1.4 + 0.32 * len(datasets)), layout="constrained")
    panels = figure.subplots(1, len(DEPTHS), sharey=True, sharex=True)
    for axes, depth in zip(panels, DEPTHS, strict=True):
        axes.axvline(0.0, color="#888888", linewidth=0.8)
        for i, (form, (words, colour, marker)) in enumerate(STYLES.items()):
            row = gaps[depth].loc[form]
            places = [datasets.index(name) + 0.15 * (1.5 - i) for name in row.index]
            axes.scatter(row, places, color=colour, marker=marker, s=22, label=words)
        axes.set_xscale("symlog", linthresh=0.01)
        axes.set_title(depth, fontsize="medium")
        axes.set_xlabel("bound per row minus that of local ones")
        axes.grid(axis="both", color="#e5e5e5")
        axes.set_axisbelow(True)
    panels[0].set_yticks(range(len(datasets)), datasets)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    return figure


def published_densities() -> pd.DataFrame:
    """Published test log densities: index dataset, columns methods."""
    table = read_published()
    table = table[table["metric"] == "log_density"]
    return table.assign(mean=table["mean"].astype(float)).pivot_table(
        index="dataset", columns="method", values="mean"
    )


OURS = ("dgp-local-2", "dgp-local-3", *(f"dgp-global-{n}{form}" for n in (2, 3) for form in FORMS))


def draw_published() -> Figure:
    """Test log densities beside published ones, minus those of the best published deep GP."""
    published = published_densities()
    trials = records()["log_density"].groupby(["dataset", "method"])
    means, numbers = (each.unstack("method") for each in (trials.mean(), trials.size()))
    datasets = sorted(means.index, reverse=True)
    figure = Figure(figsize=(8.0, 1.2 + 0.4 * len(datasets)), layout="constrained")
    axes = figure.subplots()
    deep = [name for name in published if "DGP" in name and "SGHMC" not in name]
    for place, name in enumerate(datasets):
        best = published.loc[name, deep].max()
        others = published.loc[name].drop(deep).dropna() - best
        theirs = published.loc[name, deep].dropna() - best
        ours = means.loc[name, [m for m in OURS if m in means]].dropna() - best
        is_one = numbers.loc[name, ours.index] == 1
        first = place == 0
        for values, style, label in (
            (others, {"color": "#bbbbbb", "marker": "|"}, "other published methods"),
            (theirs, {"color": "#0072b2", "marker": "|"}, "published variational deep GPs"),
            (ours[~is_one], {"color": "#d55e00", "s": 14}, "this library, five splits"),
            (
                ours[is_one],
                {"facecolors": "none", "edgecolors": "#d55e00", "s": 14},
                "this library, one split",
            ),
        ):
            axes.scatter(values, [place] * len(values), label=label if first else None, **style)
    axes.axvline(0.0, color="#888888", linewidth=0.8)
    axes.set_xscale("symlog", linthresh=0.1)
    axes.set_yticks(range(len(datasets)), datasets)
    axes.set_xlabel("test log density minus that of the best published variational deep GP")
    axes.grid(axis="x", color="#e5e5e5")
    axes.set_axisbelow(True)
    figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")
    return figure


if __name__ == "__main__":
    comparisons().to_csv(HERE / "comparisons.csv", index=False)
    draw_first_splits().savefig(HERE / "first-splits.png", dpi=150)
    draw_published().savefig(HERE / "published.png", dpi=150)
    for depth in DEPTHS:
        for metric, words in METRICS.items():
            for splits, of in (("first split", first_splits), ("five splits", several_splits)):
                if not (shown := of(metric, depth)).empty:
                    print(f"\n{splits}, {depth}, {words}:\n\n{markdown(shown)}")

"""The numbers of docs/results/networks.md are those of the records."""

import json
import re

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.benchmark.report.published import read as read_published
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows
from tests.results.pages import (
    COUNTS,
    NINE_SETS,
    OF_STANDARD,
    RESULTS,
    listed,
    rows_of,
    script,
    words_of,
)

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/networks.md"
WORDS = words_of(PAGE)


OF_OPTIMAL = RESULTS / "optimal"


@pytest.mark.parametrize(
    "folder, count, heading, metric, digits",
    [
        ("optimal", 5, "The bound\nper row of ten splits", "elbo", 4),
        ("optimal", 5, "Their test log density:", "log_density", 3),
        ("units", 6, "The bound per row over ten splits", "elbo", 4),
        ("units", 6, "Test log density over the same splits", "log_density", 3),
    ],
)
def test_means_of_networks_over_ten_splits(folder, count, heading, metric, digits):
    summary = pd.read_csv(RESULTS / folder / "summary.csv")
    summary = summary.set_index(["metric", "method", "dataset"])
    (_, *datasets), *rows = rows_of(PAGE, heading)
    assert len(datasets) == 3 and len(rows) == count
    for method, *cells in rows:
        for dataset, cell in zip(datasets, cells, strict=True):
            found = summary.loc[metric, method, dataset]
            assert cell == f"{found['mean']:.{digits}f} ± {found.standard_error:.{digits}f}"
            assert found.n == 10


def test_the_optimal_last_layer_is_better():
    summary = pd.read_csv(OF_OPTIMAL / "summary.csv").set_index(["metric", "method", "dataset"])
    differences = pd.read_csv(OF_OPTIMAL / "differences.csv")
    differences = differences.set_index(["metric", "dataset", "method", "other"])
    for metric in ("elbo", "log_density"):
        said = []
        for dataset in ("boston", "energy", "yacht"):
            mean = {m: summary.loc[metric, m, dataset]["mean"] for m in MEAN_OF_NETWORKS}
            best = max(mean, key=lambda name: mean[name])
            assert best == "bnn-factorised-optimal"
            assert mean["bnn-global-optimal"] > mean["bnn-global"]
            found = differences.loc[
                metric, dataset, "bnn-factorised-global", "bnn-factorised-optimal"
            ]
            said.append(f"{-found.difference:.3f} ± {found.standard_error:.3f}")
        assert re.search(rf"by {said[0]}.*{said[1]}.*and( on yacht)? ?{said[2]}", WORDS), said


MEAN_OF_NETWORKS = (
    "bnn-factorised",
    "bnn-global",
    "bnn-factorised-global",
    "bnn-global-optimal",
    "bnn-factorised-optimal",
)


OF_UNITS = RESULTS / "units"


@pytest.mark.parametrize(
    "method, other, metric, said",
    [
        (
            "bnn-global-unshared",
            "bnn-global",
            "elbo",
            "of `bnn-global` is better by {} on boston, {} on energy and {} on yacht",
        ),
        (
            "bnn-global-unshared",
            "bnn-global",
            "log_density",
            "its test log density by {}, {} and {} (paired",
        ),
        (
            "bnn-global-optimal-unshared",
            "bnn-factorised-optimal",
            "elbo",
            "the best before, by {}, {} and {} in the bound",
        ),
        (
            "bnn-global-optimal-unshared",
            "bnn-factorised-optimal",
            "log_density",
            "in the bound and by {}, {} and {} in test log density",
        ),
        (
            "bnn-global-optimal-learned-unshared",
            "bnn-global-optimal-unshared",
            "elbo",
            "raises the bound again, by {}, {} and {}, with no penalty",
        ),
    ],
)
def test_differences_with_a_precision_of_each_unit(method, other, metric, said):
    numbers = []
    for dataset in ("boston", "energy", "yacht"):
        found = difference_of_units(metric, dataset, method, other)
        assert found.difference > 0
        numbers.append(f"{found.difference:.3f} ± {found.standard_error:.3f}")
    assert said.format(*numbers) in WORDS


def alternatives():
    """Bounds of other networks with an exact last layer: of groups, and of starts."""
    lines = (OF_UNITS / "alternatives.jsonl").read_text().splitlines()
    table = pd.DataFrame([json.loads(line) for line in lines])
    groups, starts = table[table["groups"].notna()], table[table["start"].notna()]
    return (
        groups.pivot(index="groups", columns="set", values="bound"),
        starts.pivot(index=["start", "precision"], columns="set", values="bound"),
    )


def test_groups_of_units():
    groups, _ = alternatives()
    (_, *datasets), *rows = rows_of(PAGE, "for each number of groups")
    assert datasets == list(groups.columns) and len(rows) == len(groups) == 6
    for number, *cells in rows:
        assert cells == [f"{value:.3f}" for value in groups.loc[float(number)]]
    assert (groups.diff().iloc[1:] > 0).all(axis=None)
    ten, more = (
        (groups.loc[n] - groups.loc[1]) / (groups.loc[50] - groups.loc[1]) for n in (10, 25)
    )
    said = f"give {ten.min():.0%} to {ten.max():.0%} of the gain, and 25 give "
    assert said + f"{more.min():.0%} to {more.max():.0%}." in WORDS


def test_starts_at_trained_weights():
    _, starts = alternatives()
    (_, _, *datasets), *rows = rows_of(
        PAGE, "divided by the mean square of the pseudo-outputs. The bound per row:"
    )
    names = ["a draw of the prior", "trained factorised weights", "most probable weights"]
    names = dict(zip(names, ("draw", "factorised", "map"), strict=True))
    assert datasets == list(starts.columns) and len(rows) == len(starts) == 9
    for name, precision, *cells in rows:
        found = starts.loc[names[name], float(precision)]
        assert cells == [f"{value:.3f}" for value in found]
    ours = starts.loc["draw", 1.0]
    assert starts.idxmax().nunique() > 1
    assert not (starts > ours).all(axis=1).any()
    assert (starts.xs(10.0, level="precision") < ours).all(axis=None)


def test_two_trainings_of_the_same_network_differ_little():
    groups, starts = alternatives()
    other = pd.read_csv(OF_UNITS / "records.csv").query("split == 0")
    other = other.pivot(index="method", columns="dataset", values="elbo")[list(groups)]
    assert (groups.loc[1] - other.loc["bnn-global-optimal"]).abs().max() < 0.02
    unshared = other.loc["bnn-global-optimal-unshared"]
    for one in (groups.loc[50], starts.loc["draw", 1.0]):
        assert (one - unshared).abs().max() < 0.02


@pytest.fixture(scope="module")
def ard():
    return script("ard", "table.py")


def test_one_hidden_layer(ard):
    bound, density = (ard.gaps(metric).xs(ard.METHODS[1], level=1) for metric in ard.METRICS)
    assert list(bound.index) == ["boston", "energy", "yacht"]
    by = [f"{row['mean']:.3f} ± {row['error']:.3f}" for _, row in bound.iterrows()]
    assert bound["mean"].min() > 0 and bound["p"].max() < 0.001
    said = f"on all three sets, by {by[0]}, {by[1]} and {by[2]} (p < 0.001), and in"
    assert said in WORDS
    assert list(density.index[density["p"] < 0.05]) == ["energy", "yacht"]
    energy, yacht = (density.loc[name] for name in ("energy", "yacht"))
    said = f"on energy ({energy['mean']:.3f} ± {energy['error']:.3f}, p < 0.001) and yacht"
    assert energy["p"] < 0.001
    assert (
        f"{said} ({yacht['mean']:.3f} ± {yacht['error']:.3f}, p = {yacht['p']:.3f}), not on"
        in WORDS
    )
    assert density["mean"]["boston"] < 0
    first = ard.first_split()["bound"].loc["neal"]
    assert (first.loc[3] < first.loc[2]).all() and (first.loc[2] < first.loc[1]).all()


def test_scales_of_inputs_and_units(ard):
    bound, density = (ard.gaps(metric) for metric in ard.METRICS)
    two = bound.xs("bnn-global-optimal-ard-unshared", level=1)
    by = [f"{row['mean']:.3f} ± {row['error']:.3f}" for _, row in two.iterrows()]
    assert f"two layers by {by[0]}, {by[1]} and {by[2]} over the fixed scale." in WORDS
    means = ard.trials("elbo").mean(axis=1).unstack("method")
    assert set(means.idxmax(axis=1)) == {"bnn-global-optimal-ard-unshared-1"}
    others = pd.concat(
        [pd.read_csv(RESULTS / name / "summary.csv") for name in ("units", "weights", "optimal")]
    ).query("metric == 'elbo'")
    assert (others.groupby("dataset")["mean"].max()[means.index] < means.max(axis=1)).all()
    two = density.xs("bnn-global-optimal-ard-unshared", level=1)
    said = "on boston ({mean:.3f} ± {error:.3f}, p = {p:.3f}) and yacht"
    assert said.format(**two.loc["boston"]) in WORDS
    said = "({mean:.3f} ± {error:.3f}, p = {p:.3f}), and level on energy"
    assert said.format(**two.loc["yacht"]) in WORDS
    assert "level on energy ({mean:.3f} ± {error:.3f}).".format(**two.loc["energy"]) in WORDS
    assert two["p"]["energy"] > 0.05 > two["p"].drop("energy").max()
    one, fixed = "bnn-global-optimal-ard-unshared-1", "bnn-global-optimal-unshared-1"
    values = ard.trials("log_density")
    gaps = {name: values.loc[(name, one)] - values.loc[(name, fixed)] for name in means.index}
    assert min(map(p_of_shared_rows, gaps.values())) > 0.05
    higher = means.loc["yacht", one] - means.loc["yacht", fixed]
    said = f"by {higher:.3f} and its mean test log density lower by {-gaps['yacht'].mean():.3f}."
    assert said in WORDS
    layer = density.xs("bnn-global-optimal-learned-unshared", level=1)
    assert layer["mean"]["yacht"] < 0 and layer["p"]["yacht"] < 0.05
    widths = {"boston": 13, "energy": 8, "yacht": 6}
    numbers = [inputs + 1 + 51 + 51 for inputs in widths.values()]
    assert min(numbers) >= 100 and max(numbers) <= 120


PRIORS = RESULTS / "priors"


SMALL_SETS = ["boston", "concrete", "energy", "wine", "yacht"]


@pytest.mark.parametrize(
    "heading, metric",
    [
        ("The bounds per row, means over five splits", "elbo"),
        ("The test log densities of these networks", "log_density"),
    ],
)
def test_means_with_two_priors(heading, metric):
    summary = pd.read_csv(PRIORS / "summary.csv").set_index(["metric", "method", "dataset"])
    (_, *datasets), *rows = rows_of(PAGE, heading)
    assert datasets == SMALL_SETS and len(rows) == 6
    for method, *cells in rows:
        found = [summary.loc[metric, method, dataset] for dataset in datasets]
        assert cells == [f"{one['mean']:.3f} ± {one.standard_error:.3f}" for one in found]
        assert all(one.n == 5 for one in found)


def test_what_is_said_of_two_priors():
    records = pd.read_csv(PRIORS / "records.csv")
    assert len(records) == 150 and records["seconds"].max() < 9
    values = {
        metric: records.pivot(index=["dataset", "split"], columns="method", values=metric)
        for metric in ("elbo", "log_density")
    }

    def gap(metric, method, other):
        """Differences on the splits: rows are sets."""
        return (values[metric][f"bnn-{method}"] - values[metric][f"bnn-{other}"]).unstack("split")

    def significant(gaps):
        """Sets with a difference at 5%, by its sign."""
        p = gaps.apply(p_of_shared_rows, axis=1)
        mean = gaps.mean(axis=1)
        return [list(mean.index[(p < 0.05) & (sign * mean > 0)]) for sign in (1, -1)]

    ranges = []
    for prior in ("standard", "scale"):
        bound = gap("elbo", f"global-{prior}", f"factorised-{prior}")
        assert significant(bound) == [SMALL_SETS, []]
        ranges += [bound.mean(axis=1).min(), bound.mean(axis=1).max()]
    sentence = "by {:.1f} to {:.1f} nats per row with the standard prior, and by {:.2f} to {:.2f}"
    assert sentence.format(*ranges) in WORDS
    density = gap("log_density", "global-standard", "factorised-standard")
    assert significant(density) == [["energy"], ["yacht"]]
    density = gap("log_density", "global-scale", "factorised-scale")
    assert significant(density) == [["wine"], ["concrete", "energy"]]
    wine = density.loc["wine"]
    assert f"by {wine.mean():.3f} ± {wine.sem():.3f}, wine with ScalePrior" in WORDS
    better = [
        gap(metric, "factorised-scale", "factorised-standard").mean(axis=1)
        for metric in ("log_density", "elbo")
    ]
    sentence = "by {:.2f} to {:.2f} nats, and their bound by {:.1f} to {:.1f};"
    assert sentence.format(*(f(one) for one in better for f in (min, max))) in WORDS
    bounds = values["elbo"].groupby("dataset").mean()
    linear = pd.read_csv(RESULTS / "standard" / "records.csv")
    linear = linear.query("method == 'linear' and split == 0").set_index("dataset")["elbo"]
    standard = bounds[[name for name in bounds if name.endswith("standard")]].max(axis=1)
    assert (standard < linear[SMALL_SETS]).all()
    for prior in ("standard", "scale"):
        lowest = bounds[[name for name in bounds if name.endswith(prior)]].idxmin(axis=1)
        assert set(lowest) == {f"bnn-factorised-{prior}"}
    assert (bounds["bnn-factorised-global-standard"] < bounds["bnn-global-standard"]).all()
    scale = bounds[[name for name in bounds if name.endswith("scale")]]
    mixed = "bnn-factorised-global-scale"
    assert list(scale.index[scale.idxmax(axis=1) == mixed]) == ["concrete", "energy"]
    density = gap("log_density", "factorised-global-scale", "global-scale").mean(axis=1)
    assert (density > 0).all()


def difference_of_units(metric, dataset, method, other):
    table = pd.read_csv(OF_UNITS / "differences.csv")
    table = table.set_index(["metric", "dataset", "method", "other"])
    if (metric, dataset, method, other) in table.index:
        return table.loc[metric, dataset, method, other]
    found = table.loc[metric, dataset, other, method].copy()
    found["difference"] *= -1
    return found


def test_others_may_predict_better_than_networks_with_a_precision_of_each_unit():
    ours, theirs = (pd.read_csv(RESULTS / name / "records.csv") for name in ("units", "weights"))
    ours, theirs = (
        table[table["split"] < 10].groupby(["dataset", "method"])["log_density"].mean()
        for table in (ours, theirs)
    )
    fixed = [name for name in ours["boston"].index if "learned" not in name]
    for dataset, better in (
        ("energy", ["bnn-multiswag", "bnn-swag"]),
        ("yacht", ["bnn-multiswag", "bnn-swag"]),
        ("boston", ["bnn-laplace"]),
    ):
        assert ours[dataset][fixed].idxmax() == "bnn-global-optimal-unshared"
        assert all(theirs[dataset][better] > ours[dataset]["bnn-global-optimal-unshared"])
    assert (
        theirs["boston"]["bnn-multiswag"] < ours["boston"]["bnn-global-optimal-unshared"]
    )  # better on two of three
    ours, theirs = (
        pd.read_csv(RESULTS / name / "records.csv")
        .query("split < 10 and method == @method")
        .set_index(["dataset", "split"])["log_density"]
        for name, method in (
            ("units", "bnn-global-optimal-unshared"),
            ("weights", "bnn-multiswag"),
        )
    )
    gaps = (theirs - ours).dropna().groupby("dataset")
    assert set(gaps.size()) == {10}
    energy, yacht = (
        f"{gaps.mean()[name]:.3f} ± {gaps.sem()[name]:.3f}" for name in ("energy", "yacht")
    )
    assert f"on energy is clear, {energy} over ten splits; on yacht it is {yacht}." in WORDS


def test_networks_with_a_precision_of_each_unit_have_the_best_bound():
    ours = pd.read_csv(OF_UNITS / "summary.csv").query("metric == 'elbo'")
    means = ours.pivot(index="method", columns="dataset", values="mean")
    fixed = means.drop(index="bnn-global-optimal-learned-unshared")
    others = [
        pd.read_csv(RESULTS / name / "summary.csv").query("metric == 'elbo'")
        for name in ("optimal", "weights", "quick")
    ]
    for dataset in means:
        assert fixed[dataset].idxmax() == "bnn-global-optimal-unshared"
        for table in others:
            rest = table[table["method"].str.startswith("bnn") & (table["dataset"] == dataset)]
            assert rest["mean"].max() < fixed.loc["bnn-global-optimal-unshared", dataset]


def test_what_is_said_of_a_precision_of_each_unit():
    learned, fixed = "bnn-global-optimal-learned-unshared", "bnn-global-optimal-unshared"
    for dataset, sign, said in (("boston", 1, "better on boston"), ("yacht", -1, "on yacht")):
        found = difference_of_units("log_density", dataset, learned, fixed)
        assert sign * found.difference > 2 * found.standard_error
        numbers = f"{sign * found.difference:.3f} ± {found.standard_error:.3f}"
        assert f"{said}, by {numbers}" in WORDS
    trials = pd.read_csv(OF_UNITS / "records.csv")
    seconds = trials.groupby("method")["seconds"].median()
    slow, fast = seconds[fixed], seconds["bnn-global-optimal"]
    assert round(slow / fast) == 4
    assert f"{slow:.0f} seconds a trial at the median in place of {fast:.0f}" in WORDS
    assert slow / seconds["bnn-factorised-optimal"] == pytest.approx(5, abs=0.5)  # in the guide


def test_divided_rows_against_one_draw_in_networks(variants):
    table = variants.compared().xs("bnn-global-divided", level=1)
    said = (
        "raise it by {:.4f} ± {:.4f} on energy and {:.4f} ± {:.4f} on concrete, and not on boston."
    )
    numbers = [
        table.loc[name, column]
        for name in ("energy", "concrete")
        for column in ("elbo", "elbo_error")
    ]
    assert said.format(*numbers) in WORDS
    assert table["elbo"]["boston"] < 0 < 0.05 < table["elbo_p"]["boston"]
    assert sorted(table.index) == ["boston", "concrete", "energy", "protein"]
    assert max(table["elbo_p"].drop("boston")) < 0.05
    assert 0.03 < table["elbo"].max() < 0.04  # in the guide


def test_divided_rows_of_networks(networks):
    lower = pd.read_csv(RESULTS / "rates" / "records.csv")
    lower = lower[lower["used"].eq(True) & lower["budget"].str.contains("learning_rate=0.0075")]
    lower = lower[lower["method"].str.startswith("bnn")]
    said = (
        "five splits is {:.3f} and that of local ones {:.3f}: global minus local is {:.3f} ± {:.3f}"
    )
    said += ", and {:.3f} ± {:.3f} (p = {:.3f}) in the test log density."
    numbers = []
    for metric in ("elbo", "log_density"):
        both = lower.pivot(index="split", columns="method", values=metric)
        gap = both["bnn-global-divided"] - both["bnn-local"]
        assert len(gap.dropna()) == 5
        numbers += [*both[["bnn-global-divided", "bnn-local"]].mean()] if metric == "elbo" else []
        numbers += [gap.mean(), gap.sem()]
    assert said.format(*numbers, p_of_shared_rows(gap)) in WORDS
    divided = networks.trials("elbo").loc["protein"], networks.trials("log_density").loc["protein"]
    gaps = [one.loc["bnn-global-divided"] - one.loc["bnn-local"] for one in divided]
    p = [p_of_shared_rows(gap) for gap in gaps]
    one, four = (divided[0].loc[name].mean() for name in ("bnn-global", "bnn-global-divided"))
    said = f"raise the bound from {one:.3f} to {four:.3f}, above that of local ones on every split"
    said += f", by {gaps[0].mean():.4f} ± {gaps[0].sem():.4f} (p = {p[0]:.3f}), and the test log"
    said += f" density is {-gaps[1].mean():.4f} ± {gaps[1].sem():.4f} lower than that of local ones"
    assert f"{said} (p = {p[1]:.3f})." in WORDS and gaps[0].min() > 0
    behind = networks.gaps("elbo", "bnn-global", "bnn-local")["mean"]
    assert list(behind.index[behind < 0]) == ["naval", "protein"] and len(behind) == 9


def test_what_is_said_of_networks_at_their_best_rates(networks, forms):
    sets = networks.sets()
    assert sets == NINE_SETS
    others = ("bnn-local", "bnn-factorised", "bnn-factorised-global")
    local, factorised, mixed = (networks.gaps("elbo", "bnn-global", other) for other in others)
    p = pd.concat({"local": local["p"], "factorised": factorised["p"]})
    assert list(p.index[p > 0.05]) == [("factorised", "naval")]
    assert f"(p = {p.max():.3f}) are significant at 5%" in WORDS
    assert max(p.drop(("factorised", "naval"))) < 0.05 / len(sets)
    local, factorised, mixed = (gap["mean"] for gap in (local, factorised, mixed))
    ahead = local.drop(["naval", "protein"])
    more = factorised.drop(["kin8nm", "naval", "protein"])
    assert min(ahead.min(), more.min()) > 0
    said = f"on seven of nine sets,** by {ahead.min():.3f} to {ahead.max():.3f}, and than"
    assert f"{said} factorised weights on six, by {more.min():.3f} to {more.max():.3f}." in WORDS
    said = f"local ones are ahead by {-local['naval']:.3f} and factorised weights by"
    said += f" {-factorised['naval']:.3f}, on protein by {-local['protein']:.3f} and"
    said += f" {-factorised['protein']:.3f}, on kin8nm factorised weights by"
    assert f"{said} {-factorised['kin8nm']:.3f}." in WORDS
    assert max(local[["naval", "protein"]].max(), factorised.drop(more.index).max()) < 0
    mixed = mixed.drop(["naval", "protein"])
    assert mixed.max() < 0 and (mixed.idxmax(), mixed.idxmin()) == ("wine", "energy")
    assert f"by {-mixed.max():.3f} (wine) to {-mixed.min():.3f} (energy) above" in WORDS
    means = networks.trials("elbo").mean(axis=1).unstack("method").loc[sets]
    four = means[list(networks.POSTERIORS)]
    assert set(four.loc[mixed.index].idxmax(axis=1)) == {"bnn-factorised-global"}
    assert set(four.drop(mixed.index).idxmin(axis=1)) == {"bnn-factorised-global"}
    table = pd.read_csv(OF_STANDARD / "records.csv").query("split == 0")
    first = table.set_index(["dataset", "method"])
    rates = table.query("dataset == 'naval'").set_index("learning_rate")
    for method in networks.POSTERIORS:
        assert rates[rates["method"] == method]["elbo"].idxmax() == 0.015
    rates = rates[rates["method"] == "bnn-global"]["elbo"]
    said = f"is {rates[0.06]:.2f}, {rates[0.03]:.2f} and {rates[0.015]:.2f} at 0.06, 0.03 and 0.015"
    assert said in WORDS
    lower = script("rates", "table.py").at_rates("bnn").loc["naval"]
    assert list(lower) == [0.00375, 0.0075, 0.015, 0.03, 0.06]
    assert lower.idxmax(axis=1)["bnn-global"] == 0.00375
    best = lower.max(axis=1)
    said = (
        "local ones reach {:.3f}, global ones {:.3f} at the lowest, factorised weights {:.3f}, and"
    )
    said = said.format(*best[["bnn-local", "bnn-global", "bnn-factorised"]])
    assert f"{said} `bnn-factorised-global` {best['bnn-factorised-global']:.3f}." in WORDS
    assert first[first["used"]]["learning_rate"]["protein", "bnn-global"] == 0.015
    kin8nm = first[first["used"]].loc["kin8nm"]
    bound = kin8nm["elbo"]["bnn-factorised-optimal"]
    assert bound > kin8nm["elbo"][list(networks.POSTERIORS)].max()
    assert f"has the bound {bound:.3f}, which is" in WORDS
    predicted = networks.trials("log_density").mean(axis=1).unstack("method").loc[sets]
    worse = ["kin8nm", "protein"], ["concrete", "energy", "kin8nm", "power", "protein"]
    # The bound of Laplace approximations is not of what predicts.
    for values, fewer in zip((means.drop(columns="bnn-laplace"), predicted), worse, strict=True):
        better = values["gp"] > values.filter(like="bnn").max(axis=1)
        assert list(values.index[~better]) == fewer
    others = predicted.loc[["concrete", "energy"], ["bnn-laplace", "bnn-ensemble"]]
    assert all(others.min(axis=1) > predicted["gp"][others.index])
    gp = [name for name in NINE_SETS if name not in worse[1]]
    assert f"and better than those of all networks on {listed(gp)}:" in WORDS
    density = networks.trials("log_density")
    p = {
        (name, method): p_of_shared_rows(density.loc[(name, method)] - density.loc[(name, "gp")])
        for name in others.index
        for method in others
    }
    told = {place: f"{value:.3f}" for place, value in p.items() if value < 0.05}
    assert list(told) == [("energy", "bnn-ensemble")]
    said = "above it, significantly ensembles on energy (p = {})."
    assert said.format(*told.values()) in WORDS
    without = predicted.drop(columns=others.columns).filter(like="bnn").max(axis=1)
    assert list(without.index[without > predicted["gp"]]) == ["kin8nm", "power", "protein"]
    assert means["bnn-global-unshared"]["yacht"] > four.loc["yacht"].max()

    gap = networks.gaps("log_density", "bnn-global", "bnn-factorised").query("p < 0.05")["mean"]
    assert list(gap.index[gap > 0]) == ["kin8nm"]
    assert list(gap.index[gap < 0]) == ["concrete", "naval", "power", "protein"]
    density = networks.gaps("log_density", "bnn-global", "bnn-local")["mean"]
    of = {name: f"{name} ({-value:.3f})" for name, value in density[density < 0].items()}
    assert list(of) == ["naval", "power", "protein"]
    assert "negative on {naval}, {power} and {protein}.".format(**of) in WORDS
    density = networks.trials("log_density").mean(axis=1)["kin8nm"][list(networks.POSTERIORS)]
    assert density.idxmin() == "bnn-factorised-global"
    deep = forms.candidates(2)["elbo"].mean(axis=1).groupby("dataset").max()
    assert all(deep[name] > means.loc[name].filter(like="bnn").max() for name in sets)


def test_published_networks_on_yacht(networks, twenty):
    table = read_published().query("dataset == 'yacht' and metric == 'log_density'")
    table = table.set_index("method")
    mean, error = table["mean"].astype(float), table["spread"].astype(float)
    theirs = mean[~mean.index.str.contains("DGP|DWP|SVGP")].sort_values(ascending=False)
    assert list(theirs.index[:2]) == ["VIP", "SIP_BNN"]
    said = "are ahead:** {:.2f} (VIP) and {:.2f} (SIP_BNN), with standard deviations of {:.2f} and"
    assert f"{said.format(*theirs[:2], error['VIP'])} {error['SIP_BNN']:.2f} over" in WORDS
    five = networks.trials("log_density").loc["yacht"].mean(axis=1)
    every = twenty.trials().loc["yacht"]["log_density"].groupby("method").mean()
    names = ["bnn-ensemble", "bnn-laplace"]
    said = (
        "Ours have {:.3f} (`bnn-ensemble`) and {:.3f} (`bnn-laplace`) over five splits, and {:.3f}"
    )
    assert f"{said.format(*five[names], every[names[0]])} and {every[names[1]]:.3f} over" in WORDS
    assert f"has {five[list(networks.POSTERIORS)].max():.3f} over five." in WORDS
    ours = five.filter(like="bnn")
    assert ours.idxmax() == "bnn-ensemble" and ours.max() < theirs["SIP_BNN"]


def test_laplace_and_ensembles_beside_four_posteriors(networks, forms):
    values = networks.trials("log_density")
    sets = [name for name in NINE_SETS if (name, "bnn-ensemble") in values.index]
    assert sets == [name for name in NINE_SETS if (name, "bnn-laplace") in values.index]
    assert f"--datasets {','.join(sets)} --methods bnn-laplace,bnn-ensemble --splits" in WORDS
    assert sets == NINE_SETS
    _, *rows = rows_of(PAGE, "minus that of the best of the four posteriors:")
    assert [name for name, *_ in rows] == sets
    told, behind, better = {}, {}, {}
    for place, (method, gaps) in enumerate(networks.over_best().items(), start=1):
        for name, *cells in rows:
            theirs = max((values.loc[name, one] for one in networks.POSTERIORS), key=np.mean)
            gap = values.loc[name, method] - theirs
            assert cells[place - 1] == f"{gap.mean():.3f} ± {gap.sem():.3f}"
        worse = list(gaps.index[gaps.mean(axis=1) < 0])
        assert f"on all but {listed(worse)}" in WORDS or f"on all sets but {listed(worse)}" in WORDS
        few = {"bnn-ensemble": ["wine"], "bnn-laplace": ["kin8nm", "naval", "protein"]}
        assert worse == few[method]
        better[method] = COUNTS[len(sets) - len(worse)]
        told[method] = [name for name, gap in gaps.iterrows() if p_of_shared_rows(gap) < 0.05]
        for depth in (2, 3):
            trials = forms.candidates(depth)
            for name in sets:
                deep = forms.best_of(trials, name, "dgp")
                gap = values.loc[(name, method)] - trials["log_density"].loc[(name, deep)]
                behind[method, name, depth] = gap
    assert told == {
        "bnn-laplace": ["boston", "naval", "power", "yacht"],
        "bnn-ensemble": ["energy", "kin8nm", "power", "protein", "yacht"],
    }
    said = "of the tables on {} and on {} sets.".format(
        *(better[m] for m in networks.OF_ALL_WEIGHTS)
    )
    assert said in words_of("docs/results/README.md")
    table = pd.read_csv(OF_STANDARD / "records.csv").query("used and split < 5")
    seconds = table.groupby(["method", "dataset"])["seconds"].mean().unstack()[sets]
    laplace, ensemble, four = (
        f"{seconds.loc[names].min().min():.0f} to {seconds.loc[names].max().max():.0f}"
        for names in (["bnn-laplace"], ["bnn-ensemble"], list(networks.POSTERIORS))
    )
    said = (
        f"took {laplace} seconds in the mean over five splits (Laplace) and {ensemble} (ensembles)"
    )
    assert f"{said}, those of the four posteriors {four}." in WORDS
    files = {name: next((OF_STANDARD / "records").glob(f"{name}-0-bnn-laplace-*")) for name in sets}
    trials = {name: json.loads(path.read_text("utf-8")) for name, path in files.items()}
    is_one_batch = {
        name: trial["data"]["num_train"] <= trial["trial"]["budget"]["batch_size"]
        for name, trial in trials.items()
    }
    few = listed(name for name in sets if is_one_batch[name])
    many = listed(name for name in sets if not is_one_batch[name])
    said = f"On {few} their maxima are found by L-BFGS, without a learning rate, on {many} by Adam"
    assert said in WORDS
    rates = {trials[n]["trial"]["budget"]["learning_rate"] for n in sets if not is_one_batch[n]}
    assert rates == {0.03}
    two, three = (behind["bnn-ensemble", "protein", depth] for depth in (2, 3))
    said = "On protein that of `bnn-ensemble` is above that of two layers, by"
    said += f" {two.mean():.3f} ± {two.sem():.3f} (p = {p_of_shared_rows(two):.3f}), and"
    said += " below that of three, by"
    assert f"{said} {-three.mean():.3f} ± {three.sem():.3f}." in WORDS
    behind.pop(("bnn-ensemble", "protein", 2))
    ahead = {(method, name) for (method, name, _), gap in behind.items() if gap.mean() > 0}
    both = [(method, name) for method in networks.OF_ALL_WEIGHTS for name in ("concrete", "power")]
    assert ahead == {*both, ("bnn-laplace", "wine")}
    by = {
        (method, name): " and ".join(
            f"{gap.mean():.3f} ± {gap.sem():.3f}"
            for gap in (behind[method, name, depth] for depth in (2, 3))
        )
        for method, name in ahead
    }
    mean = values.loc[("concrete", "bnn-laplace")].mean()
    said = f"On concrete the test log density of `bnn-laplace`, {mean:.3f}, is above those of the"
    assert said in WORDS
    laplace, ensembles = (
        {name: by[m, name] for m, name in by if m == of} for of in networks.OF_ALL_WEIGHTS
    )
    said = f"by {laplace['concrete']}, which is not significant, on power by {laplace['power']}"
    assert f"{said}, on wine by {laplace['wine']}; on boston" in WORDS
    said = f"and above them on concrete, by {ensembles['concrete']}, and on power, by"
    assert f"{said} {ensembles['power']}, which is not significant." in WORDS
    p = [
        p_of_shared_rows(gap)
        for (method, name, _), gap in behind.items()
        if (method, name) in ahead
    ]
    assert min(p) > 0.05


@pytest.mark.parametrize(
    "heading, metric, count",
    [
        ("Test log density of all weights at once", "log_density", 10),
        ("Their bounds per row, of those", "elbo", 3),
    ],
)
def test_means_of_all_weights_at_once(heading, metric, count):
    summary = pd.read_csv(RESULTS / "weights" / "summary.csv")
    summary = summary.set_index(["metric", "method", "dataset"])
    (_, *datasets), *rows = rows_of(PAGE, heading)
    assert datasets == ["boston", "energy", "yacht"] and len(rows) == count
    for method, *cells in rows:
        for dataset, cell in zip(datasets, cells, strict=True):
            found = summary.loc[metric, method, dataset]
            assert cell == f"{found['mean']:.3f} ± {found.standard_error:.3f}"


def test_what_is_said_of_all_weights_at_once():
    table = pd.read_csv(RESULTS / "weights" / "differences.csv")
    table = table.query("metric == 'log_density' and dataset == 'energy'")
    for other, said in (("bnn-swag", "better than SWAG by "), ("bnn-laplace", "approximation by ")):
        pair = {"bnn-multiswag", other}
        is_pair = table["method"].isin(pair) & table["other"].isin(pair)
        (found,) = table[is_pair].itertuples()
        sign = 1 if found.method == "bnn-multiswag" else -1
        assert found.n == 20 and sign * found.difference > 2 * found.standard_error
        assert f"{said}{sign * found.difference:.3f} ± {found.standard_error:.3f}" in WORDS
    (found,) = table.query("method == 'bnn-multiswag' and other == 'bnn-sghmc'").itertuples()
    assert f"SGHMC is {found.difference:.3f} ± {found.standard_error:.3f} below it" in WORDS
    trials = pd.read_csv(RESULTS / "weights" / "records.csv").set_index(
        ["dataset", "split", "method"]
    )["log_density"]
    means = trials.groupby(["dataset", "method"]).mean().unstack()
    by_bound = ["bnn-low-rank", "bnn-radial", "bnn-flow"]
    others = means.drop(columns=by_bound).loc[["boston", "yacht"]]
    assert (means.loc[["boston", "yacht"], by_bound].max(axis=1) < others.min(axis=1)).all()
    for dataset, split, said in (
        ("yacht", 1, "have a log density of {:.2f} and {:.2f}"),
        ("boston", 9, "on boston the tenth, with {:.2f} and {:.2f}"),
    ):
        numbers = (trials[dataset, split, f"bnn-{name}"] for name in ("map", "ensemble"))
        assert said.format(*numbers) in WORDS

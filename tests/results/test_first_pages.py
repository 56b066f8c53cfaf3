"""The numbers of docs/results/README.md and of the first pages are those of the records."""

import numpy as np
import pytest

from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows
from tests.results.pages import (
    COUNTS,
    NINE_SETS,
    RESULTS,
    listed,
    of_one_draw_on_yacht,
    without_split_0,
    words_of,
)

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/README.md"
WORDS = words_of(PAGE)


def test_no_form_is_the_best_on_all_sets(figures):
    bounds = figures.gaps_to_local("elbo", "2 layers").drop(columns="wine")
    best, worst = bounds.idxmax(), bounds.idxmin()
    assert list(best.index[best == "-full"]) == ["boston", "concrete", "energy", "naval"]
    assert {"power", "protein"} <= set(worst.index[worst == "-full"])
    said = (
        "free Gaussians is the best on boston, concrete, energy and naval, and the worst on power"
    )
    assert said in WORDS


def test_what_the_first_pages_say_of_all_forms(forms):
    for depth in (2, 3):
        gaps = forms.comparisons(depth)["elbo"].astype(float)
        assert (gaps > 0.001).sum() > len(NINE_SETS) / 2
    words = words_of("README.md")
    assert "and here on most of nine (the table above)" in words
    assert "on [most of nine sets](results/README.md) the best form" in words_of("docs/guide.md")
    # Behind this table: a lead that needs divided rows.
    one = forms.candidates(2)["elbo"].loc["kin8nm"]
    gap = one.loc["dgp-global-2-unshared"] - one.loc["dgp-local-2"]
    assert p_of_shared_rows(gap) > 0.05
    # And those of an optimal last layer.
    best = {dataset: forms.candidates(2)["elbo"].loc[dataset] for dataset in NINE_SETS}
    gains = {}
    for dataset in ("boston", "concrete", "naval", "yacht"):
        means = best[dataset].mean(axis=1)
        is_optimal = means.index.str.contains("-optimal")
        is_local = means.index.str.startswith("dgp-local")
        gains[dataset] = min(
            means[is_optimal & of].max() - means[~is_optimal & of].max()
            for of in (is_local, ~is_local)
        )
    assert gains["naval"] >= 0.9 and all(0 < gains[name] < 0.9 for name in gains if name != "naval")
    assert "raises both bounds of two layers on naval by 0.9 or more" in words
    assert "raises both bounds on naval by 0.9 or more" in WORDS


def test_what_is_said_of_the_default_form(forms):
    """Sets on which the paper's form alone is ahead of the usual local layers."""
    for depth in (2, 3):
        bounds = forms.candidates(depth)["elbo"]
        ours, local = (
            bounds.xs(f"dgp-{family}-{depth}", level="name").mean(axis=1)
            for family in ("global", "local")
        )
        gaps = ours - local
        assert list(gaps.index[gaps >= forms.LEVEL]) == ["boston", "power"]
        assert (gaps <= -forms.LEVEL).sum() == 6 and len(gaps) == 9
        best = ours - forms.comparisons(depth)["elbo_local"].astype(float)
        assert list(best.index[best >= forms.LEVEL]) == ["power"]
    of_trained = "local ones with a trained last layer on"
    said = (
        f"has a better mean bound than {of_trained} boston and power, and a worse one on six sets,"
    )
    assert said in WORDS
    said = f"ahead of {of_trained} [boston and power alone](docs/results/README.md), and behind on"
    assert said in words_of("README.md")
    for page in ("README.md", "docs/results/README.md"):
        assert "Against the best local ones it is ahead on power alone." in words_of(page)


def test_where_local_ones_are_ahead_in_usual_training(figures, forms):
    """With a trained last layer, one draw and the usual rates."""
    bounds = figures.records()["elbo"]
    found = figures.comparisons().query("metric == 'elbo'").set_index(["dataset", "depth"])
    behind = {}
    for depth, name in (("2 layers", "dgp-local-2"), ("3 layers", "dgp-local-3")):
        forms_of_all = found.xs(depth, level="depth")["form"]
        behind[depth] = [
            dataset
            for dataset, form in forms_of_all.items()
            if (bounds[dataset, form] < bounds[dataset, name]).dropna().all()
        ]
    assert behind == {"2 layers": ["naval"], "3 layers": ["energy", "naval"]}
    p = found.xs("3 layers", level="depth")["p"]
    assert forms.holm(p)[["energy", "naval"]].max() < 0.05
    said = "on every split: on naval with two layers, and on energy and naval with three (these two"
    assert f"{said} also when corrected for nine sets)." in WORDS
    assert found.loc[("naval", "2 layers"), "p"] < 0.05
    said = "With a trained last layer and the usual settings alone, local ones are significantly"
    said += " ahead on naval with two and three layers, and on energy with three."
    assert said in words_of("README.md")
    two, three = (forms.comparisons(depth).loc["naval"] for depth in (2, 3))
    best = max(three["elbo_local"], three["elbo_global"])
    assert min(two["elbo_local"], two["elbo_global"]) > best + 0.9
    assert "The best two layers have far better bounds than both." in WORDS


def test_the_number_of_methods():
    assert f"all {len(METHODS)} methods are run" in words_of("docs/benchmark.md")


def test_in_short(forms):
    gaps = {depth: forms.comparisons(depth)["elbo"].astype(float) for depth in (2, 3)}
    behind = {depth: list(gaps[depth].index[gaps[depth] < -forms.LEVEL]) for depth in gaps}
    assert behind == {2: [], 3: []} and "or level to 0.001, on every set. With" in words_of(
        "docs/results/local-and-global.md"
    )
    one = of_one_draw_on_yacht(forms)["elbo"].mean(axis=1)
    one = one["dgp-local-3-optimal"] - one["dgp-global-3-full-optimal"]
    said = (
        f"global ones are ahead, by {gaps[3]['yacht']:.3f}, and with one local ones, by {one:.3f}."
    )
    assert said in words_of("docs/results/local-and-global.md")
    before = {}  # without points of a layer's own
    for depth in (2, 3):
        trials = forms.candidates(depth)
        trials = trials[~trials.index.get_level_values("name").str.contains("-own")]
        local, best = (
            forms.best_of(trials, "protein", f"dgp-{one}") for one in ("local", "global")
        )
        before[depth] = trials["elbo"].loc["protein", best] - trials["elbo"].loc["protein", local]
        assert "-own" in forms.comparisons(depth)["global"]["protein"]
        assert forms.comparisons(depth)["elbo_p"]["protein"] > 0.05
        assert p_of_shared_rows(before[depth]) > 0.05
    ahead = "by {:.3f} with two layers and by {:.3f} with three; if none are, local ones are, by"
    ahead = ahead.format(gaps[2]["protein"], gaps[3]["protein"])
    behind = [-before[depth].mean() for depth in (2, 3)]
    said = "{} {:.3f} and {:.3f}. None of these is significant.".format(ahead, *behind)
    assert f"global ones are ahead, {said}" in words_of("docs/results/local-and-global.md")
    numbers = {}
    for depth in (2, 3):
        names = forms.candidates(depth).index.to_frame(index=False)
        of = names["name"].str.startswith("dgp-local").groupby(names["dataset"])
        local, all_of_them = of.sum(), of.size()
        assert min(all_of_them - local) >= (2 if depth == 2 else 1)
        numbers[depth] = COUNTS[((local == 1) & (all_of_them - local > 1)).sum()]
    said = f"on {numbers[2]} sets with two layers, and on {numbers[3]} with three, local ones have"
    assert said in words_of("docs/results/local-and-global.md")
    assert "divided" in forms.comparisons(2)["global"]["kin8nm"]


def test_what_is_said_of_predictions_in_short(forms, networks):
    words = words_of("docs/results/local-and-global.md")
    told, corrected = {}, {}
    for depth in (2, 3):
        found = forms.comparisons(depth)
        p = found["log_density_p"].astype(float)
        signs = np.sign(found["log_density"].astype(float))
        told[depth] = {name: signs[name] for name in p.index if p[name] < 0.05}
        corrected[depth] = [name for name, value in forms.holm(p).items() if value < 0.05]
    assert told == {
        2: {"kin8nm": 1, "power": 1},
        3: {"kin8nm": 1, "power": 1, "protein": 1},
    }
    assert corrected == {2: [], 3: ["kin8nm", "protein"]}
    said = "global ones is significantly better on {}; corrected, on neither. With three it is"
    assert said.format(listed(list(told[2]))) in WORDS
    said = f"better on {listed(list(told[3]))}; corrected, on {listed(corrected[3])}."
    assert said in WORDS
    gap = without_split_0(forms, 2, "kin8nm")
    assert f"is not significant ({gap.mean():.4f} ± {gap.sem():.4f}). All trials" in words
    bounds = networks.trials("elbo").loc["protein"]
    gap = bounds.loc["bnn-global-divided"] - bounds.loc["bnn-local"]
    said = f"on protein by {gap.mean():.4f} (p = {p_of_shared_rows(gap):.2f})."
    assert said in WORDS


def test_what_the_first_page_says_of_trained_last_layers(figures):
    densities = figures.comparisons().query("depth == '2 layers' and metric == 'log_density'")
    sure = densities[densities["p"] < 0.05]["difference"]
    better, worse = COUNTS[(sure > 0).sum()], COUNTS[(sure < 0).sum()]
    link = "(docs/results/nine-sets.md#two-layers-on-five-splits)"
    said = f"on [{better} sets and worse on {worse}]{link} (p below 5%, not corrected)."
    assert said in words_of("README.md")


def test_which_form_has_the_best_bound_on_first_splits(figures):
    best = {
        depth: figures.gaps_to_local("elbo", depth).idxmax() for depth in ("2 layers", "3 layers")
    }
    of = {depth: {form: list(g.index) for form, g in b.groupby(b)} for depth, b in best.items()}
    two, three = of["2 layers"], of["3 layers"]
    assert two["-full"] == ["boston", "concrete", "energy", "naval", "wine"]
    bounds = figures.first_splits("elbo", "2 layers")
    forms = bounds.loc[[f"dgp-global-2{form}" for form in figures.FORMS]]
    assert np.ptp(forms["wine"]) < 0.001
    assert list(forms.idxmin()[["power", "protein"]]) == 2 * ["dgp-global-2-full"]
    assert two["-unshared"] == ["kin8nm", "power", "protein"]
    assert three["-full"] == ["boston", "concrete", "energy", "naval", "wine"]
    assert three["-unshared"] == ["kin8nm", "power", "protein"]
    assert (
        np.ptp(figures.first_splits("elbo", "3 layers").filter(like="-3", axis=0)["wine"]) < 0.001
    )
    assert two["-whitened"] == three["-whitened"] == ["yacht"]
    gaps = figures.gaps_to_local("elbo", "2 layers")
    gains = (gaps.loc["-full"] - gaps.loc[""]).round(3)
    assert (gains > 0.001).sum() == 6
    guide = (RESULTS.parent / "guide.md").read_text("utf-8")
    for text in (guide, build_deep_gp.__doc__):
        assert "six of nine" in text
    level = gaps.max().abs().round(3) <= 0.001
    counts = [((gaps.max() > 0) & ~level).sum(), level.sum(), ((gaps.max() < 0) & ~level).sum()]
    assert counts == [4, 2, 3]


def test_the_first_page_quotes_the_results(forms):
    row = forms.comparisons(2, forms.FRESH).loc["boston"]
    bounds = forms.candidates(2, forms.FRESH)["elbo"].loc["boston"]
    cells = [
        f"{bounds.loc[name].mean():.3f} ± {bounds.loc[name].sem():.3f}"
        for name in (row["global"], row["local"])
    ]
    first_page = words_of("README.md")
    said = "layers with global inducing points have a mean bound of {} nats per row, with local"
    said = f"{said.format(cells[0])} ones {cells[1]}. Both have an *optimal* last layer,"
    assert said in first_page
    said = f"(not the default). Global ones are ahead on {row['elbo_ahead']} of"
    assert f"{said} 15 splits (p = {row['elbo_p']:.3f})." in first_page
    every = forms.candidates(2, range(20))["elbo"].loc["boston"].mean(axis=1)
    ours, local = (every[row[family]] for family in ("global", "local"))
    said = f"the means over all 20, {ours:.3f} (global) and {local:.3f} (local)."
    assert said in first_page
    command = f"--datasets boston --methods {row['local']},{row['global']} --splits 0:20"
    assert command in first_page and row["log_density_p"] > 0.05

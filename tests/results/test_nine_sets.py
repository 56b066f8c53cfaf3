"""The numbers of docs/results/nine-sets.md are those of the records."""

import json

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.benchmark.report.published import read as read_published
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows
from tests.results.pages import NINE_SETS, OF_STANDARD, rows_of, words_of

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/nine-sets.md"
WORDS = words_of(PAGE)


def test_means_at_best_rates():
    summary = pd.read_csv(OF_STANDARD / "summary.csv").set_index(["metric", "method", "dataset"])
    dataset = "yacht"
    _, *rows = rows_of(PAGE, "From the report, means over splits 0 to 4")
    methods = {method for _, method, found in summary.index if found == dataset}
    assert {method for method, *_ in rows} == methods and len(rows) == 25
    for method, *cells in rows:
        for metric, cell in zip(("elbo", "log_density", "crps"), cells, strict=True):
            if not cell:
                assert method == "bnn-ensemble" and metric == "elbo"
                continue
            found = summary.loc[metric, method, dataset]
            assert cell == f"{found['mean']:.3f} ± {found.standard_error:.3f}"
            assert found.n == 5


def test_what_is_said_of_five_splits(figures):
    trials = figures.records()
    bounds, densities = (trials[metric].unstack("split")[range(5)] for metric in figures.METRICS)
    gaps, predicted = {}, {}
    for name in figures.several_splits("elbo", "2 layers").index:
        best = figures.form_of(trials, name, "2 layers")
        gaps[name] = bounds.loc[name, best] - bounds.loc[name, "dgp-local-2"]
        predicted[name] = densities.loc[name, best] - densities.loc[name, "dgp-local-2"]
    first, *others = bounds.loc["energy", "dgp-local-2"]
    sparse = bounds.loc["energy", "svgp"][1:]
    table = pd.read_csv(OF_STANDARD / "records.csv").query("split == 0 and dataset == 'energy'")
    rates = table.query("method == 'dgp-local-2'").set_index("learning_rate")["elbo"]
    assert rates.idxmax() == 0.06 and rates.max() == first
    reached = f"they reach {first:.3f} ({rates[0.03]:.3f} and {rates[0.015]:.3f} at the two other"
    assert reached in WORDS
    sentence = "they end at {:.3f} to {:.3f}, near the sparse GP ({:.3f} to {:.3f})"
    assert sentence.format(min(others), max(others), sparse.min(), sparse.max()) in WORDS
    ahead = gaps["energy"][1:]
    assert f"is above them by {ahead.min():.3f} to {ahead.max():.3f}." in WORDS
    assert gaps["energy"][0] < 0 < ahead.min()  # in the page on deep GPs too
    assert [n for n, gap in gaps.items() if gap.min() > 0] == ["boston", "power", "yacht"]
    assert max(gaps["naval"].max(), predicted["naval"].max()) < 0
    assert (gaps["kin8nm"] > 0).sum() == 4
    assert all(abs(gaps[name].mean()) < 0.001 for name in ("concrete", "wine"))
    assert predicted["concrete"].max() < 0
    p_values = {name: p_of_shared_rows(gap) for name, gap in gaps.items()}
    assert min(p_values.values()) > 0.05 / len(gaps)
    # On the first page and in the guide:
    assert [n for n, p in p_values.items() if p < 0.05] == ["boston", "naval", "power"]
    assert list(gaps) == NINE_SETS
    assert [n for n, gap in gaps.items() if gap.mean() < 0] == ["naval", "protein"]
    ahead = ["none", "one", "two", "three", "four", "all"][(gaps["protein"] < 0).sum()]
    assert f"On protein local inducing points have the better bound on {ahead} of five" in WORDS
    assert [n for n, gap in gaps.items() if abs(gap.mean()) < 0.001] == ["concrete", "wine"]
    told = [n for n, gap in predicted.items() if p_of_shared_rows(gap) < 0.05]
    assert told == ["kin8nm", "naval", "power", "protein"]
    p_values = {name: p_of_shared_rows(gap) for name, gap in predicted.items()}
    assert [n for n, p in p_values.items() if len(predicted) * p < 0.05] == ["naval"]
    assert [n for n in told if predicted[n].mean() < 0] == ["naval", "protein"]
    boston = bounds.loc["boston"]
    above = (boston.loc["dgp-local-2"] - boston.loc["svgp"])[1:3]
    assert "above it, by {:.3f} and {:.3f}.".format(*above) in WORDS


def test_what_is_said_of_three_layers_on_five_splits(figures, forms):
    trials = figures.records()
    bounds, densities = (trials[metric].unstack("split")[range(5)] for metric in figures.METRICS)
    sets = NINE_SETS
    assert list(figures.several_splits("elbo", "3 layers").index) == sets
    best = {name: figures.form_of(trials, name, "3 layers") for name in sets}
    gaps, predicted = (
        {name: table.loc[name, best[name]] - table.loc[name, "dgp-local-3"] for name in sets}
        for table in (bounds, densities)
    )
    always = ["boston", "concrete", "power", "yacht"]
    assert [name for name in sets if gaps[name].min() > 0] == always
    assert [name for name in sets if (gaps[name] > 0).sum() == 4] == ["kin8nm", "wine"]
    assert (gaps["protein"] < 0).sum() == 4
    means = {
        name: [bounds.loc[name, form].mean() for form in (best[name], best[name].replace("3", "2"))]
        for name in sets
    }
    assert predicted["kin8nm"].min() > 0 < predicted["power"].min()
    naval = -gaps["naval"]
    said = f"win on every split, by {naval.min():.3f} to {naval.max():.3f}, and predict better;"
    assert said in WORDS and predicted["naval"].max() < 0
    lead = forms.comparisons(3).loc["naval", "elbo"]
    assert f"turn this into a lead of {lead:.3f} over local ones at their best" in WORDS
    local = [bounds.loc["protein", f"dgp-local-{n}"].mean() for n in (2, 3)]
    risen = local[1] - local[0], means["protein"][0] - means["protein"][1]
    said = "the mean bound of local inducing points by {:.3f}, and that of the best form by {:.3f}."
    assert said.format(*risen) in WORDS
    for table in (bounds.loc["power"], densities.loc["power"]):
        for form in ("dgp-global-{}-unshared", "dgp-local-{}"):
            two, three = (table.loc[form.format(n)].mean() for n in (2, 3))
            assert abs(three - two) < 0.004
    better = [name for name, (three, two) in means.items() if three > two + 0.001]
    assert better == ["boston", "concrete", "kin8nm", "protein"]
    assert (
        abs(means["wine"][0] - means["wine"][1]) < 0.001 and means["naval"][0] < means["naval"][1]
    )
    rises = [
        [
            table.loc["kin8nm", form.format(n)].mean()
            for table in (bounds, densities)
            for n in (2, 3)
        ]
        for form in ("dgp-global-{}-unshared", "dgp-local-{}")
    ]
    assert best["kin8nm"] == "dgp-global-3-unshared"
    said = "best form from {:.3f} to {:.3f}, and its mean test log density from {:.3f} to {:.3f}"
    assert said.format(*rises[0]) in WORDS
    said = "those of local ones rise from {:.3f} to {:.3f}, and from {:.3f} to {:.3f}."
    assert said.format(*rises[1]) in WORDS
    energy, local = gaps["energy"], bounds.loc["energy", "dgp-local-3"]
    said = (
        f"win on every split,** by {-energy.max():.3f} to {-energy.min():.3f}, and predict better"
    )
    assert said in WORDS and predicted["energy"].max() < 0
    assert f"They end at {local.min():.3f} to {local.max():.3f} on all five. Two" in WORDS
    two = bounds.loc["energy", "dgp-local-2"]
    assert list(two.index[two > local.min()]) == [0]
    warmed = forms.candidates(2)["elbo"].loc["energy"]
    two = warmed.loc["dgp-local-2, long warm-up"]
    assert f"their mean is {two.mean():.3f} ({two.min():.3f} to {two.max():.3f})." in WORDS
    names = ("dgp-global-2-full", "dgp-local-2")
    means = [warmed.loc[f"{name}-optimal, long warm-up"].mean() for name in names]
    assert "the means {:.3f} with free Gaussians and {:.3f} with local".format(*means) in WORDS
    optimal = forms.candidates(2)["elbo"].mean(axis=1)
    optimal = {name: optimal[name, "dgp-global-2-full-optimal"] for name in ("boston", "concrete")}
    mean = bounds.loc["boston", best["boston"]].mean()
    assert abs(optimal["boston"] - mean) < 0.002
    assert optimal["concrete"] > bounds.loc["concrete", best["concrete"]].mean()
    three = forms.comparisons(3)["elbo_global"][["boston", "concrete"]]
    said = f"better on concrete ({optimal['concrete']:.3f}), and three are better than both"
    assert f"{said} ({three['boston']:.3f} and {three['concrete']:.3f})." in WORDS
    assert all(three[name] > optimal[name] for name in optimal)
    p = p_of_shared_rows(predicted["concrete"])
    assert predicted["concrete"].max() < 0 and f"on every split (p = {p:.3f})," in WORDS
    every = [
        [name for name in sets if len(sets) * p_of_shared_rows(table[name]) < 0.05]
        for table in (gaps, predicted)
    ]
    assert every == [["boston", "energy", "naval"], ["kin8nm", "naval"]]
    yacht = bounds.loc["yacht", "dgp-local-3"]
    assert f"to split, from {yacht.min():.3f} to {yacht.max():.3f}, and the difference is" in WORDS
    told = [
        [name for name in sets if p_of_shared_rows(table[name]) < 0.05]
        for table in (gaps, predicted)
    ]
    assert told == [
        ["boston", "concrete", "energy", "kin8nm", "naval", "power"],
        ["energy", "kin8nm", "naval", "power"],
    ]
    assert [name for name in sets if gaps[name].mean() < 0] == ["energy", "naval", "protein"]


def test_points_of_a_layers_own(variants, forms):
    table = variants.compared("-own")
    methods = {
        "concrete": ["dgp-global-2-full-own-optimal"],
        "kin8nm": ["dgp-global-2-unshared-own-divided"],
        "power": ["dgp-global-2-unshared-own"],
        "protein": [f"dgp-global-{depth}-unshared-own-divided" for depth in (2, 3)],
        "wine": ["dgp-global-2-full-own"],
        "yacht": ["dgp-global-3-full-own-optimal"],
    }
    assert list(table.index) == [(name, one) for name, ones in methods.items() for one in ones]
    few = table[table["n"] == 1]["elbo"].drop("protein")
    assert sorted(few.index.unique(0)) == ["concrete", "power", "wine", "yacht"] and max(few) < 0
    trials = {depth: forms.candidates(depth) for depth in (2, 3)}

    def gap(depth, dataset, other, metric="elbo"):
        values = trials[depth][metric].loc[dataset]
        return values.loc[f"dgp-global-{depth}-unshared-own-divided"] - values.loc[other]

    two = gap(2, "protein", "dgp-local-2")
    before = trials[2]["elbo"].loc["protein"].mean(axis=1)
    before = before["dgp-global-2-unshared-divided"] - before["dgp-local-2"]
    assert (gap(2, "protein", "dgp-global-2-unshared-divided") > 0).sum() == 4
    said = f"is then {two.mean():.4f} ± {two.sem():.4f}, positive on three of five"
    p = p_of_shared_rows(two)
    assert f"{said} (p = {p:.2f}); before it was {before:.4f}." in WORDS and (two > 0).sum() == 3
    gain = gap(3, "protein", "dgp-global-3-unshared")
    said = f"on every split, by {gain.mean():.4f} ± {gain.sem():.4f} in the mean; global minus"
    assert said in WORDS and min(gain) > 0
    names = trials[3].loc["protein"].index
    others = [name for name in names if "global" in name and "own" not in name]
    means = trials[3]["elbo"].loc["protein"].mean(axis=1)[others]
    assert means.idxmax() == "dgp-global-3-unshared"
    three, density = (gap(3, "protein", "dgp-local-3", metric) for metric in forms.METRICS)
    p = [p_of_shared_rows(one) for one in (three, density)]
    said = f"{three.mean():.4f} ± {three.sem():.4f}, positive on four of five (p = {p[0]:.2f}), and"
    said += f" in the test log density {density.mean():.4f} ± {density.sem():.4f}, positive on"
    assert f"local is {said} every split (p = {p[1]:.3f})." in WORDS
    assert (three > 0).sum() == 4 and min(density) > 0
    mean = trials[3]["log_density"].loc["protein", "dgp-global-3-unshared-own-divided"].mean()
    assert f"That test log density, {mean:.3f}, is the best there of our deep GPs of two" in WORDS
    for depth in (2, 3):
        densities = trials[depth]["log_density"].loc["protein"].mean(axis=1)
        assert max(densities.drop("dgp-global-3-unshared-own-divided", errors="ignore")) < mean
    kin8nm = gap(2, "kin8nm", "dgp-global-2-unshared-divided")
    up, down = kin8nm[kin8nm > 0], sorted(-kin8nm[kin8nm < 0])
    assert len(up) == 3
    said = f"on three of five splits, by {min(up):.3f} to {max(up):.3f}, and lower it on two, by"
    assert f"{said} {down[0]:.3f} and {down[1]:.3f}." in WORDS


def test_the_sets_of_the_first_splits(figures):
    two, three = (
        list(figures.first_splits("elbo", depth).columns) for depth in ("2 layers", "3 layers")
    )
    assert two == three == NINE_SETS
    assert f"--splits 0:1` and `--datasets {','.join(two)}`" in WORDS


def test_global_minus_local_on_first_splits(figures):
    depths = ("2 layers", "3 layers")
    gaps = {depth: figures.gaps_to_local("elbo", depth) for depth in depths}
    said = []
    for depth in depths:
        found = [f"{gap:.3f} on {name}" for name, gap in gaps[depth].max().items()]
        said.append(f"{', '.join(found[:-1])} and {found[-1]}")
    sentence = "that of local ones is {} with two layers, and {} with three."
    assert sentence.format(*said) in WORDS
    two, three = (gaps[depth].max() for depth in depths)
    level = two.abs().round(3) <= 0.001
    assert list(two.index[level]) == ["concrete", "wine"]
    assert list(two.index[~level & (two > 0)]) == ["boston", "kin8nm", "power", "yacht"]
    assert list(two.index[~level & (two < 0)]) == ["energy", "naval", "protein"]
    level = three.abs().round(3) <= 0.001
    assert list(three.index[level]) == ["wine"]
    assert list(three.index[~level & (three < 0)]) == ["energy", "naval", "protein"]
    assert (three[~level] > 0).sum() == 5
    plain = gaps["2 layers"].loc[""]
    assert list(plain.index[plain > 0]) == ["boston", "power"]
    best = gaps["2 layers"].idxmax()
    densities = figures.gaps_to_local("log_density", "2 layers")
    predicted = pd.Series({name: densities.loc[form, name] for name, form in best.items()})
    follow = np.sign(predicted) == np.sign(two)
    ahead, behind = ["boston", "kin8nm", "power"], ["energy", "naval", "protein"]
    assert list(two.index[follow & (two > 0)]) == ahead
    assert list(two.index[follow & (two < 0)]) == behind
    assert f"on concrete the best form predicts worse by {-predicted['concrete']:.3f}," in WORDS
    assert predicted[["wine", "yacht"]].abs().max() < 0.01


def test_figures_of_the_first_splits(figures):
    assert len(figures.draw_first_splits().axes) == 2
    assert len(figures.draw_published().axes) == 1


def test_what_correlated_layers_gain():
    lines = (OF_STANDARD / "partly-drawn.jsonl").read_text().splitlines()
    found = {one["set"]: one for one in map(json.loads, lines)}
    _, *rows = rows_of(PAGE, "| bound per row | local, trained on, S = 1 |")
    names = ["local, trained on", *(f"{w}, S = {S}" for S in (1, 4) for w in ("fixed", "learned"))]
    assert [name for name, *_ in rows] == list(found)
    for name, *cells in rows:
        assert cells == [f"{found[name][key]:.4f}" for key in names]
    gains = [
        one[f"learned, S = {S}"] - one[f"fixed, S = {S}"] for one in found.values() for S in (1, 4)
    ]
    prices = {
        S: [one["local, trained on"] - one[f"fixed, S = {S}"] for one in found.values()]
        for S in (1, 4)
    }
    assert f"changes the bound by {min(gains):.4f} to {max(gains):.4f} nats per row" in WORDS
    sentence = "costs {:.4f} to {:.4f} nats with one sample and at most {:.4f} with four"
    assert sentence.format(min(prices[1]), max(prices[1]), max(prices[4])) in WORDS


def test_what_is_said_of_single_sets_on_first_splits(figures):
    table = pd.read_csv(OF_STANDARD / "records.csv").query("split == 0")
    rates = table[table["dataset"] == "boston"].groupby("method")["elbo"]
    bounds, densities = (
        pd.concat([figures.first_splits(metric, depth) for depth in ("2 layers", "3 layers")])
        for metric in ("elbo", "log_density")
    )
    bounds, densities = (one[~one.index.duplicated()] for one in (bounds, densities))
    two, three = (list(rates.get_group(f"dgp-local-{n}").round(3)) for n in (2, 3))
    assert two == 3 * [-0.339] == 3 * [round(bounds.loc["svgp", "boston"], 3)]
    assert three.count(-0.339) == 2
    assert bounds["concrete"].idxmax() == densities["concrete"].idxmax() == "gp"
    for name in ("boston", "concrete", "energy"):
        deep = [method for method in bounds.index if method.startswith("dgp")]
        best = bounds.loc[deep, name].idxmax()
        gains = densities.loc[deep, name].max() == densities.loc[best, name]
        assert gains == (name != "concrete")
    worse = bounds.loc["gp"] < bounds.loc["svgp"]
    large = ["kin8nm", "naval", "power", "protein"]  # more than 2000 rows
    assert [name for name in large if worse[name]] == ["kin8nm", "power", "protein"]
    naval = table[table["dataset"] == "naval"].set_index(["method", "learning_rate"])["elbo"]
    forms = [f"dgp-global-2{form}" for form in figures.FORMS]
    assert all(naval[form].drop(0.015).max() < naval[form, 0.015] - 0.2 for form in forms)
    assert naval["gp"].max() > naval.drop("gp").max() + 1.0


def test_the_sparse_gp_of_naval_has_long_lengthscales():
    for path in (OF_STANDARD / "records").glob("*.json"):
        record = json.loads(path.read_text())
        trial = record["trial"]
        if (trial["dataset"], trial["method"], trial["split"]) == ("naval", "gp", 0):
            found = record["hyperparameters"]
            longest = round(max(found["kernel.lengthscales"]), -3)
            said = f"its longest lengthscale ends at {longest:,.0f}, with a kernel variance of "
            assert said + f"{found['kernel.variance']:.0f}." in WORDS
            return
    pytest.fail("There is no record of this trial.")


def test_first_layers_on_energy():
    lines = (OF_STANDARD / "first-layers.jsonl").read_text().splitlines()
    found = {(one["set"], one["method"]): one for one in map(json.loads, lines)}
    _, *rows = rows_of(PAGE, "The first layers of energy")
    assert len(rows) == 3
    names = ("bound", "noise", "standard_deviation", "kl")
    assert [method for method, *_ in rows] == [method for _, method in found]
    for method, *cells in rows:
        one = found["energy", method]
        assert cells[:4] == [
            f"{one[name]:.{n}f}" for name, n in zip(names, (3, 4, 4, 3), strict=True)
        ]
        is_on = one["standard_deviation"] > 0.001
        columns = [i + 1 for i, length in enumerate(one["lengthscales"]) if is_on and length < 2]
        assert cells[4] == ", ".join(map(str, columns))


def test_gaps_to_the_importance_weighted_bound():
    lines = (OF_STANDARD / "bound-gaps.jsonl").read_text().splitlines()
    found = {one["method"]: one for one in map(json.loads, lines)}
    _, *rows = rows_of(PAGE, "Both bounds per row, of trained last layers:")
    assert [method for method, *_ in rows] == list(found) and len(found) == 3
    for method, *cells in rows:
        one = found[method]
        assert cells == [
            *(f"{one[name]:.4f} ± {one[f'{name}_error']:.4f}" for name in ("bound", "iwbo")),
            f"{one['iwbo'] - one['bound']:.4f}",
            f"{one['noise']:.4f}",
        ]
    local, ours = (found[f"dgp-{name}"] for name in ("local-2", "global-2-full"))
    said = f"differ by {ours['bound'] - local['bound']:.4f}, local inducing points are ahead in the"
    said += f" importance weighted bound by {local['iwbo'] - ours['iwbo']:.3f}, and"
    assert said in WORDS and local["noise"] == min(one["noise"] for one in found.values())
    first = pd.read_csv(OF_STANDARD / "records.csv").query("split == 0 and used")
    first = first.set_index(["dataset", "method"])["log_density"]["concrete"]
    gap = first["dgp-local-2"] - first["dgp-global-2-full"]
    assert f"of this split, which is higher for them by {gap:.3f}." in WORDS


def test_comparisons_of_global_and_local_at_best_rates(figures):
    found = figures.comparisons()
    written = pd.read_csv(OF_STANDARD / "comparisons.csv")
    pd.testing.assert_frame_equal(found, written)
    found = found.set_index(["dataset", "depth", "metric"])
    said = {
        key: f"{row.difference:.3f} ± {row.standard_error:.3f}"
        for key, row in found.loc["yacht"].iterrows()
    }
    sentence = (
        "global ones minus that of local ones is {} with two layers and {} with three, which is"
    )
    assert sentence.format(said["2 layers", "elbo"], said["3 layers", "elbo"]) in WORDS
    sentence = "global minus local is {} with two layers and {} with three."
    numbers = said["2 layers", "log_density"], said["3 layers", "log_density"]
    assert sentence.format(*numbers) in WORDS
    for depth, name in (("2 layers", "dgp-{}-2{}"), ("3 layers", "dgp-{}-3{}")):
        row = found.loc["yacht", depth]
        assert set(row["form"]) == {name.format("global", "-whitened")}
        assert row.loc["elbo"].difference > 0
        assert row.loc["log_density"].p > 0.05
        assert row.loc["elbo"].p > 0.05
        means = figures.records()["elbo"].groupby(["dataset", "method"]).mean()["yacht"]
        for form in ("", "-unshared"):
            assert means[name.format("global", form)] < means[name.format("local", "")]
    bounds = figures.records()["elbo"]["yacht"].unstack("split")
    gaps = [bounds.loc[f"dgp-global-{n}-full"] - bounds.loc[f"dgp-local-{n}"] for n in (2, 3)]
    said_gaps = [f"{gap.mean():.3f} ± {gap.sem():.3f}" for gap in gaps]
    assert "are above local ones by {} and {}, which is not".format(*said_gaps) in WORDS
    assert all(p_of_shared_rows(gap) > 0.05 for gap in gaps)


def test_the_published_numbers_beside_those_at_best_rates():
    published = read_published().query("dataset == 'yacht'")
    by = published.set_index(["metric", "method"])["mean"].astype(float)
    assert by["elbo", "DWP_5"] == 1.63 and by["elbo", "DGP_GI_5"] == 1.30
    assert "1.63 for deep Wishart processes and 1.30 for deep GPs with global" in WORDS
    best = by["log_density"].nlargest(2)
    assert [f"{value:.2f}" for value in best] == ["-0.04", "-0.21"]
    assert list(best.index) == ["VIP", "SIP_BNN"]
    assert "the highest published log densities -0.04 (VIP) and -0.21 (SIP_BNN)" in WORDS


def test_the_price_of_drawn_inducing_inputs():
    lines = (OF_STANDARD / "drawn-inputs.jsonl").read_text().splitlines()
    found = {record.pop("set"): record for record in map(json.loads, lines)}
    _, *rows = rows_of(PAGE, "goes on training both")
    prices = {}
    for name, *cells in rows:
        record = found[name]
        assert cells == [f"{value:.3f}" for value in record.values()]
        after = record["local, trained on"] - record["drawn, trained on"]
        prices[name] = (record["local"] - record["drawn"], after)
        assert min(prices[name]) > 0
    at_first, left = (f"{x:.3f}" for x in prices["concrete"])
    assert f"costs {at_first} nats per row at first, and training regains all but {left};" in WORDS
    sentence = "on wine {:.3f} and {:.3f}; on energy {:.3f} and {:.3f}."
    assert sentence.format(*prices["wine"], *prices["energy"]) in WORDS

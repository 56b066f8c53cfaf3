"""The numbers of docs/results/twenty-splits.md are those of the records."""

import numpy as np
import pandas as pd
import pytest

from gpflow_gi import datasets
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.report.statistics import p_of_shared_rows
from tests.results.pages import NINE_SETS, OF_STANDARD, RESULTS, listed, words_of

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/twenty-splits.md"
WORDS = words_of(PAGE)


def test_the_sets_with_twenty_splits(twenty):
    methods = twenty.complete()
    assert list(methods) == [name for name in NINE_SETS if name != "protein"]
    assert set(methods["yacht"]) == set(twenty.LIST) - {"dgp-local-5-zero"}
    assert set(twenty.LIST) <= set(METHODS)
    for name, found in methods.items():
        assert f"--datasets {name} --methods {','.join(found)} --splits 0:20" in WORDS
        fresh = twenty.trials().loc[name].loc[found].query("split >= 5")
        assert fresh.index.get_level_values("split").nunique() == len(twenty.FRESH) == 15
        missing = set(twenty.LIST) - set(found) - {"dgp-local-5-zero"}
        assert (
            missing
            == {
                "boston": {
                    *("dgp-local-2", "dgp-local-3", "dgp-global-5-zero"),
                    *("bnn-laplace", "bnn-ensemble"),
                },
                "concrete": {"dgp-local-2", "dgp-local-3", "dgp-global-5-zero", "bnn-ensemble"},
                "energy": {"dgp-local-2", "dgp-local-3", "bnn-ensemble"},
                "kin8nm": {"dgp-local-2", "dgp-local-3", "bnn-ensemble"},
                "naval": {"dgp-local-3", "dgp-global-5-zero", "bnn-laplace", "bnn-ensemble"},
                "power": {"bnn-ensemble"},
                "wine": {"dgp-local-3", "dgp-global-5-zero", "bnn-ensemble"},
                "yacht": set(),
            }[name]
        )
    sets = listed(list(methods))
    assert f"{sets[0].upper()}{sets[1:]} have all of them" in WORDS
    assert datasets.num_splits("protein") == 5 and "protein has five published splits" in WORDS
    numbers = sorted(map(len, methods.values()))
    assert numbers == [9, 10, 10, 11, 11, 11, 13, 14] and "Nine to fourteen methods" in words_of(
        "docs/results/README.md"
    )
    records = pd.read_csv(RESULTS / "twenty" / "records.csv")
    is_other = ~records["method"].isin(twenty.LIST) & ~records["method"].str.contains("-5-")
    others = records[is_other].query("dataset == 'wine'")
    assert set(others["method"]) == {"dgp-global-2-full"}
    assert sorted(others["split"].unique()) == list(range(5, 9))
    assert "Free Gaussians were run on splits 5 to 8 of wine, too" in words_of(
        "docs/results/local-and-global.md"
    )
    assert set(records["dataset"]) == set(methods)


def test_what_is_said_of_twenty_splits_of_concrete(twenty):
    found = twenty.trials().loc["concrete"].loc[twenty.complete()["concrete"]]
    means = found.groupby("method")[list(twenty.METRICS)].mean()
    density = means["log_density"].sort_values(ascending=False)
    assert list(density.index[:5]) == [
        *("bnn-laplace", "gp", "dgp-global-3", "dgp-global-2", "svgp"),
    ]
    assert means["elbo"].idxmax() == "gp" and means["crps"].idxmin() == "bnn-laplace"
    said = (
        f"a mean test log density of {density['gp']:.3f}, `bnn-laplace` "
        f"{density['bnn-laplace']:.3f} and the lowest CRPS, {means['crps']['bnn-laplace']:.3f} and "
        f"{means['crps']['gp']:.3f}. Deep GPs with global inducing points are next, at "
        f"{density['dgp-global-3']:.3f} (three layers) and {density['dgp-global-2']:.3f}, and "
        f"above `svgp` ({density['svgp']:.3f})"
    )
    assert said in WORDS
    for metric, ahead in (("elbo", 15), ("log_density", 13)):
        values = found[metric].unstack("split")[list(twenty.FRESH)]
        for depth in (2, 3):
            gap = values.loc[f"dgp-global-{depth}"] - values.loc["svgp"]
            assert (gap > 0).sum() == ahead and p_of_shared_rows(gap) < 0.015
    assert "in the test log density on 13 of 15 (p = 0.01)." in WORDS


def test_what_is_said_of_twenty_splits_of_power_and_energy(twenty):
    found = twenty.comparisons().set_index(["dataset", "method", "other", "metric"])
    deep = found.loc["power"].loc[[f"dgp-global-{depth}" for depth in (2, 3)]]
    assert (deep["gap"] > 0).all() and list(deep["ahead"]) == [15, 14, 15, 15]
    p = deep["p"]
    assert f"(p = {p.iloc[1]:.4f} for the density of two layers, below 0.001 for" in WORDS
    assert (p.drop(p.index[1]) < 0.001).all()
    methods = twenty.complete()
    power, energy = (
        twenty.trials().loc[name].loc[methods[name]].groupby("method")[["elbo", "log_density"]]
        for name in ("power", "energy")
    )
    power, energy = power.mean(), energy.mean()
    ordered = power["log_density"].sort_values(ascending=False).index
    assert set(ordered[1:4]) == {"dgp-global-2", "dgp-global-3", "dgp-global-5-zero"}
    assert ordered[0] == power["elbo"].idxmin() == "bnn-laplace"
    fresh = twenty.trials().loc["power"].loc[methods["power"]].query("split >= 5")
    crps = twenty.trials().loc["power"].loc[methods["power"]]["crps"].unstack("split")
    assert (crps.idxmin() == "bnn-laplace").all() and crps.shape == (13, 20)
    density = fresh["log_density"].unstack("split")
    gap = density.loc["bnn-laplace"] - density.loc["dgp-global-3"]
    said = f"predicts best of the thirteen, {power['log_density'].max():.3f}: its test log density"
    said += " is above that of three layers of global ones by"
    said += f" {gap.mean():.4f} ± {gap.sem():.4f}, on {(gap > 0).sum()} of 15 fresh splits"
    assert f"{said} (p = {p_of_shared_rows(gap):.3f})" in WORDS
    other = density.loc["bnn-laplace"] - density.loc["dgp-global-2"]
    assert max(map(p_of_shared_rows, (gap, other))) < 0.05 and other.mean() > 0
    of_five = pd.read_csv(OF_STANDARD / "records.csv").query("used and dataset == 'power'")
    of_five = of_five.query("split < 5").pivot(
        index="method", columns="split", values="log_density"
    )
    ensembles = of_five.loc["bnn-ensemble"] - of_five.loc["bnn-laplace"]
    assert p_of_shared_rows(ensembles) > 0.05 and ensembles.mean() > 0
    said = "of power that of `bnn-laplace` is significantly above those of the default form of"
    assert f"{said} global inducing points." in words_of("docs/results/networks.md")
    local = power["log_density"][["dgp-local-2", "dgp-local-3"]]
    assert (local - power["log_density"]["svgp"]).abs().max() < 0.002
    above = energy.loc[["dgp-global-2", "dgp-global-3"]] - energy.loc["svgp"]
    two, three = above["elbo"]
    said = f"are above that of `svgp` by {two:.3f} and {three:.3f}, and their test log densities"
    assert f"{said} are level with it, to 0.002." in WORDS
    assert above["log_density"].abs().max() < 0.002
    best = energy["log_density"]
    assert best.idxmax() == "bnn-laplace"
    said = (
        f"has the best mean of the eleven, {best.max():.3f}, not significantly above that of `gp`."
    )
    assert said in WORDS
    splits = twenty.trials().loc["energy"]["log_density"].unstack("split")
    assert p_of_shared_rows(splits.loc["bnn-laplace"] - splits.loc["gp"]) > 0.05
    assert best.drop("bnn-laplace").idxmax() == "gp"
    table = pd.read_csv(OF_STANDARD / "records.csv").query("used and dataset == 'energy'")
    five = table[table["split"] < 5].groupby("method")[["elbo", "log_density"]].mean()
    assert (five.loc["dgp-local-3"] > five.loc["dgp-global-3"]).all()


def test_what_is_said_of_twenty_splits_of_kin8nm(twenty, forms):
    found = twenty.trials().loc["kin8nm"].loc[twenty.complete()["kin8nm"]]
    means = found.groupby("method")[["elbo", "log_density"]].mean()
    assert (means.idxmax() == "dgp-global-3").all()
    two, three, five = (means.loc[f"dgp-global-{end}"] for end in ("2", "3", "5-zero"))
    said = f"{three['elbo']:.3f} and {three['log_density']:.3f}. They are above two layers of them"
    fresh = {metric: found[metric].unstack("split")[list(twenty.FRESH)] for metric in means}
    gaps = [values.loc["dgp-global-3"] - values.loc["dgp-global-2"] for values in fresh.values()]
    assert all((gap > 0).all() and p_of_shared_rows(gap) < 0.001 for gap in gaps)
    gains = [f"{gap.mean():.3f} ± {gap.sem():.3f}" for gap in gaps]
    said += f" by {gains[0]} and {gains[1]}, in both on every fresh split (p < 0.001)."
    said += f" Five of mean zero have a worse bound than two ({five['elbo']:.3f} and"
    said += f" {two['elbo']:.3f}) and a better test log density ({five['log_density']:.3f} and"
    assert f"{said} {two['log_density']:.3f})." in WORDS
    assert five["elbo"] < two["elbo"] and five["log_density"] > two["log_density"]
    bounds = pd.read_csv(OF_STANDARD / "records.csv").query("used and dataset == 'kin8nm'")
    bounds = bounds[bounds["split"] < 5].groupby("method")["elbo"].mean()
    lead = forms.comparisons(2)["elbo"]["kin8nm"], forms.comparisons(3)["elbo"]["kin8nm"]
    for depth in (2, 3):
        assert bounds[f"dgp-local-{depth}"] > bounds[f"dgp-global-{depth}"]
    assert min(lead) > 0
    networks = means[means.index.str.startswith("bnn")]
    others = means.loc[["svgp", "gp", "linear"]]
    assert networks["log_density"].min() > others["log_density"].max()
    assert networks["log_density"].max() < two["log_density"]


def test_what_is_said_of_twenty_splits_of_naval(twenty, forms):
    of_set = twenty.trials().loc["naval"].loc[twenty.complete()["naval"]]
    means = of_set.groupby("method")[["elbo", "log_density"]].mean()
    assert len(means) == 10 and "Of the ten methods on naval `gp`" in WORDS
    bound, density = means.loc["gp"]
    said = f"in the bound ({bound:.3f}) and in the test log density ({density:.3f})."
    assert (means.idxmax() == "gp").all() and f"is far ahead,** {said}" in WORDS
    others = means.drop("gp")
    assert (others.idxmax() == "dgp-local-2").all()
    said = f"second in both, {others['elbo'].max():.3f} and {others['log_density'].max():.3f}."
    assert said in WORDS

    leads = twenty.comparisons().query("dataset == 'naval' and other == 'dgp-local-2'")
    assert list(leads["metric"]) == ["elbo", "log_density"] and leads["p"].max() < 0.001
    said = " and ".join(f"{-row.gap:.3f} ± {row.error:.3f}" for row in leads.itertuples())
    (behind,) = set(len(twenty.FRESH) - leads["ahead"])
    assert f"default form by {said}, on {behind} of 15 fresh splits in both (p < 0.001)" in WORDS

    names = ["dgp-global-2", "dgp-global-3"]
    ahead = []
    for metric in means:
        values = of_set[metric].unstack("split")[list(twenty.FRESH)]
        gaps = values.loc[names] - values.loc["svgp"]
        assert min(p_of_shared_rows(gap) for _, gap in gaps.iterrows()) > 0.05
        ahead.append(list((gaps > 0).sum(axis=1)))
    (two, three), densities = means.loc[names, "elbo"], means.loc[names, "log_density"]
    said = f"bounds of {two:.3f} (two layers) and {three:.3f} (three), above that of `svgp` on"
    said += f" {ahead[0][0]} and {ahead[0][1]} of 15, and test log densities of"
    said += f" {densities.iloc[0]:.3f} and {densities.iloc[1]:.3f}, below its"
    said += f" {means.loc['svgp', 'log_density']:.3f}; none of these differences is significant."
    assert said in WORDS and densities.max() < means.loc["svgp", "log_density"]

    first = pd.read_csv(OF_STANDARD / "records.csv").query("used and dataset == 'naval'")
    first = first.query("split < 5").groupby("method")["elbo"].mean()
    gap = first["dgp-local-3"] - first["dgp-global-3"]
    said = f"their bound is better than that of global ones in the default form by {gap:.3f}."
    assert f"Local deep GPs of three layers are not among the ten: on splits 0 to 4 {said}" in WORDS
    bounds = forms.comparisons(2).loc["naval", ["elbo_local", "elbo_global"]].astype(float)
    assert list(bounds.round(1)) == [4.9, 4.9] and bounds.iloc[1] > bounds.iloc[0]


def test_two_layers_of_the_default_form_on_fresh_splits(twenty):
    found = twenty.comparisons().query("other == 'dgp-local-2' and metric == 'elbo'")
    ahead = found.set_index("dataset")["ahead"]
    assert dict(ahead) == {"naval": 1, "power": 15, "wine": 0, "yacht": 1}
    said = "a better bound than local ones on power, on each, and a worse one on wine, on each, and"
    assert f"{said} on naval and yacht, on fourteen." in words_of("docs/results/README.md")


def test_what_is_said_of_twenty_splits_of_wine(twenty, forms):
    of_set = twenty.trials().loc["wine"].loc[twenty.complete()["wine"]]
    means = of_set.groupby("method")[["elbo", "log_density"]].mean()
    gp = means.loc["gp"]
    assert (means.idxmax() == "gp").all()
    said = f"in the bound ({gp['elbo']:.3f}) and in the test log density ({gp['log_density']:.3f})"
    assert f"**On wine GP regression is far ahead,** {said}: it learns" in WORDS
    rest = means.loc[["svgp", "dgp-local-2", "dgp-global-2", "dgp-global-3"]]
    low, high = sorted(rest["log_density"].agg(["min", "max"]))
    said = f"The other GPs have test log densities of {high:.3f} to {low:.3f}. `dgp-local-2` has"
    assert rest["elbo"].idxmax() == "dgp-local-2"
    bounds = of_set["elbo"].unstack("split")[list(twenty.FRESH)]
    one, other = (bounds.loc["dgp-local-2"] - bounds.loc[n] for n in ("svgp", "dgp-global-2"))
    said += f" the best bound of them, above `svgp` by {one.mean():.4f} (p ="
    said += f" {p_of_shared_rows(one):.3f}) and above `dgp-global-2` by {other.mean():.4f}, on each"
    assert f"{said} fresh split (p = {p_of_shared_rows(other):.3f}); with an" in WORDS
    assert (other > 0).all()
    lead = forms.comparisons(2).loc["wine"]
    assert "optimal" in lead["local"] and "optimal" in lead["global"]
    assert f"ahead of local ones on splits 0 to 4, by {lead['elbo']:.4f}." in WORDS


def test_what_is_said_of_twenty_splits_of_boston(twenty):
    means = twenty.trials().loc["boston"].loc[twenty.complete()["boston"]]
    means = means.groupby("method")[["elbo", "log_density"]].mean()
    for metric in means:
        order = means[metric].sort_values(ascending=False)
        assert list(order.index[:4]) == ["dgp-global-3", "dgp-global-2", "gp", "svgp"]
    said = "three layers have {:.3f}, two {:.3f}, `gp` {:.3f} and `svgp` {:.3f}."
    assert said.format(*order[:4]) in WORDS


def test_networks_on_fresh_splits(twenty):
    found = twenty.comparisons().set_index(["metric", "method", "other", "dataset"])
    bounds, densities = (found.loc[metric] for metric in ("elbo", "log_density"))
    networks = bounds[bounds.index.get_level_values(0).str.startswith("bnn")]
    ahead = networks["ahead"]
    elsewhere = ahead.drop("naval", level="dataset")
    assert elsewhere.loc["bnn-global", "bnn-factorised"]["kin8nm"] == 0 and len(elsewhere) == 21
    assert (elsewhere == 15).sum() == 20
    naval = networks.xs("naval", level="dataset")
    over_local, over_weights, over_global = naval["ahead"]
    assert over_local == over_global == 0
    said = f"on {15 - over_weights} of 15 of naval (p = {naval['p'].iloc[1]:.3f})."
    assert said in WORDS
    signs = {
        "bnn-local": {
            **{"boston": 1, "concrete": 1, "energy": 1, "kin8nm": 1},
            **{"naval": -1, "power": -1, "wine": 1, "yacht": 1},
        },
        "bnn-factorised": {
            **{"boston": 0, "concrete": -1, "energy": 0, "kin8nm": 1},
            **{"naval": -1, "power": -1, "wine": 1, "yacht": 1},
        },
    }
    for other, expected in signs.items():
        rows = densities.loc["bnn-global", other]
        told = np.sign(rows["gap"]).where(rows["p"] < 0.05, 0)
        assert told.astype(int).to_dict() == expected
    for both, words in {
        (1, 1): "ahead of both local ones and factorised weights on",
        (-1, -1): "behind both on",
        (1, 0): "ahead of local ones, and level with factorised weights, on",
        (1, -1): "ahead of local ones, and behind factorised weights, on",
    }.items():
        sets = [n for n in signs["bnn-local"] if (*(of[n] for of in signs.values()),) == both]
        assert f"{words} {listed(sets)}" in WORDS


def test_what_is_said_of_twenty_splits_of_yacht(twenty):
    of_set = twenty.trials().loc["yacht"]
    found = twenty.comparisons().query("dataset == 'yacht'").set_index(["method", "metric"])
    two, three = (found.loc[f"dgp-global-{depth}", "elbo"].iloc[0] for depth in (2, 3))
    assert two["p"] < 0.05 < three["p"] and two["gap"] < 0
    assert f"`dgp-local-2` on {15 - two['ahead']} of 15 splits. With three layers" in WORDS
    sd = of_set["elbo"].groupby("method").std().map("{:.3f}".format)
    local, ours = ([sd[f"dgp-{kind}-{depth}"] for depth in (2, 3)] for kind in ("local", "global"))
    said = (
        f"are {local[0]} and {local[1]} (two and three layers), those of global ones {ours[0]} and"
    )
    assert f"{said} {ours[1]}." in WORDS
    densities = of_set["log_density"].unstack("split")
    ensemble = densities.loc["bnn-ensemble"]
    first, all_of_them = f"{ensemble[range(5)].mean():.3f}", f"{ensemble.mean():.3f}"
    said = f"{first} in the mean test log density over splits 0 to 4, and {all_of_them} over all"
    assert f"{said} twenty. It is below -1 on {(ensemble < -1).sum()} of the 20." in WORDS
    assert f"the ensembles' mean is {all_of_them}, in place of {first} over five;" in words_of(
        "docs/results/networks.md"
    )
    means = densities.mean(axis=1).sort_values(ascending=False)
    four = ["bnn-factorised", "bnn-local", "bnn-global", "bnn-factorised-global"]
    assert (means["bnn-ensemble"] > means[four]).all()
    ranks = densities.rank(ascending=False).mean(axis=1).sort_values()
    assert list(ranks.index[:3]) == ["dgp-local-2", "dgp-global-3", "gp"]
    assert list(means.index[:3]) == ["dgp-global-3", "dgp-local-2", "gp"]
    crps = of_set["crps"].groupby("method").mean()[list(ranks.index[:3])]
    assert f"Their CRPS are {listed(f'{value:.3f}' for value in crps)}." in WORDS
    ahead = {
        other: [
            int((of_set[metric]["bnn-global"] > of_set[metric][other]).sum())
            for metric in ("elbo", "log_density")
        ]
        for other in ("bnn-local", "bnn-factorised")
    }
    assert ahead["bnn-local"] == [20, 20]
    said = "ahead of factorised weights on {} and on {}.".format(*ahead["bnn-factorised"])
    assert f"on all twenty splits, in the bound and in the test log density, and {said}" in WORDS

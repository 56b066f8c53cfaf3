"""The numbers of docs/results/local-and-global.md are those of the records."""

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.benchmark.report.statistics import p_of_shared_rows
from tests.results.pages import (
    COUNTS,
    NINE_SETS,
    OF_STANDARD,
    RESULTS,
    listed,
    of_one_draw_on_yacht,
    script,
    without_split_0,
    words_of,
)

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/local-and-global.md"
WORDS = words_of(PAGE)


def test_all_forms_with_three_layers(forms):
    found = forms.comparisons(3)
    gaps, p = found["elbo"].astype(float), found["elbo_p"].astype(float)
    assert list(gaps.index) == NINE_SETS and min(gaps) > 0
    assert list(p.index[p > 0.05]) == ["concrete", "energy", "protein", "wine", "yacht"]
    on_all = listed(found.index[found["elbo_ahead"] == len(forms.SPLITS)])
    assert f"On {on_all} global ones are ahead on every split." in WORDS
    corrected = forms.holm(p)
    told = sorted(corrected.index[corrected < 0.05])
    assert told == ["naval"]
    assert min(gaps) > forms.LEVEL
    said = "better on all nine sets. The differences on"
    said += f" concrete (p = {p['concrete']:.2f}), energy, protein, wine and yacht are not"
    assert f"{said} significant. On" in WORDS
    assert "number of sets (Holm), the difference on naval is significant." in WORDS


def test_what_is_said_of_all_forms(forms, figures):
    found = forms.comparisons(2)
    gaps = {metric: found[metric].astype(float) for metric in ("elbo", "log_density")}
    better = {
        "elbo": [name for name in NINE_SETS if name != "concrete"],
        "log_density": ["boston", "energy", "kin8nm", "power"],
    }
    for metric, level in (("elbo", 0.001), ("log_density", 0.01)):
        assert list(found.index[gaps[metric] > level]) == better[metric]
    lower = gaps["log_density"] < -0.01
    assert min(gaps["elbo"]) > -0.001 and list(found.index[lower]) == ["yacht"]
    assert list(found.index) == NINE_SETS
    means = forms.candidates(2)["log_density"].loc["yacht"].mean(axis=1)
    names = ("dgp-local-2", "dgp-global-2-whitened")
    local, whitened = ((means[name], means[f"{name}-optimal"]) for name in names)
    said = "from {:.3f} to {:.3f} (local), and from {:.3f} to {:.3f} (whitened)."
    assert said.format(*local, *whitened) in WORDS
    rates = pd.read_csv(OF_STANDARD / "records.csv").query("split == 0 and method == 'dgp-local-2'")
    at_most = rates[rates["used"] & (rates["learning_rate"] == rates["learning_rate"].max())]
    assert sorted(at_most["dataset"]) == ["boston", "energy", "kin8nm", "power", "yacht"]
    p = {metric: found[f"{metric}_p"].astype(float) for metric in gaps}
    told, corrected = (
        {metric: sorted(values.index[values < 0.05]) for metric, values in each.items()}
        for each in (p, {metric: forms.holm(values) for metric, values in p.items()})
    )
    assert told == {
        "elbo": ["boston", "kin8nm", "naval", "power"],
        "log_density": ["kin8nm", "power"],
    }
    assert corrected == {"elbo": [], "log_density": []}
    warmed = pd.read_csv(RESULTS / "warm-up" / "records.csv")
    warmed = warmed.query("dataset == 'yacht' and method == 'dgp-local-2'")["elbo"]
    short = figures.records()["elbo"]["yacht", "dgp-local-2", 0]
    assert len(warmed) == 3 and f"({warmed.max():.3f} in place of {short:.3f})" in WORDS


FRESH_SETS = ["boston", "energy", "power", "wine", "yacht"]
"""Sets whose best forms of two layers have been run on fifteen further splits."""


FRESH_SETS_OF_THREE = ["boston", "concrete", "energy", "wine"]
"""Those whose best forms of three layers have been."""


@pytest.mark.parametrize(("depth", "sets"), [(2, FRESH_SETS), (3, FRESH_SETS_OF_THREE)])
def test_the_table_of_fresh_splits(forms, depth, sets):
    found, first = forms.comparisons(depth, forms.FRESH), forms.comparisons(depth)
    assert list(found.index) == sets
    assert set(forms.SPLITS).isdisjoint(forms.FRESH)
    trials = forms.candidates(depth, forms.FRESH)
    for dataset, row in found.iterrows():
        assert list(row[["local", "global"]]) == list(first.loc[dataset, ["local", "global"]])
        values = trials.loc[dataset]
        for metric in forms.METRICS:
            gap = values.loc[row["global"], metric] - values.loc[row["local"], metric]
            assert (gap > 0).sum() == row[f"{metric}_ahead"] and len(gap) == 15
            assert p_of_shared_rows(gap) == row[f"{metric}_p"]


def test_what_is_said_of_fresh_splits_of_three_layers(forms):
    found, first = forms.comparisons(3, forms.FRESH), forms.comparisons(3)
    row, trials = found.loc["energy"], forms.candidates(3, forms.FRESH)["elbo"].loc["energy"]
    gap = trials.loc[row["global"]] - trials.loc[row["local"]]
    said = f"from {first.loc['energy', 'elbo']:.4f} on the first five splits to"
    said += f" {gap.mean():.4f} ± {gap.sem():.4f} on the other fifteen (p = {row['elbo_p']:.2f}),"
    said += f" where the mean bounds are {row['elbo_global']:.3f} and {row['elbo_local']:.3f}."
    said += f" Global ones are ahead on eleven of these, by up to {max(gap):.3f}, and behind on"
    assert f"{said} four, by up to {-min(gap):.3f}." in WORDS
    assert (gap > 0).sum() == 11 and len(gap) == 15
    said = "With three layers they are significantly ahead on boston, concrete and wine (on all"
    said += " three also when corrected), and not significantly on energy (p ="
    said += f" {row['elbo_p']:.2f})."
    assert said in words_of("docs/results/README.md")
    said = "With three layers those on boston, concrete and wine are, that on energy is not."
    assert said in words_of("README.md")
    p = found["elbo_p"].astype(float)
    corrected = forms.holm(p.reindex(NINE_SETS).fillna(1.0))
    told, densities = [], []
    ends = {"boston": "p < 0.001", "concrete": "p = 0.001", "wine": "p < 0.001"}
    for name, end in ends.items():
        new, old = found.loc[name], first.loc[name]
        assert new["elbo_ahead"] == 15 - (name == "wine")
        assert max(p[name], corrected[name]) < 0.05
        assert p[name] < 0.001 if "<" in end else f"{p[name]:.3f}" == "0.001"
        told.append(f"on {name} {new['elbo']:.4f} ± {new['elbo_error']:.4f} ({end}), in place of")
        told[-1] += f" {old['elbo']:.4f} {'on the first five ' if name == 'boston' else ''}(p ="
        told[-1] += f" {old['elbo_p']:.2f})"
        densities.append(f"{new['log_density_p']:.2f}")
    said = f"**On boston, concrete and wine the leads of three layers hold:** {told[0]}; {told[1]};"
    said += f" and {told[2]}. On boston and concrete they are on every split, on wine on 14 of 15."
    assert f"{said} All three are also significant when corrected for nine sets." in WORDS
    assert f"do not differ significantly (p = {listed(densities)})." in WORDS
    assert p["energy"] > 0.05 and found["elbo"].min() > 0
    told = first.index[first["elbo_p"].astype(float) < 0.05].difference(found.index)
    said = "significant on boston, concrete and wine on these fifteen splits, and on"
    assert f"{said} {listed(told)}, which were not run on them, on the five" in WORDS
    before = first.loc["energy", "elbo"]
    said = f"by {before:.3f} on splits 0 to 4 and by {gap.mean():.3f} [on fifteen others]"
    assert said in WORDS and first.loc["energy", "elbo_p"] > 0.05
    two = forms.candidates(2, forms.FRESH)["elbo"].loc["energy"]
    gains = [
        trials.loc[name] - two.loc[name.replace("-3", "-2")]
        for name in (row["global"], row["local"])
    ]
    said = " and ".join(f"{gain.mean():.4f} ± {gain.sem():.4f}" for gain in gains)
    assert f"a third layer significantly raises both bounds (by {said})," in words_of(
        "docs/results/training.md"
    )
    assert max(map(p_of_shared_rows, gains)) < 0.05


def test_what_is_said_of_fresh_splits(forms):
    found, first = forms.comparisons(2, forms.FRESH), forms.comparisons(2)
    p = {metric: found[f"{metric}_p"].astype(float) for metric in forms.METRICS}
    held = found.index[(found["elbo"] > 0) & (p["elbo"] < 0.05)]
    by = listed(f"{p['elbo'][name]:.3f} on {name}" for name in held)
    assert f"**The leads on {listed(held)} hold:** p is {by}." in WORDS
    assert list(found.index.drop(held)) == ["yacht"]
    every = forms.holm(p["elbo"].reindex(NINE_SETS).fillna(1.0))
    sure = listed(sorted(every.index[every < 0.05]))
    said = f"significantly ahead on {listed(held)} (on {sure} also when corrected for nine sets),"
    said += f" and not significantly on yacht (p = {p['elbo']['yacht']:.2f})."
    assert said in words_of("docs/results/README.md")
    said = f"the leads of two layers on {listed(held)} are significant, that on yacht is not."
    assert said in words_of("README.md")
    told = first.index[first["elbo_p"].astype(float) < 0.05]
    assert "yacht" not in told and first.loc["yacht", "local"].endswith("four draws")
    said = "Without a correction the leads of two layers in the best forms are significant on"
    said += f" {listed(held)} on these fifteen splits; those on {listed(told.difference(held))},"
    said += " which were not run on them, on the five splits that chose the forms."
    assert said in words_of("docs/results/local-and-global.md")
    of_two, of_three = (
        {n for n in NINE_SETS if fresh.get(n, of_five[n]) < 0.05}
        for depth in (2, 3)
        for fresh, of_five in [
            (forms.comparisons(depth, splits)["elbo_p"] for splits in (forms.FRESH, forms.SPLITS))
        ]
    )
    assert len(of_two) == len(of_three) == 6
    said = "significantly ahead on six sets with two layers, and on six with three."
    assert said in words_of("docs/results/README.md")
    three = forms.candidates(3, forms.FRESH)["elbo"].loc["yacht"]
    gap = three.loc["dgp-global-3-whitened"] - three.loc["dgp-local-3"]
    said = (
        f"ahead of `dgp-local-3` on {(gap > 0).sum()} of 15, by {gap.mean():.4f} ± {gap.sem():.4f}"
    )
    assert f"{said} (p = {p_of_shared_rows(gap):.3f})." in WORDS
    new = [name for name in held if first.loc[name, "elbo_p"] > 0.05]
    said = f"On {listed(new)}, where the first five splits are not significant, the fifteen are."
    said += " Corrected for nine sets (Holm, with p = 1 for the sets that were not run), those on"
    said += f" {sure} are significant (on wine barely, {every['wine']:.5f})."
    smaller = found.index[found["elbo"] < first.loc[found.index, "elbo"]]
    said += f" The leads on {listed(smaller)} are smaller than on the first five splits; those"
    assert f"{said} on {listed(found.index.difference(smaller))} are larger." in WORDS
    higher = found.index[found["log_density"] > 0]
    density = {name: f"{name} (p = {p['log_density'][name]:.2f})" for name in found.index}
    said = f"mean test log density is higher on {listed(density[name] for name in higher)}, and"
    assert f"{said} lower on {density['yacht']}." in WORDS and len(higher) == 4


def test_fresh_splits_of_yacht_with_one_draw_and_with_four(forms):
    four = forms.comparisons(2, forms.FRESH).loc["yacht"]
    one = forms.comparisons(2, forms.FRESH, without="four draws").loc["yacht"]
    lead = [f"{row['elbo']:.4f} ± {row['elbo_error']:.4f}" for row in (four, one)]
    ahead = [f"on {row['elbo_ahead']} of 15" for row in (four, one)]
    p = [f"(p = {four['elbo_p']:.2f})", f"(p = {one['elbo_p']:.3f})"]
    said = f"**The lead on yacht is not significant:** it is {lead[0]}, {ahead[0]} splits {p[0]}."
    said += " With one draw of the layers a step both bounds are lower, that of local ones by more"
    told = listed(
        f"{one[name]:.3f} in place of {four[name]:.3f}" for name in ("elbo_local", "elbo_global")
    )
    said += f" ({told.replace(' and', ', and')}), and global ones are ahead by {lead[1]},"
    assert f"{said} {ahead[1]} {p[1]}." in WORDS
    gains = {name: four[f"elbo_{name}"] - one[f"elbo_{name}"] for name in ("local", "global")}
    assert gains["local"] > gains["global"] > 0 and four["elbo_p"] > 0.05
    said = f"which chose nothing, it is [{four['elbo']:.4f}, {ahead[0]}, in place of"
    assert f"{said} {one['elbo']:.4f}]" in words_of("docs/results/training.md")


def test_what_is_said_of_an_optimal_last_layer_on_wine(forms):
    words = words_of("docs/results/local-and-global.md")
    for depth, num_ahead, num_raised in ((2, 4, 4), (3, 5, 3)):
        bounds = forms.candidates(depth)["elbo"].loc["wine"]
        full, full_optimal, local, local_optimal = (
            bounds.loc[f"dgp-{name}"].astype(float)
            for base in (f"global-{depth}-full", f"local-{depth}")
            for name in (base, f"{base}-optimal")
        )
        gaps = [full - local, full_optimal - full, local_optimal - local]
        gaps.append(full_optimal - local_optimal)
        assert abs(gaps[0].mean()) < forms.LEVEL < gaps[3].mean()
        assert [(gap > 0).sum() for gap in gaps[1:]] == [5, num_raised, num_ahead]
        level, of_full, of_local, lead = (f"{gap.mean():.4f} ± {gap.sem():.4f}" for gap in gaps)
        p = [p_of_shared_rows(gap) for gap in gaps]
        said = f"Where it is trained, the bounds are level ({level}), and an optimal one was run on"
        said += " five splits because of this. It raises that of free Gaussians by"
        said += f" {of_full}, on every split (p = {p[1]:.3f}), and that of local ones by"
        ahead = "on four of five splits, " if depth == 2 else ""
        said += f" {of_local}. Global ones are then ahead {ahead}by {lead} (p = {p[3]:.2f})."
        assert said in words
        if depth == 2:
            said = f"On wine it is ahead [by {gaps[3].mean():.4f}](local"
            assert said in words_of("docs/results/training.md")
    said = "On wine it was run on five splits, with two layers and with three, because without it"
    assert f"{said} the two are level." in words_of("docs/results/README.md")


def test_what_is_said_of_optimal_and_trained_last_layers(forms):
    trials = forms.candidates(2)["elbo"]
    local, full = "dgp-local-2", "dgp-global-2-full"
    means = [
        trials.loc[name, form].mean() for name in ("naval", "concrete") for form in (local, full)
    ]
    means.insert(2, trials.loc["naval", f"{full}-divided, lower rates"].mean())
    said = "on naval are {:.3f} and {:.3f} ({:.3f} with divided rows at lower rates), and those on"
    assert f"{said} concrete {{:.3f}} and {{:.3f}}.".format(*means) in WORDS

    def gap(dataset, end=""):
        values = trials.loc[dataset, f"{full}-optimal{end}"] - trials.loc[dataset, f"{local}{end}"]
        return f"{values.mean():.4f} ± {values.sem():.4f}"

    values = trials.loc["naval", f"{full}-optimal, rate 0.06"] - trials.loc["naval", local]
    on_naval = f"{values.mean():.4f} ± {values.sem():.4f}"
    said = f"ahead by {gap('boston')} on boston, {gap('concrete')} on concrete, "
    said += (
        f"{gap('energy', ', long warm-up')} on energy (both after a long warm-up), and {on_naval}"
    )
    assert said in WORDS
    energy = trials.loc["energy"]
    optimal = energy.loc[f"{local}-optimal, long warm-up"]
    assert (
        f"(`dgp-local-2-optimal`) end at {optimal.min():.3f} to {optimal.max():.3f}."
        in words_of("docs/results/training.md")
    )
    gaps = energy.loc[f"{full}-optimal, long warm-up"] - optimal
    said = f"The mean difference, {gaps.mean():.4f} ± {gaps.sem():.4f} for `-full-optimal`, is not"
    assert said in words_of("docs/results/training.md")
    assert p_of_shared_rows(gaps) > 0.05
    *below, lower, upper = sorted(gaps)
    assert -0.015 <= round(min(below), 3) and max(below) < 0 and lower > 0.1
    assert f"and the worse ones on two, by {lower:.3f} and {upper:.3f}." in WORDS
    trials = pd.read_csv(RESULTS / "optimal-gp" / "records.csv").query("dataset == 'naval'")
    longer = pd.read_csv(RESULTS / "optimal-gp" / "naval" / "records.csv").query("split > 0")
    minutes = (longer["seconds"] / 60).round()
    said = f"3000 steps on naval took {trials.seconds.min():.0f} to {trials.seconds.max():.0f}"
    theirs = pd.read_csv(OF_STANDARD / "records.csv").query("dataset == 'naval'")
    theirs = theirs.query("method == 'dgp-local-2'")["seconds"]
    said += f" seconds, and 10,000, which the table has, {minutes.min():.0f} to {minutes.max():.0f}"
    said += " minutes; 10,000 steps of 500 rows of local layers took"
    assert f"{said} {theirs.min():.0f} to {theirs.max():.0f} seconds." in WORDS


def test_holm(forms):
    """By hand: three times the smallest, twice the next, and never less than a smaller one."""
    corrected = forms.holm(pd.Series({"a": 0.01, "b": 0.04, "c": 0.03}))
    assert corrected.to_dict() == pytest.approx({"a": 0.03, "c": 0.06, "b": 0.06})
    assert forms.holm(pd.Series({"a": 0.7, "b": 0.6})).max() == 1.0


def test_the_ranks_of_best_forms(forms):
    """Against the tables of two and three layers, and the ranks of numbers by hand."""
    module = script("standard", "ranks.py")
    means = {metric: module.best(metric).groupby("dataset").mean() for metric in module.WORDS}
    standard = pd.read_csv(OF_STANDARD / "records.csv").query("split < 5 and used")
    for metric, of_groups in means.items():
        assert of_groups.shape == (len(NINE_SETS), 9) and of_groups.notna().all(axis=None)
        for depth, words in ((2, "two layers"), (3, "three layers")):
            table = forms.comparisons(depth)
            for family in ("local", "global"):
                expected = table[f"{metric}_{family}"].astype(float)
                found = of_groups[f"{family}, {words}"][expected.index]
                np.testing.assert_allclose(found, expected)
        gp = standard[standard["method"] == "gp"].groupby("dataset")[metric].mean()
        np.testing.assert_allclose(of_groups["gp"], gp[of_groups.index])
        found = module.ranked(metric)
        by_hand = pd.DataFrame(
            {
                name: 1 + of_groups.gt(of_groups[name], axis=0).sum(axis=1)
                for name in of_groups.columns
            }
        )
        pd.testing.assert_series_equal(
            found.mean.sort_index(), by_hand.mean().sort_index(), check_names=False
        )


def test_what_is_said_of_ranks():
    module = script("standard", "ranks.py")
    found = {metric: module.ranked(metric) for metric in module.WORDS}
    bound, density = (one.mean for one in found.values())
    best = "global, three layers"
    for one in (bound, density):
        assert list(one.index[:2]) == [best, "global, two layers"]
    assert (found["elbo"].ranks[best] == 1).sum() == COUNTS.index("five")
    forms = module.candidates("elbo").mean(axis=1)
    numbers, firsts = [], []
    for pattern in ("four draws", "four draws|-own"):
        others = forms[~forms.index.get_level_values("name").str.contains(pattern)]
        others = others.groupby(level=["dataset", "group"]).max().unstack("group")
        others = others.rank(axis=1, ascending=False)
        assert others.mean().idxmin() == best
        numbers.append(f"{others.mean()[best]:.2f}")
        firsts.append((others[best] == 1).sum())
    assert firsts == [4, 3] and f"mean rank is then {numbers[0]} and {numbers[1]}, still" in WORDS
    assert "By the bound three layers are the best on five sets: on four without" in WORDS
    counts = forms.groupby(level=["dataset", "group"]).size().unstack("group")
    ranges = {name: (counts[name].min(), counts[name].max()) for name in counts}
    assert ranges["gp"] == ranges["svgp"] == (1, 1) and ranges[module.NETWORK] == (4, 7)
    for family, ends in (("local", (1, 3)), ("global", (1, 7))):
        of_family = counts.loc[:, counts.columns.str.startswith(family)].to_numpy()
        assert (of_family.min(), of_family.max()) == ends
    assert "networks four to seven, deep GPs one to three with local inducing points and" in WORDS
    for one in found.values():
        assert f"if it is above {one.critical_difference:.2f} (Nemenyi's" in WORDS
        assert one.p_value < 1e-5 and "has p below 1e-5 for both" in WORDS
    worse = [set(one.mean.index[one.mean > one.mean[best] + 4.0]) for one in found.values()]
    assert worse[1] == {"svgp", "network"}
    assert worse[0] == worse[1] | {"local, five layers of mean zero"}
    near = ["gp", *(f"{f}, {n} layers" for f in ("local", "global") for n in ("two", "three"))]
    for one in found.values():
        assert np.ptp(one.mean[near]) < one.critical_difference


def test_the_figure_of_all_forms(forms):
    """Its points are the differences of the tables, and its bars intervals of 95%."""
    for axes, metric in zip(forms.draw().axes, forms.METRICS, strict=True):
        for container, depth in zip(axes.containers, (2, 3), strict=True):
            points, _, (bars,) = container
            table = forms.comparisons(depth)
            differences = table[metric].astype(float)
            np.testing.assert_array_equal(points.get_xdata(), differences)
            ends = np.array(bars.get_segments())[:, :, 0]
            is_told = (table[f"{metric}_p"].astype(float) < 0.05).to_numpy()
            np.testing.assert_array_equal(np.prod(ends, axis=1) > 0, is_told)


def p_without_split_0(forms, depth, dataset):
    return p_of_shared_rows(without_split_0(forms, depth, dataset))


def test_what_three_layers_need(forms):
    found = forms.comparisons(3)
    assert "lower rates" in found["global"]["naval"] and "divided" in found["global"]["naval"]
    for family in ("local", "global"):
        assert found[family]["energy"].endswith("-optimal, long warm-up")
    density = found["log_density"].astype(float)
    p = found["log_density_p"].astype(float)
    assert list(density.index[p < 0.05]) == ["kin8nm", "power", "protein"]
    assert min(density[["kin8nm", "power", "protein"]]) > 0
    gaps = [without_split_0(forms, 3, name) for name in ("boston", "kin8nm")]
    by = listed(f"{gap.mean():.3f} ± {gap.sem():.3f}" for gap in gaps)
    said = f"without it the differences on boston and kin8nm, {by}, are not significant."
    assert said in WORDS
    told = {
        depth: [name for name in NINE_SETS if p_without_split_0(forms, depth, name) < 0.05]
        for depth in (2, 3)
    }
    assert told[3] == ["naval", "power"]
    assert told[2] == ["boston", "naval", "power"]
    naval = forms.candidates(2)["elbo"].loc["naval"].mean(axis=1)
    best = [naval[f"dgp-{name}-optimal, rate 0.06"] for name in ("local-2", "global-2-full")]
    assert "than all of these ({:.3f} local, {:.3f} global).".format(*best) in WORDS


def test_three_layers_on_yacht(forms):
    found, one = forms.comparisons(3).loc["yacht"], of_one_draw_on_yacht(forms)["elbo"]
    local, full = "dgp-local-3-optimal", "dgp-global-3-full-optimal"
    assert list(found[["local", "global"]]) == [f"{local}, four draws", f"{full}, four draws"]
    names = ["dgp-global-3-whitened", "dgp-local-3", local, full, "dgp-global-3-whitened-optimal"]
    means = one.mean(axis=1)
    said = "are ahead, {:.3f} and {:.3f} (local). An optimal one raises the bound of local ones to"
    said += " {:.3f}, and that of global ones to {:.3f} (free Gaussians) and {:.3f} (whitened)."
    assert means.idxmax() == local
    gap = one.loc[full] - one.loc[local]
    of_one = f"on {COUNTS[(gap < 0).sum()]} of five splits (p = {p_of_shared_rows(gap):.2f})"
    assert f"{said.format(*means[names])} Local ones are then ahead {of_one}." in WORDS
    said = f"{found['elbo_local']:.3f} and {found['elbo_global']:.3f} (free Gaussians), the best of"
    of_four = f"on {COUNTS[found['elbo_ahead']]}"
    said += f" all our deep GPs there, and global ones are ahead {of_four} of five (p ="
    assert f"{said} {found['elbo_p']:.2f})." in WORDS
    every = pd.concat([forms.candidates(depth)["elbo"].loc["yacht"] for depth in (2, 3)])
    assert every.mean(axis=1).idxmax() == found["global"]
    page = words_of("docs/results/README.md")
    said = f"with one draw of the layers a step, {of_one}; [with four]"
    assert (
        f"{said}(training.md#four-draws-a-step), which were tried because of this, global ones"
        in page
    )
    assert f"global ones are, {of_four} (p = {found['elbo_p']:.2f})." in page
    yacht, protein = (
        [forms.comparisons(depth)["elbo_p"][name] for depth in (2, 3)]
        for name in ("yacht", "protein")
    )
    assert min(yacht + protein) > 0.05
    said = (
        "In the table the leads on protein and yacht are not significant. With one draw a step in"
    )
    said += " place of four, local ones are ahead on yacht with three layers, by"
    assert f"{said} {-gap.mean():.3f}." in words_of("README.md")
    assert p_of_shared_rows(gap) > 0.05
    for folder in ("optimal-gp", "draws"):
        table = pd.read_csv(RESULTS / folder / "records.csv").query("dataset == 'yacht' and used")
        assert set(table[table["method"].isin([local, full])]["learning_rate"]) == {0.015}
    rates = script("rates", "table.py").at_rates("dgp").loc["yacht"]
    numbers = rates.loc[[local, full], [0.0075, 0.015]].T.to_numpy().ravel()
    said = "at half of it, they have {:.3f} and {:.3f} on the first split, in place of {:.3f} and"
    assert f"{said} {{:.3f}}.".format(*numbers) in WORDS
    assert f"[ends at {rates.loc[full, 0.0075]:.3f}](#other-rates)" in words_of(
        "docs/results/training.md"
    )


def test_optimal_last_layers_of_three(forms):
    """Those of boston and concrete, beside trained ones and two layers."""
    trials, found = forms.candidates(3)["elbo"], forms.comparisons(3)
    said = []
    for name, ends in (
        ("boston", ("boston (local and global)", "")),
        ("concrete", ("concrete", "")),
    ):
        best = [found.loc[name, family] for family in ("local", "global")]
        assert best == ["dgp-local-3-optimal", "dgp-global-3-full-optimal"]
        means = trials.loc[name].mean(axis=1)
        of = ["dgp-local-3", "dgp-global-3-full", *best]
        with_trained = "with a trained one " if name == "boston" else ""
        said.append("from {:.3f} and {:.3f} " + with_trained + "to {:.3f} and {:.3f} on " + ends[0])
        said[-1] = said[-1].format(*means[of])
        assert found.loc[name, "elbo_ahead"] == len(forms.SPLITS)
    assert f"raises the bounds of both:** {said[0]}, and {said[1]}. Global ones" in WORDS
    names = ["dgp-global-3-full-optimal", forms.best_of(forms.candidates(2), "concrete", "dgp")]
    three = trials.loc["concrete", names[0]]
    two = forms.candidates(2)["elbo"].loc["concrete", "dgp-global-2-full-optimal"]
    gap = three - two
    said = f"{gap.mean():.4f} ± {gap.sem():.4f} above two (p = {p_of_shared_rows(gap):.2f}), which"
    said += " are level with local ones; the"
    density = forms.candidates(3)["log_density"].loc["concrete", names[0]].mean()
    assert f"{said} test log densities are level with them ({density:.3f})." in WORDS
    other = forms.candidates(2)["log_density"].loc["concrete", names[1]].mean()
    assert abs(density - other) < 0.003
    names = ["boston", "concrete", "wine"]
    leads = listed(f"{lead:.3f}" for lead in found.loc[names, "elbo"])
    assert (
        f"Over five splits of boston, concrete and wine they are ahead [by {leads}]("
        in words_of("docs/results/training.md")
    )
    assert (found.loc[names, "elbo_ahead"] == len(forms.SPLITS)).all()

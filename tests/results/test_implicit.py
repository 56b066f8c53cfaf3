"""The numbers of docs/results/implicit.md are those of the records."""

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.benchmark.report.published import read as read_published
from tests.results.pages import RESULTS, rows_of, words_of

# They read thousands of records, and change with the records and the pages alone.
pytestmark = pytest.mark.slow

PAGE = "docs/results/implicit.md"
WORDS = words_of(PAGE)


THEIRS = {
    "bbb": "VI",
    "avb": "AVB",
    "aadm-0.5": "AADM",
    "vip": "VIP",
    "fbnn": "fBNN",
    "sip-bnn": "SIP_BNN",
    "sip-ns": "SIP_NS",
}
"""The published method of each of ours."""


OURS_ALONE = {"dvip-2", "bnn-global-batch-10", "dgp-global-2-batch-10"}


def of_implicit(metric):
    """Means of ours by method and data set, and the published means and standard deviations."""
    summary = pd.read_csv(RESULTS / "implicit" / "summary.csv").query("metric == @metric")
    ours = summary.set_index(["method", "dataset"])
    theirs = read_published().query("metric == @metric").set_index(["method", "dataset"])
    return ours, theirs


def is_sound(theirs, method, dataset):
    """False for results of a published run that failed, and for one at odds with other numbers."""
    failed = read_published()
    failed = failed[failed["note"].fillna("").str.startswith("a failed run")]
    own = theirs.loc[THEIRS[method], dataset]["note"]
    suspect = isinstance(own, str) and own.startswith("suspect")
    runs = set(zip(failed["method"], failed["dataset"], strict=True))
    return not suspect and (THEIRS[method], dataset) not in runs


def is_within_two_deviations(ours, theirs, method, dataset):
    published = theirs.loc[THEIRS[method], dataset]
    gap = abs(ours.loc[method, dataset]["mean"] - float(published["mean"]))
    return gap <= 2 * float(published["spread"])


def implicit_cell(ours, theirs, method, dataset):
    mean = f"{ours.loc[method, dataset]['mean']:.2f}"
    if method not in THEIRS:
        return mean
    published = f"{float(theirs.loc[THEIRS[method], dataset]['mean']):.2f}"
    if not is_sound(theirs, method, dataset):
        return f"{mean} ({published} †)"
    mark = "" if is_within_two_deviations(ours, theirs, method, dataset) else " *"
    return f"{mean} ({published}){mark}"


OF_IMPLICIT = (
    ("Test log density of implicit processes", "log_density"),
    ("Their root mean squared errors", "rmse"),
    ("Their CRPS", "crps"),
)


@pytest.mark.parametrize("heading, metric", OF_IMPLICIT)
def test_means_of_implicit_processes(heading, metric):
    ours, theirs = of_implicit(metric)
    assert len(set(ours["n"])) == 1
    assert f"all five sets, splits 0 to {ours['n'].iloc[0] - 1}" in WORDS
    (_, *datasets), *rows = rows_of(PAGE, heading)
    assert datasets == ["boston", "concrete", "energy", "wine", "yacht"]
    assert {method for method, *_ in rows} == {*THEIRS, *OURS_ALONE}
    for method, *cells in rows:
        assert cells == [implicit_cell(ours, theirs, method, dataset) for dataset in datasets]


def ranks_by_split(metric):
    """Mean ranks of the methods and their standard errors, over all splits of all sets."""
    trials = pd.read_csv(RESULTS / "implicit" / "records.csv")
    values = trials.pivot_table(index=["dataset", "split"], columns="method", values=metric)
    ranks = values.rank(axis=1, ascending=metric != "log_density")
    assert len(ranks) == 100 and not ranks.isna().any(axis=None)
    return ranks.mean(), ranks.std(ddof=1) / np.sqrt(len(ranks))


def test_ranks_of_implicit_processes():
    ranks = {metric: ranks_by_split(metric) for _, metric in OF_IMPLICIT}
    _, *rows = rows_of(PAGE, "Mean ranks of implicit processes")
    assert {method for method, *_ in rows} == set(ranks["rmse"][0].index)
    for method, *cells in rows:
        ours = ([one[method] for one in ranks[m]] for m in ("log_density", "rmse", "crps"))
        assert cells == [f"{mean:.2f} ± {error:.2f}" for mean, error in ours]
    best = {metric: mean.idxmin() for metric, (mean, _) in ranks.items()}
    assert best == {"log_density": "dgp-global-2-batch-10", "rmse": "vip", "crps": "vip"}
    boston = of_implicit("log_density")[0]["mean"].unstack("dataset")["boston"]
    of_functions = boston[["vip", "dvip-2", "fbnn", "sip-bnn", "sip-ns", "dgp-global-2-batch-10"]]
    assert [*of_functions[of_functions > boston["bbb"]].index] == ["dgp-global-2-batch-10"]
    assert (ranks["log_density"][0][["aadm-0.5", "bnn-global-batch-10"]].diff().dropna() > 0).all()


def test_sparse_implicit_processes_overfit_with_time():
    trials = pd.read_csv(RESULTS / "implicit" / "records-sip-steps.csv")
    long = pd.read_csv(RESULTS / "implicit" / "records.csv")
    said = []
    for dataset, steps in (("boston", 500), ("concrete", 1000)):
        own = trials[(trials["dataset"] == dataset) & (trials["budget"] == f"quick, steps={steps}")]
        more = long.merge(own[["dataset", "split", "method"]])
        assert sorted(own["split"]) == sorted(more["split"]) == list(range(5))
        assert own["rmse"].mean() > more["rmse"].mean()
        said.append((own["log_density"].mean(), more["log_density"].mean()))
    (a, b), (c, d) = said
    assert f"are {a:.2f} and {c:.2f} in place of {b:.2f} and {d:.2f}" in WORDS


def of_first_splits(file, method, dataset):
    trials = pd.read_csv(RESULTS / "implicit" / file)
    own = trials.query("method == @method and dataset == @dataset and split < 5")
    assert sorted(own["split"]) == list(range(5))
    return own


def mean_of_splits(file, method, dataset, metric):
    return of_first_splits(file, method, dataset)[metric].mean()


def test_dropout_and_fewer_steps_of_implicit_processes():
    gains = []
    for dataset in ("boston", "concrete"):
        with_it, without = (
            of_first_splits(file, method, dataset).set_index("split")["log_density"]
            for file, method in (
                ("records-sip-dropout.csv", "sip-ns-dropout"),
                ("records.csv", "sip-ns"),
            )
        )
        gain = with_it - without
        assert len(gain) == 5 and not gain.isna().any()
        gains.append(f"{gain.mean():+.2f} ± {gain.std(ddof=1) / np.sqrt(5):.2f} on {dataset}")
    assert f"changes by {gains[0]}, where it overfits still, and by {gains[1]}" in WORDS
    few = "records-vip-steps.csv", "vip", "boston"
    long = "records.csv", "vip", "boston"
    density, error = (mean_of_splits(*few, metric) for metric in ("log_density", "rmse"))
    more = mean_of_splits(*long, "rmse")
    said = f"published log density, {density:.2f}, and a larger error, {error:.2f} in place of"
    assert f"{said} {more:.2f}" in WORDS
    published = of_implicit("log_density")[1].loc["VIP", "boston"]
    assert abs(density - float(published["mean"])) < 2 * float(published["spread"])


def test_networks_of_sparse_implicit_processes_overfit_with_time():
    said = []
    for file in ("records-sip-bnn-steps.csv", "records.csv"):
        for dataset in ("boston", "wine"):
            said.append(mean_of_splits(file, "sip-bnn", dataset, "log_density"))
    few, long = said[:2], said[2:]
    assert all(one > other + 0.1 for one, other in zip(few, long, strict=True))
    assert "are {:.2f} and {:.2f} in place of {:.2f} and {:.2f}".format(*said) in WORDS


def test_what_is_better_than_published_has_learned_for_longer():
    """After a sixth of the steps it is worse than published, after all of them better."""
    few = pd.read_csv(RESULTS / "implicit" / "records-500.csv")
    assert set(few["budget"]) == {"quick, steps=500"} and set(few["split"]) == {0, 1, 2}
    few = few.groupby(["method", "dataset"])
    methods = ("vip", "fbnn", "sip-bnn", "sip-ns")
    ours, theirs = of_implicit("log_density")
    density = few["log_density"].mean()
    for method in methods:
        published = float(theirs.loc[THEIRS[method], "energy"]["mean"])
        assert density[method, "energy"] < published < ours.loc[method, "energy"]["mean"]
    said = "on energy are {:.2f}, {:.2f}, {:.2f} (`sip-bnn`) and {:.2f} (`sip-ns`)"
    assert said.format(*(density[method, "energy"] for method in methods)) in WORDS
    crps = few["crps"].mean()["sip-ns", "yacht"]
    ours, theirs = of_implicit("crps")
    published = float(theirs.loc["SIP_NS", "yacht"]["mean"])
    assert crps > published > ours.loc["sip-ns", "yacht"]["mean"]
    assert f"on yacht is {crps:.2f}, above its published {published:.2f}" in WORDS


def test_what_is_said_of_implicit_processes():
    within, cells, missed, worst = 0, 0, {}, []
    for _, metric in OF_IMPLICIT:
        ours, theirs = of_implicit(metric)
        for method in THEIRS:
            for dataset in sorted(set(ours.index.get_level_values("dataset"))):
                if not is_sound(theirs, method, dataset):
                    continue
                cells += 1
                if is_within_two_deviations(ours, theirs, method, dataset):
                    within += 1
                else:
                    missed.setdefault((method, dataset), set()).add(metric)
        if metric == "rmse":
            means = ours["mean"].unstack("dataset").loc[[*THEIRS]]
            worst = [name for name in means if means[name].idxmax() == "bbb"]
            gaps = [
                means[dataset][means[dataset].idxmax()] - means[dataset]["bbb"]
                for dataset in ("energy", "wine")
            ]
            assert means["energy"].idxmax() == "aadm-0.5" and means["wine"].idxmax() == "sip-bnn"
            published = theirs["mean"].astype(float).unstack("dataset")[[*means]]
            sound = [name for name in THEIRS.values() if name != "fBNN"]
            assert (published.loc[sound].idxmax() == "VI").all()
            assert all(
                published[name]["fBNN"] < published[name]["VI"]
                for name in means
                if is_sound(theirs, "fbnn", name)
            )
    assert f"{within} of {cells} sound cells are within two published standard deviations" in WORDS
    assert f"`bbb` has the largest error on {len(worst)} of 5 sets" in WORDS
    assert f"on energy that of `aadm-0.5` is larger by {gaps[0]:.2f}" in WORDS
    assert f"on wine that of `sip-bnn` by {gaps[1]:.2f}" in WORDS
    # Every missed one is explained.
    of_steps = {(m, d) for m in ("avb", "aadm-0.5") for d in ("concrete", "energy", "yacht")}
    others = {("bbb", "yacht"), ("bbb", "energy"), ("vip", "boston"), ("vip", "energy")}
    others |= {("sip-ns", dataset) for dataset in ("boston", "concrete", "energy", "yacht")}
    others |= {("sip-bnn", dataset) for dataset in ("boston", "energy", "wine")}
    for metric in ("log_density", "rmse", "crps"):
        ours, theirs = of_implicit(metric)
        better = [("sip-ns", dataset) for dataset in ("energy", "wine", "yacht")]
        better += [("sip-bnn", dataset) for dataset in ("concrete", "energy", "yacht")]
        for method, dataset in better:
            if not is_sound(theirs, method, dataset):
                continue
            if not is_within_two_deviations(ours, theirs, method, dataset):
                published = float(theirs.loc[THEIRS[method], dataset]["mean"])
                gap = ours.loc[method, dataset]["mean"] - published
                assert (gap > 0) == (metric == "log_density")
    assert set(missed) == of_steps | others | {("fbnn", "energy"), ("fbnn", "yacht")}


def test_published_predictions_of_fbnn_are_too_wide():
    """The deviation of a Gaussian with the published error and log density."""
    density, error = (of_implicit(metric)[1] for metric in ("log_density", "rmse"))
    for dataset in ("energy", "yacht"):
        mean, rmse = (float(table.loc["fBNN", dataset]["mean"]) for table in (density, error))
        deviations = np.geomspace(rmse, 20 * rmse, 10_000)
        of_gaussian = -0.5 * np.log(2 * np.pi * deviations**2) - 0.5 * (rmse / deviations) ** 2
        wide = deviations[np.argmin(np.abs(of_gaussian - mean))]
        assert f"{wide:.1f} on {dataset} (error {rmse:.2f})" in WORDS


def test_deep_processes_with_global_inducing_points():
    table = pd.read_csv(RESULTS / "implicit" / "differences-global.csv")
    assert set(table["method"]) == {"dvip-2"} and set(table["other"]) == {"dvip-global-2"}
    (n,) = set(table["n"])
    assert f"paired differences over splits 0 to {n - 1} " in WORDS
    table = table.set_index(["metric", "dataset"])
    (_, *datasets), *rows = rows_of(PAGE, "Global inducing points minus free Gaussians")
    metrics = {"bound per row": "elbo", "log density": "log_density", "RMSE": "rmse"}
    assert [title for title, *_ in rows] == [*metrics, "CRPS"]
    for title, *cells in rows:
        metric = metrics.get(title, "crps")
        own = [table.loc[(metric, dataset)] for dataset in datasets]
        assert cells == [f"{-one['difference']:+.3f} ± {one['standard_error']:.3f}" for one in own]
    assert (table.loc["elbo", "difference"] < 0).all()
    assert "in the bound on all five sets" in WORDS
    ratio = -table["difference"] / table["standard_error"]
    assert 0 < ratio["elbo", "energy"] < 1
    clear = ratio["log_density"][ratio["log_density"].abs() > 2]
    assert dict(clear > 0) == {"energy": True, "yacht": True, "wine": False}


def test_implicit_processes_with_more_steps():
    """Means over the splits that have been trained for 20,000 steps, with both budgets."""
    long = pd.read_csv(RESULTS / "implicit" / "records-20000.csv")
    assert set(long["budget"]) == {"quick, steps=20000"}
    short = pd.read_csv(RESULTS / "implicit" / "records.csv")
    runs = {key: rows for key, rows in long.groupby(["method", "dataset"])}
    _, *rows = rows_of(PAGE, "Steps of ten rows")
    assert {(method, dataset) for method, dataset, *_ in rows} == set(runs)
    for method, dataset, splits, *cells in rows:
        own = runs[method, dataset]
        few = short.merge(own[["method", "dataset", "split"]])
        assert len(few) == len(own) == int(splits)
        expected = []
        for metric in ("log_density", "rmse", "crps"):
            published = float(of_implicit(metric)[1].loc[THEIRS[method], dataset]["mean"])
            expected += [few[metric].mean(), own[metric].mean(), published]
        assert cells == [f"{value:.2f}" for value in expected]
    bounds = [
        table.query("method == 'vip' and dataset == 'concrete'")["elbo"].mean()
        for table in (short.merge(long[["method", "dataset", "split"]]), long)
    ]
    assert (
        "ELBO per row on concrete, which it does not maximise, falls from {:.2f} to {:.2f}".format(
            *bounds
        )
        in WORDS
    )

    rate = pd.read_csv(RESULTS / "implicit" / "records-vip-rate.csv").groupby("dataset")
    mean = rate["log_density"].mean()
    assert f"{mean['boston']:.2f} on boston and {mean['concrete']:.2f} on concrete" in WORDS
    of_vip = long.query("method == 'vip' and dataset == 'boston'")
    assert f"95% hold at most {of_vip['coverage_95'].max():.0%} of the test rows" in WORDS

import itertools

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gpflow_gi.benchmark.report.reading import read
from gpflow_gi.benchmark.report.statistics import (
    LEVEL,
    METRICS,
    TEST_SHARE,
    Ranks,
    _friedman,
    all_differences,
    by_split,
    differences,
    least_difference,
    marks,
    p_of_shared_rows,
    ranks,
    summary,
)
from gpflow_gi.datasets import Table, standard_split

from .record_files import record, table, write

LOG_DENSITY, RMSE, COVERAGE = (METRICS[name] for name in ("log_density", "rmse", "coverage_90"))
NAN = np.nan


def values(**columns):
    return pd.DataFrame(columns)


def trials_of(folder, *records):
    return read(write(folder, *records)).trials


def several(**datasets):
    """As from by_split: {dataset: {method: [values]}}."""
    return pd.concat(
        {name: pd.DataFrame(columns) for name, columns in datasets.items()},
        names=["dataset", "split"],
    )


def test_means_and_standard_errors(tmp_path):
    trials = trials_of(
        tmp_path,
        *table({"gp": [1.0, 2.0, 6.0], "linear": [5.0, None, None]}),
        *table({"gp": [7.0]}, "b"),
    )
    rows = summary(trials).query("metric == 'log_density'").set_index(["dataset", "method"])
    # Deviations -2, -1, 3: their squares sum to 14, over 2 is 7.
    assert tuple(rows.loc[("a", "gp"), ["n", "mean", "sd", "standard_error"]]) == pytest.approx(
        (3, 3, np.sqrt(7), np.sqrt(7 / 3))
    )
    assert tuple(rows.loc[("a", "linear"), ["n", "mean"]]) == (1, 5)
    assert np.isnan(rows.loc[("a", "linear"), "standard_error"])
    assert rows.loc[("b", "gp"), "mean"] == 7


def test_seeds_are_averaged_within_splits(tmp_path):
    trials = trials_of(
        tmp_path,
        *table({"gp": [1.0, 2.0]}, seed=0),
        *table({"gp": [3.0, None]}, seed=1),
    )
    row = summary(trials).query("metric == 'log_density'").iloc[0]
    # Splits come to 2 and 2, not three numbers 1, 3, 2.
    assert (row["n"], row["mean"], row["sd"]) == (2, 2, 0)


def test_failed_trials_and_missing_metrics_have_no_part(tmp_path):
    trials = trials_of(
        tmp_path,
        record("a", 0, "gp", -1.0, elbo=-2.0),
        record("a", 1, "gp", error=("TimeLimit", "too slow"), seconds=1000.0),
        record("a", 0, "linear", -3.0),
    )
    rows = summary(trials).set_index(["metric", "method"])
    assert rows.loc[("log_density", "gp"), "n"] == 1
    assert rows.loc[("seconds", "gp"), "mean"] == 10
    assert ("elbo", "linear") not in rows.index
    assert list(by_split(trials, "elbo").columns) == ["gp"]


def test_differences_are_paired_over_common_splits():
    found = differences(values(a=[1.0, 2.0, 4.0, 100.0], b=[0.0, 3.0, 1.0, NAN])).set_index(
        ["method", "other"]
    )
    # 1, -1 and 3: mean 1, deviations 0, -2, 2, so that the variance is 4.
    assert tuple(found.loc[("a", "b")]) == pytest.approx((3, 1, 2 / np.sqrt(3), 2))
    assert tuple(found.loc[("b", "a")]) == pytest.approx((3, -1, 2 / np.sqrt(3), 2))
    assert len(found) == 2


def test_methods_without_a_common_split_have_no_difference():
    assert differences(values(a=[1.0, NAN], b=[NAN, 2.0])).empty
    one = differences(values(a=[1.0, NAN], b=[4.0, 2.0])).iloc[0]
    assert (one["n"], one["difference"]) == (1, -3) and np.isnan(one["standard_error"])


def test_all_differences_have_every_pair_once(tmp_path):
    trials = trials_of(
        tmp_path, *table({"c": [1.0], "a": [2.0], "b": [4.0]}), *table({"a": [1.0]}, "z")
    )
    found = all_differences(trials).query("metric == 'log_density'")
    assert list(zip(found["method"], found["other"], found["difference"], strict=True)) == [
        ("a", "b", -2),
        ("a", "c", 1),
        ("b", "c", 3),
    ]


# The best, and what cannot be told from it


def test_a_tie_is_judged_by_the_paired_difference():
    """The splits differ by hundreds, and yet the one method is always better than the other."""
    base = np.array([0.0, 300.0, -200.0, 100.0])
    found = marks(values(best=base + 1, worse=base + np.array([0.0, 0.1, -0.1, 0.0])), LOG_DENSITY)
    assert found == {"best": "best"}


def test_the_corrected_paired_t_test_is_the_limit():
    """Three differences, so that t = 4.303, the 0.975 quantile of two degrees of freedom."""
    for t, expected in [(4.30, {"best": "best", "other": "tied"}), (4.31, {"best": "best"})]:
        # Standard deviation 1; variance of the mean 1 / 3 + 1 / 9 (Nadeau & Bengio 2003, eq. 9).
        difference = t * np.sqrt(1 / 3 + 1 / 9) + np.array([-1.0, 0.0, 1.0])
        assert marks(values(best=difference, other=0 * difference), LOG_DENSITY) == expected


@pytest.mark.parametrize("n", [2, 3, 5, 20])
def test_equal_methods_are_told_apart_as_often_as_the_level_says(n):
    """Results on splits are correlated by the share of test rows, as the correction assumes."""
    rng = np.random.default_rng(n)
    draws = 20_000
    common, own = rng.normal(size=(draws, 1)), rng.normal(size=(draws, n))
    difference = np.sqrt(TEST_SHARE) * common + np.sqrt(1 - TEST_SHARE) * own
    error = difference.std(axis=1, ddof=1) / np.sqrt(n)
    wrong = np.abs(difference.mean(axis=1)) > least_difference(error, n)
    # Within four standard errors of the share.
    assert wrong.mean() == pytest.approx(LEVEL, abs=4 * np.sqrt(LEVEL * (1 - LEVEL) / draws))
    assert np.isnan(least_difference(np.nan, 1))
    few = difference[:200]
    p_values = np.array([p_of_shared_rows(one) for one in few])
    assert ((p_values < LEVEL) == wrong[:200]).all()


def test_splits_of_the_benchmark_keep_the_assumed_share_for_testing():
    X = np.arange(1000.0)[:, None]
    train, test = standard_split(Table("rows", X, X, ("x",), "y"), 0)
    assert len(test.X) / (len(train.X) + len(test.X)) == TEST_SHARE


@pytest.mark.parametrize("gaps", [[0.1], [], [0.3, 0.1, float("nan")], [0.1, float("inf")]])
def test_no_p_value_of_missing_differences(gaps):
    with pytest.raises(ValueError, match="at least 2 finite differences"):
        p_of_shared_rows(gaps)


def test_a_p_value_by_hand():
    """Mean 0.18, standard deviation 0.19235, variance factor 1/5 + 1/9."""
    gaps = [0.3, 0.1, 0.2, -0.1, 0.4]
    t = 0.18 / (0.1923538 * (1 / 5 + 1 / 9) ** 0.5)
    assert p_of_shared_rows(gaps) == pytest.approx(2 * stats.t.sf(t, 4), rel=1e-5)
    assert p_of_shared_rows(gaps) > stats.ttest_1samp(gaps, 0.0).pvalue
    assert p_of_shared_rows([0.0, 0.0, 0.0]) == 1.0


def test_of_one_common_split_nothing_can_be_told():
    assert marks(values(a=[1.0], b=[2.0], c=[3.0]), LOG_DENSITY) == {}
    assert marks(values(a=[1.0, 2.0, NAN], b=[NAN, 2.0, 3.0]), LOG_DENSITY) == {}
    # A third method shares two splits with the best.
    found = marks(values(a=[1.0, 1.1, NAN], b=[3.0, 3.1, 3.0], c=[NAN, NAN, 3.0]), LOG_DENSITY)
    assert found == {"b": "best"}


def test_nobody_is_the_best_in_seconds():
    assert marks(values(a=[1.0, 1.1], b=[2.0, 2.1]), METRICS["seconds"]) == {}


def test_lower_is_better_for_errors():
    assert marks(values(a=[1.0, 1.1], b=[2.0, 2.1]), RMSE) == {"a": "best"}


def test_coverage_is_best_near_its_nominal_value():
    # Means 0.91, 0.88 and 1.00; the errors of single splits would rank "even" first.
    found = marks(
        values(mean=[0.82, 1.00], even=[0.88, 0.88], all=[1.0, 1.0]),
        COVERAGE,
    )
    assert found["mean"] == "best"
    # Off by 0.05 and 0.04 to either side, without noise: the difference is that of distances.
    found = marks(values(low=[0.85, 0.85], high=[0.94, 0.94]), COVERAGE)
    assert found == {"high": "best"}
    # A mean that is exactly nominal says nothing about its splits: p = 0.377.
    exact, other = [0.80, 1.00, 0.80, 1.00], [0.95, 0.95, 0.95, 0.975]
    assert marks(values(exact=exact, other=other), COVERAGE) == {"exact": "best", "other": "tied"}


def test_equal_methods_are_tied():
    assert sorted(marks(values(a=[1.0, 2.0], b=[1.0, 2.0]), LOG_DENSITY).values()) == [
        "best",
        "tied",
    ]


def test_few_splits_are_not_the_best():
    """One lucky split of four is not the best; on it, it is not better than the best either."""
    found = marks(
        values(a=[1.0, 2.0, 3.0, 4.0], b=[NAN, NAN, NAN, 8.0], c=[0.0, 1.0, 2.0, 3.0]), LOG_DENSITY
    )
    assert found == {"a": "best"}
    found = marks(values(a=[1.0, 2.0, 3.0, 4.0], b=[2.0, 3.0, 4.5, NAN]), LOG_DENSITY)
    assert found["b"] == "best"


def test_one_method_is_not_the_best():
    assert marks(values(a=[1.0, 2.0], b=[NAN, NAN]), LOG_DENSITY) == {}


# Ranks


def test_mean_ranks():
    found = ranks(
        several(
            x={"a": [3.0, 3.2], "b": [2.0, 2.0], "c": [1.0, 1.0]},
            y={"a": [3.0, 3.0], "b": [1.0, 1.0], "c": [2.0, 2.0]},
            z={"a": [1.0, 1.0], "b": [1.0, 1.0], "c": [0.0, 0.5]},
        ),
        LOG_DENSITY,
    )
    assert isinstance(found, Ranks)
    assert found.mean.to_dict() == pytest.approx({"a": 3.5 / 3, "b": 6.5 / 3, "c": 8 / 3})
    assert list(found.mean.index) == ["a", "b", "c"]
    assert found.num_splits == {"x": 2, "y": 2, "z": 2} and found.left_out == []
    # Demšar 2006, table 5: q = 2.343 for three methods at 5%.
    assert found.critical_difference == pytest.approx(2.343 * np.sqrt(3 * 4 / (6 * 3)), abs=1e-3)


def test_ranks_follow_the_metric():
    data = several(**{name: {"a": [1.0], "b": [2.0], "c": [3.0]} for name in "xyz"})
    for metric, expected in [(LOG_DENSITY, ["c", "b", "a"]), (RMSE, ["a", "b", "c"])]:
        found = ranks(data, metric)
        assert isinstance(found, Ranks)
        assert list(found.mean.index) == expected
        # All data sets alike, for which there are 6 of 6**3 ways.
        assert found.p_value == pytest.approx(1 / 36)


def test_the_test_of_ranks_is_iman_and_davenports():
    """Demšar 2006, section 3.2.2: chi-square 9.28 of 4 methods on 14 data sets is F = 3.69, of 3
    and 39 degrees of freedom. Here, 3 methods on 4 data sets, by hand."""
    first, other = {"a": [3.0], "b": [2.0], "c": [1.0]}, {"a": [3.0], "b": [1.0], "c": [2.0]}
    found = ranks(several(w=first, x=first, y=first, z=other), LOG_DENSITY)
    assert isinstance(found, Ranks)
    # Mean ranks 1, 9/4 and 11/4, so that chi-square is 4 (1 + 1/16 + 9/16) = 6.5.
    assert found.p_value == pytest.approx(stats.f.sf(3 * 6.5 / (4 * 2 - 6.5), 2, 6))


def test_tied_methods_leave_fewer_rankings():
    """Two of three tied on each of n sets: 3^n rankings, of which 3 are alike."""
    for n in (3, 5):
        loss = np.array([[1.0, 2.0, 2.0]] * n)
        assert _friedman(loss) == pytest.approx(3.0 ** (1 - n))
    # By enumeration of all rankings of sets with these ties.
    rows = [[1.0, 2.0, 2.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
    ways = [sorted(set(itertools.permutations(row))) for row in rows]
    alike = [stats.friedmanchisquare(*np.array(one).T)[0] for one in itertools.product(*ways)]
    assert _friedman(np.array(rows)) >= np.mean(np.array(alike) >= max(alike) - 1e-9)


def test_failed_trials_here_and_there_leave_ranks():
    """One of two methods with failures is left out where both leave no split in common."""
    data = {
        name: {"a": [4.0, 4.1], "b": [3.0, 3.0], "c": [2.0, 2.1], "d": [1.0, 1.0]} for name in "xyz"
    }
    data["x"] = {**data["x"], "a": [NAN, 4.1], "b": [3.0, NAN]}
    found = ranks(several(**data), LOG_DENSITY)
    assert isinstance(found, Ranks)
    assert len(found.left_out) == 1 and found.left_out[0] in "ab"
    assert found.num_splits == {"x": 1, "y": 2, "z": 2}


def test_methods_that_all_tie_have_no_ranks():
    tie = {"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [1.0, 2.0]}
    assert ranks(several(x=tie, y=tie, z=tie), RMSE) == "all methods tie on every data set"


def test_ranks_are_of_the_splits_that_all_have():
    """The method "a" failed on the split on which all others do badly."""
    data = {"a": [1.0, 1.0, NAN], "b": [2.0, 2.0, -9.0], "c": [3.0, 3.0, -9.0]}
    found = ranks(several(x=data, y=data, z=data), LOG_DENSITY)
    assert isinstance(found, Ranks)
    assert list(found.mean.index) == ["c", "b", "a"]
    assert found.num_splits == {"x": 2, "y": 2, "z": 2}


def test_incomplete_methods_are_left_out_of_ranks():
    data = {"a": [1.0, 2.0, 3.0], "b": [2.0, 3.0, 4.0], "c": [0.0, 0.0, 0.0]}
    most, few = {**data, "d": [9.0, 9.0, NAN]}, {**data, "d": [9.0, NAN, NAN]}
    for third, left_out in [(most, []), (few, ["d"]), (data, ["d"])]:
        found = ranks(several(x=most, y=most, z=third), LOG_DENSITY)
        assert isinstance(found, Ranks)
        assert found.left_out == left_out
        assert sorted(found.mean.index) == ["a", "b", "c", "d"][: 4 - len(left_out)]


def test_a_sweep_that_grows_keeps_its_ranks():
    """One method has more splits than the others, on one data set or on all; a fifth has one."""
    five = {name: [*map(float, range(i, i + 5)), *[NAN] * 15] for i, name in enumerate("abc")}
    more = {**five, "d": [-1.0] * 20, "e": [9.0] + [NAN] * 19}
    usual = {**five, "d": [-1.0] * 5 + [NAN] * 15, "e": [9.0] + [NAN] * 19}
    for data in ({"x": more, "y": usual, "z": usual}, dict.fromkeys("xyz", more)):
        found = ranks(several(**data), LOG_DENSITY)
        assert isinstance(found, Ranks)
        assert list(found.mean.index) == ["c", "b", "a", "d"] and found.left_out == ["e"]
        assert found.num_splits == dict.fromkeys("xyz", 5)
    # Methods whose halves are disjoint do not both come in.
    ten = {name: [float(i)] * 10 for i, name in enumerate("abc")}
    halves = {"d": [5.0] * 5 + [NAN] * 5, "e": [NAN] * 5 + [6.0] * 5}
    found = ranks(several(**{key: {**ten, **halves} for key in "xyz"}), LOG_DENSITY)
    assert isinstance(found, Ranks) and found.left_out == ["e"]
    # Where most have more, they are ranked on all of their splits.
    most = {name: [float(i)] * 20 for i, name in enumerate("abc")}
    few = {"d": [5.0] * 5 + [NAN] * 15}
    found = ranks(several(**{key: {**most, **few} for key in "xyz"}), LOG_DENSITY)
    assert isinstance(found, Ranks)
    assert found.num_splits == dict.fromkeys("xyz", 20) and found.left_out == ["d"]


@pytest.mark.parametrize(
    "data, why",
    [
        ({name: {"a": [1.0], "b": [2.0], "c": [3.0]} for name in "xy"}, "3 data sets or more"),
        ({name: {"a": [1.0], "b": [2.0]} for name in "xyz"}, "there are 2"),
        (
            {name: {"a": [1.0, NAN], "b": [NAN, 2.0], "c": [3.0, 3.0]} for name in "xyz"},
            "no split in common on x, y, z",
        ),
    ],
)
def test_why_there_are_no_ranks(data, why):
    found = ranks(several(**data), LOG_DENSITY)
    assert isinstance(found, str) and why in found

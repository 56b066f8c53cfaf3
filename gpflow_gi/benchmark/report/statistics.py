"""Means, errors, differences and ranks.

Splits are the repetitions: several seeds of one split are averaged first. A standard error is over
splits. Splits share most of their rows, so it is somewhat too small, and tests of two methods allow
for that, approximately.
"""

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy import stats

from gpflow_gi.benchmark.methods import NO_BOUND, in_order

LEVEL = 0.05
"""Level of all tests: paired t-tests of two methods, and tests of mean ranks."""

TEST_SHARE = 0.1
"""Share of the rows of a set that each split keeps for testing."""

MAIN = ("log_density", "elbo")
"""Metrics that the command shows, and by which the page compares every two methods."""


@dataclass(frozen=True)
class Metric:
    """A measure that each trial returns.

    :param name: name of its column.
    :param title: its name for readers.
    :param meaning: a sentence on its unit and on the better direction.
    :param better: "higher", "lower", or a nominal value that it should be near to; None if methods
        are not judged by it.
    :param compared: True if methods are compared in figures and by their ranks.
    :param missing: reason why a finished trial may not have it, a sentence.
    """

    name: str
    title: str
    meaning: str
    better: Literal["higher", "lower"] | float | None
    compared: bool = False
    missing: str = ""


METRICS = {
    metric.name: metric
    for metric in (
        Metric(
            "log_density",
            "Test log density",
            "Mean over test rows, in nats, target on its original scale. Higher is better.",
            "higher",
            compared=True,
        ),
        Metric(
            "elbo",
            "ELBO",
            "The bound per training row, for the standardised target, in nats; of an exact GP the "
            "log marginal likelihood. Higher is better.",
            "higher",
            compared=True,
            missing=NO_BOUND,
        ),
        Metric(
            "rmse",
            "Test RMSE",
            "In the target's unit. Lower is better.",
            "lower",
            compared=True,
        ),
        Metric(
            "crps",
            "Test CRPS",
            "Continuous ranked probability score, in the target's unit. Lower is better.",
            "lower",
            compared=True,
        ),
        Metric(
            "pit_error",
            "PIT error",
            "How far the probability integral transforms of the test targets are from uniform. "
            "Lower is better.",
            "lower",
        ),
        *(
            Metric(
                f"coverage_{percent}",
                f"Coverage of {percent}% intervals",
                f"Share of test targets inside their predictive interval. Nearer to "
                f"{percent / 100:.2f} is better.",
                percent / 100,
            )
            for percent in (50, 90, 95)
        ),
        Metric(
            "seconds",
            "Seconds",
            "Time of a trial that is done. It depends on the machine and on what else ran there, "
            "so that no method is marked as the best.",
            None,
        ),
    )
}


def by_split(trials: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One metric, averaged over seeds.

    :param trials: trials of one budget; failed trials have no values.
    :return: indexed by (dataset, split), a column for each method that has a value, NaN where a
        trial is missing.
    """
    known = trials[trials["done"] & trials[metric].notna()]
    table = known.pivot_table(
        index=["dataset", "split"], columns="method", values=metric, aggfunc="mean"
    )
    return table[in_order(table.columns)]


def summary(trials: pd.DataFrame) -> pd.DataFrame:
    """Means over splits.

    :param trials: trials of one budget.
    :return: a row for each dataset, method and metric that has values: "n" splits, "mean",
        "standard_error" and "sd", which are NaN for n = 1.
    """
    parts = []
    for metric in METRICS:
        values = by_split(trials, metric)
        if values.empty:
            continue
        # By position: a method may have the name of one of these columns.
        numbered = values.set_axis(range(values.shape[1]), axis=1).reset_index()
        long = numbered.melt(["dataset", "split"], var_name="method").dropna()
        long["method"] = values.columns[long["method"].astype(int)]
        grouped = long.groupby(["dataset", "method"])["value"].agg(n="count", mean="mean", sd="std")
        parts.append(grouped.reset_index().assign(metric=metric))
    columns = ["dataset", "method", "metric", "n", "mean", "standard_error", "sd"]
    if not parts:
        return pd.DataFrame(columns=columns)
    table = pd.concat(parts, ignore_index=True)
    table["standard_error"] = table["sd"] / np.sqrt(table["n"])
    return table[columns]


def differences(values: pd.DataFrame) -> pd.DataFrame:
    """Paired differences of every two methods on one data set, over the splits that both have.

    :param values: [S, M], from :func:`by_split`, of one data set.
    :return: a row for each ordered pair: "method", "other", "n" common splits, the mean
        "difference" (method minus other), its "standard_error" and "sd". n is at least 1.
    """
    y = values.to_numpy(float)
    i, j = np.nonzero(~np.eye(y.shape[1], dtype=bool))
    paired = pd.DataFrame(y[:, i] - y[:, j])
    n = paired.count()
    sd = paired.std(ddof=1)
    table = pd.DataFrame(
        {
            "method": values.columns[i],
            "other": values.columns[j],
            "n": n,
            "difference": paired.mean(),
            "standard_error": sd / np.sqrt(n),
            "sd": sd,
        }
    )
    return table[n > 0].reset_index(drop=True)


def least_difference(standard_error: Any, n: Any) -> Any:
    """The least absolute value of a mean of paired differences that is significant at
    :data:`LEVEL`, by the test of :func:`p_of_shared_rows`.

    :param standard_error: standard error of the mean.
    :param n: number of differences.
    :return: NaN for n = 1, where no test is possible.
    """
    n = np.asarray(n)
    return stats.t.ppf(1 - LEVEL / 2, n - 1) * standard_error * factor_of_shared_rows(n)


def p_of_shared_rows(gaps: Any) -> float:
    """P-value of a mean difference over random splits of the same rows, two-sided.

    The corrected resampled t-test of Nadeau & Bengio ("Inference for the generalization error",
    Machine Learning 52, 2003): the variance of the mean is that of independent splits
    times 1 + n r, with r rows for testing to one for training.

    :param gaps: differences, [n]. If all are zero, p is 1.
    :raises ValueError: if there are fewer than 2, or one is not finite.
    """
    gaps = pd.Series(gaps, dtype=float)
    if len(gaps) < 2 or not np.isfinite(gaps).all():
        raise ValueError(f"The test takes at least 2 finite differences, but gets {list(gaps)}.")
    if not gaps.any():
        return 1.0
    t = gaps.mean() / (gaps.sem() * factor_of_shared_rows(len(gaps)))
    return float(2.0 * stats.t.sf(abs(t), len(gaps) - 1))


def factor_of_shared_rows(num_splits: Any) -> Any:
    """Factor on the standard error of a mean over splits; see :func:`p_of_shared_rows`."""
    return (1.0 + num_splits * TEST_SHARE / (1.0 - TEST_SHARE)) ** 0.5


def losses(values: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The metric transformed so that lower is better.

    If the metric should be near to a nominal value, the loss is the distance of a method's *mean*
    from it: the distance of a single split is mostly chance. The contributions of its splits to
    that distance are signed, so that their mean is the distance.

    :param values: [S, M], of one data set.
    """
    if metric.better == "higher":
        return -values
    if metric.better == "lower":
        return values
    excess = values - metric.better
    return excess * np.where(excess.mean() < 0, -1.0, 1.0)  # at zero, too, splits differ


def marks(values: pd.DataFrame, metric: Metric) -> dict[str, str]:
    """The best method on one data set, and those that do not differ significantly from it.

    The best has the best mean of the methods with at least half of the largest number of splits. A
    method is "tied" if, on the splits that it shares with the best (at least two), it is not worse
    at :data:`LEVEL`, by the paired test of :func:`p_of_shared_rows`.

    :param values: [S, M], of one data set.
    :return: "best" or "tied" by the name of the method; empty if methods are not judged by this
        metric, or if no other method shares two splits with the best, since no test is possible.
    """
    values = values.dropna(axis=1, how="all")
    if metric.better is None or values.shape[1] < 2:
        return {}
    loss = losses(values, metric)
    n = loss.count()
    best = str(loss.loc[:, n >= n.max() / 2].mean().idxmin())
    worse = differences(loss).query("other == @best and n > 1")
    if worse.empty:
        return {}
    least = least_difference(worse["standard_error"], worse["n"])
    tied = worse[worse["difference"] <= least]["method"]
    return {best: "best", **{str(method): "tied" for method in tied}}


@dataclass(frozen=True)
class Ranks:
    """Ranks of methods: 1 is the best on a data set; ties get the mean of their ranks.

    :param ranks: [datasets, methods], methods in the order of their mean ranks.
    :param loss: [datasets, methods], the ranked values.
    :param num_splits: number of splits that all methods share, by data set.
    :param left_out: methods that have less than half of the splits, see :func:`ranked_methods`.
    :param p_value: p-value of Friedman's test that all methods rank alike, with Iman and
        Davenport's correction.
    :param critical_difference: critical difference of two mean ranks, by Nemenyi's test at
        :data:`LEVEL`.
    """

    ranks: pd.DataFrame
    loss: pd.DataFrame
    num_splits: dict[str, int]
    left_out: list[str]
    p_value: float
    critical_difference: float

    @property
    def mean(self) -> "pd.Series[float]":
        """Mean ranks by method, the best first."""
        return self.ranks.mean()


def ranks(values: pd.DataFrame, metric: Metric) -> Ranks | str:
    """Rank the methods on each data set by their means over the splits that all of them have.

    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006.

    :param values: from :func:`by_split`.
    :return: the ranks, or the reason why there are none: at least three methods and three data sets
        are needed, and a difference between any two methods.
    """
    datasets = list(values.index.unique("dataset"))
    if len(datasets) < 3:
        return f"it takes 3 data sets or more, and there {_are(len(datasets))}"
    complete = ranked_methods(values)
    left_out = [str(method) for method in values.columns if method not in complete]
    if len(complete) < 3:
        return (
            "it takes 3 methods or more with results on every data set, and there "
            f"{_are(len(complete))}"
        )
    common = values[complete].dropna()
    num_splits = common.groupby(level="dataset").size()
    without = [str(name) for name in datasets if name not in num_splits.index]
    if without:
        return f"the methods have no split in common on {', '.join(without)}"
    loss = pd.DataFrame(
        {
            name: losses(splits, metric).mean()
            for name, splits in common.groupby(level="dataset", sort=False)
        }
    ).T
    ranked = pd.DataFrame(stats.rankdata(loss, axis=1), index=loss.index, columns=loss.columns)
    order = ranked.mean().sort_values(kind="stable").index
    n, k = ranked.shape
    if (ranked == (k + 1) / 2).all(axis=None):
        return "all methods tie on every data set"
    # The studentised range for k groups; Nemenyi's statistic is smaller by a factor of sqrt(2).
    critical = stats.studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    return Ranks(
        ranks=ranked[order],
        loss=loss[order],
        num_splits={str(name): int(size) for name, size in num_splits.items()},
        left_out=left_out,
        p_value=_friedman(loss.to_numpy()),
        critical_difference=float(critical * np.sqrt(k * (k + 1) / (6 * n))),
    )


def ranked_methods(values: pd.DataFrame) -> list[str]:
    """The methods that are ranked, on the splits that all of them have.

    They are the group of three methods or more that shares the most trials, and other methods as
    long as half of its splits of each data set stay shared. So a sweep in which a few methods
    already have more splits keeps its ranks.

    :param values: from :func:`by_split`.
    :return: methods with results on every data set; all of them, if they are fewer than three.
    """
    counts = values.notna().groupby(level="dataset").sum()
    fewest = counts.min()
    groups = [list(fewest.index[fewest >= n]) for n in sorted({*fewest} - {0})]
    groups = [group for group in groups if len(group) >= 3]
    if not groups:
        return list(fewest.index[fewest > 0])
    largest = max(groups, key=lambda group: len(group) * len(values[group].dropna()))
    largest = _with_shared_splits(values, largest)
    shared = values[largest].dropna().groupby(level="dataset").size()
    half = shared.reindex(counts.index, fill_value=0) / 2
    ranked = set(largest)
    for method in counts.sum().sort_values(ascending=False, kind="stable").index:
        left = values[[*ranked, method]].dropna().groupby(level="dataset").size()
        left = left.reindex(counts.index, fill_value=0)
        if ((left >= half) & (counts[method] > 0)).all():
            ranked.add(method)
    return [method for method in counts.columns if method in ranked]


def _with_shared_splits(values: pd.DataFrame, methods: list[str]) -> list[str]:
    """Leave methods out, one by one, until the others share a split of every data set.

    Each time the one without which most trials are shared; all stay if that does not help.
    """
    group, datasets = list(methods), values.index.unique("dataset")
    while len(group) >= 3:
        if len(values[group].dropna().index.unique("dataset")) == len(datasets):
            return group
        without = {one: values[group].drop(columns=one).dropna() for one in group}
        group.remove(max(group, key=lambda one: len(without[one])))
    return methods


def _friedman(loss: np.ndarray) -> float:
    """The p-value of Iman and Davenport's F, which is better than chi-square for few data sets.

    :param loss: [N, K], not all of them tied.
    """
    n, k = loss.shape
    chi_square = stats.friedmanchisquare(*loss.T).statistic
    rest = n * (k - 1) - chi_square
    # If all data sets rank alike, F is infinite. No result is less probable than that among all
    # possible rankings. Tied methods can only change places with others.
    orders = [
        math.factorial(k) / math.prod(map(math.factorial, np.unique(row, return_counts=True)[1]))
        for row in loss
    ]
    least = max(orders) / math.prod(orders)
    if rest <= 1e-9 * chi_square:
        return least
    return max(least, float(stats.f.sf((n - 1) * chi_square / rest, k - 1, (k - 1) * (n - 1))))


def _are(number: int) -> str:
    return {0: "are none", 1: "is 1"}.get(number, f"are {number}")


def of_dataset(values: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """One data set's rows of :func:`by_split`, [S, M], indexed by split."""
    return values.loc[[dataset]].droplevel("dataset")


def all_differences(trials: pd.DataFrame) -> pd.DataFrame:
    """Apply :func:`differences` to every metric and data set, each pair of methods once.

    :param trials: trials of one budget.
    """
    parts: list[Any] = []
    for metric in METRICS:
        values = by_split(trials, metric)
        for dataset in values.index.unique("dataset"):
            pairs = differences(of_dataset(values, dataset))
            once = pairs[pairs["method"] < pairs["other"]]
            parts.append(once.assign(dataset=dataset, metric=metric))
    columns = ["dataset", "metric", "method", "other", "n", "difference", "standard_error", "sd"]
    return pd.concat(parts, ignore_index=True)[columns] if parts else pd.DataFrame(columns=columns)

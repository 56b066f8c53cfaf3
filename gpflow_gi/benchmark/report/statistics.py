"""Means, errors, differences and ranks.

Splits are what is repeated: several seeds of one split are averaged first. A standard error is over
splits. Splits share most of their rows, so that it is rather too small.
"""

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from scipy.stats import friedmanchisquare, rankdata, studentized_range

from gpflow_gi.benchmark.methods import in_order

ERRORS = 2.0
"""How many standard errors a difference has to have to count."""

LEVEL = 0.05
"""Of the tests of mean ranks."""


@dataclass(frozen=True)
class Metric:
    """A number that each trial comes to.

    :param name: its column.
    :param title: what it is called.
    :param meaning: a sentence on its unit and on which way is better.
    :param better: "higher", "lower", or the value that it should be near to.
    :param compared: whether methods are compared in figures and by their ranks.
    """

    name: str
    title: str
    meaning: str
    better: Literal["higher", "lower"] | float
    compared: bool = False


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
            "The bound per training row, in nats, target standardised. Higher is better.",
            "higher",
            compared=True,
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
        Metric("seconds", "Seconds", "Time of a trial that is done. Lower is better.", "lower"),
    )
}


def by_split(trials: pd.DataFrame, metric: str) -> pd.DataFrame:
    """One metric, averaged over seeds.

    :param trials: of one budget; those that failed have no values.
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

    :param trials: of one budget.
    :return: a row for each dataset, method and metric that has values: "n" splits, "mean",
        "standard_error" and "sd", which are NaN for n = 1.
    """
    parts = []
    for metric in METRICS:
        values = by_split(trials, metric)
        if values.empty:
            continue
        long = values.reset_index().melt(["dataset", "split"], var_name="method").dropna()
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
    paired = y[:, :, None] - y[:, None, :]
    rows = []
    for i, method in enumerate(values.columns):
        for j, other in enumerate(values.columns):
            both = paired[:, i, j][np.isfinite(paired[:, i, j])]
            n = len(both)
            if i != j and n:
                sd = float(np.std(both, ddof=1)) if n > 1 else np.nan
                rows.append((method, other, n, float(both.mean()), sd / np.sqrt(n), sd))
    columns = ["method", "other", "n", "difference", "standard_error", "sd"]
    return pd.DataFrame(rows, columns=columns)


def losses(values: pd.DataFrame, metric: Metric) -> pd.DataFrame:
    """The same so that lower is better.

    Of what should be near to a nominal value, the loss is the distance of a method's *mean* from
    it: a single split's distance is mostly chance. Its splits' shares in that distance are signed,
    so that they have it as their mean.

    :param values: [S, M], of one data set.
    """
    if metric.better == "higher":
        return -values
    if metric.better == "lower":
        return values
    excess = values - metric.better
    return excess * np.sign(excess.mean())


def marks(values: pd.DataFrame, metric: Metric) -> dict[str, str]:
    """The best method on one data set, and those that it cannot be told from.

    The best has the best mean of those with at least half as many splits as any other. A method is
    "tied" if, on the splits that it shares with the best (two at least), it is not worse by more
    than :data:`ERRORS` standard errors of the paired difference.

    :param values: [S, M], of one data set.
    :return: "best" or "tied" by the name of the method; nothing if there is but one method.
    """
    values = values.dropna(axis=1, how="all")
    if values.shape[1] < 2:
        return {}
    loss = losses(values, metric)
    n = loss.count()
    best = str(loss.loc[:, n >= n.max() / 2].mean().idxmin())
    worse = differences(loss).query("other == @best and n > 1")
    tied = worse[worse["difference"] <= ERRORS * worse["standard_error"]]["method"]
    return {best: "best", **{str(method): "tied" for method in tied}}


@dataclass(frozen=True)
class Ranks:
    """Ranks of methods: 1 is the best on a data set, and the mean of the ranks on a tie.

    :param ranks: [datasets, methods], methods in the order of their mean ranks.
    :param loss: [datasets, methods], what was ranked.
    :param num_splits: that all the methods share, by data set.
    :param left_out: methods without results on at least half of the splits of every data set.
    :param p_value: of Friedman's test that all methods rank alike.
    :param critical_difference: of two mean ranks, by Nemenyi's test at :data:`LEVEL`.
    """

    ranks: pd.DataFrame
    loss: pd.DataFrame
    num_splits: dict[str, int]
    left_out: list[str]
    p_value: float
    critical_difference: float

    @property
    def mean(self) -> "pd.Series[float]":
        """By method, the best first."""
        return self.ranks.mean()


def ranks(values: pd.DataFrame, metric: Metric) -> Ranks | str:
    """Rank the methods on each data set by their means over the splits that all of them have.

    Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 2006.

    :param values: from :func:`by_split`.
    :return: the ranks, or why there are none: it takes three methods and three data sets.
    """
    datasets = list(values.index.unique("dataset"))
    if len(datasets) < 3:
        return f"it takes 3 data sets or more, and there {_are(len(datasets))}"
    share = values.notna().groupby(level="dataset").mean()
    complete = list(share.columns[(share >= 0.5).all()])
    left_out = [str(method) for method in values.columns if method not in complete]
    if len(complete) < 3:
        return (
            "it takes 3 methods or more with results on at least half of the splits of every data "
            f"set, and there {_are(len(complete))}"
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
    ranked = pd.DataFrame(rankdata(loss, axis=1), index=loss.index, columns=loss.columns)
    order = ranked.mean().sort_values(kind="stable").index
    n, k = ranked.shape
    # The studentised range for k groups; Nemenyi's statistic is smaller by the root of 2.
    critical = studentized_range.ppf(1 - LEVEL, k, np.inf) / np.sqrt(2)
    return Ranks(
        ranks=ranked[order],
        loss=loss[order],
        num_splits={str(name): int(size) for name, size in num_splits.items()},
        left_out=left_out,
        p_value=float(friedmanchisquare(*loss.to_numpy().T).pvalue),
        critical_difference=float(critical * np.sqrt(k * (k + 1) / (6 * n))),
    )


def _are(number: int) -> str:
    return {0: "are none", 1: "is 1"}.get(number, f"are {number}")


def of_dataset(values: pd.DataFrame, dataset: str) -> pd.DataFrame:
    """One data set's rows of :func:`by_split`, [S, M], indexed by split."""
    return values.loc[[dataset]].droplevel("dataset")


def all_differences(trials: pd.DataFrame) -> pd.DataFrame:
    """:func:`differences` of every metric and data set, each pair of methods once.

    :param trials: of one budget.
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

"""Tables of means with their errors: their cells as text, and as Markdown."""

import json
import math
import textwrap
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from tabulate import tabulate

from gpflow_gi.benchmark.methods import BOUND, METHODS, in_order, objective_of
from gpflow_gi.core.printable import printable

from .statistics import Metric, by_split, differences, least_difference, marks, of_dataset

NOTHING = "–"
"""Text of a cell without a result."""

FAILED = "failed"
"""Text of a cell if all trials failed."""

_MOST_DECIMALS = 6


@dataclass(frozen=True)
class Cell:
    """The result of a method on a data set.

    :param mean: the mean as text, or :data:`NOTHING`, or another remark.
    :param error: without the ±; empty if there is none.
    :param n: number of splits, if others on the same data set have more.
    :param mark: "best", "tied" or empty.
    """

    mean: str
    error: str = ""
    n: int | None = None
    mark: str = ""

    def __str__(self) -> str:
        error = f" ± {self.error}" if self.error else ""
        return f"{self.mean}{error}{f' (n={self.n})' if self.n is not None else ''}"


@dataclass(frozen=True)
class Table:
    """Results of methods, one column for each.

    :param rows: a name, the largest number of splits of a method, and a cell for each method. For
        one metric, the name is a data set's, and the best and the tied are marked. For paired
        differences on a data set, it is that of the method from which those of the columns are
        subtracted; "better" and "worse" are marked if :func:`~.statistics.least_difference` shows
        a difference from zero; None on the diagonal.
    :param footnote: the methods that lack the metric, and the reason; empty if there are none.
    """

    methods: list[str]
    rows: list[tuple[str, int, list[Any]]]
    footnote: str = ""


def metric_table(trials: pd.DataFrame, metric: Metric) -> Table | None:
    """The table of one metric.

    :param trials: trials of one budget, including failed ones.
    :return: None if no trial has the metric.
    """
    values = by_split(trials, metric.name)
    if values.empty:
        return None
    # A method without any result has no column in `values`.
    methods = in_order(trials["method"].unique())
    succeeded = trials.groupby(["dataset", "method"])["done"].any()
    rows, without = [], set()
    for dataset in values.index.unique("dataset"):
        here = of_dataset(values, dataset).reindex(columns=methods)
        n, mean, error = here.count(), here.mean(), here.sem(ddof=1)
        decimals = decimals_for(mean.to_numpy(float), error.to_numpy(float))
        marked = marks(here, metric)
        without |= {one for one in methods if not n[one] and succeeded.get((dataset, one), False)}
        cells = [
            Cell(
                number(mean[method], decimals),
                number(error[method], decimals) if n[method] > 1 else "",
                int(n[method]) if n[method] < n.max() else None,
                marked.get(method, ""),
            )
            if n[method]
            else Cell(NOTHING if succeeded.get((dataset, method), True) else FAILED)
            for method in methods
        ]
        rows.append((str(dataset), int(n.max()), cells))
    notes = [_footnote(metric, in_order(without))] if without else []
    if metric.name == "elbo":
        notes += _of_other_objectives(trials)
    return Table(methods, rows, " ".join(notes))


def _of_other_objectives(trials: pd.DataFrame) -> list[str]:
    """A sentence on methods whose training maximises another objective than the bound."""
    found: dict[str, str] = {}
    for row in trials[["method", "settings"]].drop_duplicates().itertuples():
        settings = json.loads(str(row.settings))
        name = objective_of(settings) if isinstance(settings, dict) else BOUND
        if name != BOUND:
            found[str(row.method)] = printable(name)
    if not found:
        return []
    named = ", ".join(f"{name} ({found[name]})" for name in in_order(found))
    return [f"Trained by another objective than this bound: {named}."]


def _footnote(metric: Metric, without: list[str]) -> str:
    return f"{NOTHING} No {metric.title}: {', '.join(without)}. {metric.missing}".rstrip()


def rate_table(trials: pd.DataFrame) -> Table:
    """The table of the methods' learning rates.

    :param trials: trials of one budget, each method on each data set at one rate for each seed.
    """
    methods = in_order(trials["method"].unique())
    rates = trials.groupby(["dataset", "method"])["learning_rate"].unique()
    rated = [name for name in methods if name not in METHODS or METHODS[name].has_rate]
    rows = [
        (
            dataset,
            trials.loc[trials["dataset"] == dataset, "split"].nunique(),
            [
                Cell(", ".join(f"{rate:g}" for rate in sorted(rates[dataset, name])))
                if name in rated and (dataset, name) in rates
                else Cell(NOTHING)
                for name in methods
            ],
        )
        for dataset in sorted(trials["dataset"].unique())
    ]
    return Table(methods, rows)


def difference_table(values: pd.DataFrame, metric: Metric, dataset: str) -> Table | None:
    """All paired differences on one data set.

    :param values: from :func:`~.statistics.by_split`.
    :return: None if there are fewer than two methods.
    """
    here = of_dataset(values, dataset).dropna(axis=1, how="all")
    methods = list(here.columns)
    if len(methods) < 2:
        return None
    pairs = differences(here)
    pairs["least"] = least_difference(pairs["standard_error"], pairs["n"])
    sign = 1.0 if metric.better == "higher" else -1.0
    decimals = decimals_for(
        pairs["difference"].to_numpy(float), pairs["standard_error"].to_numpy(float)
    )

    most = here.count().max()
    found = pairs.set_index(["method", "other"]).to_dict("index")

    def cell(method: str, other: str) -> Cell | None:
        if method == other:
            return None
        if (method, other) not in found:
            return Cell(NOTHING)
        pair = found[method, other]
        mark = ""
        if abs(pair["difference"]) > pair["least"]:
            mark = "better" if sign * pair["difference"] > 0 else "worse"
        return Cell(
            number(pair["difference"], decimals, sign=True),
            number(pair["standard_error"], decimals) if pair["n"] > 1 else "",
            pair["n"] if pair["n"] < most else None,
            mark,
        )

    rows = [(one, int(most), [cell(one, other) for other in methods]) for one in methods]
    return Table(methods, rows)


def decimals_for(means: np.ndarray, errors: np.ndarray) -> int:
    """Number of decimals for numbers to be compared: two digits of a typical error.

    :param means: [n], NaN for missing values.
    :param errors: [n], NaN for missing values. If all are NaN, four digits of the largest mean.
    """
    errors = errors[np.isfinite(errors) & (errors > 0)]
    if len(errors):
        smallest, digits = float(np.median(errors)), 2
    else:
        sizes = np.abs(means[np.isfinite(means) & (means != 0)])
        smallest, digits = float(sizes.max()) if len(sizes) else 1.0, 4
    decimals = digits - 1 - math.floor(math.log10(smallest))
    return int(np.clip(decimals, 0, _MOST_DECIMALS))


def number(value: float, decimals: int, sign: bool = False) -> str:
    """A number with a proper minus sign, in powers of ten if it would be very long."""
    form = f".{decimals}f" if abs(value) < 1e7 else ".3g"
    return f"{value:{'+' if sign else ''}{form}}".replace("-", "−")


def terminal(table: Table, width: int = 80) -> str:
    """A table with methods as rows and data sets as columns, in several blocks if necessary.

    The best have a star and the tied a tilde. If a method has fewer splits than others, its cell
    shows the number. A footnote is below.
    """
    sign = {"best": "*", "tied": "~", "": ""}
    columns = [
        [dataset, *(f"{sign[cell.mark]}{cell}" for cell in cells)]
        for dataset, _, cells in table.rows
    ]
    first = ["", *table.methods]
    blocks: list[list[list[str]]] = []
    for column in columns:
        candidate = [*(blocks[-1] if blocks else []), column]
        fits = sum(2 + max(map(len, one)) for one in [first, *candidate]) - 2 <= width
        if blocks and fits:
            blocks[-1] = candidate
        else:
            blocks.append([column])
    text = "\n\n".join(
        tabulate(
            list(zip(*(column[1:] for column in [first, *block]), strict=True)),
            [column[0] for column in [first, *block]],
            disable_numparse=True,
            colalign=("left", *("right" for _ in block)),
        )
        for block in blocks
    )
    if table.footnote:
        text += f"\n\n{textwrap.fill(table.footnote, width)}"
    # Some terminals do not have these letters.
    return text.replace("−", "-").replace(NOTHING, "-")

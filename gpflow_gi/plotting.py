"""Figures of training runs and of predictions.

Every function draws on the axes that it is given and returns them. None of them chooses a backend,
opens a window or knows of models.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Told apart by colour-blind readers: Okabe & Ito, "Color universal design", 2008."""

_INK, _BAR, _MISS = "#222222", "#8DB3D3", "#D55E00"


class Report(Protocol):
    """One line of the record of a training run."""

    @property
    def step(self) -> int:
        """The number of steps taken so far: the last that the report covers."""

    @property
    def bound(self) -> float:
        """The mean over the steps since the report before, summed over all rows, in nats."""


class Record(Protocol):
    """What :func:`gpflow_gi.fit` returns, as far as this module cares."""

    @property
    def reports(self) -> Sequence[Report]:
        """In the order of the steps."""


def training_curves(
    records: Mapping[str, Record], ax: "Axes | None" = None, num_data: int = 1
) -> "Axes":
    """Draw the bound against the step, a line for each run.

    A report is drawn in the middle of the steps that it is the mean of. The first steps climb from
    so far below that they would flatten all the rest: what lies far under where the lines spend
    their time is cut off.

    :param records: the runs, by the name to show.
    :param ax: where to draw; None means the current axes.
    :param num_data: the number of rows of data, to show the bound per row.
    :return: the axes.
    """
    ax = _axes(ax)
    settled = []
    for i, (name, record) in enumerate(records.items()):
        ends = np.array([0, *(report.step for report in record.reports)])
        bounds = np.array([report.bound for report in record.reports]) / num_data
        ax.plot(
            (1 + ends[:-1] + ends[1:]) / 2,
            bounds,
            label=name,
            color=COLOURS[i % len(COLOURS)],
            linewidth=1.6,
        )
        settled.append(bounds[np.isfinite(bounds) & (ends[1:] > 0.05 * ends[-1])])
    values = np.concatenate(settled) if settled else np.zeros(0)
    if len(values) and np.ptp(values) > 0:
        low, high = np.quantile(values, 0.05), values.max()
        ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
    ax.set_xlabel("Step")
    ax.set_ylabel("Bound per row (nats)" if num_data != 1 else "Bound (nats)")
    if records:
        ax.legend(frameon=False, loc="lower right")
    return _tidy(ax)


def predictions_with_intervals(
    y: Array, mean: Array, lower: Array, upper: Array, ax: "Axes | None" = None
) -> "Axes":
    """Draw what was observed against what was predicted, with the predictive intervals.

    A vertical bar is a prediction's interval, and stands where the prediction is on the horizontal
    axis; the dot is what was observed. Dots outside their bars stand out in colour. Both axes are
    alike, and the diagonal is a perfect prediction.

    :param y: [N], the observations.
    :param mean: [N], the predicted means, in the unit of `y`.
    :param lower: [N], the lower ends of the intervals.
    :param upper: [N], the upper ends.
    :param ax: where to draw; None means the current axes.
    :return: the axes.
    """
    ax = _axes(ax)
    hit = (lower <= y) & (y <= upper)
    # Fewer rows, thicker marks: 30 and 3000 are both to be read.
    size = float(np.clip(60 / np.sqrt(max(len(y), 1)), 1.2, 5.5))
    ax.vlines(mean, lower, upper, color=_BAR, linewidth=0.25 * size, zorder=1)
    for dots, colour, label in [(hit, _INK, "inside"), (~hit, _MISS, "outside")]:
        ax.plot(
            mean[dots], y[dots], "o", color=colour, markersize=size, markeredgewidth=0,
            label=label, zorder=3,
        )  # fmt: skip
    everything = np.concatenate([y, mean, lower, upper])
    if len(everything):
        low, high = everything.min(), everything.max()
        margin = 0.03 * (high - low) or 1.0
        limits = (low - margin, high + margin)
        ax.axline((low, low), slope=1, color="#888888", linewidth=0.8, zorder=2)
        ax.set_xlim(limits)
        ax.set_ylim(limits)
    ax.set_aspect("equal")
    ax.set_xlabel("Predicted")
    ax.set_ylabel("Observed")
    return _tidy(ax)


def reliability_diagram(
    edges: Array, confidence: Array, accuracy: Array, ax: "Axes | None" = None
) -> "Axes":
    """Draw how often predictions were right against how sure they were, bin by bin.

    The arguments are the fields of :class:`gpflow_gi.classification_metrics.Reliability`. A bar is
    a bin's accuracy; the line from it ends at its confidence, on the diagonal's height. Bars on
    the diagonal are calibrated, bars below it overconfident.

    :param edges: [B + 1], from 0 to 1.
    :param confidence: [B], the mean confidence in each bin; NaN where it is empty.
    :param accuracy: [B], the share of right predictions in each bin; NaN where it is empty.
    :param ax: where to draw; None means the current axes.
    :return: the axes.
    """
    ax = _axes(ax)
    filled = np.isfinite(accuracy)
    ax.bar(
        edges[:-1][filled], accuracy[filled], np.diff(edges)[filled],
        align="edge", color=_BAR, edgecolor="white", label="accuracy",
    )  # fmt: skip
    ax.vlines(
        confidence[filled], accuracy[filled], confidence[filled],
        color=_MISS, linewidth=1.6, label="gap to confidence", zorder=3,
    )  # fmt: skip
    ax.axline((0, 0), slope=1, color="#888888", linewidth=0.8, zorder=2)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    ax.set_xlabel("Confidence")
    ax.set_ylabel("Accuracy")
    ax.legend(frameon=False, loc="upper left")
    return _tidy(ax)


def _axes(ax: "Axes | None") -> "Axes":
    if ax is not None:
        return ax
    from matplotlib import pyplot

    return pyplot.gca()


def _tidy(ax: "Axes") -> "Axes":
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)
    return ax

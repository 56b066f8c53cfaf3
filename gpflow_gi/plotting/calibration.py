"""Figures of the calibration of predictive distributions."""

from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.validation import positive_integer, real_array, shares
from .style import COLOURS, MISS, REFERENCE, Array, axes_or_current, column, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAND = 0.95
"""Probability that a bar or a point of a calibrated prediction's curve is in the grey band."""


def pit_histogram(pit: Any, ax: "Axes | None" = None, *, bins: int = 10) -> "Axes":
    """Draw a histogram of PIT values, which is flat if predictions are calibrated.

    A peak in the middle: predictions are too wide; at both ends: too narrow; at one end: biased.
    For a calibrated prediction a bar ends in the grey band with probability 0.95, since its count
    is binomial. (Dawid, "Statistical theory: the prequential approach", JRSS A 1984.)

    :param pit: [...], in [0, 1], at least one: from :func:`gpflow_gi.metrics.mixture_pit`.
    :param ax: where to draw; None means the current axes.
    :param bins: the number of bars.
    :return: the axes.
    :raises ValueError: if `pit` is empty or has a value outside [0, 1], or if there is no bar.
    """
    from scipy.stats import binom

    bins = positive_integer("bins", bins)
    ax = axes_or_current(ax)
    values = shares("pit", pit)
    expected = len(values) / bins
    heights, edges = np.histogram(values, bins, (0.0, 1.0))
    ax.bar(
        edges[:-1], heights / expected, 1 / bins, align="edge", color=COLOURS[0], alpha=0.75,
        edgecolor=ax.get_facecolor(), linewidth=1.0,
    )  # fmt: skip
    band = binom.interval(_BAND, len(values), 1 / bins)
    ax.axhspan(
        band[0] / expected, band[1] / expected, color=REFERENCE, alpha=0.3, linewidth=0, zorder=2
    )
    ax.axhline(1.0, color=REFERENCE, linewidth=1.0)
    ax.set_xlim(0, 1)
    ax.set_xlabel("PIT")
    ax.set_ylabel("Density")
    return tidy(ax)


def coverage_curve(
    pit: Any, ax: "Axes | None" = None, *, label: str | None = None, colour: str = COLOURS[0]
) -> "Axes":
    """Draw the observed coverage of central intervals against their probability.

    Below the diagonal intervals are too narrow, above too wide. At each probability the curve of a
    calibrated prediction is in the grey band with probability 0.95.

    :param pit: [...], in [0, 1], at least one: from :func:`gpflow_gi.metrics.mixture_pit`.
    :param ax: where to draw; None means the current axes.
    :param label: label of the curve in a legend.
    :param colour: colour of the curve.
    :return: the axes.
    :raises ValueError: if `pit` is empty or has a value outside [0, 1].
    """
    from scipy.stats import binom

    ax = axes_or_current(ax)
    # An observation is inside all central intervals of this probability or more.
    needed = np.sort(np.abs(2 * shares("pit", pit) - 1))
    n = len(needed)
    nominal = np.linspace(0, 1, 201)
    lower, upper = binom.interval(_BAND, n, nominal[1:-1])
    ax.fill_between(
        nominal, np.r_[0, lower / n, 1], np.r_[0, upper / n, 1],
        color=REFERENCE, alpha=0.25, linewidth=0,
    )  # fmt: skip
    ax.plot([0, 1], [0, 1], color=REFERENCE, linewidth=1.0)
    ax.plot(
        np.r_[0, needed, 1], np.r_[0, np.arange(1, n + 1) / n, 1],
        drawstyle="steps-post", color=colour, linewidth=1.6, label=label,
    )  # fmt: skip
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    ax.set_xlabel("Probability of the interval")
    ax.set_ylabel("Share of observations inside")
    return tidy(ax)


def reliability_diagram(
    edges: Array, confidence: Array, accuracy: Array, ax: "Axes | None" = None
) -> "Axes":
    """Draw the accuracy of predictions against their confidence, bin by bin.

    The arguments are the fields of :class:`gpflow_gi.classification_metrics.Reliability`. A bar is
    a bin's accuracy; the line from it ends at its confidence, at the diagonal's height. Bars on
    the diagonal are calibrated, bars below it overconfident. ``ax.legend()`` names both; its
    position depends on the bars.

    :param edges: [B + 1], from 0 to 1.
    :param confidence: [B], the mean confidence in each bin; NaN in an empty bin.
    :param accuracy: [B], the share of right predictions in each bin; NaN in an empty bin.
    :param ax: where to draw; None means the current axes.
    :return: the axes.
    :raises ValueError: if shapes do not match, if a value is not a number, or if edges do not rise
        within [0, 1].
    """
    ax = axes_or_current(ax)
    edges = column("edges", edges)
    if not (edges.min() >= 0 and edges.max() <= 1 + 1e-9 and np.all(np.diff(edges) > 0)):
        raise ValueError(f"edges must rise, within [0, 1], but are {edges}.")
    confidence, accuracy = real_array("confidence", confidence), real_array("accuracy", accuracy)
    if not confidence.shape == accuracy.shape == (len(edges) - 1,):
        raise ValueError(
            f"confidence and accuracy must have one entry for each of the bins between edges, "
            f"{len(edges) - 1}, but have shapes {confidence.shape} and {accuracy.shape}."
        )
    filled = np.isfinite(accuracy) & np.isfinite(confidence)
    ax.bar(
        edges[:-1][filled], accuracy[filled], np.diff(edges)[filled],
        align="edge", color=COLOURS[0], alpha=0.75, edgecolor=ax.get_facecolor(), label="accuracy",
    )  # fmt: skip
    ax.vlines(
        confidence[filled], accuracy[filled], confidence[filled],
        color=MISS, linewidth=1.6, label="gap to confidence", zorder=3,
    )  # fmt: skip
    ax.axline((0, 0), slope=1, color=REFERENCE, linewidth=0.8, zorder=2)
    ax.set_xlim(0, 1)
    ax.set_ylim(0, 1)
    ax.set_aspect("equal")
    ax.set_xlabel("Confidence")
    ax.set_ylabel("Accuracy")
    return tidy(ax)

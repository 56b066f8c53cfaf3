"""Figures of predictions and observations."""

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import MISS, REFERENCE, axes_or_current, check_rows, column, ink, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_BAR = "#8DB3D3"


def predictions_with_intervals(
    y: Any, mean: Any, lower: Any, upper: Any, ax: "Axes | None" = None
) -> "Axes":
    """Draw observations against predictions, with the predictive intervals.

    A vertical bar is a prediction's interval, at the prediction on the horizontal axis; the dot is
    the observation. Dots outside their bars have another colour. Both axes have the same scale, and
    the diagonal is a perfect prediction.

    :param y: [N] or [N, 1], the observations.
    :param mean: as `y`: the predicted means, in the unit of `y`.
    :param lower: as `y`: the lower ends of the intervals.
    :param upper: as `y`: the upper ends.
    :param ax: where to draw; None means the current axes.
    :return: the axes.
    :raises ValueError: if shapes do not match.
    """
    ax = axes_or_current(ax)
    y, mean = column("y", y), column("mean", mean)
    lower, upper = column("lower", lower), column("upper", upper)
    check_rows(y=y, mean=mean, lower=lower, upper=upper)
    hit = (lower <= y) & (y <= upper)
    size = _size_of_dots(len(y))
    ax.vlines(mean, lower, upper, color=_BAR, linewidth=0.25 * size, zorder=1)
    for dots, colour, label in [(hit, ink(ax), "inside"), (~hit, MISS, "outside")]:
        ax.plot(
            mean[dots], y[dots], "o", color=colour, markersize=size, markeredgewidth=0,
            label=label, zorder=3,
        )  # fmt: skip
    everything = np.concatenate([y, mean, lower, upper])
    if len(everything):
        low, high = everything.min(), everything.max()
        margin = 0.03 * (high - low) or 1.0
        limits = (low - margin, high + margin)
        ax.axline((low, low), slope=1, color=REFERENCE, linewidth=0.8, zorder=2)
        ax.set_xlim(limits)
        ax.set_ylim(limits)
    ax.set_aspect("equal")
    ax.set_xlabel("Predicted")
    ax.set_ylabel("Observed")
    return tidy(ax)


def residuals(y: Any, mean: Any, variance: Any, ax: "Axes | None" = None) -> "Axes":
    """Draw standardised residuals, (y - mean) / sqrt(variance), against the predicted means.

    For a calibrated Gaussian prediction they are N(0, 1) everywhere: about one in twenty is outside
    the dashed lines at -2 and 2, in another colour. A slope or a curve is an error of the mean, a
    funnel an error of the variance.

    :param y: [N] or [N, 1], the observations.
    :param mean: as `y`: the predicted means, in the unit of `y`.
    :param variance: as `y`: the predicted variances of new targets, positive.
    :param ax: where to draw; None means the current axes.
    :return: the axes.
    :raises ValueError: if shapes do not match, or if a variance is not positive.
    """
    ax = axes_or_current(ax)
    y, mean, variance = column("y", y), column("mean", mean), column("variance", variance)
    check_rows(y=y, mean=mean, variance=variance)
    if not np.all(variance > 0):
        raise ValueError("variance must be positive.")
    standardised = (y - mean) / np.sqrt(variance)
    inside = np.abs(standardised) <= 2
    size = _size_of_dots(len(y))
    ax.axhline(0.0, color=REFERENCE, linewidth=1.0, zorder=1)
    for side in (-2, 2):
        ax.axhline(side, color=REFERENCE, linewidth=1.0, linestyle=(0, (5, 4)), zorder=1)
    for dots, colour, label in [(inside, ink(ax), "inside"), (~inside, MISS, "outside")]:
        ax.plot(
            mean[dots], standardised[dots], "o", color=colour, markersize=size,
            markeredgewidth=0, label=label, zorder=3,
        )  # fmt: skip
    ax.set_xlabel("Predicted")
    ax.set_ylabel("Standardised residual")
    return tidy(ax)


def _size_of_dots(n: int) -> float:
    """Size of dots, larger for fewer rows, so that 30 and 3000 rows are both legible."""
    return float(np.clip(60 / np.sqrt(max(n, 1)), 1.2, 5.5))

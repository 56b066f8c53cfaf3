"""Figures of predictive densities, which moments and intervals would hide."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation import finite_floats, shown
from ..metrics.mixtures import mixture_log_density
from .style import axes_or_current, check_rows, column, columns, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

NUMBERS = 1_000_000
"""Largest number of numbers of the components at a time."""


def density(
    X: Any,
    mean: Any,
    variance: Any,
    ax: Axes | None = None,
    *,
    y: Any = None,
    cmap: Any = "Blues",
) -> Axes:
    """Draw the density of a prediction at every input, as colours: p(y | x) over x and y.

    Each column of the figure is divided by its largest density, so that modes are seen wherever
    they are, and however sharp.

    :param X: [N, 1] or [N], in any order; a fine grid, since each input is a column.
    :param mean: the means of S components of the predictive mixture, [S, N, 1], as of
        ``model.predict_y_components(X)``; or [N, 1] or [N] for one Gaussian.
    :param variance: of the shape of `mean`, positive.
    :param ax: where to draw; None means the current axes.
    :param y: the values of y, [T], increasing; by default 300 over three standard deviations around
        all components.
    :param cmap: Matplotlib's colours.
    :return: the axes.
    :raises ValueError: if shapes do not match, if a variance is not positive, if there are fewer
        than two different inputs, or if `y` does not increase.
    """
    ax = axes_or_current(ax)
    X, mean, variance = column("X", X), columns("mean", mean), columns("variance", variance)
    check_rows(X=X, mean=mean, variance=variance)
    if mean.shape != variance.shape or not len(mean):
        raise ValueError(
            "mean and variance must have the same number of components, at least one, but have "
            f"{len(mean)} and {len(variance)}."
        )
    X, first = np.unique(X, return_index=True)
    mean, variance = mean[:, first], variance[:, first]
    if len(X) < 2:
        raise ValueError("X must hold at least two different inputs, the columns of the figure.")
    if not np.all(variance > 0):
        raise ValueError(f"variance must be positive, but one is {variance.min()}.")
    if y is None:
        spread = 3.0 * np.sqrt(variance)
        y = np.linspace((mean - spread).min(), (mean + spread).max(), 300)
    y = finite_floats("y", y, (None,))
    if len(y) < 2 or not np.all(np.diff(y) > 0):
        raise ValueError(f"y must be at least two increasing numbers, but is {shown(y)}.")
    return draw(ax, X, y, relative_density(y, mean, variance), cmap)


def draw(ax: Axes, X: Any, y: Any, p: Any, cmap: Any = "Blues") -> Axes:
    """Draw p [T, N] as colours over X [N] and y [T]."""
    ax.pcolormesh(X, y, p, cmap=cmap, shading="nearest", rasterized=True)
    return tidy(ax)


def relative_density(y: Any, mean: Any, variance: Any) -> Array:
    """Densities of a mixture at y, each column divided by its largest one.

    :param y: [T].
    :param mean: of the components, [S, N].
    :param variance: of the same shape.
    :return: [T, N].
    """
    S, N = mean.shape
    rows = max(1, NUMBERS // (S * N))  # at a time: all together would hold [S, T, N]
    parts = []
    for start in range(0, len(y), rows):
        part = y[start : start + rows]
        grid = np.broadcast_to(part[:, None], (len(part), N))
        shape = (S, *grid.shape)
        parts.append(
            mixture_log_density(
                grid, *(np.broadcast_to(m[:, None], shape) for m in (mean, variance))
            )
        )
    log_p = np.concatenate(parts)
    return np.asarray(np.exp(log_p - log_p.max(axis=0)))

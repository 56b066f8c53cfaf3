"""Style shared by all figures."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation import finite_floats, shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Array = NDArray[np.float64]

COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
"""Colours for colour-blind readers: Okabe & Ito, "Color universal design", 2008."""

MISS = "#D55E00"
"""Colour of values outside their expected range."""

_LARGEST = 1e300

REFERENCE = "#888888"
"""Colour of reference lines and bands, visible on light and dark backgrounds."""


def axes_or_current(ax: "Axes | None") -> "Axes":
    """`ax`, or matplotlib's current axes.

    :raises TypeError: if `ax` is something else.
    """
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if isinstance(ax, Axes):
        return ax
    if ax is not None:
        raise TypeError(f"ax must be matplotlib's axes, but is {shown(ax)}.")

    return pyplot.gca()


def ink(ax: "Axes") -> Any:
    """The colour of text on `ax`."""
    return ax.xaxis.label.get_color()


def tidy(ax: "Axes") -> "Axes":
    """Remove unnecessary lines, and put a light grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color=REFERENCE, alpha=0.22, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax


def drawable(name: str, values: Any) -> Array:
    """`values` as an array of floats that can be drawn.

    :raises ValueError: if it is not numeric, not finite, or so large that matplotlib has no ticks
        for it.
    """
    array = finite_floats(name, values, empty=True).astype(float)
    if np.any(np.abs(array) > _LARGEST):
        raise ValueError(f"{name} must stay below {_LARGEST:g} to be drawn.")
    return array


def column(name: str, values: Any) -> Array:
    """`values` as [N].

    :param values: [N] or [N, 1], an array or tensor.
    :raises ValueError: if it has another shape, or as :func:`drawable`.
    """
    array = drawable(name, values)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise ValueError(
            f"{name} must have shape [N] or [N, 1], but has shape {list(array.shape)}: figures are "
            "of one column at a time."
        )
    return array


def columns(name: str, values: Any) -> Array:
    """`values` as [S, N].

    :param values: [S, N, 1], an array or tensor, or anything that :func:`column` takes, for S = 1.
    :raises ValueError: if it has another shape, or as :func:`drawable`.
    """
    array = drawable(name, values)
    if array.ndim == 3 and array.shape[2] == 1:
        return array[:, :, 0]
    if array.ndim == 3:
        raise ValueError(
            f"{name} must have shape [S, N, 1], but has shape {list(array.shape)}: figures are of "
            "one column at a time."
        )
    return column(name, array)[None]


def check_rows(**arrays: Array) -> None:
    """Check that all have the same N.

    :param arrays: [..., N].
    :raises ValueError: if they differ; the message names two that differ.
    """
    (first, one), *rest = arrays.items()
    for name, other in rest:
        if other.shape[-1] != one.shape[-1]:
            raise ValueError(
                f"{first} has {one.shape[-1]} rows, but {name} has {other.shape[-1]}; they must "
                "be as many."
            )

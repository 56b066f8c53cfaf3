"""Figures of inducing points on their way through the layers."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.validation import shown
from .style import Array, axes_or_current, drawable, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def inducing_points(activations: Sequence[Any], ax: "Axes | None" = None) -> "Axes":
    """Draw the inducing points below each layer, and the outputs of the last layer.

    Each inducing point is a line from left to right, coloured by its start. Lines that meet are
    inputs that a layer maps to the same value; lines that separate are inputs that it tells apart.
    Levels with several columns are shown by their first principal component, the direction of
    largest variance, with the sign that fits the level before.

    :param activations: from ``model.inducing_activations(S)``: two levels or more, each [S, M, D']
        or [M, D'] with a D' of its own.
    :param ax: where to draw; None means the current axes.
    :return: the axes.
    :raises ValueError: if there are fewer than two levels, or if their shapes do not fit.
    :raises TypeError: if `activations` is not a list.
    """
    from matplotlib import colormaps

    ax = axes_or_current(ax)
    if not isinstance(activations, Sequence):
        raise TypeError(f"activations must be a list of levels, but is {shown(activations)}.")
    levels = [_one_column(level) for level in activations]
    if len(levels) < 2:
        raise ValueError(f"activations must hold two levels or more, but hold {len(levels)}.")
    S = max(len(level) for level in levels)
    M = levels[0].shape[1]
    if any(level.shape[1] != M or len(level) not in (1, S) for level in levels):
        shapes = ", ".join(str(list(np.shape(level))) for level in activations)
        raise ValueError(f"All levels must have the same S and M, but their shapes are {shapes}.")
    values = np.stack([np.broadcast_to(level, (S, M)) for level in levels])
    for i in range(1, len(levels)):
        # The sign of a principal component is arbitrary.
        if np.shape(activations[i])[-1] > 1:
            values[i] *= np.copysign(
                1.0, np.sum((values[i - 1] - values[i - 1].mean()) * values[i])
            )
    rank = np.argsort(np.argsort(values[0].mean(axis=0))) / max(M - 1, 1)
    # Not the darkest or lightest colours, which are invisible on a similar background.
    colours = colormaps["viridis"](0.25 + 0.5 * rank)
    places = np.arange(len(levels))
    alpha = float(np.clip(4 / S, 0.2, 0.9))
    for m in range(M):
        ax.plot(places, values[:, :, m], "o-", color=colours[m], alpha=alpha, markersize=3.5,
                linewidth=1.0, markeredgewidth=0)  # fmt: skip
    ax.set_xticks(places, ["Inputs", *(f"Layer {i}" for i in places[1:])])
    ax.set_ylabel("Values of the inducing points")
    return tidy(ax)


def _one_column(level: Any) -> Array:
    """Reduce [S, M, D'] or [M, D'] to [S, M]."""
    values = drawable("A level", level)
    values = values[None] if values.ndim == 2 else values
    if values.ndim != 3 or 0 in values.shape:
        raise ValueError(
            f"A level must have shape [M, D'] or [S, M, D'], but has shape {list(np.shape(level))}."
        )
    if values.shape[-1] == 1:
        return values[..., 0]
    centred = values - values.mean(axis=(0, 1))
    _, _, directions = np.linalg.svd(centred.reshape(-1, values.shape[-1]), full_matrices=False)
    return centred @ directions[0]

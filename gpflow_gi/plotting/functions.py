"""Figures of functions of one input: predictions and draws."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import validation
from ..core.validation import shown
from ..metrics.mixtures import mixture_moments, mixture_quantile
from .style import COLOURS, axes_or_current, check_rows, column, columns, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def predictive_bands(
    X: Any,
    mean: Any,
    variance: Any,
    ax: "Axes | None" = None,
    *,
    probabilities: Sequence[float] = (0.5, 0.95),
    label: str | None = None,
    colour: str = COLOURS[0],
) -> "Axes":
    """Draw the mean of a prediction, and central intervals around its median.

    With the moments of ``model.predict_y(X)``, the intervals are those of a Gaussian. With
    ``model.predict_y_components(X)`` they are the quantiles of the predictive mixture, which may be
    skewed or have several modes.

    :param X: [N, 1] or [N], in any order.
    :param mean: [N, 1] or [N], or the means of S components, [S, N, 1].
    :param variance: of the shape of `mean`.
    :param ax: where to draw; None means the current axes.
    :param probabilities: probabilities of the intervals.
    :param label: label of the line in a legend.
    :param colour: colour of the line and the bands.
    :return: the axes.
    :raises ValueError: if shapes do not match, or if a probability is not in (0, 1).
    :raises TypeError: if `probabilities` is not a list.
    """
    ax = axes_or_current(ax)
    X, mean, variance = column("X", X), columns("mean", mean), columns("variance", variance)
    check_rows(X=X, mean=mean, variance=variance)
    if not isinstance(probabilities, Sequence | np.ndarray):
        raise TypeError(f"probabilities must be a list, but is {shown(probabilities)}.")
    probabilities = [
        validation.probability(f"probabilities[{i}]", one) for i, one in enumerate(probabilities)
    ]
    order = np.argsort(X, kind="stable")
    X, mean, variance = X[order], mean[:, order], variance[:, order]
    widest_first = sorted(probabilities, reverse=True)
    for probability in widest_first:
        lower, upper = (
            mixture_quantile(0.5 + side * probability / 2, mean, variance) for side in (-1, 1)
        )
        ax.fill_between(X, lower, upper, color=colour, alpha=0.3, linewidth=0)
    ax.plot(X, mixture_moments(mean, variance)[0], color=colour, linewidth=1.6, label=label)
    ax.margins(x=0)
    return tidy(ax)


def function_draws(
    X: Any,
    draws: Any,
    ax: "Axes | None" = None,
    *,
    label: str | None = None,
    colour: str = COLOURS[0],
) -> "Axes":
    """Draw functions: those of ``model.sample_functions(S)`` or ``model.sample_prior(S)`` at X.

    :param X: [N, 1] or [N], in any order.
    :param draws: [S, N, 1], or [N, 1] or [N] for one function.
    :param ax: where to draw; None means the current axes.
    :param label: label of all functions in a legend.
    :param colour: colour of the lines.
    :return: the axes.
    :raises ValueError: if shapes do not match.
    """
    ax = axes_or_current(ax)
    X, draws = column("X", X), columns("draws", draws)
    check_rows(X=X, draws=draws)
    order = np.argsort(X, kind="stable")
    # Many overlapping lines are told apart by the darkness where they overlap.
    alpha = float(np.clip(8 / max(len(draws), 1), 0.2, 0.9))
    for i, draw in enumerate(draws):
        name = label if i == 0 else None
        ax.plot(X[order], draw[order], color=colour, linewidth=1.0, alpha=alpha, label=name)
    ax.margins(x=0)
    return tidy(ax)

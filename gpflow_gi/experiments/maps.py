"""Maps of a comparison on a table with two inputs: targets, means and standard deviations."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from gpflow_gi.core.printable import labels
from gpflow_gi.experiments.compare import Comparison, Result
from gpflow_gi.metrics.held_out import HeldOut

Array = NDArray[np.float64]

TARGET, DEVIATION = "cividis", "magma"
"""Colour maps that colour-blind readers can read, of the target and of standard deviations."""


def has_map(comparison: Comparison) -> bool:
    """True if the rows are places: if there are two inputs, a number to show, and a model."""
    of_places = comparison.test.X.shape[1] == 2 and comparison.test.task == "regression"
    return of_places and bool(comparison.results)


def map_figure(comparison: Comparison) -> Figure:
    """Maps of the held-out rows: above their targets and each model's means, below what it is from.

    The second row has the rows that were trained on, and the standard deviation of each model's
    prediction. A row of maps shares its colours.
    """
    train, test, results = comparison.train, comparison.test, comparison.results
    figure = Figure(figsize=(3.1 * (1 + len(results)), 6.4), layout="constrained")
    panels = figure.subplots(2, 1 + len(results), sharex=True, sharey=True, squeeze=False)
    held_out = [_of_numbers(result) for result in results]
    means, deviations = [one.mean for one in held_out], [one.deviation for one in held_out]
    of_target = {"cmap": TARGET, **_limits(test.Y, *means)}
    of_deviation = {"cmap": DEVIATION, **_limits(*deviations)}

    above = _draw(panels[0, 0], test.X, test.Y[:, 0], of_target)
    panels[0, 0].set_title(f"{len(test.Y)} held-out rows", fontsize="medium")
    _draw(panels[1, 0], train.X, train.Y[:, 0], of_target)
    panels[1, 0].set_title(f"{len(train.Y)} rows trained on", fontsize="medium")
    for column, result in enumerate(results, 1):
        _draw(panels[0, column], test.X, means[column - 1], of_target)
        title = f"{result.name}: RMSE {held_out[column - 1].rmse:.3g}"
        panels[0, column].set_title(title, fontsize="medium")
        below = _draw(panels[1, column], test.X, deviations[column - 1], of_deviation)
        panels[1, column].set_title("how unsure it is", fontsize="medium")
    names = labels([*test.input_names, test.target_name], most=30)
    for ax in panels.flat:
        ax.set_xlabel(names[test.input_names[0]])
        ax.set_ylabel(names[test.input_names[1]])
        ax.spines[["top", "right"]].set_visible(False)
        ax.label_outer()
    target = names[test.target_name]
    figure.colorbar(above, ax=panels[0], label=target, aspect=30, fraction=0.04, pad=0.01)
    figure.colorbar(
        below, ax=panels[1], label="standard deviation", aspect=30, fraction=0.04, pad=0.01
    )
    return figure


def _of_numbers(result: Result) -> HeldOut:
    held_out = result.measured.held_out
    assert isinstance(held_out, HeldOut)
    return held_out


def _draw(ax: Axes, X: Array, values: Array, style: Mapping[str, Any]) -> Any:
    """Values at places: an image if the places are a grid, dots otherwise."""
    grid = _grid(X)
    if grid is None:
        return ax.scatter(X[:, 0], X[:, 1], _size(X), values, linewidths=0, **style)
    first, second, order = grid
    image = values[order].reshape(len(second), len(first))
    return ax.pcolormesh(first, second, image, shading="nearest", rasterized=True, **style)


def _grid(X: Array) -> tuple[Array, Array, NDArray[np.intp]] | None:
    """The different values of both inputs, and the order of the rows; None if there is no grid."""
    first, second = np.unique(X[:, 0]), np.unique(X[:, 1])
    if min(len(first), len(second)) < 2 or len(first) * len(second) != len(X):
        return None
    order = np.lexsort((X[:, 0], X[:, 1]))
    is_grid = np.array_equal(X[order], np.stack(np.meshgrid(first, second), -1).reshape(-1, 2))
    return (first, second, order) if is_grid else None


def _limits(*values: Array) -> dict[str, float]:
    """Colours for all values but the most extreme two in a hundred."""
    everything = np.concatenate([np.ravel(each) for each in values])
    low, high = np.percentile(everything, [1, 99])
    return {"vmin": float(low), "vmax": float(high)}


def _size(X: Array) -> float:
    """The area of a dot: fewer rows have larger ones."""
    return float(np.clip(6000 / len(X), 2.0, 40.0))

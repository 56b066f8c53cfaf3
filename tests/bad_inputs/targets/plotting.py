"""Plots."""

from collections.abc import Callable
from typing import Any

import numpy as np

from gpflow_gi import plotting
from tests.bad_inputs.examples import MEAN, PIT, VARIANCE, X, Y
from tests.bad_inputs.target import add
from tests.bad_inputs.values import COUNTS, OBJECTS


def _plot(name: str) -> Callable[..., Any]:
    def call(**arguments: Any) -> None:
        from matplotlib import pyplot

        try:
            getattr(plotting, name)(**arguments)
            pyplot.gcf().canvas.draw()
        finally:
            pyplot.close("all")

    return call


_FIGURES: dict[str, dict[str, Any]] = {
    "predictions_with_intervals": {"y": Y, "mean": Y, "lower": Y - 1, "upper": Y + 1},
    "residuals": {"y": Y, "mean": Y, "variance": np.ones_like(Y)},
    "predictive_bands": {"X": X[:, :1], "mean": MEAN, "variance": VARIANCE},
    "function_draws": {"X": X[:, :1], "draws": MEAN},
    "density": {"X": X[:, :1], "mean": MEAN, "variance": VARIANCE},
    "pit_histogram": {"pit": PIT},
    "coverage_curve": {"pit": PIT},
    "reliability_diagram": {
        "edges": np.array([0.0, 0.5, 1.0]),
        "confidence": np.array([0.2, 0.8]),
        "accuracy": np.array([0.3, 0.7]),
    },
}


for _name, _arguments in _FIGURES.items():
    add("plotting", _name, _plot(_name), _arguments, dict.fromkeys(_arguments, "array"), few=True)
    add("plotting", _name, _plot(_name), _arguments, {"ax": OBJECTS})
add(
    "plotting",
    "pit_histogram",
    _plot("pit_histogram"),
    {"pit": PIT},
    {"bins": COUNTS},
    left_out=("31 digits",),
)
add(
    "plotting",
    "predictive_bands",
    _plot("predictive_bands"),
    _FIGURES["predictive_bands"],
    {"probabilities": OBJECTS},
)


for _name, _argument in (
    ("training_curves", "records"),
    ("bound_terms", "record"),
    ("inducing_points", "activations"),
):
    add("plotting", _name, _plot(_name), {}, {_argument: OBJECTS})

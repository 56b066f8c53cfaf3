"""Figures of training runs, of predictions and of what goes on inside a model.

Every function draws on the axes that it is given, ``ax``, or on matplotlib's current ones, and
returns them. None of them chooses a backend, opens a window or knows of models: they take arrays or
tensors, in the shapes that models give them.

Colours are told apart by colour-blind readers. What is neither data nor colour takes the colour of
the axes' own labels, so that figures are legible in matplotlib's dark styles too.
"""

from .calibration import coverage_curve, pit_histogram, reliability_diagram
from .functions import function_draws, predictive_bands
from .inducing import inducing_points
from .predictions import predictions_with_intervals, residuals
from .style import COLOURS
from .training import bound_terms, training_curves

__all__ = [
    "COLOURS",
    "bound_terms",
    "coverage_curve",
    "function_draws",
    "inducing_points",
    "pit_histogram",
    "predictions_with_intervals",
    "predictive_bands",
    "reliability_diagram",
    "residuals",
    "training_curves",
]

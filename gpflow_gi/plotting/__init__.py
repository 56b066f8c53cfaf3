"""Figures of training runs, predictions and inducing points.

Every function draws on the axes `ax`, or on matplotlib's current ones, and returns them. None of
them chooses a backend, opens a window or depends on models: they take arrays or tensors, in the
shapes that models return.

Colour-blind readers can tell the colours apart. Everything that is neither data nor colour has the
colour of the axes' labels, so figures are legible in matplotlib's dark styles too.
"""

from .calibration import coverage_curve, pit_histogram, reliability_diagram
from .density import density
from .functions import function_draws, predictive_bands
from .inducing import inducing_points
from .predictions import predictions_with_intervals, residuals
from .style import COLOURS
from .training import bound_terms, training_curves

__all__ = [
    "COLOURS",
    "bound_terms",
    "coverage_curve",
    "density",
    "function_draws",
    "inducing_points",
    "pit_histogram",
    "predictions_with_intervals",
    "predictive_bands",
    "reliability_diagram",
    "residuals",
    "training_curves",
]

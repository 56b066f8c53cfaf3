"""Bounds on the log evidence of a trained model, each with its standard error."""

from .inference.annealed import annealed_evidence
from .objectives.estimates import Estimate, estimate_elbo, estimate_iwbo
from .objectives.pareto_smoothed import ParetoSmoothed, pareto_smoothed

__all__ = [
    "Estimate",
    "ParetoSmoothed",
    "annealed_evidence",
    "estimate_elbo",
    "estimate_iwbo",
    "pareto_smoothed",
]

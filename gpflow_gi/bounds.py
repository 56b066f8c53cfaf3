"""Bounds on the log evidence of a trained model, each with its standard error."""

from .inference.annealed import annealed_evidence
from .objectives.estimates import Estimate, estimate_elbo, estimate_iwbo

__all__ = ["Estimate", "annealed_evidence", "estimate_elbo", "estimate_iwbo"]

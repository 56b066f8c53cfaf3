"""Bounds on the log evidence of a trained model, each with its standard error."""

from .objectives.estimates import Estimate, estimate_elbo, estimate_iwbo

__all__ = ["Estimate", "estimate_elbo", "estimate_iwbo"]

"""Approximate posteriors: choices of q(z), conditioned on what comes up from below."""

from .base import Posterior
from .global_inducing import GlobalInducing
from .local_inducing import LocalInducing
from .prior import Prior

__all__ = ["GlobalInducing", "LocalInducing", "Posterior", "Prior"]

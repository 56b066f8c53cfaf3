"""Approximate posteriors: choices of q(z), given the inducing activations from the layer below."""

from .base import Posterior
from .factorised import Factorised
from .global_inducing import GlobalInducing
from .local_inducing import LocalInducing
from .optimal import Optimal
from .prior import Prior
from .recorded import Recorded

__all__ = [
    "Factorised",
    "GlobalInducing",
    "LocalInducing",
    "Optimal",
    "Posterior",
    "Prior",
    "Recorded",
]

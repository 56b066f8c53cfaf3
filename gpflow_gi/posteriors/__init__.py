"""Approximate posteriors: choices of q(z), given the inducing activations from the layer below."""

from .base import Posterior
from .factorised import Factorised
from .full_gaussian import FullGaussian
from .global_inducing import GlobalInducing
from .implicit_inducing import ImplicitInducing
from .local_inducing import LocalInducing
from .noise_network import NoiseNetwork
from .optimal import Optimal
from .prior import Prior
from .recorded import Recorded
from .recorded_inducing import RecordedInducing

__all__ = [
    "Factorised",
    "FullGaussian",
    "GlobalInducing",
    "ImplicitInducing",
    "LocalInducing",
    "NoiseNetwork",
    "Optimal",
    "Posterior",
    "Prior",
    "Recorded",
    "RecordedInducing",
]

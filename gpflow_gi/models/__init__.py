"""Models: the forward pass, the bound and prediction as a mixture."""

from .deep_gp import DeepGP
from .frozen_posterior import FrozenPosterior
from .function_draws import FunctionDraws

__all__ = ["DeepGP", "FrozenPosterior", "FunctionDraws"]

"""Models: draws from a posterior, and the bounds and predictions computed from them."""

from .deep_gp import DeepGP
from .draws import Draws
from .frozen_posterior import FrozenPosterior
from .function_draws import FunctionDraws
from .no_density import NoDensityError
from .predictive import Predictive
from .summary import print_summary

__all__ = [
    "DeepGP",
    "Draws",
    "FrozenPosterior",
    "FunctionDraws",
    "NoDensityError",
    "Predictive",
    "print_summary",
]

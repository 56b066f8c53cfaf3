"""Priors over the weights of Bayesian neural networks (the paper's section 2.3)."""

from .ard import ARDPrior
from .base import WeightPrior, WeightScale
from .gaussian import NealPrior, StandardPrior
from .scale import ScalePrior
from .spatial import SpatialIWPrior

__all__ = [
    "ARDPrior",
    "NealPrior",
    "ScalePrior",
    "SpatialIWPrior",
    "StandardPrior",
    "WeightPrior",
    "WeightScale",
]

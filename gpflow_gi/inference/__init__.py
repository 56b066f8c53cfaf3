"""Posteriors over all weights of a network at once, and methods to find them."""

from .ensemble import Ensemble, ensemble
from .gaussian import DensityPosterior, Gaussian
from .laplace import Laplace, laplace
from .linearised import Linearised
from .map_estimate import MapEstimate, map_estimate
from .mixture import Mixture
from .nuts import NutsResult, nuts
from .samples import Samples
from .weight_posterior import WeightDraws, WeightPosterior
from .weight_space import LayerCoordinates, WeightSpace

__all__ = [
    "DensityPosterior",
    "Ensemble",
    "Gaussian",
    "Laplace",
    "LayerCoordinates",
    "Linearised",
    "MapEstimate",
    "Mixture",
    "NutsResult",
    "Samples",
    "WeightDraws",
    "WeightPosterior",
    "WeightSpace",
    "ensemble",
    "laplace",
    "map_estimate",
    "nuts",
]

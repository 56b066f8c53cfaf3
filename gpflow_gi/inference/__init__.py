"""Posteriors over all weights of a network at once, and methods to find them."""

from .autoregressive import InverseAutoregressive, NeuralAutoregressive
from .dropout import Dropout
from .ensemble import Ensemble, ensemble
from .flow import Flow
from .flow_steps import FlowStep, Planar, RadialStep
from .gaussian import DensityPosterior, Gaussian
from .implicit import Implicit
from .kronecker import KroneckerGaussian
from .laplace import Laplace, laplace
from .linearised import Linearised
from .map_estimate import MapEstimate, map_estimate
from .mixture import Mixture
from .nuts import NutsResult, nuts
from .radial import Radial
from .reweighted import reweighted
from .samples import Samples
from .sghmc import MinibatchChains, sghmc, sgld
from .sghmc_inducing import InducingChains, sghmc_inducing
from .swag import Swag, multi_swag, swag
from .target import Target
from .variational import Variational, variational
from .weight_posterior import WeightDraws, WeightPosterior
from .weight_space import LayerCoordinates, WeightSpace

__all__ = [
    "DensityPosterior",
    "Dropout",
    "Ensemble",
    "Flow",
    "FlowStep",
    "Gaussian",
    "Implicit",
    "InducingChains",
    "InverseAutoregressive",
    "KroneckerGaussian",
    "Laplace",
    "LayerCoordinates",
    "Linearised",
    "MapEstimate",
    "MinibatchChains",
    "Mixture",
    "NeuralAutoregressive",
    "NutsResult",
    "Planar",
    "Radial",
    "RadialStep",
    "Samples",
    "Swag",
    "Target",
    "Variational",
    "WeightDraws",
    "WeightPosterior",
    "WeightSpace",
    "ensemble",
    "laplace",
    "map_estimate",
    "multi_swag",
    "nuts",
    "reweighted",
    "sghmc",
    "sghmc_inducing",
    "sgld",
    "swag",
    "variational",
]

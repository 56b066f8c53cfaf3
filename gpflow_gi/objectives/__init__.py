"""Objectives that :func:`gpflow_gi.fit` maximises.

Only :class:`Elbo` and :class:`ImportanceWeighted` bound the log evidence; only the first is called
ELBO.
"""

from .alpha_energy import AlphaEnergy
from .augmented import AugmentedBound
from .density_ratio import DensityRatioKL, classifier_kl
from .elbo import Elbo
from .functional_kl import FunctionalKL
from .importance_weighted import ImportanceWeighted
from .objective import Objective
from .tempered import TemperedBound
from .weighted import WeightedBound

__all__ = [
    "AlphaEnergy",
    "AugmentedBound",
    "DensityRatioKL",
    "Elbo",
    "FunctionalKL",
    "ImportanceWeighted",
    "Objective",
    "TemperedBound",
    "WeightedBound",
    "classifier_kl",
]

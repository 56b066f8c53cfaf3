"""Objectives that :func:`gpflow_gi.fit` maximises.

Only :class:`Elbo` bounds the log evidence. The others are shown under other names.
"""

from .alpha_energy import AlphaEnergy
from .augmented import AugmentedBound
from .density_ratio import DensityRatioKL, classifier_kl
from .elbo import Elbo
from .functional_kl import FunctionalKL
from .objective import Objective
from .tempered import TemperedBound

__all__ = [
    "AlphaEnergy",
    "AugmentedBound",
    "DensityRatioKL",
    "Elbo",
    "FunctionalKL",
    "Objective",
    "TemperedBound",
    "classifier_kl",
]

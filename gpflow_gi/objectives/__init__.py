"""Objectives that :func:`gpflow_gi.fit` maximises.

Only :class:`Elbo` and :class:`ImportanceWeighted` bound the log evidence; only the first is called
ELBO.
"""

from .augmented import AugmentedBound
from .elbo import Elbo
from .importance_weighted import ImportanceWeighted
from .objective import Objective
from .tempered import TemperedBound
from .weighted import WeightedBound

__all__ = [
    "AugmentedBound",
    "Elbo",
    "ImportanceWeighted",
    "Objective",
    "TemperedBound",
    "WeightedBound",
]

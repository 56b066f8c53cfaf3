"""Objectives that :func:`gpflow_gi.fit` maximises.

Only :class:`Elbo` bounds the log evidence. The others are shown under other names.
"""

from .augmented import AugmentedBound
from .elbo import Elbo
from .objective import Objective
from .tempered import TemperedBound
from .weighted import WeightedBound

__all__ = ["AugmentedBound", "Elbo", "Objective", "TemperedBound", "WeightedBound"]

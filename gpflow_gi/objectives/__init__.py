"""Objectives that :func:`gpflow_gi.fit` maximises.

Only :class:`Elbo` bounds the log evidence. The others are shown under other names.
"""

from .alpha_energy import AlphaEnergy
from .augmented import AugmentedBound
from .elbo import Elbo
from .objective import Objective
from .tempered import TemperedBound

__all__ = ["AlphaEnergy", "AugmentedBound", "Elbo", "Objective", "TemperedBound"]

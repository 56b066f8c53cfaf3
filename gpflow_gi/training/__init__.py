"""Training: :func:`gpflow_gi.fit`, the record that it returns, and the errors that it raises."""

from .augmentation import augmented
from .convergence import ConvergenceWarning
from .fit import fit
from .guard import NonFiniteError
from .record import FitRecord, Recovery, Report

__all__ = [
    "ConvergenceWarning",
    "FitRecord",
    "NonFiniteError",
    "Recovery",
    "Report",
    "augmented",
    "fit",
]

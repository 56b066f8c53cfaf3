"""Training: :func:`gpflow_gi.fit`, the record that it returns, and its errors."""

from .augmentation import augmented
from .convergence import NoRise
from .fit import fit
from .guard import NonFiniteError
from .learning_rate import LinearTail
from .narrow_rows import NarrowRows
from .record import ConvergenceWarning, FitRecord, Recovery, RecoveryWarning, Report, Stop

__all__ = [
    "ConvergenceWarning",
    "FitRecord",
    "LinearTail",
    "NarrowRows",
    "NoRise",
    "NonFiniteError",
    "Recovery",
    "RecoveryWarning",
    "Report",
    "Stop",
    "augmented",
    "fit",
]

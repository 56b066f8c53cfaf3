"""Measures of predictions, in numpy: for regression here, for classes in `classification`."""

from .mixtures import (
    calibration_error,
    coverage,
    mixture_crps,
    mixture_log_density,
    mixture_moments,
    mixture_pit,
    mixture_quantile,
    rmse,
)

__all__ = [
    "calibration_error",
    "coverage",
    "mixture_crps",
    "mixture_log_density",
    "mixture_moments",
    "mixture_pit",
    "mixture_quantile",
    "rmse",
]

"""Measures of predicted probabilities of classes, in numpy."""

from .metrics.classification import (
    Reliability,
    accuracy,
    auroc,
    brier_score,
    expected_calibration_error,
    log_density,
    predictive_entropy,
    reliability,
)

__all__ = [
    "Reliability",
    "accuracy",
    "auroc",
    "brier_score",
    "expected_calibration_error",
    "log_density",
    "predictive_entropy",
    "reliability",
]

"""The public names: each module adds those of its area."""

from tests.bad_inputs.target import TARGETS, Target, cases

from . import (  # noqa: F401
    architectures,
    datasets,
    design,
    estimators,
    files,
    inference,
    layers,
    metrics,
    models,
    plotting,
    training,
)

__all__ = ["TARGETS", "Target", "cases"]

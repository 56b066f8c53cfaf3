"""The predictive mixture of one output, for acquisition functions."""

from __future__ import annotations

import math
from typing import Any

import tensorflow as tf

from ..core.random import Seed
from ..core.validation import finite_array, true_or_false
from ..models.predictive import check_predictive

NUM_SAMPLES = 100
"""S of acquisition functions by default, as of predictions."""

_TINY = 1e-12
"""Smallest variance, relative to one: a component without any has no density."""


def check_model(model: Any, outputs: int | None = 1) -> None:
    """Check that a model can be asked for predictions of one output.

    :param outputs: the number of outputs required; None for any.
    :raises TypeError: if it is not a model of this library.
    :raises ValueError: if it has another number of outputs.
    """
    check_predictive(model)
    if outputs not in (None, model.output_dim):
        raise ValueError(
            f"The model has {model.output_dim} outputs, but there is one function to search."
        )


def components(
    model: Any, X: Any, num_samples: int, seed: Seed, *, maximise: bool = False
) -> tuple[tf.Tensor, tf.Tensor]:
    """Means and standard deviations of the mixture, for a function to be maximised.

    :param maximise: False to change the sign of f.
    :return: two of [S, N].
    """
    check_model(model)
    sign = 1.0 if true_or_false("maximise", maximise) else -1.0
    mean, variance = model.predict_f_components(X, num_samples, seed)
    return sign * mean[..., 0], tf.sqrt(tf.maximum(variance[..., 0], _TINY))


def number(name: str, value: Any) -> float:
    """`value` as a finite float.

    :raises ValueError: if it is not one.
    """
    return float(finite_array(name, value, ()))


def density(t: tf.Tensor) -> tf.Tensor:
    """The density of N(0, 1)."""
    return tf.exp(-0.5 * tf.square(t)) / math.sqrt(2.0 * math.pi)


def distribution(t: tf.Tensor) -> tf.Tensor:
    """The distribution function of N(0, 1)."""
    return 0.5 * tf.math.erfc(-t / math.sqrt(2.0))

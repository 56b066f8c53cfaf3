"""Outputs that were not observed, NaN in Y, under likelihoods that are products over outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import gpflow
import tensorflow as tf
from gpflow.likelihoods import Likelihood

from ..core.random import fold_in
from ..core.validation import is_one_of, shown
from .targets import factors_over_outputs

Missing: TypeAlias = Literal["error", "ignore"]

_STAND_IN = 0.5
"""A target in place of a missing one, possible under every likelihood over one output."""


def check_missing(missing: Any, likelihood: Likelihood) -> Missing:
    """Check that outputs may be missing under a likelihood.

    :raises ValueError: if they may not, or if `missing` is neither "error" nor "ignore".
    """
    if not is_one_of(missing, ("error", "ignore")):
        raise ValueError(f'missing must be "error" or "ignore", but is {shown(missing)}.')
    if missing == "ignore":
        name = type(likelihood).__name__
        if not factors_over_outputs(likelihood):
            raise ValueError(
                f'missing="ignore" leaves out single outputs of a row, but a {name} likelihood '
                "takes all of a row together."
            )
        for part, value in vars(likelihood).items():
            if isinstance(value, gpflow.Parameter) and value.shape.num_elements() != 1:
                raise ValueError(
                    f'missing="ignore" treats outputs one by one, but the {name} likelihood has a '
                    f"{part.strip('_')} of shape {value.shape}. Give it one number for all outputs."
                )
    ignored: Missing = "ignore" if missing == "ignore" else "error"
    return ignored


def of_observed(
    integral: Callable[..., tf.Tensor],
    likelihood: Likelihood,
    X: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    Y: tf.Tensor,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Sum an integral of the likelihood over the outputs that were observed.

    :param integral: of one output, with the arguments that follow.
    :param X: [N, D].
    :param mean: [N, P] or [S, N, P].
    :param variance: of the shape of the mean.
    :param Y: [N, P], NaN where missing.
    :param seed: [2].
    :return: [N] or [S, N], in nats.
    """
    _check_functions(likelihood, X)
    total = tf.zeros(tf.shape(mean)[:-1], mean.dtype)
    for p in range(mean.shape[-1]):
        one = slice(p, p + 1)
        y, is_seen = filled(Y[:, one])
        values = integral(likelihood, X, mean[..., one], variance[..., one], y, fold_in(seed, p))
        total += tf.where(is_seen[:, 0], values, tf.zeros_like(values))
    return total


def _check_functions(likelihood: Likelihood, X: tf.Tensor) -> None:
    """Refuse noise that is a function with a value for each output.

    :raises ValueError: for such a likelihood.
    """
    for part, value in vars(likelihood).items():
        if isinstance(value, gpflow.functions.Function) and value(X[:1]).shape[-1] not in (None, 1):
            raise ValueError(
                f'missing="ignore" treats outputs one by one, but the {part.strip("_")} of the '
                f"{type(likelihood).__name__} likelihood is a function with a column for each. Let "
                "it return one column for all outputs."
            )


def filled(Y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Y without NaN, and True where it was observed; of the shape of Y."""
    is_seen = ~tf.math.is_nan(Y)
    return tf.where(is_seen, Y, tf.constant(_STAND_IN, Y.dtype)), is_seen

"""Maxima of the log joint density of data and weights."""

from __future__ import annotations

from collections.abc import Sequence

import gpflow
import numpy as np
import tensorflow as tf

from ..core.random import fold_in
from .ascent import ascend
from .log_joint import LogJoint, TargetJoint


def starts(log_joint: LogJoint, num_starts: int, seed: tf.Tensor) -> tf.Tensor:
    """Draws from the prior, [S, L], moved towards zero if the likelihood would overflow.

    Zeros for a target.

    :param num_starts: S, the number of draws.
    :param seed: [2].
    :raises ValueError: if the log density is not finite near zero either.
    """
    if isinstance(log_joint, TargetJoint):
        return tf.zeros([num_starts, log_joint.space.size], gpflow.default_float())
    theta = log_joint.space.draw_prior(num_starts, seed)
    for _ in range(20):
        is_finite = tf.math.is_finite(log_joint(theta))
        if tf.reduce_all(is_finite):
            return theta
        theta = tf.where(is_finite[:, None], theta, theta / 2)
    raise ValueError(
        "The log density of the data is not finite, not even with all weights near zero. Check "
        f"that Y holds values which the likelihood {type(log_joint.likelihood).__name__} can have."
    )


def maximise(
    log_joint: LogJoint,
    theta: tf.Tensor,
    further: Sequence[tf.Variable],
    *,
    steps: int,
    batch_size: int | None,
    learning_rate: float,
    precise: bool,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Maximise the log joint density from each of S starts, side by side.

    :param theta: [S, L], the starts.
    :param further: variables learned with the weights and shared by all S; changed in place.
    :param steps: the largest number of steps of L-BFGS, or the number of steps of Adam.
    :param batch_size: rows of a step of Adam; None for L-BFGS on all rows.
    :param learning_rate: learning rate of Adam: constant for half of the steps, then falling to
        zero.
    :param precise: True to run L-BFGS to the limit of double precision, which a Laplace
        approximation needs.
    :param seed: [2], seed of the minibatches.
    :return: the maxima, [S, L].
    :raises ValueError: if a value is NaN or infinite at the end.
    """
    point = tf.Variable(theta)
    if batch_size is None:
        gpflow.optimizers.Scipy().minimize(
            lambda: -tf.reduce_sum(log_joint(point)),
            [point, *further],
            options={
                "maxiter": steps,
                "maxfun": 4 * steps,
                "ftol": 1e-15 if precise else 1e-9,
                "gtol": 1e-9 if precise else 1e-5,
            },
        )
    else:
        _adam(log_joint, [point, *further], steps, batch_size, learning_rate, seed)
    found = tf.convert_to_tensor(point)
    if not np.all(np.isfinite(log_joint(found).numpy())):
        raise ValueError(
            "The log joint density is NaN or infinite where the search for its maximum has ended. "
            "Standardise the data, or lower the learning rate."
        )
    return found


def _adam(
    log_joint: LogJoint,
    variables: Sequence[tf.Variable],
    steps: int,
    batch_size: int,
    learning_rate: float,
    seed: tf.Tensor,
) -> None:
    N = int(log_joint.X.shape[0])

    def objective(step: tf.Tensor) -> tf.Tensor:
        theta = tf.convert_to_tensor(variables[0])
        return tf.reduce_sum(log_joint.of_minibatch(theta, batch_size, fold_in(seed, step))) / N

    ascend(objective, variables, steps=steps, learning_rate=learning_rate)

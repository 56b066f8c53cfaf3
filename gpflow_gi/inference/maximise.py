"""Maxima of the log joint density of data and weights."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf

from ..core.random import fold_in
from .ascent import ascend
from .log_joint import LogJoint, TargetJoint, log_prior_of_trained


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
    trained: gpflow.Module | None,
    *,
    steps: int,
    batch_size: int | None,
    learning_rate: float,
    precise: bool,
    seed: tf.Tensor,
) -> tf.Tensor:
    """Maximise the log joint density from each of S starts, side by side.

    :param theta: [S, L], the starts.
    :param trained: a module whose trainable parameters are learned with the weights, such as the
        likelihood; changed in place. All S share it, and each counts GPflow's priors on it. None
        for none.
    :param steps: the largest number of steps of L-BFGS, or the number of steps of Adam.
    :param batch_size: rows of a step of Adam; None, or all rows or more, for L-BFGS on all rows.
    :param learning_rate: learning rate of Adam: constant for half of the steps, then falling to
        zero.
    :param precise: True to run L-BFGS to the limit of double precision, which a Laplace
        approximation needs.
    :param seed: [2], seed of the minibatches.
    :return: the maxima, [S, L].
    :raises ValueError: if a value is NaN or infinite at the end.
    """
    point = tf.Variable(theta)
    S = int(theta.shape[0])
    variables = [point, *(() if trained is None else trained.trainable_variables)]
    if batch_size is None or batch_size >= int(log_joint.X.shape[0]):
        gpflow.optimizers.Scipy().minimize(
            lambda: -tf.reduce_sum(log_joint(point)) - S * log_prior_of_trained(trained),
            variables,
            options={
                "maxiter": steps,
                "maxfun": 4 * steps,
                "ftol": 1e-15 if precise else 1e-9,
                "gtol": 1e-9 if precise else 1e-5,
            },
        )
    else:
        N = int(log_joint.X.shape[0])

        def objective(step: tf.Tensor) -> tf.Tensor:
            own = fold_in(seed, step)
            values = log_joint.of_minibatch(tf.convert_to_tensor(point), batch_size, own)
            return (tf.reduce_sum(values) + S * log_prior_of_trained(trained)) / N

        ascend(objective, variables, steps=steps, learning_rate=learning_rate)
    found = tf.convert_to_tensor(point)
    if not np.all(np.isfinite(log_joint(found).numpy())):
        advice = (
            "Check that it is finite near zero, and has a maximum."
            if isinstance(log_joint, TargetJoint)
            else "Standardise the data, or lower the learning rate."
        )
        raise ValueError(
            "The log joint density is NaN or infinite where the search for its maximum has ended. "
            f"{advice}"
        )
    return found

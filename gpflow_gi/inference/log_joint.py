"""The log joint density of data and weights."""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.likelihoods import Likelihood, MultiClass

from ..models import DeepGP
from ..models.integration import log_prob
from .target import Target, as_target
from .weight_space import WeightSpace


def check_all_data(model: DeepGP, data: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Return X [N, D] and Y [N, Q] after checking that they are all rows of the model.

    :raises ValueError: if they do not fit the model, are not finite or not all of its rows, if
        outputs are missing, or if the likelihood has no gradients.
    """
    if isinstance(model.likelihood, MultiClass):
        raise ValueError(
            "The likelihood MultiClass is a step function of f, while posteriors over weights "
            "follow gradients. Build the model with gpflow.likelihoods.Softmax instead."
        )
    X, Y = check_all_rows(model, data)
    if np.isnan(Y).any():
        raise ValueError(
            "Y holds NaN: posteriors over all weights need every output of every row, also where "
            'the model has missing="ignore". Leave these rows out, or train the model by gi.fit.'
        )
    return X, Y


def check_all_rows(model: DeepGP, data: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Return X [N, D] and Y [N, Q] after checking that they fit the model and are all its rows.

    :raises ValueError: if not.
    """
    X, Y = model.check_data(data)
    if X.shape[0] != model.num_data:
        raise ValueError(
            f"The posterior is that given all {model.num_data} rows that the model was built for "
            f"(num_data), but X has {X.shape[0]}."
        )
    return X, Y


def log_prior_of_trained(module: gpflow.Module | None) -> tf.Tensor:
    """The log density of GPflow's priors on a module's trainable parameters, [], in nats.

    It is what :func:`gpflow_gi.fit` adds to a bound.

    :param module: a likelihood, say; None for 0.
    """
    parameters = () if module is None else module.trainable_parameters
    zero = tf.zeros([], gpflow.default_float())
    return tf.add_n([zero, *(tf.cast(one.log_prior_density(), zero.dtype) for one in parameters)])


class LogJoint:
    """log p(Y, theta), which is the log posterior of all weights up to a constant.

    Shapes: S vectors theta, L coordinates, N rows.
    """

    def __init__(
        self, space: WeightSpace, likelihood: Likelihood, X: tf.Tensor, Y: tf.Tensor
    ) -> None:
        """Keep the data.

        :param X: [N, D], all rows.
        :param Y: [N, Q].
        """
        self.space = space
        self.likelihood = likelihood
        self.X = X
        self.Y = Y

    def __call__(self, theta: tf.Tensor) -> tf.Tensor:
        """The log density, [S, L] -> [S], in nats."""
        return self.space.log_prior(theta) + self.log_likelihood(theta)

    def log_likelihood(self, theta: tf.Tensor) -> tf.Tensor:
        """Log p(Y | theta), [S, L] -> [S], in nats."""
        return self.of_rows(theta, self.X, self.Y)

    def of_rows(self, theta: tf.Tensor, X: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
        """The log likelihood of some rows, [S, L] -> [S], in nats."""
        return log_prob(self.likelihood, X, self.space.functions(theta, X), Y)

    def of_minibatch(self, theta: tf.Tensor, batch_size: int | None, seed: tf.Tensor) -> tf.Tensor:
        """An unbiased estimate of the log density from some rows, [S, L] -> [S], in nats.

        :param batch_size: B, the number of rows, drawn with replacement; None for all rows.
        :param seed: [2], seed of the choice.
        """
        if batch_size is None:
            return self(theta)
        N, rows = int(self.X.shape[0]), self.rows_of(batch_size, seed)
        log_likelihood = self.of_rows(theta, tf.gather(self.X, rows), tf.gather(self.Y, rows))
        # N/B sum_n log p(y_n | theta) + log p(theta)
        return N / batch_size * log_likelihood + self.space.log_prior(theta)

    def rows_of(self, batch_size: int, seed: tf.Tensor) -> tf.Tensor:
        """Numbers of random rows, [B], int32."""
        N = int(self.X.shape[0])
        return tf.random.stateless_uniform([batch_size], seed, maxval=N, dtype=tf.int32)

    def with_gradient_norm(self, theta: tf.Tensor) -> tuple[float, float]:
        """The log density at one vector [L], in nats, and its largest derivative there in absolute
        value.
        """
        with tf.GradientTape() as tape:
            tape.watch(theta)
            log_density = self(theta[None])[0]
        gradient = tape.gradient(log_density, theta)
        return float(log_density), float(tf.reduce_max(tf.abs(gradient)))


class TargetJoint(LogJoint):
    """The same for a target, which has no rows."""

    def __init__(self, target: Target) -> None:
        """Keep the target."""
        self.space = target

    def __call__(self, theta: tf.Tensor) -> tf.Tensor:
        return self._target.log_prob(theta)

    def log_likelihood(self, theta: tf.Tensor) -> tf.Tensor:
        return self._target.log_likelihood(theta)

    def of_minibatch(self, theta: tf.Tensor, batch_size: int | None, seed: tf.Tensor) -> tf.Tensor:
        return self(theta)

    @property
    def _target(self) -> Target:
        return self.space  # type: ignore[return-value]


def joint_of(model: Any, data: Any) -> LogJoint:
    """The log joint density of a network's weights and data, or that of a target.

    :param model: a network or a target.
    :param data: X and Y, all rows; None for a target.
    :raises TypeError: if `model` is neither.
    :raises ValueError: as :func:`check_all_data`, if a layer has no weights, or if data are given
        for a target.
    """
    if not isinstance(model, DeepGP):
        target = as_target(model)
        if data is not None:
            raise ValueError("data must be None for a target, which holds its own.")
        return TargetJoint(target)
    space = WeightSpace(model)  # raises its errors before those of the data
    if data is None:
        raise ValueError("data must be X and Y, all rows that the network was built for.")
    return LogJoint(space, model.likelihood, *check_all_data(model, data))

"""A likelihood's integrals over f, for every sample of the layers below.

GPflow's likelihoods take [N, P]; some fail on a sample axis, and the Monte Carlo ones draw their
own noise. Here samples become rows, and the noise comes from this library's seeds.
"""

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from gpflow.likelihoods import Likelihood, MonteCarloLikelihood, StudentT

from ..core.random import standard_normal
from . import expected_power
from .missing import of_observed


def points_per_row(likelihood: Likelihood) -> int:
    """The number of values of f per row at which an integral evaluates the likelihood."""
    if isinstance(likelihood, MonteCarloLikelihood):
        return int(likelihood.num_monte_carlo_points)
    return int(getattr(getattr(likelihood, "quadrature", None), "n_gh_total", 1))


def variational_expectations(
    likelihood: Likelihood,
    X: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    Y: tf.Tensor,
    seed: tf.Tensor,
    *,
    missing: bool = False,
) -> tf.Tensor:
    """Compute E log p(y_n | f_n) for f_n ~ N(mean, variance).

    :param X: [N, D].
    :param mean: [N, P] or [S, N, P].
    :param variance: of the shape of the mean.
    :param Y: [N, Q].
    :param missing: True if NaN in Y stands for an output that was not observed.
    :return: [N] or [S, N], in nats.
    """
    if missing:
        return of_observed(variational_expectations, likelihood, X, mean, variance, Y, seed)
    return _per_sample(likelihood, "variational_expectations", X, mean, variance, Y, seed)


def predict_log_density(
    likelihood: Likelihood,
    X: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    Y: tf.Tensor,
    seed: tf.Tensor,
    *,
    missing: bool = False,
) -> tf.Tensor:
    """Logarithm of E p(y_n | f_n); shapes as :func:`variational_expectations`."""
    if missing:
        return of_observed(predict_log_density, likelihood, X, mean, variance, Y, seed)
    return _per_sample(likelihood, "predict_log_density", X, mean, variance, Y, seed)


def log_expected_power(
    likelihood: Likelihood,
    X: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    Y: tf.Tensor,
    seed: tf.Tensor,
    alpha: float,
    *,
    missing: bool = False,
) -> tf.Tensor:
    """Logarithm of E p(y_n | f_n)^alpha; shapes as :func:`variational_expectations`."""
    if missing:
        own = functools.partial(log_expected_power, alpha=alpha)
        return of_observed(own, likelihood, X, mean, variance, Y, seed)

    def power(*arguments: tf.Tensor, **noise: tf.Tensor) -> tf.Tensor:
        return expected_power.log_expected_power(likelihood, alpha, *arguments, **noise)

    return _per_sample(likelihood, power, X, mean, variance, Y, seed)


def predict_mean_and_var(
    likelihood: Likelihood, X: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor, seed: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Moments of y_n: two of [N, Q] or [S, N, Q].

    The variance of a Student t with at most two degrees of freedom is infinite.
    """
    if not isinstance(likelihood, StudentT):
        return _per_sample(likelihood, "predict_mean_and_var", X, mean, variance, None, seed)
    infinity = tf.constant(np.inf, mean.dtype)
    if isinstance(likelihood.df, int | float) and likelihood.df <= 2:
        return mean, tf.fill(tf.shape(mean), infinity)
    # GPflow's formula holds above two.
    mean, variance = _per_sample(likelihood, "predict_mean_and_var", X, mean, variance, None, seed)
    return mean, tf.where(tf.cast(likelihood.df, mean.dtype) > 2, variance, infinity)


def log_prob(
    likelihood: Likelihood, X: tf.Tensor, F: tf.Tensor, Y: tf.Tensor, *, missing: bool = False
) -> tf.Tensor:
    """Log p(Y | F), summed over rows.

    :param X: [N, D].
    :param F: [N, P] or [S, N, P].
    :param Y: [N, Q].
    :param missing: True if NaN in Y stands for an output that was not observed.
    :return: [] or [S], in nats.
    """
    if missing:
        no_seed = tf.zeros([2], tf.int32)
        return tf.reduce_sum(of_observed(_log_prob_of_rows, likelihood, X, F, F, Y, no_seed), -1)
    return tf.reduce_sum(_log_prob_of_rows(likelihood, X, F, F, Y), axis=-1)


def _log_prob_of_rows(
    likelihood: Likelihood, X: tf.Tensor, F: tf.Tensor, _: Any, Y: tf.Tensor, seed: Any = None
) -> tf.Tensor:
    """Log p(y_n | f_n): [N] or [S, N]."""
    repeats = tf.shape(F)[0] if F.shape.rank == 3 else 1
    rows = tf.reshape(F, [-1, F.shape[-1]])
    values = likelihood.log_prob(tf.tile(X, [repeats, 1]), rows, tf.tile(Y, [repeats, 1]))
    return tf.reshape(values, tf.shape(F)[:-1])


def _per_sample(
    likelihood: Likelihood,
    integral: str | Callable[..., tf.Tensor],
    X: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    Y: tf.Tensor | None,
    seed: tf.Tensor,
) -> Any:
    batch = tf.shape(mean)[:-1]
    num_rows = tf.shape(X)[0]
    repeats = tf.reduce_prod(batch) // tf.maximum(num_rows, 1)
    P = mean.shape[-1]

    arguments = [tf.tile(X, [repeats, 1]), tf.reshape(mean, [-1, P]), tf.reshape(variance, [-1, P])]
    if Y is not None:
        arguments.append(tf.tile(Y, [repeats, 1]))
    if isinstance(likelihood, MonteCarloLikelihood):
        # The public methods have no argument for the noise; the methods that they call do.
        points = likelihood.num_monte_carlo_points
        epsilon = standard_normal(tf.concat([[points], tf.shape(mean)], axis=0), seed, mean.dtype)
        epsilon = tf.reshape(epsilon, tf.concat([[points], tf.shape(arguments[1])], axis=0))
        own = getattr(likelihood, "_" + integral) if isinstance(integral, str) else integral
        result = own(*arguments, epsilon=epsilon)
    else:
        own = getattr(likelihood, integral) if isinstance(integral, str) else integral
        result = own(*arguments)

    def restore(value: tf.Tensor) -> tf.Tensor:
        return tf.reshape(value, tf.concat([batch, tf.shape(value)[1:]], axis=0))

    return (
        tuple(restore(value) for value in result) if isinstance(result, tuple) else restore(result)
    )

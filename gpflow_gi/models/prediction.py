"""Predictions at many rows, in chunks of bounded size, from the moments of f for each sample."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from gpflow.likelihoods import Gaussian, Likelihood, StudentT

from ..core.random import fold_in
from . import integration, mixture
from .chunks import in_chunks, rows_per_chunk
from .draws import Draws
from .expected_power import log_expected_power_of_correlated

Reduce = Callable[..., tuple[tf.Tensor, ...]]
"""Function of (likelihood, seed, mean [S, N, P], variance [S, N, P], X [N, D], ...) that returns
predictions, as tensors whose first axis is the rows."""


def predict_rows(
    draws: Draws,
    likelihood: Likelihood,
    rows: list[tf.Tensor],
    reduce: Reduce,
    seed_of: Callable[[tf.Tensor, tf.Tensor], Any],
    numbers_per_row: int | None,
) -> Any:
    """Predict at rows.

    :param draws: S draws.
    :param rows: X [N, D], or X and Y [N, Q].
    :param seed_of: function from a chunk's number and its rows X to its seed.
    :param numbers_per_row: numbers per row in the largest array; None for all rows in one chunk.
    :return: the results of `reduce` for all rows.
    """

    def chunk(i: tf.Tensor, *rows: tf.Tensor) -> tuple[tf.Tensor, ...]:
        seed = seed_of(i, rows[0])
        moments = draws.moments_of_outputs if reduce in OF_OUTPUTS else draws.moments
        mean, variance = moments(rows[0], fold_in(seed, 0))
        if mean.shape.rank == 2:
            mean, variance = mean[None], variance[None]
        return reduce(likelihood, fold_in(seed, 1), mean, variance, *rows)

    if numbers_per_row is None:
        return chunk(tf.constant(0), *rows)
    return in_chunks(chunk, rows, rows_per_chunk(numbers_per_row))


def moments_of_f(
    likelihood: Likelihood, seed: Any, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    """Mean and variance of f, as moments of the mixture: two of [N, P]."""
    return mixture.moments(mean, variance)


def moments_of_y(
    likelihood: Likelihood, seed: Any, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    """Mean and variance of new targets, as moments of the mixture: two of [N, Q]."""
    return mixture.moments(*integration.predict_mean_and_var(likelihood, X, mean, variance, seed))


def components_of_f(
    likelihood: Likelihood, seed: Any, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    """Mean and variance of f for each sample, rows first: two of [N, S, P]."""
    return tuple(tf.transpose(moment, [1, 0, 2]) for moment in (mean, variance))


def components_of_y(
    likelihood: Likelihood, seed: Any, mean: tf.Tensor, variance: tf.Tensor, X: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    """Mean and variance of new targets for each sample, rows first: two of [N, S, Q]."""
    moments = integration.predict_mean_and_var(likelihood, X, mean, variance, seed)
    return tuple(tf.transpose(moment, [1, 0, 2]) for moment in moments)


def by_sample(
    components: tuple[tf.Tensor, tf.Tensor], num_samples: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """The result of :func:`components_of_y` for all rows, sample by sample.

    :param components: two of [N, S, Q]; or of [N, 1, Q] if nothing is sampled: then all samples
        are equal.
    :param num_samples: the number of samples, S.
    :return: two of [S, N, Q].
    """
    mean, variance = (tf.transpose(component, [1, 0, 2]) for component in components)
    shape = tf.concat([[num_samples], tf.shape(mean)[1:]], axis=0)
    return tf.broadcast_to(mean, shape), tf.broadcast_to(variance, shape)


def log_density_of_y(
    likelihood: Likelihood,
    seed: Any,
    mean: tf.Tensor,
    variance: tf.Tensor,
    X: tf.Tensor,
    Y: tf.Tensor,
    *,
    missing: bool = False,
) -> tuple[tf.Tensor, ...]:
    """Log of the mixture's density at the targets: a tuple of one, [N], in nats.

    :param missing: True if NaN in Y stands for an output that was not observed.
    """
    components = integration.predict_log_density(
        likelihood, X, mean, variance, Y, seed, missing=missing
    )
    return (mixture.log_density(components),)


def log_density_of_observed_y(*arguments: Any) -> tuple[tf.Tensor, ...]:
    """The same as :func:`log_density_of_y`, for the outputs that were observed."""
    return log_density_of_y(*arguments, missing=True)


def moments_of_outputs(
    likelihood: Likelihood, seed: Any, mean: tf.Tensor, covariance: tf.Tensor, X: tf.Tensor
) -> tuple[tf.Tensor, ...]:
    """Mean and covariance between outputs of f: [N, P] and [N, P, P]."""
    return mixture.moments_of_outputs(mean, covariance)


def log_density_of_correlated_y(
    likelihood: Likelihood,
    seed: Any,
    mean: tf.Tensor,
    covariance: tf.Tensor,
    X: tf.Tensor,
    Y: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    """The same as :func:`log_density_of_y`, for Gaussian noise on outputs that are correlated.

    NaN in Y stands for an output that was not observed.
    """
    components = log_expected_power_of_correlated(likelihood, 1.0, X, mean, covariance, Y)
    return (mixture.log_density(components),)


def finite_values(
    likelihood: Likelihood, reduce: Reduce, values: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, ...]:
    """The predictions, with zeros where a variance may be infinite, as that of a Student t."""
    if not (reduce in (moments_of_y, components_of_y) and isinstance(likelihood, StudentT)):
        return values
    mean, variance = values
    return mean, tf.where(variance == np.inf, tf.zeros_like(variance), variance)


OF_OUTPUTS: tuple[Reduce, ...] = (moments_of_outputs, log_density_of_correlated_y)
"""Those that take the covariance between outputs, [S, N, P, P], in place of the variance."""


def log_density_for(model: Any) -> Reduce:
    """The log density of targets under a model.

    :raises ValueError: if its outputs are correlated, and its noise is not Gaussian.
    """
    if not model.has_correlated_outputs:
        return log_density_of_observed_y if model.missing == "ignore" else log_density_of_y
    if not isinstance(model.likelihood, Gaussian):
        raise ValueError(
            f"The density of correlated outputs under a {type(model.likelihood).__name__} "
            "likelihood has no closed form. Compare models by the densities of single outputs, "
            "from predict_y_components, or use a Gaussian likelihood."
        )
    return log_density_of_correlated_y


def sample_rows(draws: Draws, X: tf.Tensor, numbers_per_row: int, seed: tf.Tensor) -> tf.Tensor:
    """Samples of f, for each row separately: [S, N, P].

    :param X: [N, D].
    :param numbers_per_row: numbers per row in the largest array.
    :param seed: [2].
    """

    def chunk(i: tf.Tensor, X: tf.Tensor) -> tuple[tf.Tensor, ...]:
        return (tf.transpose(draws(X, fold_in(seed, i)), [1, 0, 2]),)

    (samples,) = in_chunks(chunk, [X], rows_per_chunk(numbers_per_row))
    return tf.transpose(samples, [1, 0, 2])


class Functions:
    """Draws that are functions, such as those of a network: [N, D] -> [S, N, P]."""

    is_pathwise = True

    def __init__(self, draws: Draws, seed: tf.Tensor, numbers_per_row: int) -> None:
        """Keep the draws.

        :param draws: draws whose values do not depend on the seed of a call.
        :param seed: [2].
        :param numbers_per_row: numbers per row in the largest array, for all samples.
        :raises NotImplementedError: if their values depend on the seed.
        """
        if not draws.is_function:
            raise NotImplementedError(
                f"{type(draws).__name__} are not functions that can be evaluated again and again; "
                "predict_f_samples draws values at given rows."
            )
        self._draws = draws
        self._seed = seed
        self._numbers_per_row = numbers_per_row

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        if not tf.executing_eagerly():
            return self._draws(X, self._seed)
        return sample_rows(self._draws, X, self._numbers_per_row, self._seed)

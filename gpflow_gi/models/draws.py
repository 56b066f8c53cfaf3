"""Draws from a model's posterior: the interface that makes models comparable."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import tensorflow as tf

from ..core.random import fold_in, standard_normal
from ..layers import DataRows


class Draws(ABC):
    """S functions f drawn from an approximate posterior, with log p and log q if they exist.

    Shapes: S samples, N rows, D inputs, P outputs.
    """

    kl: tf.Tensor | None = None
    """The KL divergence of q from the prior in closed form, [] or [S], in nats; None if there is
    none."""

    log_p_minus_log_q: tf.Tensor | None = None
    """log p - log q of everything that was drawn, [S], in nats; None if there is no density q, or
    if something is integrated instead of drawn."""

    is_function: bool = False
    """True if two calls return the same values at the same rows, whatever their seeds."""

    @abstractmethod
    def moments(
        self, X: tf.Tensor, seed: Any, *, full_cov: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f, given what was drawn.

        An integrated last layer has a variance; drawn weights have none, and it is zero.

        :param X: [N, D].
        :param seed: [2], or a :class:`~gpflow_gi.core.random.RowSeed`, for what is drawn row by
            row.
        :param full_cov: True for the covariance over rows; for joint draws only.
        :return: the mean, [S, N, P], and the variance, [S, N, P], or covariance, [S, P, N, N].
        """

    def moments_of_outputs(self, X: tf.Tensor, seed: Any) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and covariance between outputs of f, given what was drawn.

        :param X: [N, D].
        :param seed: as in :meth:`moments`.
        :return: the mean, [S, N, P], and the covariance, [S, N, P, P].
        """
        mean, variance = self.moments(X, seed)
        return mean, tf.linalg.diag(variance)

    def moments_of_data(
        self, rows: DataRows, seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor | None]:
        """Mean and variance of f at rows of the data, for a bound.

        They differ from :meth:`moments` if rows have latent variables with a posterior.

        :param rows: B rows.
        :param seed: [2].
        :return: two of [S, B, P]; and the KL divergence of each row's latent variables, [B], or
            None if it has none.
        """
        return (*self.moments(rows.X, seed), None)

    def values_of_data(
        self, rows: DataRows, seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor | float]:
        """Values of f at rows of the data, for importance weights; for joint draws.

        :param rows: B rows.
        :param seed: [2].
        :return: [S, B, P]; and log p - log q of the rows' latent variables, [S], or 0 without any.
        """
        return self(rows.X, seed), 0.0

    def settle(self, input_dim: int) -> None:  # noqa: B027
        """Compute now what all calls share and would otherwise be computed in the first call.

        It is then outside of the graph of the first call.

        :param input_dim: D, the number of columns of later rows.
        """

    def __call__(self, X: tf.Tensor, seed: Any) -> tf.Tensor:
        """Values of f: for joint draws at rows of one function; otherwise for each row separately.

        :param X: [N, D].
        :param seed: [2], for what the draws do not determine.
        :return: [S, N, P].
        """
        mean, variance = self.moments(X, fold_in(seed, 0))
        return mean + tf.sqrt(variance) * standard_normal(
            tf.shape(mean), fold_in(seed, 1), mean.dtype
        )

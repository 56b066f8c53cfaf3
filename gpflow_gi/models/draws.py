"""Draws from a model's posterior: all that a model must give to be compared with others."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import tensorflow as tf

from ..core.random import fold_in, standard_normal


class Draws(ABC):
    """S functions f drawn from an approximate posterior, with log p and log q where these exist.

    Shapes: S samples, N rows, D inputs, P outputs.
    """

    kl: tf.Tensor | None = None
    """The KL divergence of q from the prior in closed form, [] or [S], in nats; None if there is
    none."""

    log_p_minus_log_q: tf.Tensor | None = None
    """log p - log q of everything that was drawn, [S], in nats; None without a density q, or where
    something is integrated instead of drawn."""

    is_function: bool = False
    """True if two calls give the same values at the same rows, whatever their seeds."""

    @abstractmethod
    def moments(
        self, X: tf.Tensor, seed: Any, *, full_cov: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f, given what was drawn.

        An integrated last layer has a variance; drawn weights have none, and it is zero.

        :param X: [N, D].
        :param seed: [2], or a :class:`~gpflow_gi.core.random.RowSeed`: of what is drawn row by
            row.
        :param full_cov: give the covariance over rows, of joint draws only.
        :return: the mean, [S, N, P], and the variance, [S, N, P], or covariance, [S, P, N, N].
        """

    def settle(self, input_dim: int) -> None:  # noqa: B027
        """Compute now what all calls share, where it is computed when it is first needed.

        So it can be kept outside of the graph in which the first call may be.

        :param input_dim: D, the columns of the rows to come.
        """

    def __call__(self, X: tf.Tensor, seed: Any) -> tf.Tensor:
        """Values of f: of joint draws, the rows of one function; otherwise each row by itself.

        :param X: [N, D].
        :param seed: [2], of what the draws leave open.
        :return: [S, N, P].
        """
        mean, variance = self.moments(X, fold_in(seed, 0))
        return mean + tf.sqrt(variance) * standard_normal(
            tf.shape(mean), fold_in(seed, 1), mean.dtype
        )

"""Gaussians q(z) over the whitened coordinates of a layer.

Every layer is a linear model in a whitened basis, f(x) = m(x) + a(x)^T z + r(x) with the prior
z ~ N(0, I), and every approximate posterior is a Gaussian q(z), independent over outputs. K basis
functions, P outputs, N rows; a sample axis S in front if the layers below were sampled.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import tensorflow as tf

from . import linalg
from .basis import Basis
from .random import standard_normal
from .spread import spread


@dataclass(frozen=True)
class WhitenedDraw:
    """A draw of z, with its term of the log importance weight."""

    z: tf.Tensor
    """[K, P] or [S, K, P]."""

    log_p_minus_log_q: tf.Tensor
    """[] or [S]: log p(z) - log q(z), summed over outputs, in nats."""


class WhitenedGaussian(ABC):
    """q(z), independent over outputs, and the predictions of f - m that it implies."""

    mean: tf.Tensor
    """[K, P] or [S, K, P]."""

    @abstractmethod
    def kl(self) -> tf.Tensor:
        """KL(q(z) || p(z)), summed over outputs: [] or [S], in nats."""

    @abstractmethod
    def predict(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f - m at each row of `X`, with z and r integrated out.

        :param basis: the basis that q was made for.
        :param X: [N, D] or [S, N, D].
        :return: mean [..., N, P], and variance [..., N, P], or [..., N, 1] if all outputs share it.
        """

    @abstractmethod
    def predict_jointly(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The same, with the covariance over rows.

        :param basis: the basis that q was made for.
        :param X: [N, D] or [S, N, D].
        :return: mean [..., N, P], and covariance [..., P, N, N], or [..., 1, N, N] if all outputs
            share it.
        """

    @abstractmethod
    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        """Draw z ~ q(z), reparameterised.

        :param num_samples: S, or None for one draw without a sample axis. A q(z) that has a sample
            axis of its own gives one draw for each of its samples.
        :param seed: [2].
        :return: z, [K, P] or [S, K, P], and its log p - log q.
        """

    def draw_with_kl(
        self, num_samples: int | None, seed: tf.Tensor
    ) -> tuple[WhitenedDraw, tf.Tensor]:
        """Return :meth:`draw` and :meth:`kl`; what they share is computed once."""
        return self.draw(num_samples, seed), self.kl()

    def _standard_normal(self, num_samples: int | None, seed: tf.Tensor) -> tf.Tensor:
        like = self._z_like()
        shape = tf.shape(like)
        if num_samples is not None and like.shape.rank == 2:
            shape = tf.concat([[num_samples], shape], axis=0)
        return standard_normal(shape, seed, like.dtype)

    def _z_like(self) -> tf.Tensor:
        """A tensor of the shape and type of z."""
        return self.mean


def integrate(
    q: WhitenedGaussian, basis: Basis, X: tf.Tensor, full_cov: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Moments of f - m at `X`, with z and r integrated out.

    :param q: Gaussian over the coordinates of `basis`.
    :param basis: the basis that q was made for.
    :param X: [N, D] or [S, N, D].
    :param full_cov: True for the covariance over rows.
    :return: the mean, [..., N, P], and the variance of the same shape, or with `full_cov` the
        covariance over rows, [..., P, N, N].
    """
    if full_cov:
        mean, covariance = q.predict_jointly(basis, X)
        num_outputs = tf.shape(mean)[-1] // tf.shape(covariance)[-3]
        return mean, tf.repeat(covariance, num_outputs, axis=-3)
    if X.shape.rank == 3 and not basis.is_sampled and q.mean.shape.rank == 2:
        # Nothing here depends on the sample, so samples are just more rows.
        rows = tf.reshape(X, [-1, X.shape[-1]])
        mean, variance = integrate(q, basis, rows, full_cov=False)
        shape = tf.concat([tf.shape(X)[:-1], tf.shape(mean)[-1:]], axis=0)
        return tf.reshape(mean, shape), tf.reshape(variance, shape)
    mean, variance = q.predict(basis, X)
    return mean, tf.broadcast_to(variance, tf.shape(mean))


class StandardNormal(WhitenedGaussian):
    """q = p = N(0, I)."""

    def __init__(self, zero: tf.Tensor) -> None:
        """:param zero: z = 0, [K, P] or [S, K, P]."""
        self.mean = zero

    def kl(self) -> tf.Tensor:
        return tf.zeros(tf.shape(self.mean)[:-2], self.mean.dtype)

    def predict(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        # A layer of weights has no variance where its inputs are zero.
        variance = linalg.not_below_zero(basis.variance(X)[..., None])
        outputs = tf.ones(tf.shape(self.mean)[-1:], variance.dtype)
        return tf.zeros_like(variance) * outputs, variance

    def predict_jointly(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        covariance = basis.covariance(X)
        shape = tf.concat([tf.shape(covariance)[:-1], tf.shape(self.mean)[-1:]], axis=0)
        return tf.zeros(shape, covariance.dtype), covariance[..., None, :, :]

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        z = self._standard_normal(num_samples, seed)
        return WhitenedDraw(z, tf.zeros(tf.shape(z)[:-2], z.dtype))


class WeightGaussian(WhitenedGaussian):
    """A q(z) with a direct formula for the variance of a^T z; the residual's variance is added."""

    def predict(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        A = basis(X)
        residual = tf.expand_dims(basis.residual_variance(X, A), -1)
        variance = self._with_gradient(self._spread(A) + residual)
        return linalg.transposed_product(A, self.mean), variance

    @staticmethod
    def _with_gradient(variance: tf.Tensor) -> tf.Tensor:
        """A variance whose square root has a finite gradient: that of weights can be zero."""
        return linalg.not_below_zero(variance)

    def predict_jointly(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        A = basis(X)
        covariance = self._spread_jointly(A) + basis.residual_covariance(X, A)[..., None, :, :]
        return linalg.transposed_product(A, self.mean), covariance

    @abstractmethod
    def _spread(self, A: tf.Tensor) -> tf.Tensor:
        """Variances of the columns' a^T z: [..., K, N] -> [..., N, P] or [..., N, 1]."""

    @abstractmethod
    def _spread_jointly(self, A: tf.Tensor) -> tf.Tensor:
        """Covariances of a^T z over columns: [..., K, N] -> [..., P, N, N] or [..., 1, N, N]."""


class FreeGaussian(WeightGaussian):
    """q(z_p) = N(q_mu_p, q_sqrt_p q_sqrt_p^T), as in GPflow's whitened SVGP."""

    def __init__(self, q_mu: tf.Tensor, q_sqrt: tf.Tensor) -> None:
        """Keep the parameters.

        :param q_mu: [K, P].
        :param q_sqrt: [P, K, K], lower triangular.
        """
        self.mean = q_mu
        self.q_sqrt = q_sqrt

    def kl(self) -> tf.Tensor:
        # 1/2 [ tr S + |mu|^2 - K - log|S| ], S = q_sqrt q_sqrt^T
        return 0.5 * (
            tf.reduce_sum(tf.square(self.q_sqrt))
            + tf.reduce_sum(tf.square(self.mean))
            - tf.cast(tf.size(self.mean), self.mean.dtype)
            - self._log_determinant()
        )

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        eps = self._standard_normal(num_samples, seed)
        z = self.mean + tf.einsum("pkl,...lp->...kp", self.q_sqrt, eps)
        # log p - log q = 1/2 [ |eps|^2 - |z|^2 + log|S| ]
        squares = tf.reduce_sum(tf.square(eps) - tf.square(z), axis=[-2, -1])
        return WhitenedDraw(z, 0.5 * (squares + self._log_determinant()))

    def _spread(self, A: tf.Tensor) -> tf.Tensor:
        return tf.linalg.matrix_transpose(spread(self.q_sqrt, A))

    def _spread_jointly(self, A: tf.Tensor) -> tf.Tensor:
        root = tf.matmul(self.q_sqrt, A[..., None, :, :], transpose_a=True)
        return tf.matmul(root, root, transpose_a=True)

    def _log_determinant(self) -> tf.Tensor:
        return tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(self.q_sqrt))))


class DiagonalGaussian(WeightGaussian):
    """q(z) = N(mean, scale^2), independent over all coordinates."""

    def __init__(self, mean: tf.Tensor, scale: tf.Tensor) -> None:
        """Keep the parameters.

        :param mean: [K, P] or [S, K, P].
        :param scale: standard deviations, of the mean's shape.
        """
        self.mean = mean
        self._scale = scale

    def kl(self) -> tf.Tensor:
        terms = tf.square(self._scale) + tf.square(self.mean) - 1.0
        terms -= 2.0 * tf.math.log(self._scale)
        return 0.5 * tf.reduce_sum(terms, axis=[-2, -1])

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        eps = self._standard_normal(num_samples, seed)
        z = self.mean + self._scale * eps
        terms = tf.square(eps) - tf.square(z) + 2.0 * tf.math.log(self._scale)
        return WhitenedDraw(z, 0.5 * tf.reduce_sum(terms, axis=[-2, -1]))

    def _spread(self, A: tf.Tensor) -> tf.Tensor:
        return linalg.transposed_product(tf.square(A), tf.square(self._scale))

    def _spread_jointly(self, A: tf.Tensor) -> tf.Tensor:
        scaled = A[..., None, :, :] * tf.linalg.matrix_transpose(self._scale)[..., None]
        return tf.matmul(scaled, scaled, transpose_a=True)


class PointMass(WeightGaussian):
    """A point mass at one z, or at one z per sample; it has no density and so no KL."""

    def __init__(self, z: tf.Tensor) -> None:
        """:param z: [K, P] or [S, K, P]."""
        self.mean = z

    def kl(self) -> tf.Tensor:
        # Not defined: a model with such a layer raises an error when asked for a bound.
        return tf.fill(tf.shape(self.mean)[:-2], tf.constant(np.nan, self.mean.dtype))

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        return WhitenedDraw(self.mean, self.kl())

    @staticmethod
    def _with_gradient(variance: tf.Tensor) -> tf.Tensor:
        return variance  # zero for weights, and it stays zero

    def _spread(self, A: tf.Tensor) -> tf.Tensor:
        return tf.zeros_like(A[..., 0, :, None])

    def _spread_jointly(self, A: tf.Tensor) -> tf.Tensor:
        return tf.zeros_like(tf.matmul(A, A, transpose_a=True))[..., None, :, :]

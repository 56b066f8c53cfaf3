"""Gaussians q(z) over the whitened coordinates of a layer.

Every layer is a linear model in a whitened basis, f(x) = m(x) + a(x)^T z + r(x) with the prior
z ~ N(0, I), and every approximate posterior is a Gaussian q(z), independent over outputs. K basis
functions, P outputs, N inputs; a sample axis S stands in front where what lies below was sampled.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import tensorflow as tf

from . import linalg
from .kernels import KernelBasis
from .seeds import standard_normal


@dataclass(frozen=True)
class WhitenedDraw:
    """A draw of z, with what an importance weight needs to know about it."""

    z: tf.Tensor
    """[K, P] or [S, K, P]."""

    log_p_minus_log_q: tf.Tensor
    """[] or [S]: log p(z) - log q(z), summed over outputs."""


class WhitenedGaussian(ABC):
    """q(z), independent over outputs.

    What q says of f at inputs X is its mean and how much of the prior's covariance it explains
    away: Cov[f] = k(X, X) - explained, where explained = A^T A - Cov[A^T z] for A = a(X).
    """

    mean: tf.Tensor
    """[K, P] or [S, K, P]."""

    @abstractmethod
    def kl(self) -> tf.Tensor:
        """KL(q(z) || p(z)), summed over outputs: [] or [S]."""

    @abstractmethod
    def explain(self, basis: KernelBasis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean of f - m at each row of `X`, and the variance explained away.

        :param basis: the one that q was made for.
        :param X: [N, D] or [S, N, D].
        :return: [..., N, P], and [..., N, P] or, where the outputs share it, [..., N, 1].
        """

    @abstractmethod
    def explain_jointly(self, basis: KernelBasis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The same, with the covariance over rows that is explained away.

        :return: [..., N, P], and [..., P, N, N] or, where the outputs share it, [..., 1, N, N].
        """

    @abstractmethod
    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        """Draw z ~ q(z), reparameterised.

        :param num_samples: S, or None for one draw without a sample axis. A q(z) that has a sample
            axis of its own gives one draw for each of its samples.
        :param seed: [2].
        """

    def _standard_normal(self, num_samples: int | None, seed: tf.Tensor) -> tf.Tensor:
        shape = tf.shape(self.mean)
        if num_samples is not None and self.mean.shape.rank == 2:
            shape = tf.concat([[num_samples], shape], axis=0)
        return standard_normal(shape, seed, self.mean.dtype)


class StandardNormal(WhitenedGaussian):
    """q = p = N(0, I), which explains nothing."""

    def __init__(self, A: tf.Tensor, num_outputs: int) -> None:
        """:param A: [K, M] or [S, K, M]; only its type, K and S matter."""
        self.mean = tf.zeros(tf.concat([tf.shape(A)[:-1], [num_outputs]], axis=0), A.dtype)

    def kl(self) -> tf.Tensor:
        return tf.zeros(tf.shape(self.mean)[:-2], self.mean.dtype)

    def explain(self, basis: KernelBasis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        shape = tf.concat([tf.shape(X)[:-1], tf.shape(self.mean)[-1:]], axis=0)
        nothing = tf.zeros(shape, self.mean.dtype)
        return nothing, nothing

    def explain_jointly(self, basis: KernelBasis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        mean, _ = self.explain(basis, X)
        N = tf.shape(X)[-2]
        return mean, tf.zeros(tf.concat([tf.shape(X)[:-2], [1, N, N]], axis=0), mean.dtype)

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        z = self._standard_normal(num_samples, seed)
        return WhitenedDraw(z, tf.zeros(tf.shape(z)[:-2], z.dtype))


class FreeGaussian(WhitenedGaussian):
    """q(z_p) = N(q_mu_p, q_sqrt_p q_sqrt_p^T), as in GPflow's whitened SVGP."""

    def __init__(self, q_mu: tf.Tensor, q_sqrt: tf.Tensor) -> None:
        """:param q_mu: [K, P]. :param q_sqrt: [P, K, K], lower triangular."""
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

    def explain(self, basis: KernelBasis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        A = basis(X)
        # All outputs' q_sqrt^T A in one product: [P*K, K] [K, N].
        num_outputs, K, _ = tf.unstack(tf.shape(self.q_sqrt))
        stacked = tf.reshape(tf.linalg.matrix_transpose(self.q_sqrt), [num_outputs * K, K])
        shape = tf.concat([tf.shape(A)[:-2], [num_outputs, K, tf.shape(A)[-1]]], axis=0)
        variance = linalg.sum_of_squares(tf.reshape(tf.matmul(stacked, A), shape))
        variance = tf.linalg.matrix_transpose(variance)
        mean = linalg.transposed_product(A, self.mean)
        return mean, linalg.sum_of_squares(A)[..., None] - variance

    def explain_jointly(self, basis: KernelBasis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        A = basis(X)
        root = tf.matmul(self.q_sqrt, A[..., None, :, :], transpose_a=True)
        explained = tf.matmul(A, A, transpose_a=True)[..., None, :, :]
        explained -= tf.matmul(root, root, transpose_a=True)
        return linalg.transposed_product(A, self.mean), explained

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        eps = self._standard_normal(num_samples, seed)
        z = self.mean + tf.einsum("pkl,...lp->...kp", self.q_sqrt, eps)
        # log p - log q = 1/2 [ |eps|^2 - |z|^2 + log|S| ]
        squares = tf.reduce_sum(tf.square(eps) - tf.square(z), axis=[-2, -1])
        return WhitenedDraw(z, 0.5 * (squares + self._log_determinant()))

    def _log_determinant(self) -> tf.Tensor:
        return tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(self.q_sqrt))))

"""Whitened Bayesian linear regression, and the Gaussians q(z) that layers are made of.

Every layer is a linear model in a whitened basis, f(x) = m(x) + a(x)^T z + r(x) with the prior
z ~ N(0, I), and every approximate posterior is a Gaussian q(z), independent over outputs. This file
is that algebra. K basis functions, P outputs, M pseudo-observations, N inputs; a sample axis S
stands in front where what lies below was sampled.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import tensorflow as tf

from . import linalg
from .seeds import standard_normal


@dataclass(frozen=True)
class WhitenedDraw:
    """A draw of z, with what an importance weight needs to know about it."""

    z: tf.Tensor
    """[K, P] or [S, K, P]."""

    log_p_minus_log_q: tf.Tensor
    """[] or [S]: log p(z) - log q(z), summed over outputs."""


class WhitenedGaussian(ABC):
    """q(z): a Gaussian over the whitened coordinates of a layer, independent over outputs."""

    mean: tf.Tensor
    """[K, P] or [S, K, P]."""

    @abstractmethod
    def root(self, A: tf.Tensor) -> tf.Tensor:
        """A root R of the covariance of the projections: Cov[A^T z] = R^T R.

        :param A: basis functions at N inputs, [K, N] or [S, K, N].
        :return: [..., K, N] where the outputs share one covariance, else [..., P, K, N].
        """

    @abstractmethod
    def variance(self, A: tf.Tensor) -> tf.Tensor:
        """The diagonal of Cov[A^T z], the squared norms of the columns of :meth:`root`.

        :param A: [K, N] or [S, K, N].
        :return: [..., N, 1] where the outputs share one covariance, else [..., N, P].
        """

    @abstractmethod
    def kl(self) -> tf.Tensor:
        """KL(q(z) || p(z)), summed over outputs: [] or [S]."""

    @abstractmethod
    def transform(self, eps: tf.Tensor) -> WhitenedDraw:
        """The draw of z that standard normal noise `eps` ([K, P] or [S, K, P]) stands for."""

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        """Draw z ~ q(z), reparameterised.

        :param num_samples: S, or None for one draw without a sample axis. A q(z) that has a sample
            axis of its own gives one draw for each of its samples.
        :param seed: [2].
        """
        shape = tf.shape(self.mean)
        if num_samples is not None and self.mean.shape.rank == 2:
            shape = tf.concat([[num_samples], shape], axis=0)
        return self.transform(standard_normal(shape, seed, self.mean.dtype))


class StandardNormal(WhitenedGaussian):
    """q = p = N(0, I)."""

    def __init__(self, A: tf.Tensor, num_outputs: int) -> None:
        """:param A: [K, M] or [S, K, M]; only its type, K and S matter."""
        self.mean = tf.zeros(tf.concat([tf.shape(A)[:-1], [num_outputs]], axis=0), A.dtype)

    def root(self, A: tf.Tensor) -> tf.Tensor:
        return A

    def variance(self, A: tf.Tensor) -> tf.Tensor:
        return linalg.sum_of_squares(A)[..., None]

    def kl(self) -> tf.Tensor:
        return tf.zeros(tf.shape(self.mean)[:-2], self.mean.dtype)

    def transform(self, eps: tf.Tensor) -> WhitenedDraw:
        return WhitenedDraw(eps, tf.zeros(tf.shape(eps)[:-2], eps.dtype))


class FreeGaussian(WhitenedGaussian):
    """q(z_p) = N(q_mu_p, q_sqrt_p q_sqrt_p^T), as in GPflow's whitened SVGP."""

    def __init__(self, q_mu: tf.Tensor, q_sqrt: tf.Tensor) -> None:
        """:param q_mu: [K, P]. :param q_sqrt: [P, K, K], lower triangular."""
        self.mean = q_mu
        self.q_sqrt = q_sqrt

    def root(self, A: tf.Tensor) -> tf.Tensor:
        return tf.matmul(self.q_sqrt, A[..., None, :, :], transpose_a=True)

    def variance(self, A: tf.Tensor) -> tf.Tensor:
        if A.shape.rank == 3:
            return tf.linalg.matrix_transpose(linalg.sum_of_squares(self.root(A)))
        # All outputs' roots in one product: [P*K, K] [K, N].
        num_outputs, K, _ = tf.unstack(tf.shape(self.q_sqrt))
        stacked = tf.reshape(tf.linalg.matrix_transpose(self.q_sqrt), [num_outputs * K, K])
        root = tf.reshape(tf.matmul(stacked, A), [num_outputs, K, tf.shape(A)[-1]])
        return tf.transpose(linalg.sum_of_squares(root))

    def kl(self) -> tf.Tensor:
        # 1/2 [ tr S + |mu|^2 - K - log|S| ], S = q_sqrt q_sqrt^T
        return 0.5 * (
            tf.reduce_sum(tf.square(self.q_sqrt))
            + tf.reduce_sum(tf.square(self.mean))
            - tf.cast(tf.size(self.mean), self.mean.dtype)
            - self._log_determinant()
        )

    def transform(self, eps: tf.Tensor) -> WhitenedDraw:
        spread = tf.einsum("pkl,...lp->...kp", self.q_sqrt, eps)
        z = self.mean + spread
        # log p - log q = 1/2 [ |eps|^2 - |z|^2 + log|S| ]
        squares = tf.reduce_sum(tf.square(eps) - tf.square(z), axis=[-2, -1])
        return WhitenedDraw(z, 0.5 * (squares + self._log_determinant()))

    def _log_determinant(self) -> tf.Tensor:
        return tf.reduce_sum(tf.math.log(tf.square(tf.linalg.diag_part(self.q_sqrt))))


class RegressionPosterior(WhitenedGaussian):
    """Exact Bayesian linear regression on pseudo-data (the paper's eq. 11 and 22, whitened).

    With the prior z ~ N(0, I) and pseudo-outputs V = A^T z + noise of precision Lambda,

        B = I + A Lambda A^T,    C = chol B,    c = A Lambda V,    q(z) = N(B^-1 c, B^-1).

    B is the identity plus a positive semi-definite matrix: it needs no jitter, and |C^-1| <= 1.
    Every form of Lambda = T T^T meets the same code, since only A T and T^T V enter.
    """

    def __init__(self, scaled_A: tf.Tensor, scaled_V: tf.Tensor) -> None:
        """:param scaled_A: A T, [K, M] or [S, K, M]. :param scaled_V: T^T V, [M, P]."""
        B = tf.matmul(scaled_A, scaled_A, transpose_b=True)
        B = tf.linalg.set_diag(B, tf.linalg.diag_part(B) + 1.0)
        self.num_outputs = scaled_V.shape[-1]
        self.C = tf.linalg.cholesky(B)
        c = tf.matmul(scaled_A, scaled_V)
        self._whitened_mean = linalg.solve_lower(self.C, c)  # C^-1 c
        self.mean = linalg.solve_lower(self.C, self._whitened_mean, transpose=True)

    def root(self, A: tf.Tensor) -> tf.Tensor:
        return linalg.solve_lower(self.C, A)  # A^T B^-1 A = |C^-1 A|^2

    def variance(self, A: tf.Tensor) -> tf.Tensor:
        return linalg.sum_of_squares(self.root(A))[..., None]

    def kl(self) -> tf.Tensor:
        # 1/2 [ tr B^-1 + |mean|^2 - K + log|B| ] per output
        K = tf.shape(self.C)[-1]
        inverse = linalg.solve_lower(
            self.C, tf.eye(K, dtype=self.C.dtype, batch_shape=tf.shape(self.C)[:-2])
        )
        trace = tf.reduce_sum(tf.square(inverse), axis=[-2, -1])
        shared = trace - tf.cast(K, trace.dtype) + self._log_determinant()
        return 0.5 * (
            self.num_outputs * shared + tf.reduce_sum(tf.square(self.mean), axis=[-2, -1])
        )

    def transform(self, eps: tf.Tensor) -> WhitenedDraw:
        z = linalg.solve_lower(self.C, self._whitened_mean + eps, transpose=True)
        # log p - log q = 1/2 [ |eps|^2 - |z|^2 - log|B| ] per output
        squares = tf.reduce_sum(tf.square(eps) - tf.square(z), axis=[-2, -1])
        return WhitenedDraw(z, 0.5 * (squares - self.num_outputs * self._log_determinant()))

    def _log_determinant(self) -> tf.Tensor:
        return 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(self.C)), axis=-1)

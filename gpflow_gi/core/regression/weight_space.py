"""Whitened Bayesian linear regression, computed in the space of the K weights.

With the pseudo-data in units of their noise, H = T^T Phi and y = T^T V for Lambda = T T^T,

    B = I + H^T H,    C = chol B,    W = C^-1,
    E z = B^-1 H^T y = W^T r with r = W H^T y,    z = W^T (r + eps),    Var a^T z = |W a|^2.

Everything but W is a product. W has a gradient derived by hand, of products alone; differentiating
through the Cholesky factor would cost a multiple of it. B^-1, whose small eigenvalues float32 would
lose, is formed in neither value nor gradient.

If there are too many pseudo-data to form H, as at all locations of images, then the moments
G = Phi^T Lambda Phi and Phi^T Lambda V are used instead: B = I + G.
"""

from __future__ import annotations

from functools import cached_property

import tensorflow as tf

from .. import linalg
from ..basis import Basis
from ..gaussians import WeightGaussian, WhitenedDraw
from .inverse_root import inverse_root, inverse_root_from_moment


class WeightSpaceRegression(WeightGaussian):
    """q(z) = p(z | V), the exact posterior given pseudo-data.

    With one precision per output, matrices have an axis P before their last two, and arrays of
    shape [K, P] become P columns, [P, K, 1].
    """

    def __init__(self, basis: Basis, T: tf.Tensor, V: tf.Tensor, *, shared: bool) -> None:
        """Condition on pseudo-data.

        Shapes are those of :func:`gpflow_gi.core.regression.regress`.

        :param basis: the layer's basis, at M pseudo-inputs.
        :param T: a root of Lambda = T T^T.
        :param V: pseudo-outputs.
        :param shared: True if all outputs share Lambda.
        """
        self._shared = shared
        if not basis.has_small_design:
            self._set_moments(*basis.moments(tf.square(T), V))
            return
        is_diagonal = T.shape.rank == (1 if shared else 2)
        Phi = self._over_outputs(basis.design)
        V = V if shared else tf.linalg.matrix_transpose(V)[..., None]
        if is_diagonal:
            H, y = tf.expand_dims(T, -1) * Phi, tf.expand_dims(T, -1) * V
        else:
            H, y = tf.matmul(T, Phi, transpose_a=True), tf.matmul(T, V, transpose_a=True)
        self._T, self._H = T, H
        self._W, self._log_determinant = inverse_root(H)
        self._r = tf.matmul(self._W, tf.matmul(H, y, transpose_a=True))

    @classmethod
    def from_moments(cls, G: tf.Tensor, c: tf.Tensor) -> WeightSpaceRegression:
        """The posterior given the moments of pseudo-data that all outputs share.

        :param G: Phi^T Lambda Phi, [K, K] or [S, K, K].
        :param c: Phi^T Lambda V, [K, P] or [S, K, P].
        :return: q(z).
        """
        q = cls.__new__(cls)
        q._shared = True
        q._set_moments(G, c)
        return q

    def _set_moments(self, G: tf.Tensor, c: tf.Tensor) -> None:
        self._W, self._log_determinant = inverse_root_from_moment(G)
        self._r = tf.matmul(self._W, c)

    @cached_property
    def mean(self) -> tf.Tensor:
        """E z = B^-1 Phi^T Lambda V, [K, P] or [S, K, P]."""
        return self._joined(tf.matmul(self._W, self._r, transpose_a=True))

    def mean_given(self, V: tf.Tensor) -> tf.Tensor:
        """E z for other pseudo-outputs, [M, P] or [S, M, P] -> [K, P] or [S, K, P].

        For a diagonal Lambda that all outputs share.
        """
        c = linalg.transposed_product(self._H, self._T[:, None] * V)
        return linalg.transposed_product(self._W, linalg.product(self._W, c))

    def kl(self) -> tf.Tensor:
        return self._kl(self.mean)

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        eps = self._standard_normal(num_samples, seed)
        r = self._columns(eps) + self._r
        if self._shared:
            z = linalg.transposed_product(self._W, r)
        else:
            z = self._joined(tf.matmul(self._W, r, transpose_a=True))
        return self._drawn(z, eps)

    def draw_with_kl(
        self, num_samples: int | None, seed: tf.Tensor
    ) -> tuple[WhitenedDraw, tf.Tensor]:
        gets_sample_axis = num_samples is not None and self._r.shape.rank == 2
        if gets_sample_axis or not self._shared:
            return super().draw_with_kl(num_samples, seed)
        # z and its mean in one product
        eps = self._standard_normal(num_samples, seed)
        both = tf.matmul(self._W, tf.concat([self._r, eps + self._r], axis=-1), transpose_a=True)
        mean, z = tf.split(both, 2, axis=-1)
        return self._drawn(z, eps), self._kl(mean)

    def _kl(self, mean: tf.Tensor) -> tf.Tensor:
        # 1/2 [ tr B^-1 + |E z|^2 - K + log|B| ] per output
        K = tf.cast(tf.shape(self._W)[-1], self._W.dtype)
        trace = tf.reduce_sum(tf.square(self._W), axis=[-2, -1])
        divergence = trace - K + self._log_determinant
        squares = tf.reduce_sum(tf.square(mean), axis=[-2, -1])
        return 0.5 * (self._summed_over_outputs(divergence) + squares)

    def _drawn(self, z: tf.Tensor, eps: tf.Tensor) -> WhitenedDraw:
        # 1/2 [ |eps|^2 - |z|^2 - log|B| ] per output
        squares = tf.reduce_sum(tf.square(eps) - tf.square(z), axis=[-2, -1])
        log_determinant = self._summed_over_outputs(self._log_determinant)
        return WhitenedDraw(z, 0.5 * (squares - log_determinant))

    def _spread(self, A: tf.Tensor) -> tf.Tensor:
        half = self._times_W(A)
        variance = linalg.sum_of_squares(half)
        return (
            tf.expand_dims(variance, -1) if self._shared else tf.linalg.matrix_transpose(variance)
        )

    def _spread_jointly(self, A: tf.Tensor) -> tf.Tensor:
        half = self._times_W(A)
        covariance = tf.matmul(half, half, transpose_a=True)
        return covariance[..., None, :, :] if self._shared else covariance

    def _times_W(self, A: tf.Tensor) -> tf.Tensor:
        if self._shared:
            return linalg.product(self._W, A)
        return tf.matmul(self._W, self._over_outputs(A))

    def _z_like(self) -> tf.Tensor:
        return self._joined(self._r)

    def _summed_over_outputs(self, each: tf.Tensor) -> tf.Tensor:
        if self._shared:
            return float(self._r.shape[-1]) * each
        return tf.reduce_sum(each, axis=-1)

    def _over_outputs(self, A: tf.Tensor) -> tf.Tensor:
        return A if self._shared else A[..., None, :, :]

    def _columns(self, z: tf.Tensor) -> tf.Tensor:
        """The given [..., K, P], or P columns [..., P, K, 1]."""
        return z if self._shared else tf.linalg.matrix_transpose(z)[..., None]

    def _joined(self, columns: tf.Tensor) -> tf.Tensor:
        """The inverse of :meth:`_columns`."""
        return columns if self._shared else tf.linalg.matrix_transpose(columns[..., 0])

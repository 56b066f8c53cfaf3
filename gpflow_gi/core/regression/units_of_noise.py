"""Regression in the space of the M pseudo-outputs, for a full precision matrix Lambda = T T^T.

Pseudo-data in units of their noise have the kernel matrix T^T K T and the noise I, so that with

    B = I + T^T K T,    C = chol B,    W = C^-1 T^T,    r = W V,

    (K + Lambda^-1)^-1 = W^T W,    E f = (W k)^T r,    explained variance = |W k|^2,
    |Lambda| |K + Lambda^-1| = |B|.

Neither T nor Lambda is ever inverted: the inverse of T grows exponentially with the entries of T
below the diagonal, while no eigenvalue of B is below 1.
"""

import tensorflow as tf

from .. import linalg
from ..basis import Basis
from ..gaussians import WhitenedDraw, WhitenedGaussian
from ..random import split, standard_normal
from .inverse_root import inverse_root_in_units


class UnitsOfNoiseRegression(WhitenedGaussian):
    """q(z) = p(z | V), the exact posterior given pseudo-data."""

    def __init__(self, basis: Basis, T: tf.Tensor, V: tf.Tensor) -> None:
        """Condition on pseudo-data at the basis' inputs.

        :param basis: the layer's basis, at M pseudo-inputs.
        :param T: the lower triangular root of Lambda = T T^T, [M, M].
        :param V: pseudo-outputs, [M, P].
        """
        self._basis = basis
        self._T = T
        self._V = V
        self._W, self._inverse_C, self._log_determinant = inverse_root_in_units(basis.gram, T)
        self._r = linalg.product(self._W, V)
        # E z = Phi^T (K + Lambda^-1)^-1 V
        self.mean = basis.transposed_design_times(self._times_W_transposed(self._r))

    def kl(self) -> tf.Tensor:
        # 1/2 [ tr B^-1 - M + log|B| + |E z|^2 ] per output. With beta = B^-1 T^T V = C^-T r,
        # |E z|^2 = beta^T (B - I) beta = |r|^2 - |beta|^2.
        M, P = float(self._T.shape[-1]), float(self._V.shape[-1])
        trace = tf.reduce_sum(tf.square(self._inverse_C), axis=[-2, -1])
        beta = tf.matmul(self._inverse_C, self._r, transpose_a=True)
        squares = tf.reduce_sum(tf.square(self._r) - tf.square(beta), axis=[-2, -1])
        return 0.5 * (P * (trace - M + self._log_determinant) + squares)

    def predict(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        half_k = linalg.product(self._W, basis.cross_gram(X))
        explained = linalg.sum_of_squares(half_k)
        mean = linalg.transposed_product(half_k, self._r)
        return mean, linalg.not_below_zero(basis.variance(X) - explained)[..., None]

    def predict_jointly(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        half_k = linalg.product(self._W, basis.cross_gram(X))
        explained = tf.matmul(half_k, half_k, transpose_a=True)
        mean = linalg.transposed_product(half_k, self._r)
        return mean, (basis.covariance(X) - explained)[..., None, :, :]

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        # Matheron's rule: a draw from the prior, corrected by its error on the pseudo-data,
        #     z = z0 + Phi^T T B^-1 [T^T (V - Phi z0) - e],    z0, e ~ N(0, I).
        prior_seed, noise_seed = split(seed, 2)
        z0 = self._standard_normal(num_samples, prior_seed)
        missed = self._V - self._basis.design_times(z0)
        e = standard_normal(tf.shape(missed), noise_seed, z0.dtype)
        half = linalg.product(self._W, missed) - linalg.product(self._inverse_C, e)
        z = z0 + self._basis.transposed_design_times(self._times_W_transposed(half))
        return WhitenedDraw(z, self.log_p_minus_log_q(z))

    def log_p_minus_log_q(self, z: tf.Tensor) -> tf.Tensor:
        """Log p(z) - log q(z), summed over outputs.

        :param z: [K, P] or [S, K, P].
        :return: [] or [S], in nats.
        """
        # 1/2 [ |z - E z|^2 + |T^T Phi (z - E z)|^2 - |z|^2 - log|B| ] per output
        centred = z - self.mean
        scaled = linalg.transposed_product(self._T, self._basis.design_times(centred))
        squares = tf.reduce_sum(tf.square(centred) - tf.square(z), axis=[-2, -1])
        squares += tf.reduce_sum(tf.square(scaled), axis=[-2, -1])
        return 0.5 * (squares - float(self._V.shape[-1]) * self._log_determinant)

    def _times_W_transposed(self, R: tf.Tensor) -> tf.Tensor:
        return linalg.transposed_product(self._W, R)

"""Whitened Bayesian linear regression, computed in the space of the M pseudo-outputs.

The formulas are those of Gaussian process regression (Rasmussen & Williams 2006, eq. 2.25, 2.26).
With K = Phi Phi^T, the kernel matrix of the pseudo-inputs, and k = Phi a(x),

    S = K + Lambda^-1,    C = chol S,    E f = k^T S^-1 V,    explained variance = k^T S^-1 k.

Phi is needed only to draw z. Neither the bound nor the predictions of an integrated layer need the
Cholesky factor of a kernel matrix, and Lambda costs nothing per sample or row.

Functions of S have gradients derived by hand. Each takes one or two triangular solves and a few
products; differentiating through the Cholesky factor would cost a multiple of that.
"""

from typing import Any

import tensorflow as tf

from .. import linalg
from ..basis import Basis
from ..gaussians import WhitenedDraw, WhitenedGaussian
from ..linalg import Gradient, once_only
from ..random import split, standard_normal


class FunctionSpaceRegression(WhitenedGaussian):
    """q(z) = p(z | V), the exact posterior given pseudo-data."""

    def __init__(self, basis: Basis, T: tf.Tensor, V: tf.Tensor) -> None:
        """Condition on pseudo-data at the basis' inputs.

        :param basis: the layer's basis, at M pseudo-inputs.
        :param T: a root of a diagonal Lambda, [M].
        :param V: pseudo-outputs, [M, P].
        """
        self._basis = basis
        self._T = T
        self._noise_root = 1.0 / T
        self._noise = tf.square(self._noise_root)  # Lambda^-1, [M]
        self._log_determinant_of_Lambda = tf.reduce_sum(tf.math.log(tf.square(T)))
        self._S = basis.gram + tf.linalg.diag(self._noise)
        self._C = tf.linalg.cholesky(tf.stop_gradient(self._S))
        self._V = tf.broadcast_to(V, tf.concat([tf.shape(self._S)[:-1], tf.shape(V)[-1:]], axis=0))
        self._num_outputs = float(V.shape[-1])
        self.mean = self.mean_given(self._V)

    def mean_given(self, V: tf.Tensor) -> tf.Tensor:
        """E z = Phi^T S^-1 V for any pseudo-outputs, [M, P] or [S, M, P] -> [K, P] or [S, K, P]."""
        return self._basis.transposed_design_times(self._solve(V))

    def kl(self) -> tf.Tensor:
        remaining, log_determinant = _divergence(self._S, self._C, self._V, self._noise)
        log_determinant += self._log_determinant_of_Lambda
        return 0.5 * (remaining + self._num_outputs * log_determinant)

    def predict(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        mean, explained = _explain(self._S, self._C, self._V, basis.cross_gram(X))
        return mean, linalg.not_below_zero(basis.variance(X) - explained)[..., None]

    def predict_jointly(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        k = basis.cross_gram(X)
        V = tf.broadcast_to(self._V, tf.concat([tf.shape(k)[:-1], tf.shape(self._V)[-1:]], axis=0))
        # k^T S^-1 k and k^T S^-1 V
        both = tf.matmul(k, self._solve(tf.concat([k, V], axis=-1)), transpose_a=True)
        N = tf.shape(k)[-1]
        return both[..., N:], (basis.covariance(X) - both[..., :N])[..., None, :, :]

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        # Matheron's rule: a draw from the prior, corrected by its error on the pseudo-data,
        #     z = z0 + Phi^T S^-1 (V - Phi z0 - e),    z0 ~ N(0, I),    e ~ N(0, Lambda^-1).
        prior_seed, noise_seed = split(seed, 2)
        z0 = self._standard_normal(num_samples, prior_seed)
        missed = self._V - self._basis.design_times(z0)
        noise = standard_normal(tf.shape(missed), noise_seed, z0.dtype)
        missed -= self._noise_root[:, None] * noise
        z = z0 + self._basis.transposed_design_times(self._solve(missed))
        return WhitenedDraw(z, self.log_p_minus_log_q(z))

    def log_p_minus_log_q(self, z: tf.Tensor) -> tf.Tensor:
        """Log p(z) - log q(z), summed over outputs.

        :param z: [K, P] or [S, K, P].
        :return: [] or [S], in nats.
        """
        # 1/2 [ (z - E z)^T B (z - E z) - |z|^2 - log|B| ] per output, |B| = |S| |Lambda|
        centred = z - self.mean
        scaled = self._basis.design_times(centred)
        scaled *= self._T[:, None]
        squares = tf.reduce_sum(tf.square(centred) - tf.square(z), axis=[-2, -1])
        squares += tf.reduce_sum(tf.square(scaled), axis=[-2, -1])
        _, log_determinant = _divergence(self._S, self._C, self._V, self._noise)
        log_determinant += self._log_determinant_of_Lambda
        return 0.5 * (squares - self._num_outputs * log_determinant)

    def _solve(self, R: tf.Tensor) -> tf.Tensor:
        """S^-1 R, for R of [M, N] or [S, M, N]."""
        if R.shape.rank == 3 and self._S.shape.rank == 2:
            return linalg.unfold(_solve(self._S, self._C, linalg.fold(R)), tf.shape(R)[0])
        return _solve(self._S, self._C, R)


# Functions of S, [..., M, M]. S is differentiated; C = chol S is not: its gradient is part of S's.


def _solve(S: tf.Tensor, C: tf.Tensor, R: tf.Tensor) -> tf.Tensor:
    """S^-1 R, for R of [..., M, N]."""

    @tf.custom_gradient
    def solve(S: tf.Tensor, R: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
        X = tf.linalg.cholesky_solve(C, R)

        def gradient(dX: tf.Tensor) -> tuple[tf.Tensor, ...]:
            dR = tf.linalg.cholesky_solve(C, dX)
            return once_only((-tf.matmul(dR, X, transpose_b=True), dR), S, R)

        return X, gradient

    return solve(S, R)


def _explain(S: tf.Tensor, C: tf.Tensor, V: tf.Tensor, k: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """k^T S^-1 V, [..., N, P], and the diagonal of k^T S^-1 k, [..., N], for k of [..., M, N]."""

    @tf.custom_gradient
    def explain(S: tf.Tensor, V: tf.Tensor, k: tf.Tensor) -> tuple[Any, Gradient]:
        half_k = tf.linalg.triangular_solve(C, k)
        half_V = tf.linalg.triangular_solve(C, V)
        mean = tf.matmul(half_k, half_V, transpose_a=True)

        def gradient(d_mean: tf.Tensor, d_explained: tf.Tensor) -> tuple[tf.Tensor, ...]:
            S_k = tf.linalg.triangular_solve(C, half_k, adjoint=True)  # S^-1 k
            alpha = tf.linalg.triangular_solve(C, half_V, adjoint=True)  # S^-1 V
            scaled = S_k * d_explained[..., None, :]
            both = scaled + tf.matmul(alpha, d_mean, transpose_b=True)
            dS = -tf.matmul(both, S_k, transpose_b=True)
            return once_only((dS, tf.matmul(S_k, d_mean), both + scaled), S, V, k)

        return (mean, linalg.sum_of_squares(half_k)), gradient

    return explain(S, V, k)


def _divergence(
    S: tf.Tensor, C: tf.Tensor, V: tf.Tensor, noise: tf.Tensor
) -> tuple[tf.Tensor, tf.Tensor]:
    """Compute 2 KL(q(z) || p(z)) in two parts, each [...].

    Summed over outputs, it is the first part plus P (log|S| + log|Lambda|); the second part is
    log|S|. The first part is

        P (tr B^-1 - K) + |E z|^2,    tr B^-1 - K = tr S^-1 Lambda^-1 - M,
        |E z|^2 = alpha^T K alpha = alpha^T V - alpha^T Lambda^-1 alpha    for alpha = S^-1 V.
    """
    P = float(V.shape[-1])

    @tf.custom_gradient
    def divergence(S: tf.Tensor, V: tf.Tensor, noise: tf.Tensor) -> tuple[Any, Gradient]:
        M = tf.shape(S)[-1]
        identity = tf.eye(M, batch_shape=tf.shape(S)[:-2], dtype=S.dtype)
        half = tf.linalg.triangular_solve(C, tf.concat([V, identity], axis=-1))
        half_V, inverse_C = half[..., : V.shape[-1]], half[..., V.shape[-1] :]
        inverse = tf.matmul(inverse_C, inverse_C, transpose_a=True)
        alpha = tf.linalg.triangular_solve(C, half_V, adjoint=True)
        noisy_alpha = noise[:, None] * alpha
        trace = tf.reduce_sum(tf.linalg.diag_part(inverse) * noise, axis=-1)
        mean_square = tf.reduce_sum(alpha * (V - noisy_alpha), axis=[-2, -1])
        remaining = P * (trace - tf.cast(M, S.dtype)) + mean_square
        log_determinant = 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(C)), axis=-1)

        def gradient(d_remaining: tf.Tensor, d_log: tf.Tensor) -> tuple[tf.Tensor, ...]:
            d_remaining, d_log = d_remaining[..., None, None], d_log[..., None, None]
            gamma = tf.matmul(inverse, noisy_alpha)
            # -P S^-1 Lambda^-1 S^-1 + (2 gamma - alpha) alpha^T, in one product
            spread = inverse * noise
            left = tf.concat([-P * spread, 2.0 * gamma - alpha], axis=-1)
            right = tf.concat([inverse, alpha], axis=-1)
            product = tf.matmul(left, right, transpose_b=True)
            dS = d_log * inverse + d_remaining * product
            dV = 2.0 * d_remaining * (alpha - gamma)
            d_noise = d_remaining * (P * inverse - tf.matmul(alpha, alpha, transpose_b=True))
            d_noise = tf.linalg.diag_part(d_noise)
            if S.shape.rank == 3:
                d_noise = tf.reduce_sum(d_noise, axis=0)
            return once_only((dS, dV, d_noise), S, V, noise)

        return (remaining, log_determinant), gradient

    return divergence(S, V, noise)

"""The spectral Stein gradient estimator: the score of a distribution, from its samples."""

from __future__ import annotations

import math

import tensorflow as tf


class SpectralStein:
    """An estimate of grad log q from samples of q.

    Shi, Sun & Zhu (2018), "A spectral approach to gradient estimation for implicit distributions",
    eq. 8 to 15: the eigenfunctions of a kernel under q, estimated from its Gram matrix (Nystrom),
    are a basis of the score, and Stein's identity gives the coefficients. The kernel is squared
    exponential; its width in each dimension is the median distance of the samples there times
    sqrt(D), as in Sun et al. (2019).

    :param samples: [S, D], treated as constants.
    :param share: share of the sum of all eigenvalues that the used ones have, in (0, 1].
    """

    def __init__(self, samples: tf.Tensor, share: float = 0.99) -> None:
        samples = tf.stop_gradient(samples)
        S = tf.cast(tf.shape(samples)[0], samples.dtype)
        D = tf.cast(tf.shape(samples)[1], samples.dtype)
        self._width = tf.sqrt(D) * median_distances(samples)
        self._scaled = samples / self._width
        K = self._kernel(self._scaled)
        # TensorFlow's eigenvectors of NaN are an error; training looks for NaN in its results.
        finite = tf.reduce_all(tf.math.is_finite(K))
        one = tf.eye(tf.shape(K)[0], dtype=K.dtype)
        eigenvalues, U = tf.linalg.eigh(tf.where(finite, K, one))  # ascending
        # The largest ones, until they have their share of the sum; without those of rounding.
        larger = tf.cumsum(eigenvalues, reverse=True, exclusive=True)
        used = (larger < share * tf.reduce_sum(eigenvalues)) & (eigenvalues > _ROUNDING * S)
        # psi_j(x) = sqrt(S) / lambda_j sum_n u_nj k(x, x_n)                                (8)
        # beta_j = -1/S sum_m grad psi_j(x_m)                                              (13)
        # grad log q(x) = sum_j beta_j psi_j(x) = -k(x, X) [sum_j u_j u_j^T / lambda_j^2] G (15)
        # with G_n = sum_m grad_{x_m} k(x_m, x_n) = sum_m k_mn (x_n - x_m) / width^2
        G = tf.reduce_sum(K, axis=1)[:, None] * self._scaled - tf.matmul(K, self._scaled)
        floor = tf.where(used, eigenvalues, tf.ones_like(eigenvalues))
        weights = tf.where(used, 1.0 / tf.square(floor), tf.zeros_like(eigenvalues))
        projected = weights[:, None] * tf.matmul(U, G / self._width, transpose_a=True)
        nan = tf.constant(math.nan, K.dtype)
        self._coefficients = tf.where(finite, -tf.matmul(U, projected), nan)

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        """The score at `X`, as a constant.

        :param X: [N, D].
        :return: [N, D].
        """
        return tf.matmul(self._kernel(tf.stop_gradient(X) / self._width), self._coefficients)

    def _kernel(self, scaled: tf.Tensor) -> tf.Tensor:
        """k(x, x_n) for points in units of the width, [N, D] -> [N, S]."""
        squares = [tf.reduce_sum(tf.square(x), axis=1) for x in (scaled, self._scaled)]
        products = tf.matmul(scaled, self._scaled, transpose_b=True)
        distances = squares[0][:, None] + squares[1][None, :] - 2.0 * products
        return tf.exp(-0.5 * tf.maximum(distances, 0.0))


_ROUNDING = 1e-10
"""Eigenvalues below this times S are rounding."""

_LEAST_WIDTH = 1e-10


def median_distances(samples: tf.Tensor) -> tf.Tensor:
    """The median distance of two different samples in each dimension, [S, D] -> [D]."""
    S = tf.shape(samples)[0]
    distances = tf.abs(samples[:, None, :] - samples[None, :, :])  # [S, S, D]
    pairs = tf.linalg.band_part(tf.ones([S, S], tf.int32), 0, -1) - tf.eye(S, dtype=tf.int32)
    distances = tf.boolean_mask(distances, pairs > 0)
    ordered = tf.sort(distances, axis=0)
    return tf.maximum(ordered[tf.shape(ordered)[0] // 2], _LEAST_WIDTH)

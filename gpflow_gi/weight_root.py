"""The root R of a covariance of weights that are correlated over the places of a kernel.

    w = R z,    R = s T (x) I_C

with z whitened, T over the places of the kernel and the identity over channels; weights are in the
order [kernel height, kernel width, channels] of TensorFlow's filters. What R multiplies is folded,
so that no matrix of its size is formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class WeightRoot:
    """R, and its inverse, times matrices of K = places C rows."""

    scale: tf.Tensor
    """s, [] or [S, 1, 1]."""

    spatial: tf.Tensor
    """T, [places, places] or [S, places, places]; not triangular."""

    def times(self, z: tf.Tensor) -> tf.Tensor:
        """R z, for z of [K, n] or [S, K, n]."""
        return self.scale * self._apply(self.spatial, z)

    def transposed_times(self, y: tf.Tensor) -> tf.Tensor:
        """R^T y, for y of [K, n] or [S, K, n]."""
        return self.scale * self._apply(tf.linalg.matrix_transpose(self.spatial), y)

    def solve(self, w: tf.Tensor) -> tf.Tensor:
        """R^-1 w, for w of [K, n] or [S, K, n]."""
        return self._apply(tf.linalg.inv(self.spatial), w) / self.scale

    def transposed_solve(self, y: tf.Tensor) -> tf.Tensor:
        """R^-T y, for y of [K, n] or [S, K, n]."""
        inverse = tf.linalg.matrix_transpose(tf.linalg.inv(self.spatial))
        return self._apply(inverse, y) / self.scale

    def log_determinant(self, num_weights: int) -> tf.Tensor:
        """The log of the absolute determinant |R|, [] or [S].

        :param num_weights: K.
        """
        _, logarithm = tf.linalg.slogdet(self.spatial)
        channels = num_weights // self.spatial.shape[-1]
        scale = self.scale if self.scale.shape.rank == 0 else self.scale[:, 0, 0]
        return channels * logarithm + num_weights * tf.math.log(scale)

    def _apply(self, T: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
        """(T (x) I_C) z"""
        places = T.shape[-1]
        columns = z.shape[-2] // places * tf.shape(z)[-1]
        folded = tf.reshape(z, tf.concat([tf.shape(z)[:-2], [places, columns]], axis=0))
        product = tf.matmul(T, folded)
        shape = tf.concat([tf.shape(product)[:-2], tf.shape(z)[-2:]], axis=0)
        return tf.ensure_shape(tf.reshape(product, shape), [*product.shape[:-2], *z.shape[-2:]])

"""The root R of a prior's covariance of the weights to one output: w = R z, with z whitened.

    R = s I,    R = diag(s),    or    R = s T (x) I_C

The third form is for a convolution whose prior correlates the places of its kernel: T acts on
places and the identity on channels. Weights then have the order [kernel height, kernel width,
channels] of TensorFlow's filters. No matrix of the size of R is formed.
"""

from __future__ import annotations

from dataclasses import dataclass

import tensorflow as tf


@dataclass(frozen=True)
class WeightRoot:
    """Products of R and its inverse with matrices of K rows, where K is the number of weights."""

    scale: tf.Tensor
    """The factor s, [] or [S, 1, 1]; or the diagonal, [K, 1], without a `spatial`."""

    spatial: tf.Tensor | None = None
    """The factor T, [places, places] or [S, places, places]; not triangular; None: the identity."""

    @property
    def is_diagonal(self) -> bool:
        """True if R is diagonal."""
        return self.spatial is None

    @property
    def is_sampled(self) -> bool:
        """True if R has a sample axis."""
        ranks = [tensor.shape.rank for tensor in (self.scale, self.spatial) if tensor is not None]
        return 3 in ranks

    @property
    def _row(self) -> tf.Tensor:
        """Factors of the columns of matrices of K columns."""
        return tf.transpose(self.scale) if self.scale.shape.rank == 2 else self.scale

    def times(self, z: tf.Tensor) -> tf.Tensor:
        """R z, for z of [K, n] or [S, K, n]."""
        return self.scale * _over_places(self.spatial, z)

    def transposed_times(self, y: tf.Tensor) -> tf.Tensor:
        """R^T y, for y of [K, n] or [S, K, n]."""
        return self.scale * _over_places(_transposed(self.spatial), y)

    def of_rows(self, X: tf.Tensor) -> tf.Tensor:
        """X R, for X of [n, K] or [S, n, K]."""
        if self.is_diagonal:
            return self._row * X
        return tf.linalg.matrix_transpose(self.transposed_times(tf.linalg.matrix_transpose(X)))

    def congruent(self, M: tf.Tensor) -> tf.Tensor:
        """R^T M R, for a symmetric M of [K, K] or [S, K, K]."""
        if self.is_diagonal and self.scale.shape.rank != 2:
            return tf.square(self.scale) * M
        return self.transposed_times(tf.linalg.matrix_transpose(self.transposed_times(M)))

    def solve(self, w: tf.Tensor) -> tf.Tensor:
        """R^-1 w, for w of [K, n] or [S, K, n]."""
        return _over_places(_inverse(self.spatial), w) / self.scale

    def transposed_solve(self, y: tf.Tensor) -> tf.Tensor:
        """R^-T y, for y of [K, n] or [S, K, n]."""
        return _over_places(_transposed(_inverse(self.spatial)), y) / self.scale

    def log_determinant(self, num_weights: int) -> tf.Tensor:
        """Log of the absolute value of the determinant of R, [] or [S].

        :param num_weights: K, the number of weights of one output.
        """
        if self.scale.shape.rank == 2:
            return tf.reduce_sum(tf.math.log(self.scale))
        scale = self.scale if self.scale.shape.rank == 0 else self.scale[:, 0, 0]
        logarithm = num_weights * tf.math.log(scale)
        if self.spatial is None:
            return logarithm
        channels = num_weights // self.spatial.shape[-1]
        return logarithm + channels * tf.linalg.slogdet(self.spatial)[1]


# T may be None, for the identity.


def _transposed(T: tf.Tensor | None) -> tf.Tensor | None:
    return None if T is None else tf.linalg.matrix_transpose(T)


def _inverse(T: tf.Tensor | None) -> tf.Tensor | None:
    return None if T is None else tf.linalg.inv(T)


def _over_places(T: tf.Tensor | None, z: tf.Tensor) -> tf.Tensor:
    """Multiply by T on places: (T (x) I_C) z."""
    if T is None:
        return z
    places = T.shape[-1]
    columns = z.shape[-2] // places * tf.shape(z)[-1]
    folded = tf.reshape(z, tf.concat([tf.shape(z)[:-2], [places, columns]], axis=0))
    product = tf.matmul(T, folded)
    shape = tf.concat([tf.shape(product)[:-2], tf.shape(z)[-2:]], axis=0)
    return tf.ensure_shape(tf.reshape(product, shape), [*product.shape[:-2], *z.shape[-2:]])

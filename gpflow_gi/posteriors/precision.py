"""Free parameters of pseudo-precisions.

Each map is one bijector. Chains of TensorFlow Probability's bijectors would be the same maps, but
look every part up in a cache at each use, which takes longer than a small model's algebra.
"""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from .triangle import RowUnits

_FILL = tfp.bijectors.FillTriangular()


class _Bounded(tfp.bijectors.AutoCompositeTensorBijector):
    """A map to numbers whose logarithms are bounded."""

    dimensions = (0, 0)
    """Dimensions of an argument and of a value that belong together."""

    def __init__(self, bound: float) -> None:
        """Make the bijector.

        :param bound: b, the largest logarithm; -b is the smallest.
        """
        parameters = dict(locals())
        self.bound = bound
        forward, inverse = self.dimensions
        super().__init__(
            forward_min_event_ndims=forward, inverse_min_event_ndims=inverse, parameters=parameters
        )

    @classmethod
    def _parameter_properties(cls, dtype: tf.DType) -> dict[str, Any]:
        return {}


class BoundedExp(_Bounded):
    """The map x -> y = exp(b tanh(x / b)), almost exp(x) far from the bounds exp(-b) and exp(b)."""

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        return _bounded_exp(x, self.bound)

    def _inverse(self, y: tf.Tensor) -> tf.Tensor:
        return _bounded_log(y, self.bound)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        return _log_slope(x, self.bound)


class PrecisionRoot(_Bounded):
    """The map from a vector to a triangular T, the root of a precision T T^T.

    On the diagonal of the triangle that the vector fills (in the order of TensorFlow Probability's
    FillTriangular) are logarithms of T_ii^2, bounded as those of diagonal precisions. Below it are
    L_ij with T_ij = T_ii L_ij, in units of their row's diagonal: an optimizer's steps, which have
    one size for all entries, then have the same effect in every row, whatever its scale. Otherwise
    they would be far too large where the diagonal is small, and make the matrix singular.
    """

    dimensions = (1, 2)

    def _forward(self, x: tf.Tensor) -> tf.Tensor:
        L = tfp.math.fill_triangular(x)
        diagonal = tf.sqrt(_bounded_exp(tf.linalg.diag_part(L), self.bound))
        return tf.linalg.set_diag(diagonal[..., None] * L, diagonal)

    def _inverse(self, T: tf.Tensor) -> tf.Tensor:
        diagonal = tf.linalg.diag_part(T)
        log_square = _bounded_log(tf.square(diagonal), self.bound)
        L = tf.linalg.set_diag(T / diagonal[..., None], log_square)
        return tfp.math.fill_triangular_inverse(L)

    def _forward_log_det_jacobian(self, x: tf.Tensor) -> tf.Tensor:
        # With y = T_ii^2: dT_ii / dx_ii = (dy / dx_ii) / (2 T_ii), and dT_ij / dx_ij = T_ii for
        # the i entries of row i below the diagonal, counting from 0.
        log_square = tf.linalg.diag_part(tfp.math.fill_triangular(x))
        log_diagonal = tf.math.log(_bounded_exp(log_square, self.bound)) / 2
        below = tf.constant(np.arange(log_square.shape[-1]), x.dtype)
        slopes = _log_slope(log_square, self.bound) - np.log(2.0)
        return tf.reduce_sum(slopes + (below - 1) * log_diagonal, axis=-1)

    def _forward_event_shape(self, shape: tf.TensorShape) -> tf.TensorShape:
        return _FILL.forward_event_shape(shape)

    def _inverse_event_shape(self, shape: tf.TensorShape) -> tf.TensorShape:
        return _FILL.inverse_event_shape(shape)

    def _forward_event_shape_tensor(self, shape: tf.Tensor) -> tf.Tensor:
        return _FILL.forward_event_shape_tensor(shape)

    def _inverse_event_shape_tensor(self, shape: tf.Tensor) -> tf.Tensor:
        return _FILL.inverse_event_shape_tensor(shape)


def has_row_units(parameter: gpflow.Parameter | tf.Variable) -> bool:
    """Return True if a parameter is a precision whose root has a unit for each row."""
    waiting = [getattr(parameter, "transform", None)]  # Keras networks have variables
    while waiting:
        bijector = waiting.pop()
        if isinstance(bijector, PrecisionRoot | RowUnits):
            return True
        waiting.extend(getattr(bijector, "bijectors", ()))
    return False


def _bounded_exp(x: tf.Tensor, bound: float) -> tf.Tensor:
    b = tf.constant(bound, x.dtype)
    return tf.exp(b * tf.tanh(x / b))


def _bounded_log(y: tf.Tensor, bound: float) -> tf.Tensor:
    b = tf.constant(bound, y.dtype)
    return b * tf.atanh(tf.math.log(y) / b)


def _log_slope(x: tf.Tensor, bound: float) -> tf.Tensor:
    # dy / dx = y (1 - tanh(x / b)^2)
    b = tf.constant(bound, x.dtype)
    tanh = tf.tanh(x / b)
    return b * tanh + tf.math.log1p(-tf.square(tanh))

"""Triangular matrices whose entries below the diagonal are relative to it."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp


class RowUnits(tfp.bijectors.Bijector):
    """L -> diag(L) (I + L below the diagonal), for lower triangular L with a positive diagonal.

    Row i of the result is in units of its diagonal entry. A step of an optimizer, which has one
    size for all entries, then means the same in every row, and the same whatever the scale is.
    """

    def __init__(self, validate_args: bool = False, name: str = "row_units") -> None:
        """Make the bijector, which has no parameters."""
        parameters = dict(locals())
        super().__init__(
            forward_min_event_ndims=2,
            is_constant_jacobian=False,
            validate_args=validate_args,
            parameters=parameters,
            name=name,
        )

    @classmethod
    def _parameter_properties(cls, dtype: tf.DType) -> dict[str, object]:
        return {}

    def _forward(self, L: tf.Tensor) -> tf.Tensor:
        diagonal = tf.linalg.diag_part(L)
        return tf.linalg.set_diag(diagonal[..., None] * L, diagonal)

    def _inverse(self, T: tf.Tensor) -> tf.Tensor:
        diagonal = tf.linalg.diag_part(T)
        return tf.linalg.set_diag(T / diagonal[..., None], diagonal)

    def _forward_log_det_jacobian(self, L: tf.Tensor) -> tf.Tensor:
        # Row i has i entries below the diagonal, counting from 0.
        diagonal = tf.linalg.diag_part(L)
        entries = tf.constant(np.arange(L.shape[-1]), diagonal.dtype)
        return tf.reduce_sum(entries * tf.math.log(diagonal), axis=-1)

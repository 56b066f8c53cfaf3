"""A part of the roots of precision matrices in files of earlier versions."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp


class RowUnits(tfp.bijectors.AutoCompositeTensorBijector):
    """The map L -> T = diag(d) (I + L below the diagonal), for lower triangular L with diagonal d >
    0.

    An optimizer's steps have one size for all entries. In units of the diagonal they have the same
    effect in every row, whatever its scale; otherwise they would be far too large where the
    diagonal is small, and make the matrix singular.
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
        entries = tf.constant(np.arange(L.shape[-1]), L.dtype)
        return tf.reduce_sum(entries * tf.math.log(tf.linalg.diag_part(L)), axis=-1)

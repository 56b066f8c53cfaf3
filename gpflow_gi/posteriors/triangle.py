"""Roots of precision matrices, whose entries below the diagonal have a unit for each row."""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp


class RowUnits(tfp.bijectors.Bijector):
    """L -> T with the diagonal d of L, and T_ij = d_i / sqrt(1 + d_i^2) L_ij below it.

    L is lower triangular with a positive diagonal. Where an entry of the diagonal is small, those
    left of it are in units of it; where it is large, they stay as they are. An optimizer's steps
    have one size for all entries: without units they are far too large where the diagonal is small,
    and the matrix becomes singular; with units of the diagonal everywhere, they are too large
    where it is large.
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
        return tf.linalg.set_diag(_unit(diagonal)[..., None] * L, diagonal)

    def _inverse(self, T: tf.Tensor) -> tf.Tensor:
        diagonal = tf.linalg.diag_part(T)
        return tf.linalg.set_diag(T / _unit(diagonal)[..., None], diagonal)

    def _forward_log_det_jacobian(self, L: tf.Tensor) -> tf.Tensor:
        # Row i has i entries below the diagonal, counting from 0.
        entries = tf.constant(np.arange(L.shape[-1]), L.dtype)
        log_units = tf.math.log(_unit(tf.linalg.diag_part(L)))
        return tf.reduce_sum(entries * log_units, axis=-1)


def _unit(diagonal: tf.Tensor) -> tf.Tensor:
    return diagonal * tf.math.rsqrt(1.0 + tf.square(diagonal))


def has_row_units(parameter: gpflow.Parameter) -> bool:
    """Whether a parameter is a precision whose root has a unit for each row."""
    waiting = [parameter.transform]
    while waiting:
        bijector = waiting.pop()
        if isinstance(bijector, RowUnits):
            return True
        waiting.extend(getattr(bijector, "bijectors", ()))
    return False

"""Inputs that were measured with noise."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from gpflow.base import Parameter

from ..core.linalg import not_below_zero
from ..core.validation import finite_array, real_array, shown
from .row_latents import RowLatents


class UncertainInputs(RowLatents):
    """Inputs that were measured with noise: the function sees x_n + e_n, e_n ~ N(0, variance).

    In predictions too: a row of X is the measured input. The noise has no posterior of its own:
    each sample of the bound draws it from N(0, variance), and the importance weighted bound
    (:class:`gpflow_gi.objectives.ImportanceWeighted`) weighs the draws, which makes it tighter.
    Inducing points, and functions of :meth:`gpflow_gi.models.Predictive.sample_functions`, take
    exact inputs.

    :param variance: of each column, [D], or one number for all of them, in their squared unit; not
        trained unless set so by ``gpflow.set_trainable``; what training puts below zero counts as
        zero, and is trained no further.
    :raises ValueError: if a variance is negative, or not finite.
    """

    is_noise = True

    def __init__(self, variance: Any) -> None:
        super().__init__()
        array = real_array("variance", variance)
        array = finite_array("variance", variance, (None,) if array.ndim else ())
        if np.any(array < 0):
            raise ValueError(f"variance must not be negative, but is {shown(variance)}.")
        self.variance = Parameter(array, trainable=False)

    @property
    def latent_dim(self) -> int:  # type: ignore[override]
        return self.output_dim

    @property
    def output_dim(self) -> int:  # type: ignore[override]
        if self.input_dim is None:
            raise ValueError(
                "The shape of the layer's outputs is not known before the layer is part of a model."
            )
        return self.input_dim

    def check_inputs(self, *input_shape: int) -> None:
        super().check_inputs(*input_shape)
        if self.variance.shape not in ((), (1,), input_shape):
            raise ValueError(
                f"The layer has variances of {self.variance.shape[0]} columns, but its inputs "
                f"have {input_shape[0]}."
            )

    def join(self, X: tf.Tensor, h: tf.Tensor) -> tf.Tensor:
        return X + tf.sqrt(not_below_zero(tf.convert_to_tensor(self.variance))) * h

    def of_inducing(self, U: tf.Tensor) -> tf.Tensor:
        return U

    def moments(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return X, tf.zeros_like(X) + tf.maximum(tf.convert_to_tensor(self.variance), 0.0)

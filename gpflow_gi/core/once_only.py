"""Gradients derived by hand, which can be taken once."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

Gradient = Callable[..., Any]


def once_only(gradients: tuple[tf.Tensor, ...], *arguments: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """The gradients with respect to the arguments, which refuse to be differentiated again.

    A Cholesky factor in them is a constant to TensorFlow, so that second derivatives would come out
    wrong without a word.
    """

    @tf.custom_gradient
    def guarded(gradient: tf.Tensor, *_: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
        def refuse(*_: tf.Tensor) -> tf.Tensor:
            raise NotImplementedError(
                "GP layers and layers with pseudo-data have first derivatives only. For a Hessian, "
                "difference their gradients."
            )

        return tf.identity(gradient), refuse

    return tuple(guarded(gradient, *arguments) for gradient in gradients)

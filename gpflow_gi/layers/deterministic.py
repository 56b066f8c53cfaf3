"""Layers without randomness: any function of a batch of rows."""

from collections.abc import Callable
from typing import Any

import gpflow
import tensorflow as tf
from gpflow.keras import tf_keras


class Deterministic(gpflow.Module):
    """A callable or Keras layer, applied to the inducing points and to the data alike.

    Models wrap callables in their list of layers in this by themselves. The trainable weights of a
    Keras layer (of ``gpflow.keras.tf_keras``, the Keras that GPflow uses) are trained with the
    model's; they have no prior and no posterior.
    """

    def __init__(self, function: Callable[[tf.Tensor], tf.Tensor]) -> None:
        """Wrap a function.

        :param function: from rows [N, D] to rows [N, D']. It must treat each row by itself.
        :raises TypeError: if it is not callable, belongs to another Keras than GPflow's, or is a
            Keras layer that does something else in training than in prediction.
        :raises ValueError: if it is a Keras layer with a loss of its own.
        """
        super().__init__()
        if isinstance(function, type) or not callable(function):
            raise TypeError(
                "A layer must be one of gpflow_gi.layers, a Keras layer or a callable, but is "
                f"{function!r}."
            )
        if any(base.__module__.startswith("keras.") for base in type(function).__mro__):
            raise TypeError(
                f"{type(function).__name__} is a layer of Keras 3, whose weights TensorFlow "
                "modules do not see, so that they would not be trained. Use the same layer of "
                "gpflow.keras.tf_keras."
            )
        if isinstance(function, tf_keras.layers.Layer):
            check_is_a_function(function)
        self.function = function

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        """[N, D] -> [N, D'], or [S, N, D] -> [S, N, D'].

        :raises TypeError: if the function does not return a tensor of the same type.
        :raises ValueError: if the function does not return one row for each row.
        """
        rows = tf.reshape(X, [-1, X.shape[-1]])
        values: Any = self.function(rows)
        if not tf.is_tensor(values):
            raise TypeError(
                f"The deterministic layer {self.function!r} returned a {type(values).__name__}; it "
                "must return a tensor, made by TensorFlow's functions so that it has a gradient."
            )
        if values.dtype != rows.dtype:
            raise TypeError(
                f"The deterministic layer {self.function!r} turned {rows.dtype.name} into "
                f"{values.dtype.name}; it must keep the type. A Keras layer takes it as an "
                "argument: dtype=gpflow.default_float()."
            )
        if values.shape.rank != 2 or not values.shape[:1].is_compatible_with(rows.shape[:1]):
            raise ValueError(
                f"The deterministic layer {self.function!r} turned rows of shape {rows.shape} into "
                f"shape {values.shape}; it must return one row for each row."
            )
        return tf.reshape(values, tf.concat([tf.shape(X)[:-1], [values.shape[-1]]], axis=0))

    def output_dim_for(self, input_dim: int) -> int:
        """D' for D inputs, found by a call, which also makes a Keras layer create its weights."""
        return int(self(tf.zeros([2, input_dim], gpflow.default_float())).shape[-1])

    @property
    def lacks_weights(self) -> bool:
        """Whether this is a Keras layer that has not created its weights yet."""
        return not getattr(self.function, "built", True)


_DIFFERENT_IN_TRAINING = (
    tf_keras.__internal__.layers.BaseRandomLayer,  # Dropout, GaussianNoise and their like
    tf_keras.layers.BatchNormalization,
)


def check_is_a_function(layer: Any) -> None:
    """Check that a Keras layer is a function of its inputs and nothing else.

    :raises TypeError: if it does something else in training than in prediction.
    :raises ValueError: if it has a loss of its own.
    """
    for part in (layer, *layer.submodules):
        if isinstance(part, _DIFFERENT_IN_TRAINING):
            raise TypeError(
                f"{type(part).__name__} does something else in training than in prediction, while "
                "layers here are functions."
            )
        regularised = [name for name in _REGULARIZERS if getattr(part, name, None) is not None]
        if regularised:
            raise ValueError(
                f"{type(part).__name__} adds a loss of its own to the bound ({regularised[0]}). "
                "Remove it."
            )


_REGULARIZERS = ("kernel_regularizer", "bias_regularizer", "activity_regularizer")

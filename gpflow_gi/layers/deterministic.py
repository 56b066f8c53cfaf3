"""Layers without randomness: functions of a batch of rows or images."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import gpflow
import tensorflow as tf
from gpflow.keras import tf_keras

from ..core.validation import shown
from .base import Layer


class Deterministic(gpflow.Module):
    """A callable or Keras layer, applied to the inducing points and to the data alike.

    If rows come as images, from inducing inputs or a convolution, then the function gets images,
    [N, H, W, C]. Its result, rows or images, is passed on as rows of all its numbers.

    Models wrap callables in their list of layers in this class. The trainable weights of a Keras
    layer (of ``gpflow.keras.tf_keras``, the Keras that GPflow uses) are trained with the model;
    they have no prior and no posterior. ``layer.trainable = False`` keeps them fixed.
    """

    def __init__(self, function: Callable[[tf.Tensor], tf.Tensor]) -> None:
        """Wrap a function.

        :param function: from rows [N, D] or images [N, H, W, C] to rows [N, D'] or images
            [N, H', W', C']. It must treat each row separately.
        :raises TypeError: if it is not callable, belongs to another Keras than GPflow's, or is a
            Keras layer that behaves differently in training and prediction.
        :raises ValueError: if it is a Keras layer with its own loss.
        """
        super().__init__()
        if isinstance(function, type) or not callable(function):
            raise TypeError(
                "A layer must be one of gpflow_gi.layers, a Keras layer or a callable, but is "
                f"{shown(function)}."
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
        self.image_shape: tuple[int, ...] | None = None
        """Shape (H, W, C) of images that are stored as rows; None for plain rows."""

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        """The function's values.

        :param X: [N, D] or [S, N, D].
        :return: [N, D'] or [S, N, D'].
        :raises TypeError: if the function does not return a tensor of the same type.
        :raises ValueError: if the function does not return one row for each input row.
        """
        values = self._apply(tf.reshape(X, [-1, *(self.image_shape or X.shape[-1:])]))
        size = values.shape[1:].num_elements()
        return tf.reshape(values, tf.concat([tf.shape(X)[:-1], [size]], axis=0))

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """Shape (D,) or (H, W, C) for a Keras layer whose weights determine it; else None."""
        function: Any = self.function
        is_layer = isinstance(function, tf_keras.layers.Layer)
        if not is_layer or self.lacks_weights or not function.weights:
            return None
        built_for = (function.get_build_config() or {}).get("input_shape") or ()
        sizes = tuple(built_for[1:])
        known = len(sizes) in (1, 3) and all(isinstance(size, int) for size in sizes)
        return sizes if known else None

    def connect(self, *input_shape: int) -> tuple[int, ...]:
        """Set the shape of the rows; a Keras layer then creates its weights.

        :param input_shape: D, or H, W and C.
        :return: (D',) or (H', W', C'), found by a call.
        :raises TypeError: if the function does not return a tensor of the same type.
        :raises ValueError: if it does not return one row for each input row, if it uses variables
            that would not be trained, if a Keras layer adds a loss in its call, or if nothing is
            left of a row, as after pooling over more than an image.
        """
        self.image_shape = input_shape if len(input_shape) == 3 else None
        with tf.GradientTape() as tape:
            values = self._apply(tf.zeros([2, *input_shape], gpflow.default_float()))
        seen = {variable.ref() for variable in self.variables}
        for variable in tape.watched_variables():
            if variable.ref() not in seen:
                raise ValueError(
                    f"The deterministic layer {shown(self.function)} uses the variable "
                    f"{variable.name}, which the model does not see, so that it would not be "
                    "trained. Give the Keras layer or the tf.Module itself, not a function that "
                    "calls it."
                )
        if getattr(self.function, "losses", None):
            raise ValueError(
                f"The deterministic layer {shown(self.function)} adds a loss of its own to the "
                "bound. Remove it."
            )
        if 0 in values.shape[1:]:
            raise ValueError(
                f"The deterministic layer {shown(self.function)} leaves nothing of rows of shape "
                f"{input_shape}: it makes rows of shape {tuple(values.shape[1:])}."
            )
        return tuple(values.shape[1:])

    def _apply(self, rows: tf.Tensor) -> tf.Tensor:
        values: Any = self.function(rows)
        if not tf.is_tensor(values):
            raise TypeError(
                f"The deterministic layer {shown(self.function)} returned a "
                f"{type(values).__name__}; it must return a tensor, made by TensorFlow's functions "
                "so that it has a gradient."
            )
        if values.dtype != rows.dtype:
            raise TypeError(
                f"The deterministic layer {shown(self.function)} turned {rows.dtype.name} into "
                f"{values.dtype.name}; it must keep the type. A Keras layer takes it as an "
                "argument: dtype=gpflow.default_float()."
            )
        fits = values.shape.rank in (2, rows.shape.rank)
        if not fits or not values.shape[:1].is_compatible_with(rows.shape[:1]):
            raise ValueError(
                f"The deterministic layer {shown(self.function)} turned rows of shape "
                f"{rows.shape} into shape {values.shape}; it must return one row for each row."
            )
        return values

    @property
    def frozen_variables(self) -> list[tf.Variable]:
        """Variables of a Keras layer that must not be trained, whatever their own flags are."""
        return [
            variable
            for layer in keras_layers_in(self.function)[:1]
            for variable in layer.non_trainable_variables
        ]

    @property
    def lacks_weights(self) -> bool:
        """True if this is a Keras layer that has not created its weights yet."""
        return not getattr(self.function, "built", True)

    def __deepcopy__(self, memo: dict[int, Any]) -> "Deterministic":
        new = object.__new__(type(self))
        memo[id(self)] = new
        parts = keras_layers_in(self.function)
        # Keras copies a model via its description, which finds users' classes by name and may lose
        # which layers are frozen.
        with tf_keras.utils.custom_object_scope(
            {type(part).__name__: type(part) for part in parts}
        ):
            for name, value in vars(self).items():
                setattr(new, name, copy.deepcopy(value, memo))
        set_trainable_flags(new.function, [part.trainable for part in parts])
        return new


def as_layers(layers: Sequence[Any]) -> list[Layer | Deterministic]:
    """Convert callables and Keras layers to deterministic layers; keep the other layers.

    :raises TypeError: if an entry of the list is not a layer.
    """
    # A new one for each place in a network, since it stores the shape of its input there.
    functions = [lay.function if isinstance(lay, Deterministic) else lay for lay in layers]
    return [one if isinstance(one, Layer) else Deterministic(one) for one in functions]


_DIFFERENT_IN_TRAINING = (
    tf_keras.__internal__.layers.BaseRandomLayer,  # Dropout, GaussianNoise and their like
    tf_keras.layers.BatchNormalization,
    tf_keras.layers.experimental.SyncBatchNormalization,
    tf_keras.layers.SpectralNormalization,
)


def check_is_a_function(layer: Any) -> None:
    """Check that a Keras layer is a function of its inputs and nothing else.

    :raises TypeError: if it behaves differently in training and prediction.
    :raises ValueError: if it has its own loss.
    """
    for part in (layer, *layer.submodules):
        if isinstance(part, _DIFFERENT_IN_TRAINING):
            raise TypeError(
                f"{type(part).__name__} does something else in training than in prediction, while "
                "layers here are functions."
            )
        regularised = [
            name.strip("_")
            for name, value in vars(part).items()
            if name.endswith("_regularizer") and callable(value)
        ]
        if regularised:
            raise ValueError(
                f"{type(part).__name__} adds a loss of its own to the bound ({regularised[0]}). "
                "Remove it."
            )


def keras_layers_in(function: Any) -> list[Any]:
    """`function`, if it is a Keras layer, and the layers in it, outer ones first."""
    if not isinstance(function, tf_keras.layers.Layer):
        return []
    inner = [part for part in function.submodules if isinstance(part, tf_keras.layers.Layer)]
    return [function, *inner]


def set_trainable_flags(function: Any, flags: Sequence[bool]) -> None:
    """Freeze those of :func:`keras_layers_in` whose flag is False, and nothing else."""
    # Keras applies a layer's flag to all layers inside, so go from the outside in.
    for part, flag in zip(keras_layers_in(function), flags, strict=True):
        part.trainable = flag

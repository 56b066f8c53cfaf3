"""Elementwise nonlinearities of neural networks, by name or as a function.

Each takes a tensor of any shape and returns one of the same shape and type.
"""

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf

from ..core.validation import shown

Nonlinearity: TypeAlias = Callable[[tf.Tensor], tf.Tensor]
"""A function from any shape to the same shape and type, entry by entry."""


def relu(x: tf.Tensor) -> tf.Tensor:
    """Compute max(x, 0)."""
    return tf.nn.relu(x)


def tanh(x: tf.Tensor) -> tf.Tensor:
    """The hyperbolic tangent."""
    return tf.math.tanh(x)


def erf(x: tf.Tensor) -> tf.Tensor:
    """The error function, 2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x."""
    return tf.math.erf(x)


def identity(x: tf.Tensor) -> tf.Tensor:
    """Return x, as at the inputs of a network."""
    return tf.identity(x)


def sigmoid(x: tf.Tensor) -> tf.Tensor:
    """Compute 1 / (1 + exp(-x))."""
    return tf.math.sigmoid(x)


def softplus(x: tf.Tensor) -> tf.Tensor:
    """Compute log(1 + exp(x))."""
    return tf.math.softplus(x)


def gelu(x: tf.Tensor) -> tf.Tensor:
    """The product x Phi(x), with the exact normal distribution function Phi."""
    # TensorFlow's own function rounds sqrt(2) to float32, also in float64.
    return 0.5 * x * tf.math.erfc(-x / math.sqrt(2.0))


def elu(x: tf.Tensor) -> tf.Tensor:
    """Compute x above zero, exp(x) - 1 below."""
    return tf.nn.elu(x)


def sin(x: tf.Tensor) -> tf.Tensor:
    """The sine of x in radians."""
    return tf.math.sin(x)


_BY_NAME: dict[str, Nonlinearity] = {
    function.__name__: function
    for function in (relu, tanh, erf, identity, sigmoid, softplus, gelu, elu, sin)
}


def as_nonlinearity(nonlinearity: str | Nonlinearity) -> Nonlinearity:
    """The function for a name, or the given function after a check.

    :param nonlinearity: "relu", "tanh", "erf", "identity", "sigmoid", "softplus", "gelu", "elu",
        "sin", or a function from a tensor of any shape to one of the same shape and type. It must
        treat each entry separately, all entries alike, and give the same values in every call. The
        check calls it a few times.
    :return: the function.
    :raises ValueError: if the name is unknown; or if the function fails, changes the shape, mixes
        entries, or draws random numbers.
    :raises TypeError: if it is neither a name nor a function, or if the function does not return
        a tensor of the type of its input.
    """
    if isinstance(nonlinearity, str):
        if nonlinearity not in _BY_NAME:
            names = ", ".join(f'"{name}"' for name in _BY_NAME)
            raise ValueError(
                f"nonlinearity must be one of {names}, or a function, but is {shown(nonlinearity)}."
            )
        return _BY_NAME[nonlinearity]
    if isinstance(nonlinearity, type) or not callable(nonlinearity):
        raise TypeError(
            'nonlinearity must be a name such as "relu", or a function, but is '
            f"{shown(nonlinearity)}."
        )
    _check_is_elementwise(nonlinearity)
    return nonlinearity


_ENTRIES = [-3.4, -2.3, -1.1, -0.6, -0.2, 0.0, 0.4, 0.7, 0.9, 1.7, 2.2, 3.1]

# Unordered along every axis, so that every mixture shows; and so many that a function that changes
# one entry in a hundred at random almost never passes.
_BATCH_SHAPE = (100, 3, 4)


def _check_is_elementwise(nonlinearity: Nonlinearity) -> None:
    entries = np.array(_ENTRIES, gpflow.default_float())
    alone = np.array([_call(nonlinearity, tf.constant([[x]])).numpy()[0, 0] for x in entries])
    which = np.random.default_rng(0).integers(len(entries), size=_BATCH_SHAPE)
    inputs, expected = entries[which], alone[which]
    values = _call(nonlinearity, tf.constant(inputs)).numpy()
    # TensorFlow's vectorised loops round differently from its scalar loops.
    tolerance = np.sqrt(np.finfo(entries.dtype).eps)
    same = np.isclose(values, expected, rtol=tolerance, atol=tolerance, equal_nan=True)
    if not np.all(same):
        x, one, other = inputs[~same][0], expected[~same][0], values[~same][0]
        raise ValueError(
            "nonlinearity must treat each entry by itself, all alike and without randomness, but "
            f"{shown(nonlinearity)} turned {x:g} into {one:.6g} alone and into {other:.6g} among "
            "others."
        )


def _call(nonlinearity: Nonlinearity, x: tf.Tensor) -> tf.Tensor:
    try:
        values: Any = nonlinearity(x)
    except Exception as error:
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise ValueError(
            "nonlinearity must be a function of a tensor of any shape, but "
            f"{shown(nonlinearity)} failed at shape {x.shape}. ({reason})"
        ) from None
    if not tf.is_tensor(values):
        raise TypeError(
            f"nonlinearity must return a tensor, made by TensorFlow's functions so that it has a "
            f"gradient, but {shown(nonlinearity)} returned a {type(values).__name__}."
        )
    if values.dtype != x.dtype:
        raise TypeError(
            f"nonlinearity must keep the type, but {shown(nonlinearity)} turned {x.dtype.name} "
            f"into {values.dtype.name}."
        )
    if values.shape != x.shape:
        raise ValueError(
            f"nonlinearity must keep the shape, but {shown(nonlinearity)} turned shape {x.shape} "
            f"into {values.shape}."
        )
    return values

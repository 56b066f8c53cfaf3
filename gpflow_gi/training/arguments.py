"""What :func:`gpflow_gi.fit` is given, checked before anything is compiled."""

import functools
import re
from collections.abc import Callable
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def non_negative_integer(name: str, value: Any) -> int:
    """`value` as an int.

    :raises ValueError: if it is not a whole number of at least zero.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 0:
        raise ValueError(f"{name} must be an integer of at least 0, but is {value!r}.")
    return int(value)


def check_callbacks(callbacks: Any) -> tuple[Any, ...]:
    """Return `callbacks` as a tuple.

    :raises TypeError: if it is not a sequence of callables.
    """
    if callable(callbacks):
        raise TypeError("callbacks must be a sequence: write callbacks=[callback].")
    callbacks = tuple(callbacks)
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(f"callbacks must be callables that take a Report, not {callback!r}.")
    return callbacks


def name_of(function: Callable[..., Any]) -> str:
    """The name by which a callable is told from others; a partial's arguments belong to it."""
    if isinstance(function, functools.partial):
        # Without addresses, which differ from run to run.
        arguments = [_ADDRESS.sub("", repr(value)) for value in function.args]
        arguments += [
            f"{name}={_ADDRESS.sub('', repr(value))}"
            for name, value in sorted(function.keywords.items())
        ]
        return f"{name_of(function.func)}({', '.join(arguments)})"
    return str(getattr(function, "__qualname__", type(function).__name__))


def reason_of(error: Exception) -> str:
    """What an error of a user's function says, in one line."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


def check_augment(augment: Any, X: tf.Tensor) -> None:
    """Refuse what does not turn the rows of a step into others like them.

    :param augment: takes rows and a seed [2].
    :param X: as many rows as a step has, [B, D] or [B, H, W, C].
    :raises TypeError: if it is not callable.
    :raises ValueError: if it fails on such rows in a graph, or changes their shape or type.
    """
    if not callable(augment):
        raise TypeError(f"augment must be a callable that takes X and a seed, not {augment!r}.")
    wanted = f"shape {X.shape.as_list()} and type {X.dtype.name}"
    try:
        made = tf.function(lambda X, seed: tf.convert_to_tensor(augment(X, seed)), autograph=False)(
            X, tf.zeros([2], tf.int32)
        )
    except Exception as error:
        raise ValueError(
            f"augment={name_of(augment)} failed on rows of {wanted} and an int32 seed of shape "
            f"[2]; it must be written in TensorFlow operations. The error says: {reason_of(error)}"
        ) from None
    if made.shape != X.shape or made.dtype != X.dtype:
        raise ValueError(
            f"augment={name_of(augment)} must return rows like those that it takes, of {wanted}, "
            f"but returned shape {made.shape.as_list()} and type {made.dtype.name}."
        )


def check_data(data: Any) -> tuple[tf.Tensor, tf.Tensor]:
    """Return (X, Y) as tensors of GPflow's default float, checked.

    :param data: X [N, D], or images [N, H, W, C], and Y [N, P]; arrays, data frames or tensors.
    :raises ValueError: if it is no pair, has the wrong shape, is empty, is not numeric, or holds
        NaN or infinity.
    """
    if not isinstance(data, (tuple, list)) or len(data) != 2:
        raise ValueError(f"data must be a pair (X, Y), but is {type(data).__name__!r}.")
    X, Y = (_check_array(name, array) for name, array in zip("XY", data, strict=True))
    if X.shape[0] != Y.shape[0]:
        raise ValueError(
            f"X and Y must have the same number of rows, but X has {X.shape[0]} "
            f"and Y has {Y.shape[0]}."
        )
    return tf.constant(X), tf.constant(Y)


def _check_array(name: str, values: Any) -> np.ndarray:
    array = np.asarray(values)
    if array.ndim != 2 and not (name == "X" and array.ndim == 4):
        hint = f" Write {name}[:, None] for one column." if array.ndim == 1 else ""
        raise ValueError(
            f"{name} must have shape [rows, columns], but has shape {list(array.shape)}.{hint}"
        )
    if array.size == 0:
        raise ValueError(f"{name} is empty: its shape is {list(array.shape)}.")
    if array.dtype.kind == "c":
        raise ValueError(f"{name} must be real, but holds complex numbers.")
    dtype = gpflow.default_float()
    try:
        # Overflow, which float32 brings, is found below and named.
        with np.errstate(over="ignore"):
            array = array.astype(dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be read as {np.dtype(dtype).name}: {error}.") from None
    finite = np.isfinite(array)
    if not finite.all():
        row, *rest = np.argwhere(~finite)[0]
        column = ", ".join(str(i) for i in rest)
        raise ValueError(
            f"{name} holds {np.size(finite) - np.count_nonzero(finite)} value(s) that are not "
            f"finite in {np.dtype(dtype).name}; the first is {array[~finite][0]} at row {row}, "
            f"column {column} (counting from 0)."
        )
    return array


def check_num_data(model: Any, num_rows: int, in_parts: bool) -> None:
    """Refuse data whose size is not what the model scales its bound by.

    :param in_parts: whether the bound is estimated from less than all rows at once.
    :raises ValueError: if the model's `num_data` is not the number of rows, or is missing although
        the bound is estimated from parts of them.
    """
    num_data = getattr(model, "num_data", None)
    if num_data is None:
        if in_parts:
            raise ValueError(
                "The model's num_data is None, so that the bound of some rows would not be "
                f"scaled to all rows. Build the model with num_data={num_rows}."
            )
    elif int(num_data) != num_rows:
        raise ValueError(
            f"The model was built with num_data={int(num_data)}, but the data has {num_rows} rows: "
            f"the bound would be scaled wrongly. Build the model with num_data={num_rows}."
        )

"""What :func:`gpflow_gi.fit` is given, checked before anything is compiled."""

import functools
import re
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from ..core.validation import shown

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def check_callbacks(callbacks: Any) -> tuple[Any, ...]:
    """Return `callbacks` as a tuple.

    :param callbacks: a sequence of callables, or None for none.
    :raises TypeError: if it is neither.
    """
    if callbacks is None:
        return ()
    if callable(callbacks):
        raise TypeError("callbacks must be a sequence: write callbacks=[callback].")
    try:
        callbacks = tuple(callbacks)
    except TypeError:
        raise TypeError(
            f"callbacks must be a sequence of callables, not {shown(callbacks)}."
        ) from None
    for callback in callbacks:
        if not callable(callback):
            raise TypeError(
                f"callbacks must be callables that take a Report, not {shown(callback)}."
            )
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
        raise TypeError(
            f"augment must be a callable that takes X and a seed, not {shown(augment)}."
        )
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

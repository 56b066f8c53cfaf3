"""Names of users' functions, and the messages of their errors."""

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from .validation import shown

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def name_of(function: Callable[..., Any]) -> str:
    """A name that distinguishes callables; the arguments of a partial are part of it."""
    if isinstance(function, functools.partial):
        # Without addresses, which differ from run to run.
        arguments = [_ADDRESS.sub("", repr(value)) for value in function.args]
        arguments += [
            f"{name}={_ADDRESS.sub('', repr(value))}"
            for name, value in sorted(function.keywords.items())
        ]
        return f"{name_of(function.func)}({', '.join(arguments)})"
    if dataclasses.is_dataclass(function) and not isinstance(function, type):
        return repr(function)
    return str(getattr(function, "__qualname__", type(function).__name__))


def reason_of(error: Exception) -> str:
    """The message of an error that a user's function raised, in one line."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__


def two_samples(name: str, sampler: Any) -> tf.Tensor:
    """Two samples of a user's function of a number of samples and a seed [2].

    :param name: of the argument, for messages.
    :return: what it returns, a tensor whose shape is not checked.
    :raises TypeError: if it is no function.
    :raises ValueError: if it fails.
    """
    if not callable(sampler):
        raise TypeError(
            f"{name} must be a callable of a number of samples and a seed, not {shown(sampler)}."
        )
    try:
        return tf.convert_to_tensor(sampler(2, tf.constant([0, 0])))
    except Exception as error:
        raise ValueError(
            f"{name}={name_of(sampler)} failed for 2 samples and an int32 seed of shape [2]. "
            f"The error says: {reason_of(error)}"
        ) from None

"""Parts and constants of a module, to notice when one was replaced."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import ref

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

from .libraries import is_of_libraries

INTERNAL = ("_self_", "_name_scope", "_scope_name")
"""Prefixes of attributes that TensorFlow makes by itself; no file holds them."""

MOST_COMPARED = 10_000
"""Size up to which an array is compared by its values; larger ones are known by their identity."""

_FIXED = (gpflow.Parameter, tfp.bijectors.Bijector, tfp.distributions.Distribution)
"""Modules in which nothing changes but variables."""


class Structure:
    """All that a compiled function of a module depends on, except for the values of variables.

    It holds none of the module's parts alive.

    :param module: as it is now.
    """

    def __init__(self, module: tf.Module) -> None:
        self.is_known = True
        """False if something in it can change unnoticed, as a user's function or a Keras layer."""

        self._parts = []
        for part in (module, *module.submodules):
            if isinstance(part, gpflow.keras.tf_keras.layers.Layer):
                self.is_known = False  # Keras keeps books of its own in it
            elif not isinstance(part, _FIXED):
                self.is_known &= is_of_libraries(part)
                self._parts.append((ref(part), self._mark(_attributes(part))))

    def is_unchanged(self) -> bool:
        """True if the module still has the parts and constants that it had."""
        for part, mark in self._parts:
            owner = part()
            if owner is None or not _is_marked(mark, _attributes(owner)):
                return False
        return True

    def _mark(self, value: Any) -> Any:
        """Something to compare a value with later: see :func:`_is_marked`."""
        if value is None or isinstance(value, bool | int | float | str | slice | tf.DType):
            return (value,)
        if isinstance(value, Mapping):
            return {key: self._mark(one) for key, one in value.items()}
        if isinstance(value, list | tuple):
            return [self._mark(one) for one in value]
        if isinstance(value, np.ndarray) and value.size <= MOST_COMPARED:
            return value.copy()
        if not is_of_libraries(value):
            self.is_known = False
        try:
            return ref(value)
        except TypeError:
            self.is_known = False
            return lambda: value


def _attributes(part: Any) -> dict[str, Any]:
    return {name: value for name, value in vars(part).items() if not name.startswith(INTERNAL)}


def _is_marked(mark: Any, value: Any) -> bool:
    if isinstance(mark, tuple):
        return type(value) is type(mark[0]) and bool(value == mark[0] or value is mark[0])
    if isinstance(mark, dict):
        return (
            isinstance(value, Mapping)
            and value.keys() == mark.keys()
            and all(_is_marked(mark[key], one) for key, one in value.items())
        )
    if isinstance(mark, np.ndarray):
        return isinstance(value, np.ndarray) and np.array_equal(mark, value)
    if isinstance(mark, list):
        return (
            isinstance(value, list | tuple)
            and len(value) == len(mark)
            and all(map(_is_marked, mark, value))
        )
    return mark() is value

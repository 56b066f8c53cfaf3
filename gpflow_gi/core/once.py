"""Values that are computed once in a training step.

Every use of a parameter transforms its variable again: kernels read their variance for K(X, Z), for
K(Z, Z) and for the diagonal, and each read costs the step a few operations, twice with gradients.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import gpflow
import tensorflow as tf

T = TypeVar("T")


class _Values(threading.local):
    """Values of this thread's block; None outside of one."""

    of_block: dict[Hashable, Any] | None = None


_VALUES = _Values()


@contextmanager
def values_once() -> Iterator[None]:
    """Open a block of this thread in which :func:`once` computes each value once.

    Variables that such values depend on may not change within the block, and a gradient tape must
    be opened before it.
    """
    before, _VALUES.of_block = _VALUES.of_block, {}
    try:
        yield
    finally:
        _VALUES.of_block = before


def once(key: Hashable, compute: Callable[[], T]) -> T:
    """The value of a key in the present block, which the first call computes.

    Outside of a block it is computed at each call. Each graph has values of its own, since the
    tensors of a loop's body are unknown outside of it.
    """
    values = _VALUES.of_block
    if values is None:
        return compute()
    place = key, None if tf.executing_eagerly() else id(tf.compat.v1.get_default_graph())
    if place not in values:
        values[place] = compute()
    return values[place]


@contextmanager
def parameters_once(model: tf.Module) -> Iterator[None]:
    """Let GPflow's parameters of a model be transformed once in each block of `values_once`.

    :param model: any module. Its code may not read parameters inside of ``tf.custom_gradient``,
        which would miss their gradients.
    """
    parameters = [one for one in model.submodules if isinstance(one, gpflow.Parameter)]
    for parameter in parameters:
        compute = partial(type(parameter)._value, parameter)
        vars(parameter)["_value"] = partial(_value_once, id(parameter), compute)
    try:
        yield
    finally:
        for parameter in parameters:
            vars(parameter).pop("_value", None)


def _value_once(key: int, compute: Callable[[], tf.Tensor], *_: Any, **__: Any) -> tf.Tensor:
    # A conversion gives a type and a name too, which do not change the value.
    return once(key, compute)

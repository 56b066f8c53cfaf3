"""Functions of an object that are compiled when they are called often.

Compiling takes as long as some calls do, so that the first few run eagerly. The compiled function
gives the same numbers, bit for bit, since TensorFlow is told to leave the operations as they are.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary, ref

import gpflow
import tensorflow as tf

from .graph_memory import forget_graph
from .structure import Structure

try:
    from tensorflow.python.eager import context, record
except ImportError:  # internal: in a version of TensorFlow without them, nothing is compiled
    record = None

EAGER_CALLS = 2
"""Calls of a kind before it is compiled."""

MOST_FUNCTIONS = 16
"""Compiled functions kept for an object, those called last."""


def call(
    owner: Any,
    kind: Hashable,
    function: Callable[..., Any],
    rows: Sequence[tf.Tensor],
    *,
    module: tf.Module | None = None,
) -> Any:
    """Call a function of an object, and of rows in any number.

    Compiled functions live as long as the object. They are left for new ones when a part of its
    module is replaced, or a constant in it.

    :param owner: that the function reads.
    :param kind: of the function: it is the same for all calls of one kind.
    :param function: of `owner` and tensors; returns tensors, nested. It holds no other reference
        to `owner`.
    :param rows: tensors; the first axis may have another length at each call, if there is one.
    :param module: the part of `owner` that can change; None for `owner` itself.
    :return: what the function returns.
    """
    if not tf.executing_eagerly() or is_recorded():
        return function(owner, *rows)
    shapes = tuple((row.dtype, tuple(row.shape[1:]), row.shape.rank) for row in rows)
    key = (kind, shapes, repr(gpflow.config.config()))
    functions = _FUNCTIONS.setdefault(owner, _Functions())
    if not functions.count(owner if module is None else module, key):
        return function(owner, *rows)
    return functions.of(key)(owner, function, rows)


class _Compiled:
    """One kind of call."""

    def __init__(self) -> None:
        self._traced: Any = None
        self._lock = Lock()

    def __call__(self, owner: Any, function: Callable[..., Any], rows: Sequence[tf.Tensor]) -> Any:
        with self._lock:
            if self._traced is None:
                self._traced = _traced(owner, function, rows)
        with _as_written():
            return self._traced(*rows)


def _traced(owner: Any, function: Callable[..., Any], rows: Sequence[tf.Tensor]) -> Any:
    owned = ref(owner)  # a weak reference, since the function is stored under the owner
    specs = [tf.TensorSpec(_any_number(row), row.dtype) for row in rows]
    traced = tf.function(
        lambda *rows: function(owned(), *rows), autograph=False
    ).get_concrete_function(*specs)
    forget_graph(traced)
    return traced


def _any_number(row: tf.Tensor) -> list[int | None]:
    """The shape of rows without their number; that of a seed, [2], as it is."""
    shape = row.shape.as_list()
    return shape if len(shape) < 2 else [None, *shape[1:]]


class _Functions:
    """The calls of an object whose module is as it is."""

    def __init__(self) -> None:
        self._structure: Structure | None = None
        self._num_calls: dict[Hashable, int] = {}
        self._kinds: OrderedDict[Hashable, _Compiled] = OrderedDict()

    def count(self, module: tf.Module, kind: Hashable) -> bool:
        """Count a call. True if it is to be compiled."""
        self._num_calls[kind] = self._num_calls.get(kind, 0) + 1
        if self._num_calls[kind] <= EAGER_CALLS:
            return False
        if self._structure is None:
            self._structure = Structure(module)
        elif not self._structure.is_unchanged():
            self._structure = None
            self._num_calls.clear()  # eager again, until it is left alone for some calls
            self._kinds.clear()
            return False
        return self._structure.is_known

    def of(self, kind: Hashable) -> _Compiled:
        compiled = self._kinds.setdefault(kind, _Compiled())
        self._kinds.move_to_end(kind)
        if len(self._kinds) > MOST_FUNCTIONS:
            self._kinds.popitem(last=False)
        return compiled


def is_recorded() -> bool:
    """True if gradients of this call may be needed: compiled functions have none."""
    return record is None or bool(record.could_possibly_record())


@contextmanager
def _as_written() -> Iterator[None]:
    """Settings of this thread with which TensorFlow does not rewrite graphs.

    Rewritten, they could round in another way than the same operations called one by one.
    """
    here = context.context()
    usual = here.function_call_options
    here.function_call_options = _OPTIONS
    try:
        yield
    finally:
        here.function_call_options = usual


def _options() -> Any:
    settings = tf.compat.v1.ConfigProto(allow_soft_placement=True)
    settings.graph_options.rewrite_options.disable_meta_optimizer = True
    return context.FunctionCallOptions(config_proto=settings)


_OPTIONS = None if record is None else _options()

_FUNCTIONS: WeakKeyDictionary[Any, _Functions] = WeakKeyDictionary()

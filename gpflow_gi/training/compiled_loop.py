"""Compiled training loops, kept for further runs of the same kind.

Tracing and compiling take seconds, and depend on a model's structure alone: its parameters, the
rows and the seed are inputs of the compiled loop.
"""

from __future__ import annotations

import hashlib
import json
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from threading import Lock
from typing import Any

import gpflow
import tensorflow as tf
from gpflow.keras import tf_keras

from ..core.adam import Adam
from ..core.graph_memory import forget_captured, forget_graph
from ..core.libraries import is_of_libraries
from .description import Describer

MOST_LOOPS = 8
"""Loops kept, those used last: each takes some megabytes."""


class CompiledLoop:
    """A traced function of tensors and variables, to be called with variables of any run.

    :param function: of tensors, which reads and assigns variables.
    :param inputs: tensors of the shapes and types that it will be called with, nested.
    :param variables: all that it may read or assign.
    :param jit_compile: compile it with XLA.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        inputs: Sequence[Any],
        variables: Sequence[tf.Variable],
        *,
        jit_compile: bool,
    ) -> None:
        specs = tf.nest.map_structure(
            lambda tensor: tf.TensorSpec(tensor.shape, tensor.dtype), tuple(inputs)
        )
        # A concrete function: TensorFlow would count the traces of one run after the other as
        # retracing, and warn.
        # AutoGraph, which nothing here needs, would take four times as long as all the rest.
        self._function = tf.function(
            function, jit_compile=jit_compile or None, autograph=False
        ).get_concrete_function(*specs)
        forget_graph(self._function)
        self._captured = list(self._function.captured_inputs)
        self._lock = Lock()
        places = {id(variable.handle): i for i, variable in enumerate(variables)}
        self._places = [places.get(id(captured)) for captured in self._captured]

    @classmethod
    def of(
        cls,
        kind: Hashable | None,
        function: Callable[..., Any],
        inputs: Sequence[Any],
        variables: Sequence[tf.Variable],
        *,
        jit_compile: bool,
    ) -> Callable[..., Any]:
        """The loop of this kind, compiled now or before, with these variables.

        :param kind: see :func:`kind_of`; None to compile anew and keep nothing.
        """
        loop = _LOOPS.pop(kind, None)
        if loop is None:
            loop = cls(function, inputs, variables, jit_compile=jit_compile)
            if kind is None or not loop.is_for_all:
                return loop._function
            loop._let_go()
        _LOOPS[kind] = loop
        while len(_LOOPS) > MOST_LOOPS:
            _LOOPS.popitem(last=False)
        return loop.bound_to(variables)

    @property
    def is_for_all(self) -> bool:
        """True if all that it captured is variables that were listed, and constants."""
        return all(
            place is not None or captured.dtype != tf.resource
            for place, captured in zip(self._places, self._captured, strict=True)
        )

    def bound_to(self, variables: Sequence[tf.Variable]) -> Callable[..., Any]:
        """The function of tensors alone, with variables in the places of the first run's.

        :param variables: in the order of the first run's.
        """
        captured = [
            constant if place is None else variables[place].handle
            for place, constant in zip(self._places, self._captured, strict=True)
        ]

        def call(*inputs: Any) -> Any:
            with self._lock:
                self._function.set_external_captures(captured)
                try:
                    return self._function(*inputs)
                finally:
                    self._function.set_external_captures([])

        return call

    def _let_go(self) -> None:
        """Keep no variable of the first run alive."""
        self._captured = [
            None if place is not None else captured
            for place, captured in zip(self._places, self._captured, strict=True)
        ]
        forget_captured(self._function)


def forget_loops() -> None:
    """Free the memory of all loops that are kept."""
    _LOOPS.clear()


def kind_of(
    model: Any, parts: dict[str, Any], optimizer: Any, variables: Sequence[tf.Variable]
) -> Hashable | None:
    """All that a compiled loop depends on, but for its variables' values and its inputs'.

    :param model: what is trained.
    :param parts: what else the loop is made from: settings, shapes, objective, schedule.
    :param optimizer: built.
    :param variables: what is trained of the model.
    :return: None where the model or a part has code or state that may change unnoticed.
    """
    describer = _LibraryDescriber()
    places = {
        name: describer.places_of(part, name)
        for name, part in {"model": model, "optimizer": _settings(optimizer), **parts}.items()
    }
    if not describer.is_complete or not _is_described(optimizer):
        return None
    numbers = {id(variable): i for i, variable in enumerate(model.variables)}
    trained = [numbers.get(id(variable)) for variable in variables]
    described = [places, trained, repr(gpflow.config.config())]
    return hashlib.sha256(json.dumps(described, sort_keys=True).encode()).hexdigest()


class _LibraryDescriber(Describer):
    """Notes if it meets something that is not of the libraries, or not described in full."""

    def __init__(self) -> None:
        super().__init__()
        self._is_of_libraries = True

    @property
    def is_complete(self) -> bool:
        return self._is_of_libraries and not self.unknown and not self.left_out

    def describe(self, value: Any, place: str) -> Any:
        if not is_of_libraries(value) or isinstance(value, tf_keras.layers.Layer):
            self._is_of_libraries = False
        return super().describe(value, place)


def _is_described(optimizer: Any) -> bool:
    """True if an optimizer's configuration says all about it; that of weight decay does not."""
    return type(optimizer) is Adam and optimizer.weight_decay is None


def _settings(optimizer: Any) -> dict[str, Any]:
    """The settings of an optimizer; its state is in its variables."""
    config = dict(optimizer.get_config())
    config.pop("name", None)
    return config


_LOOPS: OrderedDict[Hashable, CompiledLoop] = OrderedDict()

"""The description of a run's model and functions, which distinguishes it from other runs.

The model is described as by :func:`gpflow_gi.save`, without the values of trained parameters. A
function is described by its name or, if it cannot be found by name, by its code and everything that
it refers to.
"""

from __future__ import annotations

import builtins
import dis
import functools
import hashlib
import inspect
import json
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import CodeType, ModuleType
from typing import Any

import numpy as np
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

from ..core.structure import INTERNAL
from ..layers.deterministic import keras_layers_in
from ..persistence.encoding import Encoder

CODE = ".code"
"""Ending of a place with a function's code, which differs between versions of Python."""

_KINDS = ("object", "made", "named", "list", "tuple", "dict")
"""Keys of a description that give the kind of the object at a place."""


def describe_model(model: Any) -> dict[str, str]:
    """The model's classes, constants and functions, by place.

    An object of an unknown kind is described by its class alone.
    """
    return Describer().places_of(model, "model")


def describe_function(name: str, function: Any) -> dict[str, str]:
    """The parts that distinguish a function from others, by place.

    :param name: name of the argument.
    :raises ValueError: if it refers to an object that cannot be distinguished from similar ones.
    """
    describer = Describer()
    places = describer.places_of(function, name)
    if describer.unknown:
        place, kind = next(iter(describer.unknown.items()))
        raise ValueError(
            f"{name} cannot be told from another function when the run is resumed: it refers to "
            f"{place}, of the class {kind}. Define {name} as a function at the top of a module, by "
            "whose name it will be known, or leave checkpoint_dir out."
        )
    return places


class Describer(Encoder):
    """An encoder that also describes objects that a file cannot hold."""

    def __init__(self) -> None:
        super().__init__()
        self.unknown: dict[str, str] = {}
        """Classes of objects that cannot be described further, by place."""
        self._functions: dict[int, int] = {}  # described functions without a name, by id

    def places_of(self, value: Any, place: str) -> dict[str, str]:
        described = self.describe(value, place)
        return dict(_flat(place, described, self.arrays))

    def describe(self, value: Any, place: str) -> Any:
        if isinstance(value, functools.partial):
            return {
                "partial": self.describe(value.func, place),
                "arguments": self.describe(
                    {**dict(enumerate(value.args)), **value.keywords}, place
                ),
            }
        if inspect.ismethod(value):
            of = self.describe(value.__self__, f"{place}.__self__")
            return {"method": value.__func__.__qualname__, "of": of}
        if hasattr(value, "python_function"):  # a tf.function
            return self.describe(value.python_function, place)
        if inspect.isroutine(value):
            return self._function(value, place)
        if isinstance(value, type | ModuleType | np.ufunc):
            return {"named": _full_name(value)}
        if isinstance(value, set | frozenset):
            members = [self.describe(one, place) for one in value]
            return {"set": sorted(members, key=json.dumps)}
        if isinstance(value, bytes | complex | range | np.dtype):
            return repr(value)
        if isinstance(value, tf_keras.layers.Layer):
            return self._layer(value, place)
        if isinstance(value, tf_keras.optimizers.Optimizer):
            config = {key: one for key, one in value.get_config().items() if key != "name"}
            return {"object": _full_name(type(value)), "config": self.describe(config, place)}
        try:
            return super().describe(value, place)
        except Exception:  # any error of the user's objects; the run must go on
            return self._unnamed(value, place)

    def _function(self, function: Any, place: str) -> dict[str, Any]:
        code = getattr(function, "__code__", None)
        if _is_found_by_name(function) or not isinstance(code, CodeType):
            return {"named": _full_name(function)}
        if id(function) in self._functions:  # a function may refer to itself
            return {"again": f"function {self._functions[id(function)]}"}
        self._functions[id(function)] = len(self._functions)
        refers_to = {name: function.__globals__.get(name, builtins) for name in _globals_of(code)}
        for name, cell in zip(code.co_freevars, function.__closure__ or (), strict=True):
            with suppress(ValueError):  # a variable without a value yet
                refers_to[name] = cell.cell_contents
        defaults = [function.__defaults__, function.__kwdefaults__]
        return {
            CODE[1:]: hashlib.sha256(json.dumps(_plain(code)).encode()).hexdigest(),
            "defaults": self.describe(defaults, place),
            "attributes": {n: self.describe(v, f"{place}.{n}") for n, v in refers_to.items()},
        }

    def _layer(self, layer: Any, place: str) -> dict[str, Any]:
        """A Keras layer without names, since Keras numbers all names in a process."""
        layers = _layers_in(layer)
        numbers = {one.name: f"layer {i}" for i, one in enumerate(layers)}
        described = [
            {
                "object": _full_name(type(one)),
                "config": self.describe(_config(one, numbers), f"{place}.{numbers[one.name]}"),
                "trainable": one.trainable,
            }
            for one in layers
        ]
        weights = [f"shape {list(weight.shape)}" for weight in layer.weights]
        return {"layers": described, "weights": weights}

    def _unnamed(self, value: Any, place: str) -> dict[str, Any]:
        """An object whose class has no usable name, or which a file cannot hold."""
        if isinstance(value, tfp.bijectors.Bijector | tfp.distributions.Distribution):
            parts = value.parameters
        elif hasattr(value, "__dict__"):
            parts = vars(value)
        else:
            self.unknown[place] = _full_name(type(value))
            parts = {}
        attributes = {
            name: self.describe(one, f"{place}.{name}")
            for name, one in parts.items()
            if not name.startswith(INTERNAL)
        }
        return {"object": _full_name(type(value)), "attributes": attributes}


def _flat(
    place: str, described: Any, arrays: Mapping[str, np.ndarray]
) -> Iterator[tuple[str, str]]:
    """A description's leaves, by place."""
    if isinstance(described, str) and described in arrays:
        yield place, _digest(arrays[described])
    elif isinstance(described, list):
        yield place, f"{len(described)} items"
        for i, one in enumerate(described):
            yield from _flat(f"{place}.{i}", one, arrays)
    elif isinstance(described, dict):
        for key, one in described.items():
            if key in ("name", "number"):  # they have no effect
                continue
            if key == "variable" or (key == "parameter" and described["trainable"]):
                # A trained value is in the checkpoint. The value of a fixed parameter is a
                # constant.
                yield f"{place}.shape", str(list(arrays[one].shape))
            elif key == "attributes":
                for name, value in one.items():
                    if name != "_name":
                        yield from _flat(f"{place}.{name}", value, arrays)
            elif key in ("dict", "arguments") and isinstance(one, list):
                # Pairs, since keys need not be strings.
                pairs = {k if isinstance(k, str) else json.dumps(k): value for k, value in one}
                yield f"{place}.keys", ", ".join(pairs)
                for name, value in pairs.items():
                    yield from _flat(f"{place}.{name}", value, arrays)
            else:
                yield from _flat(place if key in _KINDS else f"{place}.{key}", one, arrays)
    else:
        yield place, str(described)


def _digest(values: np.ndarray) -> str:
    digest = hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()
    return f"an array of shape {list(values.shape)}, type {values.dtype} and checksum {digest[:16]}"


def _full_name(thing: Any) -> str:
    module = getattr(thing, "__module__", None) or "builtins"
    return f"{module}:{getattr(thing, '__qualname__', getattr(thing, '__name__', '?'))}"


def _is_found_by_name(function: Any) -> bool:
    found: Any = sys.modules.get(getattr(function, "__module__", None) or "")
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is function


def _globals_of(code: CodeType) -> set[str]:
    """Names of the module that code refers to, at any depth."""
    names = {
        instruction.argval
        for instruction in dis.get_instructions(code)
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME")
    }
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return names.union(*map(_globals_of, inner))


def _plain(code: Any) -> Any:
    """The instructions of code, without line numbers."""
    if isinstance(code, CodeType):
        constants = [_plain(one) for one in code.co_consts]
        return [code.co_code.hex(), code.co_names, code.co_freevars, code.co_cellvars, constants]
    if isinstance(code, frozenset):
        return sorted(map(repr, code))
    return repr(code)


def _layers_in(layer: Any) -> list[Any]:
    """A Keras layer and those inside, in an order that does not depend on their names."""
    if isinstance(layer, tf_keras.Model):
        return [layer, *(one for part in layer.layers for one in _layers_in(part))]
    return keras_layers_in(layer)


def _config(layer: Any, numbers: Mapping[str, str]) -> dict[str, Any]:
    """The configuration of a Keras layer, with functions unchanged.

    :param numbers: replacements for the names of layers.
    """
    try:
        with warnings.catch_warnings():  # lambdas cause warnings, but no file is written
            warnings.simplefilter("ignore")
            config = layer.get_config()
    except Exception:  # a class without a configuration
        return {}
    # Remove the shape of its first input, and inner layers, which are described separately.
    for without in ("name", "layer", "build_input_shape", "batch_input_shape"):
        config.pop(without, None)
    if "layers" in config:
        config["layers"] = [one.get("inbound_nodes") for one in config["layers"]]
    for wiring in ("layers", "input_layers", "output_layers"):
        if wiring in config:
            config[wiring] = _renamed(config[wiring], numbers)
    functions = {key: getattr(layer, key, None) for key in config}
    return {**config, **{key: one for key, one in functions.items() if inspect.isroutine(one)}}


def _renamed(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, Mapping):
        return {key: _renamed(one, names) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_renamed(one, names) for one in value]
    return names.get(value, value) if isinstance(value, str) else value

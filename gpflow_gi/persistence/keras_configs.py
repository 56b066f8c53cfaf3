"""Keras' descriptions of layers, checked before Keras sees them.

Keras finds objects by their names in a description: in its own modules, in any module, and among
the objects that the process has registered. So every class is passed to Keras under a name that
only this module uses; the only other names that Keras may find are activations from a list; and
parts that do not describe a class (losses, weights, other arguments of a constructor) are refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any

from gpflow.keras import tf_keras

from . import lists
from .names import Names, shown

_NODE = {"module", "class_name", "config", "registered_name", "build_config", "compile_config",
         "shared_object_id", "name", "inbound_nodes"}  # fmt: skip
"""Keys of a dictionary that describes a class."""

_EVERY_LAYER = {"name", "trainable", "dtype", "batch_input_shape"}
"""Arguments of every layer."""

_OF_MODELS = {
    "Sequential": {"name", "layers", "build_input_shape"},
    "Functional": {"name", "trainable", "layers", "input_layers", "output_layers"},
}

_CONSTANT = "_CONSTANT_VALUE"
"""Placeholder for a layer if the input of another layer is a number."""

PREFIX = "gpflow_gi file>"
"""Prefix of the names under which classes are passed to Keras."""


def checked(config: Any, names: Names) -> tuple[Any, dict[str, Any]]:
    """A description that refers only to the objects returned with it, and these objects.

    :param config: from a file.
    :param names: the names that it may refer to.
    :return: for Keras' ``deserialize_keras_object``: `config` and `custom_objects`.
    :raises LookupError: if it refers to anything else.
    """
    checker = _Checker(names)
    return checker.node(config), checker.things


def is_listed(cls: type) -> bool:
    """True if a class of Keras can be loaded without being trusted.

    :param cls: class of a layer.
    """
    return lists.keras_classes().get(cls.__name__) is cls


def functions(config: Any, parts: Iterable[Any]) -> Iterator[Any]:
    """Functions in a description that are not Keras' own.

    :param config: a description from Keras.
    :param parts: the layers that it describes, which hold the functions.
    """
    if isinstance(config, Mapping):
        if config.get("class_name") == "function":
            name = config.get("config")
            of_parts = (one for part in parts for one in vars(part).values())
            for one in of_parts:
                if inspect.isroutine(one) and one.__name__ == name:
                    if not _is_of_keras(one.__module__):
                        yield one
                    break
        config = list(config.values())
    if isinstance(config, list | tuple):
        for one in config:
            yield from functions(one, parts)


class _Checker:
    def __init__(self, names: Names) -> None:
        self._names = names
        self.things: dict[str, Any] = {}

    def node(self, node: Any) -> Any:
        """A class with its configuration, or a function."""
        if not (isinstance(node, Mapping) and isinstance(node.get("class_name"), str)):
            raise LookupError(f"the file describes a Keras layer by {shown(node)}")
        if unknown := set(node) - _NODE:
            raise LookupError(f"the file has {shown(min(unknown))} beside a class of Keras")
        name, module, config = node["class_name"], node.get("module"), node.get("config")
        if name == "function":
            return self._function(config, module)
        cls, is_listed = self._class(name, module)
        if not isinstance(config, Mapping):
            raise LookupError(f"the file has no configuration of the Keras class {shown(name)}")
        if is_listed and (unknown := set(config) - _arguments(name, cls)):
            raise LookupError(f"the file gives {name} of Keras the argument {shown(min(unknown))}")
        if name == "Functional":
            _check_graph(config)
        if is_listed and name in lists.OPERATIONS and config.get("function") not in operations():
            raise LookupError(
                f"the file has the operation {shown(config.get('function'))} in a Keras model"
            )
        registered = PREFIX + name
        if self.things.setdefault(registered, cls) is not cls:
            raise LookupError(f"the file means two classes by {shown(name)}")
        made = {
            "module": None,
            "class_name": name,
            "config": {key: self.value(key, one) for key, one in config.items()},
            "registered_name": registered,
        }
        if isinstance(build := node.get("build_config"), Mapping):
            made["build_config"] = {"input_shape": self.value("", build.get("input_shape"))}
        for key in ("name", "inbound_nodes"):  # of a layer in a functional model
            if key in node:
                made[key] = self.value("", node[key])
        return made

    def value(self, key: str, value: Any) -> Any:
        """A value in a configuration.

        :param key: its key in the configuration.
        """
        if isinstance(value, Mapping):
            if "class_name" in value:
                return self.node(value)
            return {inner: self.value(inner, one) for inner, one in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(key, one) for one in value]
        if isinstance(value, str):
            return self._string(key, value)
        return value

    def _string(self, key: str, value: str) -> str:
        # Keras makes these from classes and functions, by their names.
        known: list[str] | None = None
        if key.endswith("activation"):
            known = lists.ACTIVATIONS_OF_KERAS.split()
        elif key.endswith(("initializer", "regularizer", "constraint")):
            known = []
        if known is None or value in known:
            return value
        thing = self._names.by_last_part.get(value)
        if thing is None:
            raise LookupError(f"the file has the {shown(key)} {shown(value)} for a Keras layer")
        self.things[value] = thing
        return value

    def _function(self, name: Any, module: Any) -> Any:
        if not isinstance(name, str):
            raise LookupError(f"the file describes a function of Keras by {shown(name)}")
        thing = self._trusted(name, module)
        if thing is not None:
            self.things[name] = thing
            return {
                "module": None,
                "class_name": "function",
                "config": name,
                "registered_name": name,
            }
        known = name in lists.ACTIVATIONS_OF_KERAS.split()
        if known and module in ("builtins", *_modules("keras.activations")):
            return name
        self._names.find(f"{module}:{name}", "named")  # says what to do
        raise LookupError(f"the file gives a Keras layer the function {shown(name)}")

    def _trusted(self, name: str, module: Any) -> Any:
        """A trusted class or function, or None."""
        thing = self._names.trusted(f"{module}:{name}")
        if thing is not None:
            return thing
        for thing in self._names.trusted_as(name):
            # Keras writes "builtins" for functions, and the public module for its own classes.
            is_of_keras = _is_of_keras(thing.__module__) and _is_of_keras(module)
            if is_of_keras or (module == "builtins" and not isinstance(thing, type)):
                return thing
        return None

    def _class(self, name: str, module: Any) -> tuple[type, bool]:
        """The class, and True if it is on the list."""
        thing = self._trusted(name, module)
        if thing is not None:
            if not isinstance(thing, type):
                raise LookupError(f"the file takes {shown(name)} for a class of Keras")
            return thing, False
        listed = lists.keras_classes().get(name)
        if listed is None or not _is_of_keras(module):
            self._names.find(f"{module}:{name}", "object")  # says what to do
            raise LookupError(f"the file has the Keras layer {shown(name)}")
        return listed, True


def _is_of_keras(module: Any) -> bool:
    return isinstance(module, str) and module.partition(".")[0] in ("keras", "tf_keras")


def _modules(name: str) -> tuple[str, ...]:
    """Both names of a module of Keras."""
    return name, f"tf_{name}"


@cache
def _arguments(name: str, cls: type) -> frozenset[str]:
    """Arguments that may describe a listed class."""
    if name in _OF_MODELS:
        return frozenset(_OF_MODELS[name])
    of_constructor = {
        one.name
        for one in inspect.signature(inspect.unwrap(cls.__init__)).parameters.values()  # type: ignore[misc]
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY) and one.name != "self"
    }
    inherited = {"activity_regularizer", *_EVERY_LAYER}
    if name == "InputLayer":
        return frozenset(of_constructor - {"input_tensor", "type_spec"} | _EVERY_LAYER)
    is_layer = issubclass(cls, tf_keras.layers.Layer)
    bases = [base for base in cls.__mro__[1:] if is_layer and base is not tf_keras.layers.Layer]
    for base in bases:  # a convolution's arguments are those of its base class
        if base.__module__.startswith("tf_keras.src.layers"):
            of_constructor |= {
                one.name
                for one in inspect.signature(base.__init__).parameters.values()  # type: ignore[misc]
                if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
            }
    return frozenset((of_constructor | inherited if is_layer else of_constructor) - {"self"})


def _check_graph(config: Mapping[str, Any]) -> None:
    """Check that the layers of a functional model can be called one after the other.

    Keras never returns if two layers need each other's outputs, and takes an input that is no
    layer's output for a constant.

    :raises LookupError: if they cannot be called.
    """
    try:
        waiting = {
            layer["name"]: [_origins(node) for node in layer["inbound_nodes"]]
            for layer in config["layers"]
        }
        if len(waiting) != len(config["layers"]):
            raise ValueError
        done = {(name, 0) for name, nodes in waiting.items() if not nodes}
        calls = [
            (name, i, origins) for name, all_ in waiting.items() for i, origins in enumerate(all_)
        ]
        while calls:
            left = [call for call in calls if not call[2] <= done]
            if len(left) == len(calls):
                raise ValueError
            done |= {(name, i) for name, i, origins in calls if origins <= done}
            calls = left
    except (KeyError, TypeError, ValueError):
        raise LookupError("the file has a Keras model whose layers are not connected") from None


def _origins(node: Any) -> set[tuple[str, int]]:
    """The calls whose outputs are inputs of a call: names of layers, each with a number."""
    entries = [node] if node and isinstance(node[0], str) else node
    origins = set()
    for name, number, output, *options in entries:
        if name == _CONSTANT:  # the 2 in ``2 * layer(x)``
            if list(_references(output)):
                raise ValueError
        elif not _is_reference([name, number, output]):
            raise ValueError
        else:
            origins.add((name, number))
        origins.update(_references(options))
    if not origins:
        raise ValueError
    return origins


def _references(value: Any) -> Iterator[tuple[str, int]]:
    """Calls whose outputs are other arguments of a call, such as the second summand of a sum."""
    if _is_reference(value):
        yield value[0], value[1]
    elif isinstance(value, Mapping | list | tuple):
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _references(one)
    elif not (value is None or isinstance(value, bool | int | float)):
        raise ValueError


def _is_reference(value: Any) -> bool:
    return (
        isinstance(value, list | tuple)
        and len(value) == 3
        and [type(one) for one in value] == [str, int, int]
    )


@cache
def operations() -> frozenset[str]:
    """Keras' names of the operations that a functional model may have between its layers."""
    return frozenset(
        [
            *(f"__operators__.{name}" for name in lists.OPERATORS.split()),
            *(f"math.{name}" for name in (lists.ELEMENTWISE + lists.ARITHMETIC).split()),
            *(f"nn.{name}" for name in lists.ACTIVATIONS_OF_TENSORFLOW.split()),
        ]
    )

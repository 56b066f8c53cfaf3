"""The description of a model in JSON, and its arrays.

A description is a number, a string, None or a boolean, or a dictionary whose first key gives its
kind. An object that occurs twice is described once: a kernel that two layers share is shared again
after reading.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras
from gpflow.likelihoods.base import DEFAULT_NUM_GAUSS_HERMITE_POINTS

from ..core.structure import INTERNAL
from ..layers.deterministic import keras_layers_in
from . import keras_configs
from .attributes import attributes_of, can_be_set
from .decoding import arguments_of
from .names import Names, Use, is_listed, name_of
from .npz import KINDS


class CannotEncodeError(ValueError):
    """Error: a file cannot hold something. The message says what and where, without a full stop."""


class Encoder:
    """An encoder that describes one model."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        """Arrays by name, which descriptions refer to."""
        self._numbers: dict[int, int] = {}  # numbers of described objects, by id
        self._kept: list[Any] = []  # keeps objects alive, so that no id is used twice
        self.to_trust: dict[str, Any] = {}
        """Objects by name that are on no list: the user has to trust them when loading the file."""
        self.left_out: list[str] = []
        """Places of attributes that no class of the model has; the file does not hold them."""
        self.untied: list[str] = []
        """Places of Keras layers that share weights with others; the file has a copy for each."""
        self._users: dict[int, Any] = {}  # the Keras layers of variables, by id

    def describe(self, value: Any, place: str) -> Any:
        """The description of a value.

        :param place: its place in the model, for messages.
        :raises CannotEncodeError: if a file cannot hold it.
        """
        if value is None or isinstance(value, bool | str) or type(value) is int:
            return value
        if isinstance(value, float) and not isinstance(value, np.generic):
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, list | tuple):
            kind = "tuple" if isinstance(value, tuple) else "list"
            return {kind: [self.describe(one, f"{place}[{i}]") for i, one in enumerate(value)]}
        if isinstance(value, Mapping):
            return {
                "dict": [
                    [self.describe(key, place), self.describe(one, f"{place}[{key!r}]")]
                    for key, one in value.items()
                ]
            }
        if isinstance(value, slice):
            return {"slice": [value.start, value.stop, value.step]}
        if isinstance(value, tf.DType):
            return {"dtype": value.name}
        if isinstance(value, np.ndarray | np.generic):
            return {"array": self._array(np.asarray(value), place)}
        if tf.is_tensor(value) and not isinstance(value, gpflow.Parameter | tf.Variable):
            return {"tensor": self._array(value.numpy(), place)}
        if inspect.isroutine(value) or isinstance(value, type):
            return {"named": self._name(value, place, "named")}
        return self._once(value, place)

    def _once(self, value: Any, place: str) -> dict[str, Any]:
        if id(value) in self._numbers:
            return {"again": self._numbers[id(value)]}
        number = self._numbers[id(value)] = len(self._numbers)
        self._kept.append(value)
        return {**self._object(value, place), "number": number}

    def _object(self, value: Any, place: str) -> dict[str, Any]:
        if isinstance(value, gpflow.Parameter):
            return {
                "parameter": self._array(value.unconstrained_variable.numpy(), place),
                "transform": self.describe(value.transform, f"{place}.transform"),
                "prior": self.describe(value.prior, f"{place}.prior"),
                "prior_on": value.prior_on.value,
                "trainable": bool(value.trainable),
                "name": value.name,
            }
        if isinstance(value, tf.Variable):
            return {
                "variable": self._array(value.numpy(), place),
                "trainable": bool(value.trainable),
                "name": value.name.partition(":")[0],
            }
        if isinstance(value, tfp.bijectors.Bijector | tfp.distributions.Distribution):
            return {
                "made": self._name(type(value), place, "made"),
                "arguments": self._arguments(value, place),
            }
        if isinstance(value, tf_keras.layers.Layer):
            return self._keras(value, place)
        if isinstance(value, gpflow.likelihoods.HeteroskedasticTFPConditional):
            # Its constructor makes a function without a name from these arguments.
            function = inspect.unwrap(value.conditional_distribution)
            made_of = {
                "distribution_class": _variable_of(function, "distribution_class"),
                "scale_transform": value.scale_transform,
            }
            if not _is_default_quadrature(value.quadrature):
                made_of["quadrature"] = value.quadrature
            return {
                "made": self._name(type(value), place, "made"),
                "arguments": self.describe(made_of, place)["dict"],
            }
        if not hasattr(value, "__dict__"):
            raise CannotEncodeError(f"{place} is {value!r}, which cannot be stored")
        named = self._name(type(value), place, "object")
        attributes = {}
        for name, one in vars(value).items():
            if name.startswith(INTERNAL):
                continue
            if self._has(type(value), name):
                attributes[name] = self.describe(one, f"{place}.{name}")
            else:
                self.left_out.append(f"{place}.{name}")
        return {"object": named, "attributes": attributes}

    def _has(self, cls: type, name: str) -> bool:
        """True if a file may set an attribute."""
        return name in attributes_of(cls) if is_listed(cls, "object") else can_be_set(cls, name)

    def _arguments(self, made: Any, place: str) -> list[Any]:
        """Arguments of a bijector or distribution that differ from the constructor's defaults."""
        cls: Any = type(made)
        defaults = inspect.signature(cls.__init__).parameters
        given = {
            name: one
            for name, one in made.parameters.items()
            if name in defaults and not _is_same(one, defaults[name].default)
        }
        refused = set(given) - arguments_of(cls)
        if refused and is_listed(cls, "made"):
            raise CannotEncodeError(
                f"{place} is a {cls.__name__} with the argument {min(refused)}, which takes "
                "a function"
            )
        described: list[Any] = self.describe(given, place)["dict"]
        return described

    def _keras(self, layer: Any, place: str) -> dict[str, Any]:
        try:
            config = tf_keras.saving.serialize_keras_object(layer)
        except Exception as error:
            reason = " ".join(f"{error}".split())
            raise CannotEncodeError(
                f"{place} is a Keras layer that cannot be stored ({reason})"
            ) from None
        self._trust_keras(layer, config, place)
        users = [self._users.setdefault(id(weight), layer) for weight in layer.weights]
        if any(user is not layer for user in users):
            self.untied.append(place)
        weights = [self._array(weight, place) for weight in layer.get_weights()]
        flags = [part.trainable for part in keras_layers_in(layer)]
        return {"keras": config, "weights": weights, "trainable": flags}

    def _trust_keras(self, layer: Any, config: Any, place: str) -> None:
        """Note the user's own classes and functions in a Keras layer."""
        parts = keras_layers_in(layer)
        used = {}
        for part in parts:
            if not keras_configs.is_listed(type(part)):
                used[name_of(type(part))] = type(part)
        for function in keras_configs.functions(config, parts):
            used[name_of(function)] = function
        try:
            keras_configs.checked(config, Names(used.values()))
        except LookupError as error:
            raise CannotEncodeError(
                f"{place} is a Keras layer that cannot be stored ({error.args[0]})"
            ) from None
        for name, thing in used.items():
            self.to_trust[name or self._name(thing, place, "named")] = thing

    def _array(self, values: np.ndarray, place: str) -> str:
        if values.dtype.kind not in KINDS:
            raise CannotEncodeError(f"{place} is an array of type {values.dtype}")
        name = f"{len(self.arrays)}:{place}"
        self.arrays[name] = values
        return name

    def _name(self, thing: Any, place: str, use: Use) -> str:
        name = name_of(thing)
        if name is None or name.startswith("__main__:"):
            raise CannotEncodeError(
                f"{place} is {thing!r}, which has no name to be found by again. Define it at the "
                "top of a module that can be imported, or take one of gpflow_gi.nonlinearities"
            )
        if not is_listed(thing, use):
            self.to_trust[name] = thing
        return name


def _variable_of(function: Any, name: str) -> Any:
    """A variable that a nested function takes from the enclosing function."""
    variables = inspect.getclosurevars(function).nonlocals
    if name not in variables:  # check_shapes has wrapped it once more
        variables = inspect.getclosurevars(variables["func"]).nonlocals
    return variables[name]


def _is_default_quadrature(rule: Any) -> bool:
    """True for what GPflow makes where no quadrature of two latent functions is given."""
    is_plain = type(rule) is gpflow.quadrature.NDiagGHQuadrature
    return is_plain and (rule.dim, rule.n_gh) == (2, DEFAULT_NUM_GAUSS_HERMITE_POINTS)


def _is_same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    # NumPy's numbers are not equal: they determine the type of the others.
    simple = bool | int | float | str
    return type(value) is type(default) and isinstance(value, simple) and value == default

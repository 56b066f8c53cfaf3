"""The inverse of :mod:`gpflow_gi.persistence.encoding`: from a description to a model."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras
from gpflow.likelihoods.base import QuadratureLikelihood

from ..layers import GPLayer
from ..layers.deterministic import set_trainable_flags
from . import keras_configs
from .attributes import attributes_of, can_be_set
from .names import Names, is_listed, shown
from .sizes import LEAST_BYTES, MOST_PARTS, TooLargeError, largest_result

CALLED = (
    tfp.bijectors.Bijector,
    tfp.distributions.Distribution,
    gpflow.likelihoods.Likelihood,
)
"""The classes whose objects are made by a call."""

LARGEST_RESULT = LEAST_BYTES // 8
"""Largest number of entries of a parameter, or of a distribution's argument."""

_KEYS: dict[str, tuple[str, ...]] = {
    "again": (),
    "float": (),
    "list": (),
    "tuple": (),
    "dict": (),
    "slice": (),
    "dtype": (),
    "array": (),
    "tensor": (),
    "named": (),
    "parameter": ("transform", "prior", "prior_on", "trainable", "name", "number"),
    "variable": ("trainable", "name", "number"),
    "made": ("arguments", "number"),
    "keras": ("weights", "trainable", "number"),
    "object": ("attributes", "number"),
}
"""Further keys beside the key that gives the kind of a description."""


class Decoder:
    """A decoder that builds one model."""

    def __init__(self, arrays: Mapping[str, np.ndarray], names: Names) -> None:
        """Set the arrays and names that descriptions refer to.

        :param arrays: arrays by name; each is used once.
        :param names: see :func:`gpflow_gi.load`.
        """
        self._arrays = dict(arrays)
        self._names = names
        self._made: dict[int, Any] = {}
        self._unfinished: set[int] = set()
        self._parts = 0
        self._shapes: list[tuple[int, ...]] = []  # of all arrays that were used
        # Of what was made, for when it is used again:
        self._content: dict[int, tuple[int, list[tuple[int, ...]]]] = {}
        self._numbers = 0

    def make(self, described: Any) -> Any:
        """The value of a description.

        :raises LookupError: if it names something that does not exist or is not allowed.
        :raises TooLargeError: if it describes more than a model may hold.
        """
        self._parts += 1
        if self._parts > MOST_PARTS:
            raise TooLargeError(f"its architecture has more than {MOST_PARTS} parts")
        if not isinstance(described, dict):
            if isinstance(described, list):
                raise LookupError("the file has a list where a description should be")
            return described
        kind = next(iter(described), None)
        keys = _KEYS.get(kind) if isinstance(kind, str) else None
        if keys is None or described.keys() != {kind, *keys}:
            raise LookupError(f"the file has a description with the keys {shown(list(described))}")
        if "number" in keys:
            return self._numbered(described, getattr(self, f"_make_{kind}"))
        return getattr(self, f"_make_{kind}")(described[kind])

    def _numbered(self, described: dict[str, Any], make: Callable[[dict[str, Any]], Any]) -> Any:
        """Make a value that later descriptions can refer to."""
        number, parts, shapes = self._numbers, self._parts, len(self._shapes)
        if described["number"] != number:
            raise LookupError(
                f"the file numbers a part {shown(described['number'])}, where {number} is next"
            )
        self._numbers += 1
        self._unfinished.add(number)
        self._made[number] = made = make(described)
        self._unfinished.discard(number)
        self._content[number] = self._parts - parts, self._shapes[shapes:]
        return made

    def _make_again(self, number: Any) -> Any:
        if type(number) is not int or number not in self._made:
            raise LookupError(
                f"the file refers to the part {shown(number)}, which does not precede it"
            )
        if number in self._unfinished:
            if is_listed(type(self._made[number]), "object"):
                raise LookupError("the file has a part that contains itself")
        else:
            parts, shapes = self._content[number]
            self._parts += parts
            self._shapes += shapes
        return self._made[number]

    def _make_float(self, text: Any) -> float:
        if text not in ("inf", "-inf", "nan"):
            raise LookupError(f"the file has {shown(text)} where a number should be")
        return float(text)

    def _make_list(self, entries: Any) -> list[Any]:
        return [self.make(one) for one in entries]

    def _make_tuple(self, entries: Any) -> tuple[Any, ...]:
        return tuple(self.make(one) for one in entries)

    def _make_dict(self, entries: Any) -> dict[Any, Any]:
        return {self.make(key): self.make(one) for key, one in entries}

    def _make_slice(self, ends: Any) -> slice:
        if not all(end is None or type(end) is int for end in ends):
            raise LookupError(f"the file has a slice with the ends {shown(ends)}")
        return slice(*ends)

    def _make_dtype(self, name: Any) -> tf.DType:
        return tf.as_dtype(name)

    def _array(self, name: Any) -> np.ndarray:
        """Return an array and remove it, so that its memory is taken only once."""
        if not isinstance(name, str) or name not in self._arrays:
            raise LookupError(f"the file has no array {shown(name)}, or uses it twice")
        values = self._arrays.pop(name)
        self._shapes.append(values.shape)
        return values

    def _make_array(self, name: Any) -> Any:
        values = self._array(name)
        return values[()] if values.ndim == 0 else values.copy()

    def _make_tensor(self, name: Any) -> tf.Tensor:
        return tf.constant(self._array(name))

    def _make_named(self, name: Any) -> Any:
        return self._names.find(name, "named")

    def _make_parameter(self, described: dict[str, Any]) -> gpflow.Parameter:
        unconstrained = self._array(described["parameter"])
        if unconstrained.dtype != gpflow.default_float():
            raise LookupError(
                f"the file holds the parameter {shown(described['parameter'])} as "
                f"{unconstrained.dtype}, which should be {np.dtype(gpflow.default_float())}"
            )
        with self._no_larger_than(LARGEST_RESULT, "a parameter", [unconstrained.shape]):
            transform = self.make(described["transform"])
        prior = self.make(described["prior"])
        if not isinstance(transform, tfp.bijectors.Bijector):
            raise LookupError("the file has a parameter whose transform is not a bijector")
        if not (prior is None or isinstance(prior, tfp.distributions.Distribution)):
            raise LookupError("the file has a parameter whose prior is not a distribution")
        parameter = gpflow.Parameter(
            transform.forward(tf.constant(unconstrained)),
            transform=transform,
            prior=prior,
            prior_on=described["prior_on"],
            trainable=_flag(described["trainable"]),
            name=_text(described["name"]),
        )
        # A transformation and its inverse would round.
        parameter.unconstrained_variable.assign(unconstrained)
        return parameter

    def _make_variable(self, described: dict[str, Any]) -> tf.Variable:
        return tf.Variable(
            self._array(described["variable"]),
            trainable=_flag(described["trainable"]),
            name=_text(described["name"]),
        )

    def _make_made(self, described: dict[str, Any]) -> Any:
        """Make an object by calling its constructor."""
        cls = self._names.find(described["made"], "made")
        if not (isinstance(cls, type) and issubclass(cls, CALLED)):
            raise LookupError(f"the file asks to call {shown(described['made'])}")
        with self._no_larger_than(LARGEST_RESULT, f"a {cls.__name__}"):
            arguments = self._make_dict(described["arguments"])
        if is_listed(cls, "made"):
            for name in arguments:
                if name not in arguments_of(cls):
                    raise LookupError(f"the file gives {cls.__name__} the argument {shown(name)}")
        return cls(**arguments)

    @contextmanager
    def _no_larger_than(
        self, largest: int, what: str, shapes: list[tuple[int, ...]] | None = None
    ) -> Iterator[None]:
        """Check the size of the result if the arrays that are read within are broadcast together.

        :param shapes: shapes of further arrays of the same operation.
        """
        begin = len(self._shapes)
        yield
        if largest_result([*(shapes or []), *self._shapes[begin:]]) > largest:
            raise TooLargeError(f"{what} in it would have more than {largest} numbers")

    def _make_keras(self, described: dict[str, Any]) -> Any:
        config, custom = keras_configs.checked(described["keras"], self._names)
        weights = [self._array(name) for name in described["weights"]]
        flags = [_flag(flag) for flag in described["trainable"]]
        with tf.variable_creator_scope(_only_like(weights)):
            layer = tf_keras.saving.deserialize_keras_object(
                config, custom_objects=custom, safe_mode=True
            )
            if not isinstance(layer, tf_keras.layers.Layer):
                raise LookupError("the file has another object where a Keras layer should be")
            if len(layer.weights) < len(weights):
                # Some layers create weights only when they are called, so call them on empty
                # inputs.
                shape = config["build_config"]["input_shape"]
                spec = tf.TensorSpec([size or 1 for size in shape], gpflow.default_float())
                tf.function(layer, autograph=False).get_concrete_function(spec)
        if len(layer.weights) != len(weights):
            raise LookupError(
                f"the file has {len(weights)} arrays for the weights of {shown(layer.name)}"
            )
        # Keras sorts the weights by these flags.
        set_trainable_flags(layer, flags)
        layer.set_weights(weights)
        return layer

    def _make_object(self, described: dict[str, Any]) -> Any:
        """Make an object by setting attributes; its constructor ran when the model was made."""
        cls = self._names.find(described["object"], "object")
        if not isinstance(cls, type):
            raise LookupError(
                f"the file names {shown(described['object'])} as a class, which it is not"
            )
        attributes = described["attributes"]
        may_set = is_listed(cls, "object")
        for name in attributes:
            known = name in attributes_of(cls) if may_set else can_be_set(cls, name)
            if not known:
                raise LookupError(
                    f"the file sets {shown(name)} of a {cls.__name__}, which has no such attribute"
                )
        made: Any = object.__new__(cls)
        self._made[described["number"]] = made  # a user's class may refer to itself
        if isinstance(made, tf.Module):
            tf.Module.__init__(made, name=_text(attributes.get("_name")))
        # TensorFlow tracks attributes that are set on its modules; other objects may be frozen.
        set_attribute = setattr if isinstance(made, tf.Module) else object.__setattr__
        for name, one in attributes.items():
            set_attribute(made, name, self.make(one))
        if isinstance(made, GPLayer):
            made.complete()
        return made


@cache
def arguments_of(cls: type) -> frozenset[str]:
    """Arguments that a file may give to the constructor of a listed class: no functions.

    :param cls: class of a bijector, a distribution or a likelihood.
    """
    parameters = inspect.signature(cls.__init__).parameters.items()  # type: ignore[misc]
    names = frozenset(
        name
        for name, one in parameters
        if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)
        and name not in ("self", "parameters", "graph_parents")
        and not name.endswith("_fn")
    )
    # GPflow's constructor hands it on.
    return names | {"quadrature"} if issubclass(cls, QuadratureLikelihood) else names


def _only_like(weights: list[np.ndarray]) -> Callable[..., tf.Variable]:
    """A creator of zero variables that refuses shapes for which the file has no values.

    Keras would take memory for any size in a description, and fill it.
    """
    left = [weight.shape for weight in weights]

    def create(next_creator: Callable[..., tf.Variable], **options: Any) -> tf.Variable:
        shape = options.get("shape")
        value = options.get("initial_value")
        if shape is None and isinstance(value, bool | int | float):  # such as counters of steps
            return next_creator(**options)
        if shape is None and value is not None and hasattr(value, "shape"):
            shape = value.shape
        sizes = None if shape is None else tuple(tf.TensorShape(shape).as_list())
        if sizes not in left:
            raise LookupError(f"the file has no weights of shape {shown(sizes)} for a layer")
        left.remove(sizes)
        if callable(value):
            dtype = options.get("dtype") or gpflow.default_float()
            options["initial_value"] = lambda: tf.zeros(sizes, dtype)
        return next_creator(**options)

    return create


def _flag(value: Any) -> bool:
    if not isinstance(value, bool):
        raise LookupError(f"the file has {shown(value)} where true or false should be")
    return value


def _text(value: Any) -> str | None:
    if not (value is None or isinstance(value, str)):
        raise LookupError(f"the file has {shown(value)} where a name should be")
    return value

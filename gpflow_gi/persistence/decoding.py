"""From a description, as :mod:`gpflow_gi.persistence.encoding` makes it, back to a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

from ..layers.deterministic import set_trainable_flags
from .names import thing_of

CONSTRUCTED = (
    tfp.bijectors.Bijector,
    tfp.distributions.Distribution,
    gpflow.likelihoods.Likelihood,
)
"""What a file may have made by a call: a file must not be able to call anything."""

KERAS = ("builtins", "keras", "tf_keras")
"""Modules that a Keras layer in a file may use; Keras' own safe mode refuses lambdas."""


class Decoder:
    """Makes one model."""

    def __init__(self, arrays: Mapping[str, np.ndarray], custom_objects: Mapping[str, Any]) -> None:
        """Take what descriptions refer to.

        :param custom_objects: see :func:`gpflow_gi.load`.
        """
        self._arrays = arrays
        self._custom = custom_objects
        self._made: dict[int, Any] = {}

    def make(self, described: Any) -> Any:
        """The value of a description.

        :raises LookupError: if it names what there is not.
        """
        if not isinstance(described, dict):
            return described
        kind = next(iter(described))
        return getattr(self, f"_make_{kind}")(described)

    def _make_again(self, described: dict[str, Any]) -> Any:
        return self._made[described["again"]]

    def _make_float(self, described: dict[str, Any]) -> float:
        return float(described["float"])

    def _make_list(self, described: dict[str, Any]) -> list[Any]:
        return [self.make(one) for one in described["list"]]

    def _make_tuple(self, described: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(self.make(one) for one in described["tuple"])

    def _make_dict(self, described: dict[str, Any]) -> dict[Any, Any]:
        return {self.make(key): self.make(one) for key, one in described["dict"]}

    def _make_slice(self, described: dict[str, Any]) -> slice:
        return slice(*described["slice"])

    def _make_dtype(self, described: dict[str, Any]) -> tf.DType:
        return tf.as_dtype(described["dtype"])

    def _make_array(self, described: dict[str, Any]) -> Any:
        values = self._arrays[described["array"]]
        return values[()] if values.ndim == 0 else values

    def _make_tensor(self, described: dict[str, Any]) -> tf.Tensor:
        return tf.constant(self._arrays[described["tensor"]])

    def _make_named(self, described: dict[str, Any]) -> Any:
        return thing_of(described["named"], self._custom)

    def _make_parameter(self, described: dict[str, Any]) -> gpflow.Parameter:
        unconstrained = self._arrays[described["parameter"]]
        transform = self.make(described["transform"])
        parameter = gpflow.Parameter(
            transform.forward(tf.constant(unconstrained)),
            transform=transform,
            prior=self.make(described["prior"]),
            prior_on=described["prior_on"],
            trainable=described["trainable"],
            name=described["name"],
        )
        # There and back again would round.
        parameter.unconstrained_variable.assign(unconstrained)
        return self._keep(described, parameter)

    def _make_variable(self, described: dict[str, Any]) -> tf.Variable:
        variable = tf.Variable(
            self._arrays[described["variable"]],
            trainable=described["trainable"],
            name=described["name"],
        )
        return self._keep(described, variable)

    def _make_made(self, described: dict[str, Any]) -> Any:
        """By calling the constructor."""
        cls = thing_of(described["made"], self._custom)
        if not (isinstance(cls, type) and issubclass(cls, CONSTRUCTED)):
            raise LookupError(f"the file asks to call {described['made']}")
        arguments = self._make_dict({"dict": described["arguments"]})
        return self._keep(described, cls(**arguments))

    def _make_keras(self, described: dict[str, Any]) -> Any:
        config = _with_classes_of(described["keras"], self._custom)
        for module in _modules(config):
            if module.partition(".")[0] not in KERAS:
                raise LookupError(f"the file has a Keras layer that uses the module {module}")
        layer = tf_keras.saving.deserialize_keras_object(config, custom_objects=dict(self._custom))
        weights = [self._arrays[name] for name in described["weights"]]
        if weights:
            if len(layer.weights) < len(weights):
                # Some layers create weights only when they are called.
                shape = described["keras"]["build_config"]["input_shape"]
                layer(tf.zeros([size or 1 for size in shape], gpflow.default_float()))
            layer.set_weights(weights)
        set_trainable_flags(layer, described["trainable"])
        return self._keep(described, layer)

    def _make_object(self, described: dict[str, Any]) -> Any:
        """By setting attributes: the constructor has done its work when the model was made."""
        cls = thing_of(described["object"], self._custom)
        if not isinstance(cls, type):
            raise LookupError(f"the file takes {described['object']} for a class")
        made: Any = object.__new__(cls)
        self._keep(described, made)
        if isinstance(made, tf.Module):
            tf.Module.__init__(made, name=described["attributes"].get("_name"))
        # TensorFlow tracks what is set on its modules; others may be frozen.
        set_attribute = setattr if isinstance(made, tf.Module) else object.__setattr__
        for name, one in described["attributes"].items():
            set_attribute(made, name, self.make(one))
        return made

    def _keep(self, described: dict[str, Any], made: Any) -> Any:
        self._made[described["number"]] = made
        return made


def _with_classes_of(config: Any, custom: Mapping[str, Any]) -> Any:
    """A configuration of Keras that takes classes from `custom`, not from their modules."""
    if isinstance(config, Mapping):
        config = {key: _with_classes_of(one, custom) for key, one in config.items()}
        if "module" in config and config.get("class_name") in custom:
            config.update(module=None, registered_name=config["class_name"])
        return config
    if isinstance(config, list | tuple):
        return type(config)(_with_classes_of(one, custom) for one in config)
    return config


def _modules(config: Any) -> Iterator[str]:
    """All that a configuration of Keras names under "module", at any depth."""
    if isinstance(config, Mapping):
        if isinstance(config.get("module"), str):
            yield config["module"]
        config = list(config.values())
    if isinstance(config, list | tuple):
        for one in config:
            yield from _modules(one)

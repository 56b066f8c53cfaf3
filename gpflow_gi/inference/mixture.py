"""A mixture of posteriors over all weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

from ..core.random import fold_in
from ..core.validation import shown
from ..layers import Deterministic, Residual
from ..layers.weights import WeightLayer
from ..models import DeepGP
from .gaussian import DensityPosterior
from .samples import stratified
from .weight_posterior import WeightPosterior


class Mixture(DensityPosterior):
    """An equal-weight mixture of posteriors of one network: of Laplace approximations, or
    MultiSWAG.

    It has a density if each component has one. All draws are weights of one network, so the
    components' networks must have the same priors and the same likelihood: Laplace approximations
    which each chose prior precisions or noise of their own cannot be mixed.
    """

    def __init__(self, components: Sequence[WeightPosterior], *, num_samples: int = 1) -> None:
        """Put components together; from then on, they share one copy of the network.

        :param components: posteriors over the weights of one network.
        :param num_samples: S, the default number of samples.
        :raises TypeError: if they are not a list of posteriors over weights.
        :raises ValueError: if there is none, or if their networks differ in their sizes, layers,
            priors, weights of Keras layers or likelihoods.
        """
        if not isinstance(components, Sequence) or not all(
            isinstance(component, WeightPosterior) for component in components
        ):
            raise TypeError(
                "components must be a list of posteriors over weights, such as "
                f"gpflow_gi.inference.Gaussian, but is {shown(components)}."
            )
        if not components:
            raise ValueError("components must hold at least one posterior, but is empty.")
        sizes = {component.space.size for component in components}
        if len(sizes) > 1:
            raise ValueError(
                f"components must be of one network, but have {sorted(sizes)} coordinates."
            )
        for i, component in enumerate(components[1:], start=2):
            _check_same_network(components[0].network, component.network, i)
        super().__init__(components[0].network, num_samples=num_samples)
        self.components = list(components)
        self.share_network()

    def share_network(self) -> None:
        """Let all components use the network of this mixture.

        Otherwise training would change the likelihood of one copy, and count its prior for each.
        """
        for component in self.components:
            component.network = self.network
            if isinstance(component, Mixture):
                component.share_network()

    @property
    def has_density(self) -> bool:  # type: ignore[override]
        """True if every component has a density that is known at every theta."""
        return all(_has_density(component) for component in self.components)

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Draw S samples, stratified over the components; see the base class."""
        which = stratified(num_samples, len(self.components), fold_in(seed, 0))
        drawn = [
            component.sample(num_samples, fold_in(seed, 1 + i))[0]
            for i, component in enumerate(self.components)
        ]
        theta = tf.gather(tf.stack(drawn, axis=1), which, batch_dims=1)
        return theta, self.log_density(theta) if self.has_density else None

    def log_density(self, theta: tf.Tensor) -> tf.Tensor:
        densities = [
            component.log_density(theta)
            for component in self.components
            if isinstance(component, DensityPosterior)
        ]
        return tf.reduce_logsumexp(densities, axis=0) - math.log(len(densities))

    def why_no_density(self) -> str:
        without = next(one for one in self.components if not _has_density(one))
        return without.why_no_density()


def _has_density(component: WeightPosterior) -> bool:
    return isinstance(component, DensityPosterior) and component.has_density


def _equal(one: Any, other: Any) -> bool:
    """True if two settings are equal; numbers that were found by a search, nearly."""
    one, other = np.asarray(one), np.asarray(other)
    if one.shape == other.shape and one.dtype.kind == other.dtype.kind == "f":
        return bool(np.allclose(one, other, rtol=1e-6, atol=0.0))
    return bool(np.array_equal(one, other))


def _check_same_network(first: Any, other: Any, number: int) -> None:
    """Refuse a component whose weights have other units, or other functions, than the first's.

    :param number: the component's position, counted from 1.
    :raises ValueError: if the networks differ.
    """
    if isinstance(first, DeepGP) != isinstance(other, DeepGP):
        raise ValueError("components must be all of a network or all of a target, but are of both.")
    if not isinstance(first, DeepGP):
        return
    ours, theirs = _settings_of(first), _settings_of(other)
    for name in [*ours, *theirs]:
        if name not in ours or name not in theirs or not _equal(ours[name], theirs[name]):
            here, there = (_shown(settings.get(name)) for settings in (ours, theirs))
            raise ValueError(
                f"components must be of one network, whose units their weights have, but {name} "
                f"is {here} in the first component and {there} in component {number}. Find all "
                "components with the same prior scales and the same likelihood, for Laplace "
                "approximations with prior_precision='model' and noise='model'; or average the "
                "predictions of the posteriors."
            )


def _settings_of(network: DeepGP) -> dict[str, Any]:
    """The settings that a function and its density depend on beside its weights, by name."""
    settings = _of_chain(network.layers, "layer ")
    return settings | _of_module(network.likelihood, "the likelihood")


def _of_chain(layers: Sequence[Any], name: str) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    for i, layer in enumerate(layers, start=1):
        own = f"{name}{i}"
        settings[f"the type of {own}"] = type(layer).__name__
        if isinstance(layer, Residual):
            settings |= _of_chain(layer.layers, f"{own}, layer ")
            settings |= _of_chain(layer.shortcut, f"{own}, shortcut ")
        elif isinstance(layer, Deterministic):
            function = layer.function
            # Objects are copied with the network, so that a function is known by its name alone.
            name_of = getattr(function, "__qualname__", type(function).__qualname__)
            settings[f"the function of {own}"] = name_of
            for k, variable in enumerate(layer.variables, start=1):
                settings[f"variable {k} of {own}"] = variable.numpy()
        elif isinstance(layer, WeightLayer):
            settings[f"the number of inputs of {own}"] = layer.num_weights
            settings[f"the shape of the outputs of {own}"] = layer.output_shape
            settings |= _plain_numbers(layer, own)
            settings |= _of_module(layer.prior, f"the prior of {own}")
    return settings


def _of_module(module: gpflow.Module, name: str) -> dict[str, Any]:
    settings: dict[str, Any] = {f"the type of {name}": type(module).__name__}
    for path, parameter in gpflow.utilities.parameter_dict(module).items():
        settings[f"{path.lstrip('.')} of {name}"] = parameter.numpy()
    return settings | _plain_numbers(module, name)


def _plain_numbers(module: gpflow.Module, name: str) -> dict[str, Any]:
    """Numbers of a module that are no parameters, such as the shape of a ScalePrior."""
    plain = bool | int | float | np.ndarray
    kept = {key: value for key, value in vars(module).items() if isinstance(value, plain)}
    return {f"{key.lstrip('_')} of {name}": value for key, value in kept.items()}


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 1:
        return f"an array of shape {value.shape}"
    return "missing" if value is None else str(value)

"""All weights of a network as one vector, and its prior."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import gpflow
import tensorflow as tf

from ..core.random import fold_in, standard_normal
from ..core.validation import shown
from ..layers import Deterministic, Layer, LayerFunction, Residual
from ..layers.weights import WeightLayer
from ..models import DeepGP
from ..models.connections import describe


class WeightSpace:
    """The vectors theta of all whitened weights of a network, with prior z ~ N(0, I).

    The weights of a layer are w = R z, with R the root of their prior's covariance. If the prior is
    random, as in :class:`gpflow_gi.priors.ScalePrior`, its unconstrained coordinates eta (log s)
    follow the layer's z. A vector has z and eta of the first layer, then those of the next.

    It holds no data; it stores only positions in the vector. Priors are read when a method is
    called.

    Shapes: S vectors, L coordinates, N rows, D inputs, P outputs of the last layer.

    >>> from gpflow_gi.layers import DenseLayer
    >>> from gpflow_gi.posteriors import Prior
    >>> from gpflow_gi.priors import ScalePrior
    >>> import gpflow
    >>> hidden, last = DenseLayer(2, 5, Prior(), prior=ScalePrior()), DenseLayer(5, 1, Prior())
    >>> likelihood = gpflow.likelihoods.Gaussian()
    >>> WeightSpace(DeepGP([hidden, tf.nn.relu, last], likelihood, num_data=10)).size
    22
    """

    def __init__(self, model: DeepGP) -> None:
        """Find the coordinates of a network.

        :param model: a model of layers of weights (dense or convolutional), blocks of them, and
            deterministic layers.
        :raises TypeError: if `model` is not a DeepGP.
        :raises ValueError: if a layer has no weights, or a prior without defined coordinates;
            the message names the layer.
        """
        check_network(model)
        self.coordinates: dict[Any, LayerCoordinates] = {}
        """Coordinates of each layer of weights, by its position in the model's list of layers; in a
        block by (position of the block, 0 for the chain or 1 for the shortcut, position there)."""

        self.size = 0
        """L, the number of coordinates."""

        self._functions = self._chain(model.layers, ())

    @property
    def num_weights(self) -> int:
        """The number of weights of all layers together."""
        return sum(layer.num_weights for layer in self.coordinates.values())

    @property
    def is_standard_normal(self) -> bool:
        """True if the prior of theta is N(0, I), because no prior has its own coordinates."""
        return self.size == self.num_weights

    def log_prior(self, theta: tf.Tensor) -> tf.Tensor:
        """Log p(theta), [S, L] -> [S], in nats."""
        return tf.add_n([layer.log_prior(theta) for layer in self.coordinates.values()])

    def functions(self, theta: tf.Tensor, X: tf.Tensor) -> tf.Tensor:
        """The network's outputs f.

        :param theta: [S, L].
        :param X: [N, D], or [S, N, D] with different rows for each vector.
        :return: [S, N, P].
        """
        return _apply(self._functions, theta, X)

    def draw_prior(self, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        """Draw vectors from the prior, [S, L].

        :param num_samples: the number of samples, S.
        :param seed: [2].
        """
        parts = []
        for place, layer in self.coordinates.items():
            own = seed
            for number in place if isinstance(place, tuple) else (place,):
                own = fold_in(own, number)
            parts.append(layer.draw_prior(num_samples, own))
        return tf.concat(parts, axis=1)

    def _chain(
        self, layers: Sequence[Layer | Deterministic], place: tuple[int, ...]
    ) -> list[Callable[[tf.Tensor, tf.Tensor], tf.Tensor]]:
        return [self._function(layer, (*place, i)) for i, layer in enumerate(layers)]

    def _function(
        self, layer: Layer | Deterministic, place: tuple[int, ...]
    ) -> Callable[[tf.Tensor, tf.Tensor], tf.Tensor]:
        """The function from (theta, values of the layer below) to the layer's values."""
        if isinstance(layer, Deterministic):
            function = layer
            return lambda theta, F: function(F)
        if isinstance(layer, Residual):
            chains = [
                self._chain(chain, (*place, i))
                for i, chain in enumerate((layer.layers, layer.shortcut))
            ]
            return lambda theta, F: tf.add(*(_apply(chain, theta, F) for chain in chains))
        name = f"Layer {place[0] + 1} ({describe(layer)})"
        if not isinstance(layer, WeightLayer):
            raise ValueError(
                f"{name} has no weights. A posterior over weights is for dense and convolutional "
                "layers: put a DenseLayer in its place, or train the model with gpflow_gi.fit."
            )
        coordinates = LayerCoordinates(layer, self.size, name)
        self.coordinates[place if len(place) > 1 else place[0]] = coordinates
        self.size = coordinates.stop
        return lambda theta, F: coordinates.function(theta)(F)


class LayerCoordinates:
    """The coordinates of one layer in theta: z of its weights, and eta of its prior."""

    def __init__(self, layer: WeightLayer, start: int, name: str) -> None:
        """Set the position of the layer's coordinates.

        :param start: index of the layer's first coordinate.
        :param name: name of the layer, for the error.
        :raises ValueError: if its prior does not define its coordinates.
        """
        self._layer = layer
        self.prior = layer.prior
        self.shape = (layer.num_weights, layer.output_shape[-1])
        """K weights to each of P outputs; in a convolution P filters."""

        self.num_weights = math.prod(self.shape)
        self.num_coordinates = layer.prior.num_coordinates
        self.start = start
        self._end_of_weights = start + self.num_weights
        self.stop = self._end_of_weights + self.num_coordinates
        try:
            eta = tf.zeros([1, self.num_coordinates], gpflow.default_float())
            layer.prior.root_of(eta, self.shape[0])
        except NotImplementedError as error:
            raise ValueError(f"{name} cannot be part of a vector of weights: {error}") from None

    @property
    def has_bias(self) -> bool:
        """True if the last of the K weights to each output is a bias."""
        return bool(getattr(self._layer, "bias", False))

    def z(self, theta: tf.Tensor) -> tf.Tensor:
        """The whitened weights, [S, L] -> [S, K, P]."""
        return tf.reshape(theta[:, self.start : self._end_of_weights], [-1, *self.shape])

    def eta(self, theta: tf.Tensor) -> tf.Tensor:
        """The prior's coordinates, [S, L] -> [S, E]."""
        return theta[:, self._end_of_weights : self.stop]

    def weights(self, theta: tf.Tensor) -> tf.Tensor:
        """The weights in their own units, w = R z: [S, L] -> [S, K, P]."""
        return self._layer.prior.root_of(self.eta(theta), self.shape[0]).times(self.z(theta))

    def function(self, theta: tf.Tensor) -> LayerFunction:
        """The layer's functions for the vectors [S, L]."""
        return self._layer.draw_of(self.weights(theta))

    def log_prior(self, theta: tf.Tensor) -> tf.Tensor:
        """Log p(z) + log p(eta), [S, L] -> [S]."""
        squares = tf.square(theta[:, self.start : self._end_of_weights])
        log_prior = -0.5 * tf.reduce_sum(squares + math.log(2 * math.pi), axis=-1)
        return log_prior + self._layer.prior.log_density_of_coordinates(
            self.eta(theta), self.shape[0]
        )

    def draw_prior(self, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        """The layer's part of vectors from the prior, [S, stop - start]."""
        dtype = gpflow.default_float()
        z = standard_normal([num_samples, self.num_weights], fold_in(seed, 0), dtype)
        eta = self._layer.prior.draw_coordinates(num_samples, self.shape[0], fold_in(seed, 1))
        return tf.concat([z, eta], axis=1)


def check_network(model: Any) -> None:
    """Refuse what has no layers of weights, such as a target.

    :raises TypeError: if `model` is not a DeepGP.
    """
    if not isinstance(model, DeepGP):
        raise TypeError(f"model must be a gpflow_gi.models.DeepGP, but is {shown(model)}.")


def _apply(
    functions: list[Callable[[tf.Tensor, tf.Tensor], tf.Tensor]], theta: tf.Tensor, F: tf.Tensor
) -> tf.Tensor:
    for function in functions:
        F = function(theta, F)
    return F

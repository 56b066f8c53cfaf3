"""The posterior over all weights of a network, as the density of one vector."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import gpflow
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.likelihoods import MultiClass

from ..core.random import as_seed, fold_in, standard_normal
from ..layers import DenseLayer, Deterministic, Layer
from ..layers.dense import DenseDraw
from ..models import DeepGP
from ..models.connections import describe
from ..models.integration import log_prob
from ..priors import ScalePrior

tfd = tfp.distributions


class WeightDensity:
    """log p(Y, z, log s): the posterior, but for a constant, of whitened weights z ~ N(0, I).

    The weights of a layer are w = scale z, with the standard deviation of their prior. Where that
    is drawn (:class:`gpflow_gi.priors.ScalePrior`), the logarithm of its s is sampled as well.

    A state is one vector with the coordinates of all layers: z of the first, log s of the first if
    there is one, z of the next. A sampler's time goes into small operations on every part of the
    state, and so there is one part.

    Shapes: C states, L coordinates, N rows, P outputs of the last layer.
    """

    def __init__(self, model: DeepGP, X: tf.Tensor, Y: tf.Tensor) -> None:
        """Find out which coordinates there are.

        :param X: [N, D], all rows of the data.
        :param Y: [N, Q].
        :raises ValueError: if a layer is neither dense nor deterministic, or if its prior has
            random parts that are not known here, with the layer's name in the message; or if the
            likelihood is a step function.
        """
        if isinstance(model.likelihood, MultiClass):
            raise ValueError(
                "The likelihood MultiClass is a step function of f, while NUTS follows gradients. "
                "Build the model with gpflow.likelihoods.Softmax instead."
            )
        self.likelihood = model.likelihood
        self._data = X, Y
        self._layers: list[Deterministic | LayerCoordinates] = []
        self.coordinates: dict[int, LayerCoordinates] = {}
        """Of each dense layer, under its place in the model's list of layers."""

        self.size = 0
        """L"""

        for i, layer in enumerate(model.layers):
            if isinstance(layer, Deterministic):
                self._layers.append(layer)
                continue
            _check_layer(f"Layer {i + 1} ({describe(layer)})", layer)
            self.coordinates[i] = LayerCoordinates(cast(DenseLayer, layer), self.size)
            self._layers.append(self.coordinates[i])
            self.size = self.coordinates[i].stop

    @property
    def num_weights(self) -> int:
        """Of all layers together."""
        return sum(layer.num_weights for layer in self.coordinates.values())

    def __call__(self, states: tf.Tensor) -> tf.Tensor:
        """The log density, [C, L] -> [C]."""
        return self.log_prior(states) + self.log_likelihood(states)

    def log_prior(self, states: tf.Tensor) -> tf.Tensor:
        """Log p(z, log s), [C, L] -> [C]."""
        return tf.add_n([layer.log_prior(states) for layer in self.coordinates.values()])

    def log_likelihood(self, states: tf.Tensor) -> tf.Tensor:
        """Log p(Y | z, log s), [C, L] -> [C]."""
        X, Y = self._data
        return log_prob(self.likelihood, X, self.functions(states, X), Y)

    def joint_distribution(self) -> Any:
        """The same for TensorFlow Probability: "states", and "data" with any value pinned."""
        dtype = gpflow.default_float()
        return tfd.JointDistributionNamed(
            {
                "states": _Density([self.size], [], dtype, self.log_prior),
                "data": lambda states: _Density(
                    [], states.shape[:-1], dtype, lambda _: self._of_any_rank(states)
                ),
            }
        )

    def _of_any_rank(self, states: tf.Tensor) -> tf.Tensor:
        values = self.log_likelihood(tf.reshape(states, [-1, self.size]))
        return tf.reshape(values, tf.shape(states)[:-1])

    def functions(self, states: tf.Tensor, X: tf.Tensor) -> tf.Tensor:
        """The network's outputs f.

        :param states: [C, L].
        :param X: [N, D].
        :return: [C, N, P].
        """
        F = X
        for layer in self._layers:
            F = layer(F) if isinstance(layer, Deterministic) else layer.draw(states)(F)
        return F

    def draw_prior(self, num_states: int, seed: tf.Tensor) -> tf.Tensor:
        """States from the prior, [C, L].

        :param num_states: C, how many.
        :param seed: [2].
        """
        parts = [
            layer.draw_prior(num_states, fold_in(seed, i)) for i, layer in self.coordinates.items()
        ]
        return tf.concat(parts, axis=1)


class _Density(tfp.distributions.Distribution):
    """A log density as a distribution, such as a joint one is made of."""

    def __init__(
        self,
        event_shape: Any,
        batch_shape: Any,
        dtype: Any,
        log_density: Callable[[tf.Tensor], tf.Tensor],
    ) -> None:
        self._shapes = tf.TensorShape(event_shape), tf.TensorShape(batch_shape)
        self._log_density = log_density
        super().__init__(
            dtype=dtype,
            reparameterization_type=tfd.NOT_REPARAMETERIZED,
            validate_args=False,
            allow_nan_stats=True,
            parameters={},
        )

    def _event_shape(self) -> tf.TensorShape:
        return self._shapes[0]

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.constant(self._shapes[0].as_list(), tf.int32)

    def _batch_shape(self) -> tf.TensorShape:
        return self._shapes[1]

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.constant(self._shapes[1].as_list(), tf.int32)

    def _default_event_space_bijector(self) -> Any:
        return tfp.bijectors.Identity()

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        # Chains are given their starts and data are pinned: only shapes of draws are looked at.
        shape = [[n], self._batch_shape_tensor(), self._event_shape_tensor()]
        return tf.zeros(tf.concat(shape, axis=0), self.dtype)

    def _log_prob(self, value: tf.Tensor) -> tf.Tensor:
        return self._log_density(value)


class LayerCoordinates:
    """One layer's part of a state: z of its weights, and log s if its prior has one."""

    def __init__(self, layer: DenseLayer, start: int) -> None:
        """:param start: the place of the layer's first coordinate."""
        self.shape = (layer.num_weights, layer.output_dim)
        """K and P."""

        self.num_weights = math.prod(self.shape)
        self._bias = layer.bias
        self._start = start
        self._end_of_weights = start + self.num_weights
        self._scale_prior = layer.prior if isinstance(layer.prior, ScalePrior) else None
        self.stop = self._end_of_weights + (self._scale_prior is not None)
        # A number, where it is not drawn: read now, and so the same throughout.
        drawn = layer.prior.draw(layer.num_weights, None, as_seed(0))
        self._standard_deviation = drawn.standard_deviation

    @property
    def has_scale(self) -> bool:
        """Whether s is sampled."""
        return self._scale_prior is not None

    def weights(self, states: tf.Tensor) -> tf.Tensor:
        """In their own units, [C, L] -> [C, K, P]."""
        standard_deviation = self._standard_deviation
        if self._scale_prior is not None:
            scale = self._scale_prior.given(self.scales(states), self.shape[0])
            standard_deviation = scale.standard_deviation[:, None, None]
        return standard_deviation * tf.reshape(self._whitened(states), [-1, *self.shape])

    def scales(self, states: tf.Tensor) -> tf.Tensor:
        """S of the prior, [C, L] -> [C]."""
        return tf.exp(states[:, self._end_of_weights])

    def draw(self, states: tf.Tensor) -> DenseDraw:
        """The layer as a function."""
        return DenseDraw(self.weights(states), self._bias, tf.zeros([], states.dtype))

    def log_prior(self, states: tf.Tensor) -> tf.Tensor:
        """Log p(z) + log p(log s), [C, L] -> [C]."""
        squares = tf.square(self._whitened(states))
        log_prior = -0.5 * tf.reduce_sum(squares + math.log(2 * math.pi), axis=-1)
        if self._scale_prior is not None:
            # p(log s) = s p(s)
            log_prior += self._scale_prior.log_prior(self.scales(states))
            log_prior += states[:, self._end_of_weights]
        return log_prior

    def draw_prior(self, num_states: int, seed: tf.Tensor) -> tf.Tensor:
        """Of the same coordinates of states from the prior, [C, stop - start]."""
        dtype = gpflow.default_float()
        z = standard_normal([num_states, self.num_weights], fold_in(seed, 0), dtype)
        if self._scale_prior is None:
            return z
        shape, rate = self._scale_prior.shape, self._scale_prior.rate
        s = tf.random.stateless_gamma([num_states, 1], fold_in(seed, 1), shape, rate, dtype=dtype)
        return tf.concat([z, tf.math.log(s)], axis=1)

    def _whitened(self, states: tf.Tensor) -> tf.Tensor:
        return states[:, self._start : self._end_of_weights]


def _check_layer(name: str, layer: Layer | Any) -> None:
    if not isinstance(layer, DenseLayer):
        raise ValueError(
            f"{name} is no DenseLayer. NUTS samples weights, which no other layer has: put a "
            "DenseLayer in its place, or train the model with gpflow_gi.fit instead."
        )
    drawn = layer.prior.draw(layer.num_weights, 2, as_seed(0)).standard_deviation
    if drawn.shape.rank != 0 and not isinstance(layer.prior, ScalePrior):
        raise ValueError(
            f"{name} has the prior {type(layer.prior).__name__}, whose scale is drawn from a "
            "density that NUTS does not know. Use ScalePrior, or a prior whose scale is a number."
        )

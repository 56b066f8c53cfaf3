"""Monte Carlo dropout as a posterior over weights."""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.base import Parameter

from ..core.validation import finite_array, probability
from ..layers.residual import every_layer
from ..models import DeepGP
from ..priors import SpatialIWPrior
from .weight_posterior import WeightPosterior


class Dropout(WeightPosterior):
    """theta = mean, with all weights of a hidden unit set to zero at random.

    Gal & Ghahramani (2016), "Dropout as a Bayesian approximation". The weights take finitely many
    values, so there is no density, and no bound. Units are dropped in each layer but those whose
    inputs are data: the first, and the shortcut's of a first block (in a convolution each entry of
    a filter's patch). Biases are kept. ``mean`` [L] is a parameter.
    """

    def __init__(
        self, model: DeepGP, mean: Any, rate: float = 0.1, *, num_samples: int = 1
    ) -> None:
        """Set up the parameters.

        :param model: a network; see :class:`WeightPosterior`.
        :param mean: [L].
        :param rate: probability that a unit is dropped.
        :param num_samples: S, the default number of samples.
        :raises TypeError: as :class:`WeightPosterior`.
        :raises ValueError: as :class:`WeightPosterior`; if `mean` is not finite or has another
            shape; if `rate` is not between 0 and 1; if the model is a target; or if a prior is a
            :class:`~gpflow_gi.priors.SpatialIWPrior`.
        """
        super().__init__(model, num_samples=num_samples)
        network = self._of_network()
        if any(
            isinstance(getattr(layer, "prior", None), SpatialIWPrior)
            for layer in every_layer(network.layers)
        ):
            raise ValueError(
                "Dropout sets the weights of a unit to zero, but with a SpatialIWPrior each weight "
                "is a sum over several coordinates. Give the convolutions another prior."
            )
        self.mean = Parameter(finite_array("mean", mean, (self.space.size,)))
        self.rate = probability("rate", rate)

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, None]:
        """Draw theta; see the base class."""
        kept, groups = self._groups()
        u = tf.random.stateless_uniform([num_samples, groups], seed, dtype=gpflow.default_float())
        is_kept = tf.concat([tf.ones([num_samples, 1], tf.bool), u >= self.rate], axis=1)
        mask = tf.cast(tf.gather(is_kept, kept, axis=1), gpflow.default_float())
        return self.mean * mask, None

    def _groups(self) -> tuple[np.ndarray, int]:
        """For each coordinate the number of its unit, or 0 if it is never dropped; their count."""
        kept = np.zeros(self.space.size, int)
        count = 0
        places = [_as_tuple(place) for place in self.space.coordinates]
        for place, layer in zip(places, self.space.coordinates.values(), strict=True):
            K, P = layer.shape
            units = K - int(layer.has_bias)
            if any(_is_below(other, place) for other in places):
                unit = np.repeat(count + 1 + np.arange(units), P)
                kept[layer.start : layer.start + units * P] = unit
                count += units
        return kept, count

    def why_no_density(self) -> str:
        return (
            "Dropout draws weights from a finite set of values, which has no density. Compare it "
            "with others by predict_log_density of held-out rows."
        )


def _as_tuple(place: Any) -> tuple[int, ...]:
    return place if isinstance(place, tuple) else (place,)


def _is_below(other: tuple[int, ...], place: tuple[int, ...]) -> bool:
    """True if values at `place` come from the layer at `other`; see `WeightSpace.coordinates`.

    Numbers at odd positions are of a block's chain or shortcut, which are side by side.
    """
    in_chains = range(0, min(len(other), len(place)), 2)
    return any(other[:k] == place[:k] and other[k] < place[k] for k in in_chains)

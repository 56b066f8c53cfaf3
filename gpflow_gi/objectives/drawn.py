"""The variables of a model whose q can only be drawn, with their prior."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from ..core.random import fold_in
from ..inference import WeightPosterior
from ..layers.residual import every_layer
from ..models import DeepGP

Sampler = Callable[[int, tf.Tensor], tf.Tensor]
"""A function of the number of samples S and a seed [2] that returns samples [S, L]."""


@dataclass(frozen=True)
class Drawn:
    """Two distributions over L numbers.

    :param size: the number of dimensions, L.
    :param sample_q: samples of q, with gradients for its parameters.
    :param sample_prior: samples of the prior, with gradients for its parameters.
    :param log_prior: log density of the prior, [S, L] -> [S], in nats; None if it can only be
        drawn.
    """

    size: int
    sample_q: Sampler
    sample_prior: Sampler
    log_prior: Callable[[tf.Tensor], tf.Tensor] | None = None


def drawn_variables(model: Any) -> Drawn:
    """The variables of a model between which and their prior a divergence is estimated.

    :param model: a posterior over all weights; or a model all of whose layers have implicit
        posteriors: their inducing outputs, one layer after the other.
    :raises TypeError: if it is neither.
    """
    if isinstance(model, WeightPosterior) and not model.is_of_target:
        return Drawn(
            model.space.size,
            lambda S, seed: model.sample(S, seed)[0],
            lambda S, seed: model.space.draw_prior(S, seed),
            lambda theta: model.space.log_prior(theta),
        )
    layers = list(getattr(model, "implicit_layers", []))
    if (
        not isinstance(model, DeepGP)
        or not layers
        or len(list(every_layer(model.layers))) > len(layers)
    ):
        raise TypeError(
            "A density ratio is estimated for gpflow_gi.inference.WeightPosterior, or for a model "
            "all of whose layers have the posterior ImplicitInducing; but got a "
            f"{type(model).__name__} that is neither. The KL divergence of others has a closed "
            "form: use Elbo or AlphaEnergy."
        )

    def of_layers(method: str) -> Sampler:
        return lambda S, seed: tf.concat(
            [getattr(layer, method)(S, fold_in(seed, i)) for i, layer in enumerate(layers)], axis=1
        )

    sample_q = of_layers("sample_q")
    size = int(sample_q(1, tf.constant([0, 0])).shape[1])
    return Drawn(size, sample_q, of_layers("sample_prior"))

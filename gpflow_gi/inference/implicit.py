"""A posterior over all weights that can only be drawn: a function of noise."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from ..core.callables import name_of, two_samples
from ..models import DeepGP
from .target import Target
from .weight_posterior import WeightPosterior


class Implicit(WeightPosterior):
    """theta = sampler(noise), whose density is not known.

    Adversarial variational Bayes (Mescheder, Nowozin & Geiger 2017) and adversarial alpha
    divergence minimisation (Rodriguez Santana & Hernandez-Lobato 2020) have such a posterior over
    the weights of a network. It has no bound; train it with
    :class:`gpflow_gi.objectives.DensityRatioKL` or :class:`gpflow_gi.objectives.FunctionalKL`.
    """

    def __init__(
        self,
        model: DeepGP | Target,
        sampler: Callable[[int, tf.Tensor], tf.Tensor],
        *,
        num_samples: int = 1,
    ) -> None:
        """Keep the sampler.

        :param model: as in :class:`WeightPosterior`.
        :param sampler: a function of the number of samples S and a seed [2] that returns whitened
            weights [S, L], in TensorFlow operations, such as
            :class:`gpflow_gi.posteriors.NoiseNetwork`. If it is a ``tf.Module``, its variables are
            trained.
        :param num_samples: S, the default number of samples.
        :raises TypeError: as :class:`WeightPosterior`, or if `sampler` is not callable.
        :raises ValueError: as :class:`WeightPosterior`, or if `sampler` fails or returns another
            shape.
        """
        super().__init__(model, num_samples=num_samples)
        shape = two_samples("sampler", sampler).shape
        self.sampler = sampler
        L = self.space.size
        if shape != [2, L]:
            raise ValueError(
                f"sampler={name_of(sampler)} must return {L} whitened weights for each sample, of "
                f"shape [2, {L}] for 2 samples, but returned shape {shape.as_list()}."
            )

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, None]:
        """Draw theta; see the base class. There is no density."""
        return self.sampler(num_samples, seed), None

    def why_no_density(self) -> str:
        return (
            "An implicit posterior can be drawn, but has no density, and so it has no bound. Train "
            "it with gpflow_gi.fit(..., objective=gpflow_gi.objectives.DensityRatioKL()), whose "
            "value is no bound either, and compare it with others by predict_log_density of "
            "held-out rows."
        )

"""Normalising flows over all weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import gpflow
import tensorflow as tf

from ..core.random import standard_normal
from ..core.validation import shown
from ..models import DeepGP
from .flow_steps import FlowStep
from .gaussian import mean_and_scale
from .target import Target
from .weight_posterior import WeightPosterior


class Flow(WeightPosterior):
    """theta = mean + scale * (f_K o ... o f_1)(z), z ~ N(0, I), for invertible functions f_k.

    Rezende & Mohamed (2015), "Variational inference with normalizing flows". Without steps it is a
    factorised Gaussian. The density of its own samples is known, that of other vectors is not
    computed: most flows have no inverse in closed form. ``mean`` [L], ``scale`` [L] and those of
    the ``steps`` are parameters.
    """

    def __init__(
        self,
        model: DeepGP | Target,
        mean: Any,
        scale: Any,
        steps: Sequence[FlowStep],
        *,
        num_samples: int = 1,
    ) -> None:
        """Set up the parameters.

        :param model: as in :class:`WeightPosterior`.
        :param mean: [L].
        :param scale: [L], positive.
        :param steps: the functions f_1 to f_K.
        :param num_samples: S, the default number of samples.
        :raises TypeError: as :class:`WeightPosterior`, or if a step is not one.
        :raises ValueError: as :class:`WeightPosterior`; or if an array is not finite, has another
            shape, or `scale` is not positive.
        """
        super().__init__(model, num_samples=num_samples)
        self.mean, self.scale = mean_and_scale(self.space.size, mean, scale)
        if not isinstance(steps, Sequence) or not all(isinstance(one, FlowStep) for one in steps):
            raise TypeError(
                "steps must be a list of steps such as gpflow_gi.inference.Planar, but is "
                f"{shown(steps)}."
            )
        self.steps = list(steps)

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Draw theta, reparameterised; see the base class."""
        L = self.space.size
        z = standard_normal([num_samples, L], seed, gpflow.default_float())
        # log q(theta) = log N(z; 0, I) - sum_k log|det f_k'| - sum_l log scale_l
        log_q = -0.5 * tf.reduce_sum(tf.square(z) + math.log(2 * math.pi), axis=1)
        log_q -= tf.reduce_sum(tf.math.log(self.scale))
        for step in self.steps:
            z, log_det = step(z)
            log_q -= log_det
        return self.mean + self.scale * z, log_q

    def why_no_density(self) -> str:
        return (
            "The density of a flow is known at its own samples alone, since most flows have no "
            "inverse in closed form."
        )

"""A posterior whose distance from its mean has the same distribution in every dimension."""

from __future__ import annotations

import math
from typing import Any

import gpflow
import tensorflow as tf

from ..core.random import fold_in, standard_normal
from ..models import DeepGP
from .gaussian import DensityPosterior, mean_and_scale
from .target import Target


class Radial(DensityPosterior):
    """Draws ``mean + scale * r * eps / |eps|`` in each layer, with eps ~ N(0, I) and r ~ N(0, 1).

    Farquhar, Osborne & Gal (2020), "Radial Bayesian neural networks". Unlike those of a Gaussian,
    samples in many dimensions come close to the mean. Each layer of a network is a block with its
    own r; a target is one block. ``mean`` [L] and ``scale`` [L] are parameters.
    """

    def __init__(
        self, model: DeepGP | Target, mean: Any, scale: Any, *, num_samples: int = 1
    ) -> None:
        """Set up the parameters.

        :param model: as in :class:`WeightPosterior`.
        :param mean: [L].
        :param scale: [L], positive.
        :param num_samples: S, the default number of samples.
        :raises TypeError: as :class:`WeightPosterior`.
        :raises ValueError: as :class:`WeightPosterior`; or if an array is not finite, has another
            shape, or `scale` is not positive.
        """
        super().__init__(model, num_samples=num_samples)
        self.mean, self.scale = mean_and_scale(self.space.size, mean, scale)

    @property
    def _sizes(self) -> list[int]:
        """The number of coordinates of each block."""
        if self.is_of_target:
            return [self.network.size]
        return [layer.stop - layer.start for layer in self.space.coordinates.values()]

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Draw theta, reparameterised; see the base class."""
        dtype = gpflow.default_float()
        eps = standard_normal([num_samples, self.space.size], fold_in(seed, 0), dtype)
        r = standard_normal([num_samples, len(self._sizes)], fold_in(seed, 1), dtype)
        z = tf.concat(
            [
                tf.math.l2_normalize(block, axis=1) * r[:, i, None]
                for i, block in enumerate(tf.split(eps, self._sizes, axis=1))
            ],
            axis=1,
        )
        return self.mean + self.scale * z, self._log_density(z)

    def log_density(self, theta: tf.Tensor) -> tf.Tensor:
        return self._log_density((theta - self.mean) / self.scale)

    def _log_density(self, z: tf.Tensor) -> tf.Tensor:
        # Of a block of D coordinates, with rho = |z| and S the surface of the unit sphere:
        # log q = log 2 + log N(rho; 0, 1) - log S - (D - 1) log rho - sum_l log scale_l
        log_q = -tf.reduce_sum(tf.math.log(self.scale))
        for block in tf.split(z, self._sizes, axis=1):
            D = block.shape[1]
            squares = tf.reduce_sum(tf.square(block), axis=1)
            log_q += math.log(2) - 0.5 * (math.log(2 * math.pi) + squares)
            log_q -= log_sphere(D) + 0.5 * (D - 1) * tf.math.log(squares)
        return log_q


def log_sphere(dimension: int) -> float:
    """The log surface of the unit sphere in D dimensions, log [2 pi^(D/2) / Gamma(D/2)]."""
    return math.log(2) + 0.5 * dimension * math.log(math.pi) - math.lgamma(0.5 * dimension)

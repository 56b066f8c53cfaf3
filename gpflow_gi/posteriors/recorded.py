"""Recorded draws of the weights, for example from Markov chain Monte Carlo."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..core.basis import Basis
from ..core.gaussians import PointMass, WhitenedGaussian
from ..core.validation import finite_array
from .base import Posterior
from .recorded_inducing import middle_states


class Recorded(Posterior):
    """Equally weighted draws of a layer's weights from another source.

    All layers of a model must hold draws of the same states, in the same order: S samples of the
    model are S states, evenly spaced in the record, the same in every layer. There is no density,
    and so no bound.
    """

    uses_global_inducing = False
    has_density = False
    num_inducing = None

    def __init__(self, weights: Any) -> None:
        """Keep the draws.

        :param weights: [T, K, P], T draws in units of the weights.
        :raises ValueError: if they are not finite or of another shape.
        """
        super().__init__()
        weights = finite_array("weights", weights, (None, None, None))
        self.num_draws, self._num_weights, self.output_dim = weights.shape
        self._weights = tf.constant(weights)

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Check the number of weights.

        :param num_weights: K; None for a Gaussian process.
        :param output_dim: P, which the layer checks.
        :raises ValueError: if the layer has another number of weights, or none.
        """
        if num_weights != self._num_weights:
            raise ValueError(
                f"posterior holds draws of {self._num_weights} weights to each output, but the "
                f"layer has {num_weights or 'none'}."
            )

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        weights = tf.gather(self._weights, middle_states(self.num_draws, num_samples))
        return PointMass(basis.root.solve(weights[..., outputs]))

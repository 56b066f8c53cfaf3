"""Recorded draws of a process' inducing outputs, for example from Markov chain Monte Carlo."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf
from gpflow.base import Parameter

from ..core.basis import Basis
from ..core.gaussians import PointMass, WhitenedGaussian
from ..core.validation import finite_array
from .base import Posterior


class RecordedInducing(Posterior):
    """Equally weighted draws of a GP layer's inducing outputs from another source.

    A draw z says u = m(Z) + L z at the layer's own inducing inputs Z, with L = chol k(Z, Z). As in
    :class:`Recorded`, all layers of a model must hold draws of the same states, in the same order:
    S samples of the model are S states, evenly spaced in the record. There is no density, and so
    no bound. :func:`gpflow_gi.inference.sghmc_inducing` makes them.

    ``inducing_inputs``, Z, is a parameter; ``values``, z, is one that is not trained.

    >>> posterior = RecordedInducing([[0.0], [0.5]], [[[0.3], [-0.1]], [[0.2], [0.4]]])
    >>> posterior.num_draws, posterior.num_inducing, posterior.output_dim
    (2, 2, 1)
    """

    uses_global_inducing = False
    inducing_inputs: Parameter
    has_density = False

    def __init__(self, inducing_inputs: Any, values: Any) -> None:
        """Keep the draws.

        :param inducing_inputs: Z, [M, D], in the units of the layer's inputs.
        :param values: z, [T, M, P], T draws of the whitened inducing outputs.
        :raises ValueError: if an array is not finite or of another shape.
        """
        super().__init__()
        Z = finite_array("inducing_inputs", inducing_inputs, (None, None))
        values = finite_array("values", values, (None, len(Z), None))
        self.num_draws, self.num_inducing, self.output_dim = values.shape
        self.inducing_inputs = Parameter(Z)
        self.values = Parameter(values, trainable=False)

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Check that the layer is a Gaussian process.

        :param num_weights: K of a layer of weights; None for a Gaussian process.
        :param output_dim: P, which the layer checks.
        :raises ValueError: if it is a layer of weights.
        """
        if num_weights is not None:
            raise ValueError(
                "posterior is a RecordedInducing, which holds draws at the inducing inputs of a "
                "GPLayer. Give a layer of weights a Recorded posterior."
            )

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        states = middle_states(self.num_draws, num_samples)
        return PointMass(tf.gather(self.values, states)[..., outputs])


def middle_states(num_draws: int, num_samples: int | None) -> Any:
    """The middles of S equal parts of a record of T states: [S], or one number without S.

    :param num_draws: T, the number of draws.
    :param num_samples: S, or None.
    """
    S = 1 if num_samples is None else num_samples
    states = ((np.arange(S) + 0.5) * num_draws / S).astype(int)
    return states[0] if num_samples is None else states

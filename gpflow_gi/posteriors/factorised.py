"""Independent Gaussians over the weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.base import Parameter
from gpflow.utilities import positive

from ..basis import Basis
from ..validation import finite_array
from ..whitened import DiagonalGaussian, WhitenedGaussian
from .base import Posterior

if TYPE_CHECKING:
    from ..layers.dense import WeightBasis


class Factorised(Posterior):
    """q(w) = N(mean, standard_deviation^2), independent over all weights.

    The classical mean-field posterior of Bayesian neural networks (Blundell et al. 2015), for
    layers of weights. Where no layer above needs values of one function at several rows, rows are
    drawn from what it says of them instead of from drawn weights (the local reparameterisation of
    Kingma, Salimans & Welling 2015).

    ``mean`` and ``standard_deviation``, [K, P] in units of the weights, exist once a layer has
    taken the posterior: K is its number of inputs, and one more with a bias, whose row is the last.

    >>> from gpflow_gi.layers import DenseLayer
    >>> layer = DenseLayer(20, 5, Factorised())
    >>> layer.posterior.mean.shape
    TensorShape([21, 5])
    """

    uses_global_inducing = False
    num_inducing = None
    output_dim = None

    def __init__(self, *, mean: Any = None, standard_deviation: Any = None) -> None:
        """Set up the start.

        :param mean: [K, P]. Zero by default.
        :param standard_deviation: [K, P], or a number for all weights. 1 / sqrt(K) by default,
            which is NealPrior's.
        """
        super().__init__()
        self._start = (mean, standard_deviation)

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Make the parameters.

        :raises ValueError: if the layer has no weights, if another layer has taken the posterior,
            or if the start is not finite, has another shape or a deviation that is not positive.
        """
        if num_weights is None:
            raise ValueError(
                "posterior is Factorised, which is a posterior over weights; a GPLayer has none. "
                "Use GlobalInducing, LocalInducing or Prior."
            )
        if self.output_dim is not None:
            raise ValueError(
                "posterior is Factorised and belongs to another layer already; make a new one."
            )
        shape = (num_weights, output_dim)
        mean, deviation = self._start
        mean = np.zeros(shape) if mean is None else mean
        deviation = 1 / np.sqrt(num_weights) if deviation is None else deviation
        if np.ndim(deviation) == 0:
            deviation = np.full(shape, deviation)
        deviation = finite_array("standard_deviation", deviation, shape)
        if not np.all(deviation > 0):
            raise ValueError(
                f"standard_deviation must be positive, but its smallest entry is {deviation.min()}."
            )
        # Steps of a mean are in units of what a weight is likely to be.
        unit = tf.constant(1 / np.sqrt(num_weights), gpflow.default_float())
        self.mean = Parameter(
            finite_array("mean", mean, shape), transform=tfp.bijectors.Scale(unit)
        )
        # In its logarithm steps are relative, whatever the scale of the layer's weights.
        self.standard_deviation = Parameter(deviation, transform=positive(base="exp"))
        self.output_dim = output_dim

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        return U

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        scale = cast("WeightBasis", basis).scale  # of w = scale z
        return DiagonalGaussian(
            self.mean[:, outputs] / scale, self.standard_deviation[:, outputs] / scale
        )

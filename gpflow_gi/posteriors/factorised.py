"""Independent Gaussians over the weights."""

from __future__ import annotations

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.base import Parameter
from gpflow.utilities import positive

from ..core import linalg
from ..core.basis import Basis
from ..core.gaussians import DiagonalGaussian, WeightGaussian, WhitenedDraw, WhitenedGaussian
from ..core.validation import finite_array
from ..core.weight_root import WeightRoot
from .base import Posterior, check_new


class Factorised(Posterior):
    """q(w) = N(mean, standard_deviation^2), independent over all weights.

    The mean-field posterior of Bayesian neural networks (Blundell et al. 2015), for layers of
    weights. If no layer above needs values of one function at several rows, then rows are drawn
    from their marginals instead of from drawn weights (the local reparameterisation of Kingma,
    Salimans & Welling 2015).

    ``mean`` and ``standard_deviation``, [K, P] in units of the weights, exist once the posterior is
    bound to a layer: K is its number of inputs, plus one for a bias, whose row is the last.

    >>> from gpflow_gi.layers import DenseLayer
    >>> layer = DenseLayer(20, 5, Factorised())
    >>> layer.posterior.mean.shape
    TensorShape([21, 5])
    """

    uses_global_inducing = False
    num_inducing = None
    output_dim = None

    def __init__(self, *, mean: Any = None, standard_deviation: Any = None) -> None:
        """Set the start, which is checked when a layer takes the posterior: see :meth:`bind`.

        :param mean: [K, P]. Zero by default.
        :param standard_deviation: [K, P], or a number for all weights. 1 / sqrt(K) by default, as
            in NealPrior.
        """
        super().__init__()
        self._start = (mean, standard_deviation)

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Make the parameters.

        :param num_weights: K; None for a Gaussian process.
        :param output_dim: P; for a convolution its number of filters.
        :raises ValueError: if the layer has no weights, if another layer has taken the posterior,
            or if the start is not finite, has another shape or a deviation that is not positive.
        """
        if num_weights is None:
            raise ValueError(
                "posterior is Factorised, which is a posterior over weights; a GPLayer has none. "
                "Use GlobalInducing, LocalInducing, FullGaussian or Prior."
            )
        check_new(self)
        shape = (num_weights, output_dim)
        mean, deviation = self._start
        self._start = (None, None)  # not a second copy in files
        mean = np.zeros(shape) if mean is None else mean
        deviation = 1 / np.sqrt(num_weights) if deviation is None else deviation
        deviation = finite_array("standard_deviation", deviation)
        if deviation.ndim == 0:
            deviation = np.full(shape, deviation)
        deviation = finite_array("standard_deviation", deviation, shape)
        if not np.all(deviation >= np.finfo(deviation.dtype).tiny):
            raise ValueError(
                f"standard_deviation must be positive, but its smallest entry is {deviation.min()}."
            )
        # Steps of a mean are in units of the prior standard deviation of a weight.
        unit = tf.constant(1 / np.sqrt(num_weights), gpflow.default_float())
        self.mean = Parameter(
            finite_array("mean", mean, shape), transform=tfp.bijectors.Scale(unit)
        )
        # Steps of the logarithm are relative, whatever the scale of the layer's weights.
        self.standard_deviation = Parameter(deviation, transform=positive(base="exp"))
        self.output_dim = output_dim

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        root = basis.root
        mean, deviation = self.mean[:, outputs], self.standard_deviation[:, outputs]
        if root.is_diagonal:  # independence in w is then independence in z
            return DiagonalGaussian(mean / root.scale, deviation / root.scale)
        return IndependentWeights(mean, deviation, root)


class IndependentWeights(WeightGaussian):
    """q(w) = N(mean, scale^2), independent over weights w = R z whose prior correlates them."""

    def __init__(self, mean: tf.Tensor, scale: tf.Tensor, root: WeightRoot) -> None:
        """Keep the Gaussian over w, for z = R^-1 w.

        :param mean: mean of w, [K, P].
        :param scale: standard deviations of w, of the mean's shape.
        :param root: root R of the prior covariance of w.
        """
        self._mean_weights = tf.convert_to_tensor(mean)
        self._scale = tf.convert_to_tensor(scale)
        self._root = root
        self.mean = root.solve(self._mean_weights)

    def kl(self) -> tf.Tensor:
        # 1/2 [ E |z|^2 - K ] - log of the scales + log|R|, for each output; the covariance of z is
        # R^-1 diag(scale^2) R^-T, and its trace that of diag(scale^2) R^-T R^-1.
        K, P = self._scale.shape
        inverse = self._root.solve(tf.eye(K, dtype=self._scale.dtype))
        traces = tf.reduce_sum(tf.square(inverse), axis=-2)[..., None] * tf.square(self._scale)
        squares = tf.reduce_sum(tf.square(self.mean) + traces - 1.0, axis=[-2, -1])
        return 0.5 * squares - self._log_scales() + P * self._root.log_determinant(K)

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        K, P = self._scale.shape
        eps = self._standard_normal(num_samples, seed)
        z = self._root.solve(self._mean_weights + self._scale * eps)
        squares = tf.reduce_sum(tf.square(eps) - tf.square(z), axis=[-2, -1])
        log_ratio = 0.5 * squares + self._log_scales() - P * self._root.log_determinant(K)
        return WhitenedDraw(z, log_ratio)

    def _log_scales(self) -> tf.Tensor:
        return tf.reduce_sum(tf.math.log(self._scale))

    def _spread(self, A: tf.Tensor) -> tf.Tensor:
        rows = self._root.transposed_solve(A)
        return linalg.transposed_product(tf.square(rows), tf.square(self._scale))

    def _spread_jointly(self, A: tf.Tensor) -> tf.Tensor:
        rows = self._root.transposed_solve(A)
        scaled = rows[..., None, :, :] * tf.linalg.matrix_transpose(self._scale)[..., None]
        return tf.matmul(scaled, scaled, transpose_a=True)

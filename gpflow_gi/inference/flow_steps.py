"""Steps of normalising flows: functions of theta with the log determinants of their Jacobians.

Shapes: S vectors, L coordinates.
"""

from __future__ import annotations

from abc import abstractmethod

import gpflow
import tensorflow as tf
from gpflow.base import Parameter
from gpflow.utilities import positive

from ..core.random import fold_in, standard_normal


class FlowStep(gpflow.Module):
    """An invertible function of theta."""

    @abstractmethod
    def __call__(self, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The function's values, and its log determinant.

        :param z: [S, L].
        :return: [S, L], and log|det dz'/dz| [S].
        """


class Planar(FlowStep):
    """z + u tanh(w^T z + b): Rezende & Mohamed (2015), eqs. (10) to (12)."""

    def __init__(self, size: int, seed: tf.Tensor) -> None:
        """Start close to the identity.

        :param size: number of coordinates, L.
        :param seed: [2].
        """
        super().__init__()
        dtype = gpflow.default_float()
        self.w = Parameter(standard_normal([size], fold_in(seed, 0), dtype) / size**0.5)
        self.u = Parameter(0.01 * standard_normal([size], fold_in(seed, 1), dtype))
        self.b = Parameter(tf.zeros([], dtype))

    def __call__(self, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        w, u = tf.convert_to_tensor(self.w), tf.convert_to_tensor(self.u)
        # Invertible where w^T u > -1: u is moved along w so that w^T u becomes
        # softplus(w^T u) - 1 (appendix A.1), shifted here so that 0 stays 0.
        product = tf.reduce_sum(w * u)
        allowed = tf.math.softplus(product + LOG_E_MINUS_1) - 1.0
        u += (allowed - product) * w / tf.reduce_sum(tf.square(w))
        h = tf.tanh(tf.linalg.matvec(z, w) + self.b)
        return z + h[:, None] * u, tf.math.log1p((1.0 - tf.square(h)) * allowed)


class RadialStep(FlowStep):
    """``z + beta (z - z0) / (alpha + |z - z0|)``: Rezende & Mohamed (2015), eq. (14)."""

    def __init__(self, size: int, seed: tf.Tensor) -> None:
        """Start close to the identity.

        :param size: number of coordinates, L.
        :param seed: [2].
        """
        super().__init__()
        dtype = gpflow.default_float()
        self.centre = Parameter(standard_normal([size], fold_in(seed, 0), dtype))
        self.alpha = Parameter(tf.ones([], dtype), transform=positive(base="softplus"))
        # Invertible where beta > -alpha (appendix A.2).
        self.beta_plus_alpha = Parameter(tf.ones([], dtype), transform=positive(base="softplus"))

    def __call__(self, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        alpha = tf.convert_to_tensor(self.alpha)
        beta = self.beta_plus_alpha - alpha
        away = z - self.centre
        # The smallest number whose root has a finite gradient, since z may be the centre.
        r = tf.sqrt(tf.maximum(tf.reduce_sum(tf.square(away), axis=1), 1e-30))
        h = 1.0 / (alpha + r)
        # |det| = (1 + beta h)^(L-1) (1 + beta h + beta h' r), with h' = -h^2
        L = z.shape[1]
        log_det = (L - 1) * tf.math.log1p(beta * h) + tf.math.log1p(beta * alpha * tf.square(h))
        return z + (beta * h)[:, None] * away, log_det


LOG_E_MINUS_1 = 0.5413248546129181
"""log(e - 1), where softplus is 1."""

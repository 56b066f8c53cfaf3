"""Whitened Bayesian linear regression on pseudo-outputs that were drawn.

    q(z | V_s) = N(B^-1 Phi^T Lambda V_s, B^-1),    B = I + Phi^T Lambda Phi

Only the means differ between draws V_s, so one factorisation serves all of them.
"""

from typing import cast

import numpy as np
import tensorflow as tf

from .. import linalg
from ..basis import Basis
from ..gaussians import WhitenedDraw, WhitenedGaussian, integrate
from .choice import regress
from .function_space import FunctionSpaceRegression
from .weight_space import WeightSpaceRegression


class RegressionOnDraws(WhitenedGaussian):
    """q(z | V_s); the mixture of them over V has no density."""

    def __init__(self, basis: Basis, T: tf.Tensor, V: tf.Tensor) -> None:
        """Condition on pseudo-data at the basis' inputs.

        :param basis: the layer's basis, at M pseudo-inputs; not sampled.
        :param T: a root of a diagonal Lambda, [M].
        :param V: pseudo-outputs, [M, P] or [S, M, P].
        """
        zero = tf.zeros([tf.shape(V)[-2], V.shape[-1]], V.dtype)
        self._centred = cast(
            FunctionSpaceRegression | WeightSpaceRegression, regress(basis, T, zero, shared=True)
        )
        self.mean = self._centred.mean_given(V)

    def kl(self) -> tf.Tensor:
        # Not defined: a model with such a layer raises an error when asked for a bound.
        return tf.fill(tf.shape(self.mean)[:-2], tf.constant(np.nan, self.mean.dtype))

    def predict(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        _, variance = integrate(self._centred, basis, X, full_cov=False)
        return linalg.transposed_product(basis(X), self.mean), variance

    def predict_jointly(self, basis: Basis, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        _, covariance = self._centred.predict_jointly(basis, X)
        return linalg.transposed_product(basis(X), self.mean), covariance

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> WhitenedDraw:
        S = tf.shape(self.mean)[0] if self.mean.shape.rank == 3 else num_samples
        return WhitenedDraw(self.mean + self._centred.draw(S, seed).z, self.kl())

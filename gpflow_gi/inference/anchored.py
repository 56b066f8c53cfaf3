"""The log joint density with random priors: members of an ensemble whose spread is a posterior."""

from __future__ import annotations

from typing import Any

import gpflow
import tensorflow as tf

from ..core.noise import variance_of_outputs
from ..core.random import fold_in, standard_normal
from .log_joint import LogJoint


class AnchoredJoint(LogJoint):
    """Member s has the prior N(theta; theta_s, I) and targets Y + e_s, theta_s ~ p, e_s the noise.

    Randomised maximum a posteriori sampling (Pearce, Leibfried & Brintrup 2020, "Uncertainty in
    neural networks: approximately Bayesian ensembling", with noise on the targets as well): in a
    linear model with Gaussian noise, each maximum is a draw from the exact posterior.
    """

    def __init__(self, log_joint: LogJoint, num_members: int, seed: tf.Tensor) -> None:
        """Draw the anchors and the noise.

        :param log_joint: of the network, with Gaussian priors and Gaussian noise.
        :param num_members: number of members, S.
        :param seed: [2].
        :raises ValueError: if the network has other priors or another likelihood.
        """
        space, likelihood = log_joint.space, log_joint.likelihood
        if not space.is_standard_normal or type(likelihood) is not gpflow.likelihoods.Gaussian:
            raise ValueError(
                "random_priors=True is for Gaussian priors of the weights and a Gaussian "
                f"likelihood, but the likelihood is {type(likelihood).__name__}"
                f"{'' if space.is_standard_normal else ' and a prior has coordinates of its own'}."
            )
        super().__init__(space, likelihood, log_joint.X, log_joint.Y)
        self._anchors = space.draw_prior(num_members, fold_in(seed, 0))
        shape = [num_members, *log_joint.Y.shape]
        self._eps = standard_normal(shape, fold_in(seed, 1), log_joint.Y.dtype)

    def __call__(self, theta: tf.Tensor) -> tf.Tensor:
        return self._of(theta, self.X, self.Y, self._eps)

    def of_minibatch(self, theta: tf.Tensor, batch_size: int | None, seed: tf.Tensor) -> tf.Tensor:
        if batch_size is None:
            return self(theta)
        rows = self.rows_of(batch_size, seed)
        share = self.X.shape[0] / batch_size
        X, Y = tf.gather(self.X, rows), tf.gather(self.Y, rows)
        return self._of(theta, X, Y, tf.gather(self._eps, rows, axis=1), share)

    def _of(
        self, theta: tf.Tensor, X: tf.Tensor, Y: tf.Tensor, eps: tf.Tensor, share: Any = 1.0
    ) -> tf.Tensor:
        variance = variance_of_outputs(self.likelihood, X, Y)
        noise = tf.sqrt(variance) * eps
        error = tf.square(Y + noise - self.space.functions(theta, X)) / variance
        log_likelihood = -0.5 * tf.reduce_sum(error + tf.math.log(variance), axis=[1, 2])
        return share * log_likelihood - 0.5 * tf.reduce_sum(
            tf.square(theta - self._anchors), axis=1
        )

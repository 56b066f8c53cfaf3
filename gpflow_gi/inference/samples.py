"""A posterior that is a record of samples."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.base import Parameter

from ..core.validation import finite_array
from ..models import DeepGP
from .target import Target
from .weight_posterior import WeightPosterior


class Samples(WeightPosterior):
    """A posterior that is a set of equally weighted samples of the weights.

    Examples are the draws of a Markov chain, the members of an ensemble, or one point. There is no
    density q, and so no bound.

    ``theta``, [T, L], is a parameter that is not trained.
    """

    def __init__(self, model: DeepGP | Target, theta: Any, *, num_samples: int = 1) -> None:
        """Keep the samples.

        :param model: as in :class:`WeightPosterior`.
        :param theta: [T, L], T samples of the whitened weights.
        :param num_samples: S, the default number of samples.
        :raises TypeError: as :class:`WeightPosterior`.
        :raises ValueError: as :class:`WeightPosterior`, or if `theta` is not finite or has another
            shape.
        """
        super().__init__(model, num_samples=num_samples)
        theta = finite_array("theta", theta, (None, self.space.size))
        self.theta = Parameter(theta, trainable=False)

    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, None]:
        """Choose S of the T samples, one from each of S equal parts of the record.

        :param num_samples: S; with S = T all samples are chosen, in their order.
        :param seed: [2], seed of the choice.
        :return: theta [S, L], and None: there is no density.
        """
        return tf.gather(self.theta, stratified(num_samples, self.theta.shape[0], seed)), None

    def why_no_density(self) -> str:
        return (
            "The posterior is a record of samples, as of NUTS, an ensemble or a MAP estimate, "
            "which has no density. Compare it with others by predict_log_density of held-out rows, "
            "or use gpflow_gi.inference.laplace or gpflow_gi.fit for a posterior with a bound."
        )


def stratified(num_samples: int, num_parts: int, seed: tf.Tensor) -> tf.Tensor:
    """Integers below `num_parts`, one from each of S equal parts, in ascending order: [S].

    :param num_samples: the number of samples, S.
    :param num_parts: the number of parts, T.
    :param seed: [2].
    """
    # floor((s + u_s) T / S), u_s ~ U(0, 1)
    u = tf.random.stateless_uniform([num_samples], seed, dtype=tf.float64)
    places = (tf.range(num_samples, dtype=tf.float64) + u) * (num_parts / num_samples)
    return tf.minimum(tf.cast(places, tf.int32), num_parts - 1)

"""The symmetrised divergence between two distributions that can only be drawn, with contrasts.

Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), supplement, section 2: each distribution is
compared with the Gaussian of its own means and variances, by a classifier of its own, and the log
ratio of the two Gaussians is known. Equation numbers are the supplement's. Means and variances are
constants, so that gradients pass through the draws alone, as with one classifier.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from ..core.random import fold_in, standard_normal
from .classifier import classifier_loss, moments
from .drawn import Drawn

LogRatio = Callable[[tf.Tensor], tf.Tensor]
"""A function from [S, L] to [S]."""


class Contrasted(NamedTuple):
    """Draws of q and of the prior, each [S, L], with the moments of their Gaussians, [L] each."""

    q: tf.Tensor
    p: tf.Tensor
    of_q: tuple[tf.Tensor, tf.Tensor]
    of_p: tuple[tf.Tensor, tf.Tensor]


def contrasted(drawn: Drawn, num_draws: int, seed: tf.Tensor) -> Contrasted:
    """Draws, and means and standard deviations as constants (2)."""
    q = drawn.sample_q(num_draws, fold_in(seed, 0))
    p = drawn.sample_prior(num_draws, fold_in(seed, 1))
    return Contrasted(q, p, moments(q), moments(p))


def symmetrised_kl(both: Contrasted, T_q: LogRatio, T_p: LogRatio) -> tf.Tensor:
    """1/2 [KL(q || p) + KL(p || q)] by (3), in nats: [].

    :param T_q: log q - log of its Gaussian, at values in units of that Gaussian.
    :param T_p: the same of the prior.
    """

    def log_ratio(x: tf.Tensor) -> tf.Tensor:
        """Log q - log p, [S, L] -> [S]."""
        in_q, in_p = _standardised(x, both.of_q), _standardised(x, both.of_p)
        # log of q's Gaussian minus log of the prior's
        squares = tf.reduce_sum(tf.square(in_p) - tf.square(in_q), axis=1)
        scales = tf.reduce_sum(tf.math.log(both.of_p[1]) - tf.math.log(both.of_q[1]))
        return T_q(in_q) - T_p(in_p) + 0.5 * squares + scales

    return 0.5 * (tf.reduce_mean(log_ratio(both.q)) - tf.reduce_mean(log_ratio(both.p)))


def loss_of_both(both: Contrasted, T_q: LogRatio, T_p: LogRatio, seed: tf.Tensor) -> tf.Tensor:
    """The sum of the classifiers' losses: each tells draws from normals, in their units."""
    losses = []
    for i, (x, its_moments, T) in enumerate(
        [(both.q, both.of_q, T_q), (both.p, both.of_p, T_p)], start=2
    ):
        normals = standard_normal(tf.shape(x), fold_in(seed, i), x.dtype)
        losses.append(classifier_loss(T(_standardised(x, its_moments)), T(normals)))
    return tf.add_n(losses)


def _standardised(x: tf.Tensor, its_moments: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
    mean, scale = its_moments
    return (x - mean) / scale

"""What a layer asks of a prior over its weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import gpflow
import tensorflow as tf


@dataclass(frozen=True)
class WeightScale:
    """The scale of a layer's weights, drawn if it is random, and what that costs the bound.

    An output's weights are w = R z with z ~ N(0, I). R is `standard_deviation` times the identity,
    or, with `spatial_sqrt`, times the Kronecker product of that and the identity over channels:
    weights are then in the order [kernel height, kernel width, channels] of TensorFlow's filters.
    """

    standard_deviation: tf.Tensor
    """[] or [S], of each weight."""

    kl: tf.Tensor
    """[], in nats: KL(q(s) || p(s)) of the scale s; zero if it is not random."""

    log_p_minus_log_q: tf.Tensor
    """[] or [S], in nats: log p(s) - log q(s) of the scale drawn; zero if it is not random."""

    spatial_sqrt: tf.Tensor | None = None
    """T, [K, K] or [S, K, K], with T T^T a filter's covariance over the K = height * width places
    of its kernel, up to scale; not triangular. None if that is the identity."""


class WeightPrior(gpflow.Module, ABC):
    """Gaussian weights of mean zero, independent over outputs: the paper's eq. 2.

    An output's weights have the covariance S / N, with N their number, bias included. Mostly
    S = c I, with a scale c that is a number, or a random variable with an approximate posterior of
    its own.
    """

    kernel_size: tuple[int, int] | None = None
    """The height and width of the convolutions that it is for; None if it is for any layer."""

    @abstractmethod
    def draw(self, num_weights: int, num_samples: int | None, seed: tf.Tensor) -> WeightScale:
        """Draw the scale from its approximate posterior, reparameterised.

        :param num_weights: N, the fan-in with the bias.
        :param num_samples: S, or None for one draw without a sample axis. A scale that is not
            random never has one.
        :param seed: [2].
        :return: the scale, with its KL divergence and its log p - log q.
        """

    def follow_prior(self) -> None:
        """Fix the scale's approximate posterior at its prior; nothing where it is a number."""

    @property
    @abstractmethod
    def is_type_ii(self) -> bool:
        """Whether a scale that has no prior is learned by maximising the bound.

        That is maximum likelihood of type II. Bounds of such models cannot be compared with those
        of models whose parameters all have priors (the paper's section 2.3).
        """

"""What a layer asks of a prior over its weights."""

from abc import ABC, abstractmethod
from dataclasses import dataclass

import gpflow
import tensorflow as tf


@dataclass(frozen=True)
class WeightScale:
    """The scale of a layer's weights, drawn if it is random, and what that costs the bound."""

    standard_deviation: tf.Tensor
    """[] or [S], of each weight."""

    kl: tf.Tensor
    """[]: KL(q(s) || p(s)) of the scale s; zero if it is not random."""

    log_p_minus_log_q: tf.Tensor
    """[] or [S]: log p(s) - log q(s) of the scale that was drawn; zero if it is not random."""


class WeightPrior(gpflow.Module, ABC):
    """Independent Gaussian weights of mean zero and of one scale: S = c I in the paper's eq. 2.

    A weight's variance is c / N, with N the number of weights of an output, bias included. The
    scale is a number, or a random variable with an approximate posterior of its own.
    """

    @abstractmethod
    def draw(self, num_weights: int, num_samples: int | None, seed: tf.Tensor) -> WeightScale:
        """Draw the scale from its approximate posterior, reparameterised.

        :param num_weights: N, the fan-in with the bias.
        :param num_samples: S, or None for one draw without a sample axis. A scale that is not
            random never has one.
        :param seed: [2].
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

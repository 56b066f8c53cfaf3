"""Gaussian priors with a number as their scale."""

import math
from abc import abstractmethod

import tensorflow as tf
from gpflow.base import Parameter
from gpflow.utilities import positive

from ..core.validation import positive_number, true_or_false
from .base import WeightPrior, WeightScale


class _GaussianPrior(WeightPrior):
    def __init__(self, scale: float = 1.0, *, learn_scale: bool = False) -> None:
        """Set the scale, or its initial value if it is learned.

        :param scale: factor on the weights' standard deviation, stored as a parameter.
        :param learn_scale: True to maximise the bound over `scale` too.
        :raises ValueError: if `scale` is not positive.
        :raises TypeError: if `learn_scale` is not True or False.
        """
        super().__init__()
        learn_scale = true_or_false("learn_scale", learn_scale)
        self.scale = Parameter(
            positive_number("scale", scale), transform=positive(), trainable=learn_scale
        )

    def draw(self, num_weights: int, num_samples: int | None, seed: tf.Tensor) -> WeightScale:
        zero = tf.zeros([], self.scale.dtype)
        return WeightScale(self._standard_deviation(num_weights), zero, zero)

    def rescale(self, factor: float) -> None:
        self.scale.assign(self.scale * positive_number("factor", factor))

    @property
    def is_type_ii(self) -> bool:
        return bool(self.scale.trainable)

    @abstractmethod
    def _standard_deviation(self, num_weights: int) -> tf.Tensor:
        """Standard deviation of each weight, []."""


class NealPrior(_GaussianPrior):
    """Weights of standard deviation scale / sqrt(N): S = scale^2 I, the paper's eq. 14.

    Activations keep their scale from layer to layer, whatever the width.
    """

    def _standard_deviation(self, num_weights: int) -> tf.Tensor:
        return self.scale / math.sqrt(num_weights)


class StandardPrior(_GaussianPrior):
    """Weights of standard deviation scale: S = scale^2 N I, the paper's eq. 15.

    Activations grow by a factor of about sqrt(N) in every layer.
    """

    def _standard_deviation(self, num_weights: int) -> tf.Tensor:
        return tf.convert_to_tensor(self.scale)

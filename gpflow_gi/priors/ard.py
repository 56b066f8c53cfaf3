"""A Gaussian prior with a learned scale of the weights from each input or unit."""

import math

import numpy as np
import tensorflow as tf
from gpflow.base import Parameter
from gpflow.utilities import positive

from ..core.validation import positive_integer, positive_number, true_or_false
from .base import WeightPrior, WeightScale


class ARDPrior(WeightPrior):
    """Weights from input i of standard deviation s_i / sqrt(N): automatic relevance determination.

    S = diag(s_1^2, ..., s_N^2) in Ober & Aitchison (2021), eq. 2. Every input of the layer, which
    is an input of the network or a unit of the layer below, and the bias have a scale, which
    maximises the bound (MacKay, "Bayesian methods for backpropagation networks", 1994; Neal,
    "Bayesian learning for neural networks", 1996; there the scales have priors). Small scales
    switch inputs and units off, as long lengthscales do in a kernel. With scales of one it is
    :class:`NealPrior`.

    >>> ARDPrior(3).scales.shape
    TensorShape([3])
    """

    def __init__(self, num_weights: int, scale: float = 1.0, *, learn_scales: bool = True) -> None:
        """Set the scales, or their initial values.

        :param num_weights: N, the number of the layer's inputs, with the bias if it has one; in
            that case the last scale is that of the bias.
        :param scale: factor on the weights' standard deviations, the same for all inputs.
        :param learn_scales: True to maximise the bound over `scales`, False to keep them.
        :raises ValueError: if `num_weights` is not a positive integer, or `scale` not positive.
        :raises TypeError: if `learn_scales` is not True or False.
        """
        super().__init__()
        self.num_weights = positive_integer("num_weights", num_weights)
        self.scales = Parameter(
            np.full(self.num_weights, positive_number("scale", scale)),
            transform=positive(),
            trainable=true_or_false("learn_scales", learn_scales),
        )

    def draw(self, num_weights: int, num_samples: int | None, seed: tf.Tensor) -> WeightScale:
        if num_weights != self.num_weights:
            raise ValueError(
                f"The prior is for {self.num_weights} weights to each output, not {num_weights}."
            )
        zero = tf.zeros([], self.scales.dtype)
        return WeightScale(self.scales[:, None] / math.sqrt(num_weights), zero, zero)

    def rescale(self, factor: float) -> None:
        self.scales.assign(self.scales * positive_number("factor", factor))

    @property
    def is_type_ii(self) -> bool:
        return bool(self.scales.trainable)

"""Code shared by layers of weights: a prior over weights, and the basis functions they multiply."""

from __future__ import annotations

from abc import abstractmethod

import tensorflow as tf

from ..core.basis import Basis
from ..core.gaussians import WhitenedDraw, WhitenedGaussian
from ..core.random import as_seed, unpaired
from ..core.validation import shown
from ..core.weight_root import WeightRoot
from ..priors import NealPrior, WeightPrior, WeightScale
from .base import ConditionedLayer, Layer, LayerFunction


class WeightLayer(Layer):
    """P outputs f_p(x) = phi(x)^T w_p, with a prior and an approximate posterior over weights."""

    prior: WeightPrior

    @property
    @abstractmethod
    def num_weights(self) -> int:
        """K, the number of weights to each output: the fan-in N of the priors."""

    @abstractmethod
    def draw_of(self, weights: tf.Tensor) -> LayerFunction:
        """The layer's function with given weights, such as those of a posterior over all layers.

        :param weights: in their own units, w = R z, [K, P] or [S, K, P], in the order of the
            layer's class.
        :return: the function. Its log p - log q is zero, since the density of the weights is not
            known here.
        """

    @property
    def has_features(self) -> bool:
        return True

    def follow_prior(self) -> None:
        super().follow_prior()
        self.prior.follow_prior()

    def _scale(self, num_samples: int | None, seed: tf.Tensor | None) -> WeightScale:
        """The prior's scale, drawn if it is random."""
        return self.prior.draw(
            self.num_weights, num_samples, as_seed(None) if seed is None else unpaired(seed)
        )


def check_prior(
    prior: WeightPrior | None, kernel_size: tuple[int, int] | None, num_weights: int
) -> WeightPrior:
    """A layer's prior; NealPrior by default.

    :param kernel_size: of a convolution; None for other layers.
    :param num_weights: number of weights to each output, with the bias.
    :raises TypeError: if it is not a prior.
    :raises ValueError: if it is for kernels of another size, or another number of weights.
    """
    if prior is None:
        return NealPrior()
    if not isinstance(prior, WeightPrior):
        raise TypeError(f"prior must be one of gpflow_gi.priors, but is {shown(prior)}.")
    if prior.kernel_size is not None and kernel_size is None:
        raise ValueError(
            f"prior is a {type(prior).__name__}, which is for convolutions; a DenseLayer has "
            "no kernel. Use NealPrior, StandardPrior, ScalePrior or ARDPrior."
        )
    if prior.num_weights not in (None, num_weights):
        raise ValueError(
            f"prior is for {prior.num_weights} weights to each output, but the layer has "
            f"{num_weights}, its bias included: make it with "
            f"{type(prior).__name__}({num_weights})."
        )
    if prior.kernel_size not in (None, kernel_size):
        raise ValueError(
            f"prior is a {type(prior).__name__} for kernels of {prior.kernel_size}, but the "
            f"layer has kernel_size={kernel_size}; they must be equal."
        )
    return prior


class WeightBasis(Basis):
    """The basis a(x) = R^T x: one function for each weight, and no residual."""

    def __init__(self, inputs: tf.Tensor, root: WeightRoot) -> None:
        """Use the quantities that the weights multiply as basis functions.

        :param inputs: U, [M, D] or [S, M, D].
        :param root: root R of the weights' prior covariance.
        """
        self.inputs = inputs
        self._root = root
        self.is_sampled = root.is_sampled or inputs.shape.rank == 3

    @property
    def root(self) -> WeightRoot:
        return self._root

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        return tf.linalg.matrix_transpose(self._units(X))

    @property
    def gram(self) -> tf.Tensor:
        return tf.matmul(self.design, self.design, transpose_b=True)

    def cross_gram(self, X: tf.Tensor) -> tf.Tensor:
        return tf.matmul(self.design, self._units(X), transpose_b=True)

    def variance(self, X: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(tf.square(self._units(X)), axis=-1)

    def covariance(self, X: tf.Tensor) -> tf.Tensor:
        units = self._units(X)
        return tf.matmul(units, units, transpose_b=True)

    def residual_variance(self, X: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
        return tf.zeros([1], A.dtype)

    def residual_covariance(self, X: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
        return tf.zeros([1, 1], A.dtype)

    def _units(self, X: tf.Tensor) -> tf.Tensor:
        """The basis functions of every row, [N, K] or [S, N, K]."""
        return self._root.of_rows(X)


class ConditionedWeights(ConditionedLayer):
    """A layer of weights, given the inducing activations and its prior's scale."""

    def __init__(self, basis: WeightBasis, q: WhitenedGaussian, scale: WeightScale) -> None:
        self.basis = basis
        self.q = q
        self.scale = scale

    def kl(self) -> tf.Tensor:
        return self.q.kl() + self.scale.kl

    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        return [
            ("the scale of its prior", self.basis.root.scale),
            ("its inducing inputs", self.basis.inputs),
            ("its posterior mean", self.q.mean),
            ("its KL divergence", self.kl()),
        ]

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> LayerFunction:
        return self._function(self.q.draw(num_samples, seed))

    def draw_with_kl(
        self, num_samples: int | None, seed: tf.Tensor
    ) -> tuple[LayerFunction, tf.Tensor]:
        draw, kl = self.q.draw_with_kl(num_samples, seed)
        return self._function(draw), kl + self.scale.kl

    def _function(self, draw: WhitenedDraw) -> LayerFunction:
        log_ratio = draw.log_p_minus_log_q + self.scale.log_p_minus_log_q
        return self._function_of(self.basis.root.times(draw.z), log_ratio)

    @abstractmethod
    def _function_of(self, weights: tf.Tensor, log_p_minus_log_q: tf.Tensor) -> LayerFunction:
        """The layer's function with given weights, [K, P] or [S, K, P]."""

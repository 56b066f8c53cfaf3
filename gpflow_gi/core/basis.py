"""The interface of a layer's basis functions, which Gaussians over their coordinates use.

Every layer is a linear model in a whitened basis, f(x) = m(x) + a(x)^T z + r(x) with the prior
z ~ N(0, I): K basis functions a(x), and a residual r, which is independent of z. The basis of a GP
layer comes from a kernel and inducing inputs and leaves a residual. A layer of weights has one
basis function for each weight to an output, and no residual.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import tensorflow as tf

from . import linalg
from .weight_root import WeightRoot


class Basis(ABC):
    """Basis functions a(x), and the inputs of a layer's pseudo-data.

    Shapes: K basis functions, M inputs, N rows, D columns; a sample axis S in front if the layers
    below, or the basis itself, were sampled.
    """

    inputs: tf.Tensor
    """U, [M, D] or [S, M, D]."""

    is_sampled: bool
    """True if the basis functions differ between samples."""

    has_small_design: bool = True
    """True if `design` is small enough to be formed. Otherwise regression asks for `moments`."""

    has_kernel: bool = False
    """True if the basis comes from a kernel, so that `gram` is cheaper than `design`."""

    @property
    def root(self) -> WeightRoot:
        """R of the weights w = R z; by default the identity, w = z."""
        return WeightRoot(tf.ones([], self.inputs.dtype))

    @abstractmethod
    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        """The basis functions at `X`.

        :param X: [N, D] or [S, N, D].
        :return: A = [a(x_1) ... a(x_N)], [K, N] or [S, K, N].
        """

    @property
    @abstractmethod
    def design(self) -> tf.Tensor:
        """Phi = a(U)^T, one row per input: [M, K] or [S, M, K]."""

    def zero(self, num_outputs: int) -> tf.Tensor:
        """The origin z = 0 for this number of outputs, [K, P] or [S, K, P]."""
        shape = tf.shape(self.design)
        return tf.zeros(tf.concat([shape[:-2], shape[-1:], [num_outputs]], 0), self.inputs.dtype)

    def moments(self, precision: tf.Tensor, V: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Phi^T Lambda Phi and Phi^T Lambda V, for a diagonal Lambda.

        :param precision: the diagonal of Lambda, one number for each inducing image, [M], or for
            each of its locations, [M, H, W].
        :param V: pseudo-outputs, [M, H, W, P].
        :return: [K, K] and [K, P], or [S, K, K] and [S, K, P].
        :raises NotImplementedError: if the design is small.
        """
        raise NotImplementedError(
            "moments is not implemented for a small design, whose regression does not use it."
        )

    def design_times(self, z: tf.Tensor) -> tf.Tensor:
        """Phi z, for z of [K, P] or [S, K, P]."""
        return linalg.product(self.design, z)

    def transposed_design_times(self, y: tf.Tensor) -> tf.Tensor:
        """Phi^T y, for y of [M, P] or [S, M, P]."""
        return linalg.transposed_product(self.design, y)

    @property
    @abstractmethod
    def gram(self) -> tf.Tensor:
        """Phi Phi^T, [M, M] or [S, M, M]."""

    @abstractmethod
    def cross_gram(self, X: tf.Tensor) -> tf.Tensor:
        """Phi a(X), for X of [N, D] or [S, N, D]: [M, N] or [S, M, N]."""

    @abstractmethod
    def variance(self, X: tf.Tensor) -> tf.Tensor:
        """The prior variance of f at the rows of X [N, D] or [S, N, D]: [N] or [S, N]."""

    @abstractmethod
    def covariance(self, X: tf.Tensor) -> tf.Tensor:
        """The prior covariance of f over the rows of X [N, D] or [S, N, D]: [N, N] or [S, N, N]."""

    @abstractmethod
    def residual_variance(self, X: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
        """The variance of r at every row, given A = a(X).

        :param X: [N, D] or [S, N, D].
        :param A: [K, N] or [S, K, N].
        :return: [N] or [S, N]; a zero of shape [1] if there is no residual.
        """

    @abstractmethod
    def residual_covariance(self, X: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
        """The covariance of r over rows, given A = a(X).

        :param X: [N, D] or [S, N, D].
        :param A: [K, N] or [S, K, N].
        :return: [N, N] or [S, N, N]; a zero of shape [1, 1] if there is no residual.
        """

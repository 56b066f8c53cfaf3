"""What a layer's basis functions have to offer to the Gaussians over their coordinates.

Every layer is a linear model in a whitened basis, f(x) = m(x) + a(x)^T z + r(x) with the prior
z ~ N(0, I): K basis functions a(x), and a residual r, which is independent of z. GP layers span
their basis by a kernel and inducing inputs and leave a residual; layers of weights have as many
basis functions as weights to one output, and leave none.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import tensorflow as tf

from . import linalg
from .weight_root import WeightRoot


class Basis(ABC):
    """Basis functions a(x), and the inputs at which a layer's pseudo-data stand.

    Shapes: K basis functions, M inputs, N rows, D columns; a sample axis S stands in front where
    what lies below, or the basis itself, was sampled.
    """

    inputs: tf.Tensor
    """U, [M, D] or [S, M, D]."""

    is_sampled: bool
    """Whether the basis functions differ from sample to sample."""

    has_small_design: bool = True
    """Whether `design` is small enough to work with. Otherwise regression asks for `moments`."""

    has_kernel: bool = False
    """True if a kernel spans it, so that `gram` takes less than `design` does."""

    @property
    def root(self) -> WeightRoot:
        """R of the weights w = R z that a posterior may speak of; here the identity, w = z."""
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
        """Phi = a(U)^T, a row for each of the inputs: [M, K] or [S, M, K]."""

    def zero(self, num_outputs: int) -> tf.Tensor:
        """The origin z = 0 of so many outputs, [K, P] or [S, K, P]."""
        shape = tf.shape(self.design)
        return tf.zeros(tf.concat([shape[:-2], shape[-1:], [num_outputs]], 0), self.inputs.dtype)

    def moments(self, precision: tf.Tensor, V: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Phi^T Lambda Phi and Phi^T Lambda V, for a diagonal Lambda.

        :param precision: the diagonal of Lambda, one number for each inducing image, [M], or for
            each of its locations, [M, H, W].
        :param V: pseudo-outputs, [M, H, W, P].
        :return: [K, K] and [K, P], or [S, K, K] and [S, K, P].
        :raises NotImplementedError: where the design is small.
        """
        raise NotImplementedError("Regression on a small design needs no moments.")

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
        """The prior's variance of f at the rows of X [N, D] or [S, N, D]: [N] or [S, N]."""

    @abstractmethod
    def covariance(self, X: tf.Tensor) -> tf.Tensor:
        """The prior's covariance of f over the rows of X, as above: [N, N] or [S, N, N]."""

    @abstractmethod
    def residual_variance(self, X: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
        """The variance of r at every row, given A = a(X).

        :param X: [N, D] or [S, N, D].
        :param A: [K, N] or [S, K, N].
        :return: [N] or [S, N]; [1], a zero, where there is no residual.
        """

    @abstractmethod
    def residual_covariance(self, X: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
        """The covariance of r over rows, given A = a(X).

        :param X: [N, D] or [S, N, D].
        :param A: [K, N] or [S, K, N].
        :return: [N, N] or [S, N, N]; [1, 1], a zero, where there is no residual.
        """

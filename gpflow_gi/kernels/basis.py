"""The whitened basis that a kernel and a set of inducing inputs span.

    a(x) = L^-1 k(U, x),    L = chol k(U, U),    f(x) = a(x)^T z + r(x)

with z ~ N(0, I) and a residual r, a Gaussian process of covariance k(x, x') - a(x)^T a(x') that
vanishes at U. More inducing inputs can be appended at any time: the coordinates that exist keep
their meaning, and the new ones are N(0, I) as well. That one step is what a joint draw of function
values is, what lets a local layer hand the values at U and at the data to a global one as values of
one function, and what makes a function draw answer later calls consistently with earlier ones.
"""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.kernels import Kernel

from .. import linalg
from . import batched


class KernelBasis:
    """a(x) = L^-1 k(U, x) for the inducing inputs U of this basis and of the basis it extends.

    The Cholesky factor is kept by blocks, one for each extension: a block without a sample axis is
    factorised once, even where the block that extends it was sampled.
    """

    def __init__(
        self, kernel: Kernel, inputs: tf.Tensor, parent: KernelBasis | None = None
    ) -> None:
        """Factorise the kernel matrix of `inputs`, given those of `parent`.

        The diagonal gets GPflow's default jitter, relative to the kernel's mean variance at the
        inputs: what it does then depends on neither the units of the outputs nor the kernel's
        amplitude.

        :param inputs: U, [M, D] or [S, M, D].
        """
        self.kernel = kernel
        self.inputs = inputs
        self.parent = parent
        K = batched.covariance(kernel, inputs)
        diagonal = tf.linalg.diag_part(K)
        jitter = gpflow.default_jitter() * tf.reduce_mean(diagonal, axis=-1, keepdims=True)
        self.gram = tf.linalg.set_diag(K, diagonal + jitter)  # A^T A for A = a(U)
        schur = self.gram
        if parent is not None:
            self._cross = parent(inputs)  # a_parent(U)
            schur -= tf.matmul(self._cross, self._cross, transpose_a=True)
        self.L = tf.linalg.cholesky(schur)

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        """The basis functions at `X`.

        :param X: [N, D] or [S, N, D].
        :return: A = [a(x_1) ... a(x_N)], [K, N] or [S, K, N].
        """
        k = batched.cross_covariance(self.kernel, self.inputs, X)
        if self.parent is None:
            return linalg.solve_lower(self.L, k)
        A = self.parent(X)
        k -= linalg.transposed_product(self._cross, A)
        return linalg.concat_rows(A, linalg.solve_lower(self.L, k))

    def at_inputs(self) -> tf.Tensor:
        """The basis functions at the last block of inducing inputs, [K, M] or [S, K, M].

        Without a parent these are the columns of L^T, so that u = L z.
        """
        A = tf.linalg.matrix_transpose(self.L)
        return A if self.parent is None else linalg.concat_rows(self._cross, A)

    def cross_gram(self, X: tf.Tensor) -> tf.Tensor:
        """A(U)^T A(X) = k(U, X) for the last block of inducing inputs, [M, N] or [S, M, N]."""
        return batched.cross_covariance(self.kernel, self.inputs, X)

    def extend(self, inputs: tf.Tensor) -> KernelBasis:
        """The basis with more inducing inputs, [M, D] or [S, M, D], appended."""
        return KernelBasis(self.kernel, inputs, parent=self)

    def variance(self, X: tf.Tensor, explained: tf.Tensor) -> tf.Tensor:
        """k(x, x) - explained, of every row.

        :param X: [N, D] or [S, N, D].
        :param explained: [..., N, P], |a(x)|^2 for the residual r.
        :return: as `explained`.
        """
        remaining = batched.variance(self.kernel, X)[..., None] - explained
        # Rounding can take it below zero at an inducing input. The floor is the smallest number
        # whose square root has a finite gradient.
        return tf.maximum(remaining, np.finfo(explained.dtype.as_numpy_dtype).tiny)

    def covariance(self, X: tf.Tensor, explained: tf.Tensor) -> tf.Tensor:
        """k(X, X) - explained, over rows, for `explained` of [..., P, N, N]."""
        return batched.covariance(self.kernel, X)[..., None, :, :] - explained

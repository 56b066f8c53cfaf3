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
import tensorflow as tf
from gpflow.kernels import Kernel

from ..core import linalg
from ..core.basis import Basis
from ..core.cholesky import Cholesky
from . import batched


class KernelBasis(Basis):
    """a(x) = L^-1 k(U, x) for the inducing inputs U of this basis and of the basis it extends.

    The Cholesky factor is kept by blocks, one for each extension: a block without a sample axis is
    factorised once, even where the block that extends it was sampled.
    """

    has_kernel = True

    def __init__(
        self,
        kernel: Kernel,
        inputs: tf.Tensor,
        parent: KernelBasis | None = None,
        jitter_scale: tf.Tensor | float = 1.0,
    ) -> None:
        """Factorise the kernel matrix of `inputs`, given those of `parent`.

        The diagonal gets GPflow's default jitter, relative to the kernel's mean variance at the
        inputs: what it does then depends on neither the units of the outputs nor the kernel's
        amplitude.

        :param kernel: a GPflow kernel of one output.
        :param inputs: U, [M, D] or [S, M, D].
        :param parent: the basis to extend; None for a basis of `inputs` alone.
        :param jitter_scale: [], multiplies GPflow's default jitter.
        """
        self.kernel = kernel
        self.inputs = inputs
        self.parent = parent
        self.jitter_scale = jitter_scale
        jitter = gpflow.default_jitter() * batched.mean_variance(kernel, inputs) * jitter_scale
        self.jitter = jitter[..., None, None]
        """What the diagonal gets, [1, 1] or [S, 1, 1]."""

        identity = tf.eye(tf.shape(inputs)[-2], dtype=inputs.dtype)
        self._gram = batched.covariance(kernel, inputs) + self.jitter * identity
        schur = self._gram
        if parent is not None:
            self._cross = parent(inputs)  # a_parent(U)
            schur -= tf.matmul(self._cross, self._cross, transpose_a=True)
        self._cholesky = Cholesky(schur)

    @property
    def L(self) -> tf.Tensor:
        """The Cholesky factor of the last block's matrix given the blocks before.

        [M, M] or [S, M, M], lower triangular.
        """
        return self._cholesky.L

    @property
    def is_sampled(self) -> bool:  # type: ignore[override]
        """Whether the basis functions differ from sample to sample."""
        return self._cholesky.is_sampled

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        k = batched.cross_covariance(self.kernel, self.inputs, X)
        if self.parent is None:
            return self._cholesky.solve(k)
        A = self.parent(X)
        k -= linalg.transposed_product(self._cross, A)
        return linalg.concat_rows(A, self._cholesky.solve(k))

    @property
    def design(self) -> tf.Tensor:
        """The basis functions at the last block of inducing inputs, [M, K] or [S, M, K].

        Without a parent that is L, so that u = L z.
        """
        if self.parent is None:
            return self.L
        A = linalg.concat_rows(self._cross, tf.linalg.matrix_transpose(self.L))
        return tf.linalg.matrix_transpose(A)

    def design_times(self, z: tf.Tensor) -> tf.Tensor:
        return self._cholesky.times(z) if self.parent is None else super().design_times(z)

    def transposed_design_times(self, y: tf.Tensor) -> tf.Tensor:
        if self.parent is None:
            return self._cholesky.transposed_times(y)
        return super().transposed_design_times(y)

    @property
    def gram(self) -> tf.Tensor:
        return self._gram

    def cross_gram(self, X: tf.Tensor) -> tf.Tensor:
        """k(U, X) for the last block of inducing inputs.

        :param X: [N, D] or [S, N, D].
        :return: [M, N] or [S, M, N].
        """
        return batched.cross_covariance(self.kernel, self.inputs, X)

    def representer_weights(self, z: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
        """The v = L^-T (z - L^-1 y) with which k(x, U) v = a(x)^T (z - L^-1 y).

        For a basis without a parent.

        :param z: [M, P] or [S, M, P].
        :param values: y, at U, as z.
        :return: as z.
        """
        c = z - self._cholesky.solve(values)
        if c.shape.rank == 3 and not self.is_sampled:
            v = tf.linalg.triangular_solve(self.L, linalg.fold(c), adjoint=True)
            return linalg.unfold(v, tf.shape(c)[0])
        return tf.linalg.triangular_solve(self.L, c, adjoint=True)

    def extend(self, inputs: tf.Tensor) -> KernelBasis:
        """The basis with more inducing inputs appended.

        :param inputs: [M, D] or [S, M, D], with an M of their own.
        :return: the extended basis; this one stays as it is.
        """
        return KernelBasis(self.kernel, inputs, self, self.jitter_scale)

    def variance(self, X: tf.Tensor) -> tf.Tensor:
        return batched.variance(self.kernel, X)

    def covariance(self, X: tf.Tensor) -> tf.Tensor:
        return batched.covariance(self.kernel, X)

    def residual_variance(self, X: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
        return linalg.not_below_zero(self.variance(X) - linalg.sum_of_squares(A))

    def residual_covariance(self, X: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
        return self.covariance(X) - tf.matmul(A, A, transpose_a=True)

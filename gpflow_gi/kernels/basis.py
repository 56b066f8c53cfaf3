"""The whitened basis of a kernel and a set of inducing inputs.

    a(x) = L^-1 k(U, x),    L = chol k(U, U),    f(x) = a(x)^T z + r(x)

with z ~ N(0, I) and a residual r, a Gaussian process of covariance k(x, x') - a(x)^T a(x') that is
zero at U. More inducing inputs can be appended at any time: the existing coordinates keep their
meaning, and the new ones are N(0, I) too. This one operation has three uses: it draws function
values jointly; it lets a local layer pass the values at U and at the data to a global layer as
values of one function; and it makes later calls of a drawn function consistent with earlier calls.
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
    """The basis a(x) = L^-1 k(U, x), with U the inducing inputs of this basis and of its parent.

    The Cholesky factor is stored in blocks, one per extension: a block without a sample axis is
    factorised once, even if its extension is sampled.
    """

    has_kernel = True

    def __init__(
        self,
        kernel: Kernel,
        inputs: tf.Tensor,
        parent: KernelBasis | None = None,
        jitter_scale: tf.Tensor | float = 1.0,
    ) -> None:
        """Factorise the kernel matrix of `inputs`, given the inputs of `parent`.

        GPflow's default jitter is added to the diagonal, multiplied by the kernel's mean variance
        at the inputs: its effect then depends on neither the units of the outputs nor the kernel's
        amplitude.

        :param kernel: a GPflow kernel of one output.
        :param inputs: U, [M, D] or [S, M, D].
        :param parent: the basis to extend; None for a basis of `inputs` alone.
        :param jitter_scale: [], a factor on GPflow's default jitter.
        """
        self.kernel = kernel
        self.inputs = inputs
        self.parent = parent
        self.jitter_scale = jitter_scale
        self.jitter = self.jitter_at(inputs)
        """Jitter added to the diagonal, [1, 1] or [S, 1, 1]."""

        identity = tf.eye(tf.shape(inputs)[-2], dtype=inputs.dtype)
        self._gram = batched.covariance(kernel, inputs) + self.jitter * identity
        schur = self._gram
        if parent is not None:
            self._cross = parent(inputs)  # a_parent(U)
            schur -= tf.matmul(self._cross, self._cross, transpose_a=True)
        self._cholesky = Cholesky(schur)

    def jitter_at(self, inputs: tf.Tensor) -> tf.Tensor:
        """Jitter for the diagonal of a matrix of one or more inputs, [1, 1] or [S, 1, 1]."""
        mean = batched.mean_variance(self.kernel, inputs)
        return (gpflow.default_jitter() * mean * self.jitter_scale)[..., None, None]

    @property
    def L(self) -> tf.Tensor:
        """The Cholesky factor of the last block's matrix, given the blocks before it.

        [M, M] or [S, M, M], lower triangular.
        """
        return self._cholesky.L

    @property
    def is_sampled(self) -> bool:  # type: ignore[override]
        """True if the basis functions differ between samples."""
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

        Without a parent it is L, so that u = L z.
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

    def representer_weights(self, z: tf.Tensor, values: tf.Tensor | None = None) -> tf.Tensor:
        """The vector v = L^-T (z - L^-1 y), for which k(x, U) v = a(x)^T (z - L^-1 y).

        For a basis without a parent.

        :param z: [M, P] or [S, M, P].
        :param values: y, the values at U, of the shape of z; None for zero.
        :return: v, of the shape of z.
        """
        c = z if values is None else z - self._cholesky.solve(values)
        if c.shape.rank == 3 and not self.is_sampled:
            v = tf.linalg.triangular_solve(self.L, linalg.fold(c), adjoint=True)
            return linalg.unfold(v, tf.shape(c)[0])
        return tf.linalg.triangular_solve(self.L, c, adjoint=True)

    def extend(self, inputs: tf.Tensor) -> KernelBasis:
        """The basis with more inducing inputs appended.

        :param inputs: [M, D] or [S, M, D]; M may differ from that of this basis.
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

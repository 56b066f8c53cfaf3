"""The Cholesky factor of a kernel matrix, with gradients derived by hand.

A change of K = L L^T changes the factor by dL = L Phi(E) with E = L^-1 dK L^-T, where Phi takes the
lower triangle and half of the diagonal (Murray 2016, eq. 8). So the gradient of any function of L
can be written in terms of E, where it is cheap. The gradients of all functions are summed there,
and one pair of triangular solves turns the sum into the gradient with respect to K:

    u = L z:         du = L Phi(E) z         gradient  (L^T g_u) z^T,
    v = L^T y:       dv = Phi(E)^T v         gradient  v g_v^T,
    A = L^-1 R:      dA = -Phi(E) A          gradient  -g_A A^T,
    from E to K:     L^-T Phi(G) L^-1        for the sum G of these gradients.

TensorFlow's own gradient of the factor takes an inverse and three products, after the product for
the gradient of L in A.
"""

import tensorflow as tf

from . import linalg
from .linalg import Gradient, once_only


class Cholesky:
    """L = chol K, and products and triangular solves with it.

    K is [M, M] or [S, M, M]. If K has no sample axis and the other factor has one, then the samples
    of the other factor are put side by side as columns. The other way round, it serves all samples.
    """

    def __init__(self, K: tf.Tensor) -> None:
        self._L, self._E = _factorise(K)

    @property
    def is_sampled(self) -> bool:
        return bool(self._L.shape.rank == 3)

    @property
    def L(self) -> tf.Tensor:
        """The factor itself; its gradient costs one more product of the size of K."""
        return _factor(self._L, self._E)

    def times(self, z: tf.Tensor) -> tf.Tensor:
        """L z, for z of [M, P] or [S, M, P]."""
        return self._with(_times, z)

    def transposed_times(self, y: tf.Tensor) -> tf.Tensor:
        """L^T y, for y of [M, P] or [S, M, P]."""
        return self._with(_transposed_times, y)

    def solve(self, R: tf.Tensor) -> tf.Tensor:
        """L^-1 R, for R of [M, N] or [S, M, N]."""
        return self._with(_solve, R)

    def _with(self, function: Gradient, R: tf.Tensor) -> tf.Tensor:
        if R.shape.rank == 3 and not self.is_sampled:
            return linalg.unfold(function(self._L, self._E, linalg.fold(R)), tf.shape(R)[0])
        if R.shape.rank == 2 and self.is_sampled:
            # Its gradient is the sum over samples, which the functions below do not take.
            R = tf.broadcast_to(R, tf.concat([tf.shape(self._L)[:1], tf.shape(R)], axis=0))
        return function(self._L, self._E, R)


@tf.custom_gradient
def _factorise(K: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], Gradient]:
    """L, a constant, and a placeholder for E, whose value is never used."""
    L = tf.linalg.cholesky(K)

    def gradient(_: tf.Tensor, G: tf.Tensor) -> tf.Tensor:
        half = tf.linalg.set_diag(tf.linalg.band_part(G, -1, 0), 0.5 * tf.linalg.diag_part(G))
        left = tf.linalg.triangular_solve(L, half, adjoint=True)
        # The transpose of the gradient, which is as good, since K is always symmetric.
        both = tf.linalg.triangular_solve(L, tf.linalg.matrix_transpose(left), adjoint=True)
        return once_only((both,), K)[0]

    return (tf.stop_gradient(L), tf.identity(L)), gradient


# Functions of (L, E, ...); L is a constant in all of them.


def _factor(L: tf.Tensor, E: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def factor(E: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
        return tf.identity(L), lambda dL: once_only((tf.matmul(L, dL, transpose_a=True),), E)[0]

    return factor(E)


def _times(L: tf.Tensor, E: tf.Tensor, z: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def times(E: tf.Tensor, z: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
        def gradient(du: tf.Tensor) -> tuple[tf.Tensor, ...]:
            dz = tf.matmul(L, du, transpose_a=True)
            return once_only((tf.matmul(dz, z, transpose_b=True), dz), E, z)

        return tf.matmul(L, z), gradient

    return times(E, z)


def _transposed_times(L: tf.Tensor, E: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def transposed_times(E: tf.Tensor, y: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
        v = tf.matmul(L, y, transpose_a=True)

        def gradient(dv: tf.Tensor) -> tuple[tf.Tensor, ...]:
            return once_only((tf.matmul(v, dv, transpose_b=True), tf.matmul(L, dv)), E, y)

        return v, gradient

    return transposed_times(E, y)


def _solve(L: tf.Tensor, E: tf.Tensor, R: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient
    def solve(E: tf.Tensor, R: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
        A = tf.linalg.triangular_solve(L, R)

        def gradient(dA: tf.Tensor) -> tuple[tf.Tensor, ...]:
            dR = tf.linalg.triangular_solve(L, dA, adjoint=True)
            return once_only((-tf.matmul(dA, A, transpose_b=True), dR), E, R)

        return A, gradient

    return solve(E, R)

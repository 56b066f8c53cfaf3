"""Roots of B^-1 for B = I + G, with gradients derived by hand.

C = chol B is inverted, B is not: neither value nor gradient forms B^-1, whose small eigenvalues
float32 would lose. Everything but C^-1 itself is a product; differentiating through the Cholesky
factor would cost a multiple of that.
"""

import numpy as np
import tensorflow as tf

from ..linalg import Gradient, once_only


@tf.custom_gradient
def inverse_root(H: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], Gradient]:
    """The root of B^-1 for B = I + H^T H, with log|B|.

    :param H: [..., M, K].
    :return: J = C^-1, lower triangular, [..., K, K], and log|B|, [...].
    """
    J, log_determinant = _inverse_root(tf.matmul(H, H, transpose_a=True))

    def gradient(dJ: tf.Tensor, d_log: tf.Tensor) -> tf.Tensor:
        twice_Q = _twice_Q(tf.matmul(dJ, J, transpose_b=True), d_log)
        dH = tf.matmul(tf.matmul(tf.matmul(H, J, transpose_b=True), twice_Q), J)  # 2 H dB
        return once_only((dH,), H)[0]

    return (J, log_determinant), gradient


@tf.custom_gradient
def inverse_root_from_moment(G: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor], Gradient]:
    """The same for B = I + G, G of [..., K, K]."""
    J, log_determinant = _inverse_root(G)

    def gradient(dJ: tf.Tensor, d_log: tf.Tensor) -> tf.Tensor:
        twice_Q = _twice_Q(tf.matmul(dJ, J, transpose_b=True), d_log)
        dG = 0.5 * tf.matmul(J, tf.matmul(twice_Q, J), transpose_a=True)  # dB
        return once_only((dG,), G)[0]

    return (J, log_determinant), gradient


def inverse_root_in_units(K: tf.Tensor, T: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The root of (K + Lambda^-1)^-1 = W^T W for Lambda = T T^T, by B = I + T^T K T.

    :param K: a kernel matrix, [..., M, M].
    :param T: lower triangular, [M, M].
    :return: W = C^-1 T^T and C^-1, both [..., M, M], and log|B|, [...].
    """

    @tf.custom_gradient
    def root(K: tf.Tensor, T: tf.Tensor) -> tuple[tuple[tf.Tensor, tf.Tensor, tf.Tensor], Gradient]:
        KT = _times(K, T)
        J, log_determinant = _inverse_root(tf.matmul(T, KT, transpose_a=True))
        W = _times(J, tf.transpose(T))

        def gradient(dW: tf.Tensor, dJ: tf.Tensor, d_log: tf.Tensor) -> tuple[tf.Tensor, ...]:
            # W depends on J: its gradient adds dW T to that of J.
            moved = tf.concat([dW, dJ], axis=-1)
            both = tf.matmul(moved, tf.concat([W, J], axis=-1), transpose_b=True)
            half = tf.matmul(W, _twice_Q(both, d_log), transpose_a=True)  # W^T 2 Q
            dK = 0.5 * tf.matmul(half, W)  # T dB T^T
            # 2 K T dB + dW^T C^-1
            dT = tf.matmul(tf.matmul(K, half) + tf.linalg.matrix_transpose(dW), J)
            if dT.shape.rank == 3:
                dT = tf.reduce_sum(dT, axis=0)
            return once_only((dK, dT), K, T)

        return (W, J, log_determinant), gradient

    return root(K, T)


def _times(A: tf.Tensor, B: tf.Tensor) -> tf.Tensor:
    """Multiply A of [..., M, M] by B of [M, M], in one product."""
    if A.shape.rank == 2:
        return tf.matmul(A, B)
    return tf.reshape(tf.matmul(tf.reshape(A, [-1, A.shape[-1]]), B), tf.shape(A))


def _inverse_root(G: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """J = C^-1 and log|B|, for C C^T = B = I + G."""
    identity = tf.eye(G.shape[-1], dtype=G.dtype)
    # Rounding can lower the smallest eigenvalue, 1; a bound on that error is added to the diagonal.
    # It matters if the data's part is larger by about the precision of the number type. The
    # Gaussian is then narrower where the data say nothing; the KL divergence is that of this
    # Gaussian, so the bound is still a bound.
    largest = tf.reduce_max(tf.linalg.diag_part(G), axis=-1)
    floor = 1.0 + 4.0 * np.finfo(G.dtype.as_numpy_dtype).eps * largest
    C = tf.linalg.cholesky(floor[..., None, None] * identity + G)
    J = tf.linalg.triangular_solve(C, tf.broadcast_to(identity, tf.shape(C)))
    return J, 2.0 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(C)), axis=-1)


def _twice_Q(dJ_J: tf.Tensor, d_log: tf.Tensor) -> tf.Tensor:
    """2 Q, where dB = J^T Q J is the gradient of B, from (gradient of J) J^T and that of log|B|."""
    # From dJ = -J dC J and the differential of the Cholesky factor (Murray 2016, eq. 8 and 10):
    #     Q = d_log I - 1/2 [Phi(dJ J^T) + Phi(dJ J^T)^T],
    # where Phi takes the lower triangle and half of the diagonal.
    size = dJ_J.shape[-1]
    lower = dJ_J * _lower_triangle(size, dJ_J.dtype)
    twice_Q = 2.0 * d_log[..., None, None] * tf.eye(size, dtype=dJ_J.dtype)
    return twice_Q - lower - tf.linalg.matrix_transpose(lower)


def _lower_triangle(size: int, dtype: tf.DType) -> tf.Tensor:
    """Ones below the diagonal, halves on it, zeros above."""
    return tf.constant(np.tril(np.ones((size, size))) - 0.5 * np.eye(size), dtype)

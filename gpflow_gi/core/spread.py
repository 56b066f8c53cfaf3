"""Variances of a^T z for Gaussians z with triangular roots, without products with zeros."""

import tensorflow as tf

from . import linalg
from .linalg import Gradient, once_only

BLOCKS = 3
"""Number of blocks of columns of a triangle. With B blocks the products take (1 + 1/B) / 2 of the
arithmetic of a full matrix; beyond three, the products are too small to be faster."""


def spread(roots: tf.Tensor, A: tf.Tensor) -> tf.Tensor:
    """Compute |R_p^T a|^2 for each of the factors R_p and columns a.

    :param roots: P lower triangular factors, [P, K, K].
    :param A: [K, N] or [S, K, N].
    :return: [P, N] or [S, P, N].
    """
    if A.shape.rank == 3:
        return linalg.unfold(spread(roots, linalg.fold(A)), tf.shape(A)[0])
    P, K, _ = roots.shape
    size = -(-K // BLOCKS)
    blocks = [(start, min(start + size, K)) for start in range(0, K, size)]

    @tf.custom_gradient
    def by_blocks(roots: tf.Tensor, A: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
        # Columns `start` to `stop` are zero above `start`. The blocks of all factors are stacked
        # for one product.
        stacked = [
            tf.reshape(
                tf.linalg.matrix_transpose(roots[:, start:, start:stop]),
                [P * (stop - start), K - start],
            )
            for start, stop in blocks
        ]
        halves = [
            tf.reshape(tf.matmul(block, A[start:]), [P, stop - start, -1])
            for block, (start, stop) in zip(stacked, blocks, strict=True)
        ]

        def gradient(d: tf.Tensor) -> tuple[tf.Tensor, ...]:
            d_roots, dA = [], []
            for block, half, (start, stop) in zip(stacked, halves, blocks, strict=True):
                d_half = tf.reshape(half * (2.0 * d[:, None, :]), [P * (stop - start), -1])
                d_block = tf.matmul(A[start:], d_half, transpose_b=True)
                d_block = tf.reshape(d_block, [K - start, P, stop - start])
                d_roots.append(tf.pad(d_block, [[start, 0], [0, 0], [0, 0]]))
                dA.append(tf.matmul(block, d_half, transpose_a=True))
            all_dA = dA[0]
            for (start, _), more in zip(blocks[1:], dA[1:], strict=True):
                all_dA = tf.concat([all_dA[:start], all_dA[start:] + more], axis=0)
            all_d_roots = tf.transpose(tf.concat(d_roots, axis=2), [1, 0, 2])
            return once_only((all_d_roots, all_dA), roots, A)

        return tf.add_n([linalg.sum_of_squares(half) for half in halves]), gradient

    return by_blocks(roots, A)

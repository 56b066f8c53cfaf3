"""Products where either factor may lack the sample axis, and gradients derived by hand.

Shapes are [K, N], or [S, K, N] with a sample axis in front. A factor that is the same for all
samples has no sample axis and is never tiled: the sample axis of the other factor is folded into
its columns, so that one matrix product or one triangular solve serves all samples.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

Gradient = Callable[..., Any]
"""The gradient of a function, as tf.custom_gradient takes it."""


def fold(columns: tf.Tensor) -> tf.Tensor:
    """Put the columns of all samples side by side: [S, K, N] -> [K, S*N]."""
    num_samples, rows, cols = tf.unstack(tf.shape(columns))
    return tf.reshape(tf.transpose(columns, [1, 0, 2]), [rows, num_samples * cols])


def unfold(columns: tf.Tensor, num_samples: tf.Tensor) -> tf.Tensor:
    """Undo :func:`fold`: [K, S*N] -> [S, K, N]."""
    rows = tf.shape(columns)[0]
    cols = tf.shape(columns)[1] // num_samples
    return tf.transpose(tf.reshape(columns, [rows, num_samples, cols]), [1, 0, 2])


def transposed_product(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """A^T B.

    :param left: A, [K, N] or [S, K, N].
    :param right: B, [K, P] or [S, K, P].
    :return: [N, P] if neither has a sample axis, else [S, N, P].
    """
    if left.shape.rank == 2 and right.shape.rank == 3:
        product = tf.matmul(left, fold(right), transpose_a=True)
        return unfold(product, tf.shape(right)[0])
    return tf.matmul(left, right, transpose_a=True)


def product(left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
    """A B.

    :param left: A, [N, K] or [S, N, K].
    :param right: B, [K, P] or [S, K, P].
    :return: [N, P] if neither has a sample axis, else [S, N, P].
    """
    if left.shape.rank == 2 and right.shape.rank == 3:
        return unfold(tf.matmul(left, fold(right)), tf.shape(right)[0])
    return tf.matmul(left, right)


def sum_of_squares(columns: tf.Tensor) -> tf.Tensor:
    """Compute |a|^2 of each column: [..., K, N] -> [..., N]."""
    return tf.reduce_sum(tf.square(columns), axis=-2)


def not_below_zero(variance: tf.Tensor) -> tf.Tensor:
    """A variance that was computed as a difference; rounding can make it negative.

    The floor is the smallest number whose square root has a finite gradient.
    """
    return tf.maximum(variance, np.finfo(variance.dtype.as_numpy_dtype).tiny)


def root_of_any(covariance: tf.Tensor) -> tf.Tensor:
    """A matrix R with R R^T = covariance, which may be singular: [..., P, P].

    For draws: its gradient is wrong where eigenvalues repeat, and infinite where one is zero.
    Of a matrix that is not finite, R is NaN.
    """
    finite = tf.reduce_all(tf.math.is_finite(covariance), axis=[-2, -1], keepdims=True)
    # eigh raises an error where a matrix is not finite, and a caller says better what is wrong.
    identity = tf.eye(tf.shape(covariance)[-1], dtype=covariance.dtype)
    values, vectors = tf.linalg.eigh(tf.where(finite, covariance, identity))
    root = vectors * tf.sqrt(tf.maximum(values, 0.0))[..., None, :]
    return tf.where(finite, root, tf.constant(np.nan, root.dtype))


MOST_ENTRIES = 2**25
"""Largest number of entries of a matrix of all samples that is formed at once: 256 MiB in float64.
Gradients keep those of all parts."""


def row_blocks(num_rows: int, num_columns: int, *arrays: tf.Tensor) -> list[slice]:
    """Slices of N rows: a matrix with one row for each row of a slice fits into memory.

    :param num_rows: the number of rows, N.
    :param num_columns: the number of columns of that matrix.
    :param arrays: tensors of rank 2 or 3; one of rank 3 has S samples, as the matrix then has.
    """
    samples = max([1, *(array.shape[0] or 1 for array in arrays if array.shape.rank == 3)])
    size = max(MOST_ENTRIES // max(samples * num_columns, 1), 1)
    return [slice(start, start + size) for start in range(0, num_rows, size)]


def flat_rows(X: tf.Tensor) -> tf.Tensor:
    """Reshape [N, ...] -> [N, D]: images become rows of pixels."""
    return X if X.shape.rank == 2 else tf.reshape(X, [-1, X.shape[1:].num_elements()])


def concat_rows(upper: tf.Tensor, lower: tf.Tensor) -> tf.Tensor:
    """Stack [K1, N] and [K2, N] -> [K1 + K2, N]; one without a sample axis serves all samples."""
    if upper.shape.rank == 2 and lower.shape.rank == 3:
        upper = tf.broadcast_to(upper, tf.concat([tf.shape(lower)[:1], tf.shape(upper)], axis=0))
    if upper.shape.rank == 3 and lower.shape.rank == 2:
        lower = tf.broadcast_to(lower, tf.concat([tf.shape(upper)[:1], tf.shape(lower)], axis=0))
    return tf.concat([upper, lower], axis=-2)


def once_only(gradients: tuple[tf.Tensor, ...], *arguments: tf.Tensor) -> tuple[tf.Tensor, ...]:
    """Gradients with respect to the arguments, which raise an error if differentiated again.

    They contain a Cholesky factor that TensorFlow takes for a constant, so second derivatives would
    be silently wrong.
    """

    @tf.custom_gradient
    def guarded(gradient: tf.Tensor, *_: tf.Tensor) -> tuple[tf.Tensor, Gradient]:
        def refuse(*_: tf.Tensor) -> tf.Tensor:
            raise NotImplementedError(
                "GP layers and layers with pseudo-data have first derivatives in reverse mode only "
                "(tf.GradientTape). For a Hessian, difference their gradients; for a derivative in "
                "forward mode (tf.autodiff.ForwardAccumulator), difference their values."
            )

        return tf.identity(gradient), refuse

    return tuple(guarded(gradient, *arguments) for gradient in gradients)

"""Kernels that depend only on the distance of two inputs, with or without a sample axis."""

from typing import cast

import tensorflow as tf
from gpflow.kernels import IsotropicStationary, Kernel, SquaredExponential, Stationary


def depends_on_distance(kernel: Kernel) -> bool:
    """True if GPflow's formulas for a kernel of the scaled distance hold for this one."""
    return (
        isinstance(kernel, IsotropicStationary)
        and type(kernel).__call__ is Kernel.__call__
        and type(kernel).K is IsotropicStationary.K
        and type(kernel).scale is Stationary.scale
        and type(kernel).scaled_squared_euclid_dist
        is IsotropicStationary.scaled_squared_euclid_dist
    )


def has_one_variance(kernel: Kernel) -> bool:
    """True if k(x, x) is the kernel's variance at all x."""
    return isinstance(kernel, Stationary) and type(kernel).K_diag is Stationary.K_diag


def covariance(kernel: IsotropicStationary, X1: tf.Tensor, X2: tf.Tensor) -> tf.Tensor:
    """Compute k(X1, X2), sample by sample.

    :param kernel: a kernel that depends on the distance.
    :param X1: [M, D] or [S, M, D].
    :param X2: [N, D] or [S, N, D].
    :return: [M, N] if neither has a sample axis, else [S, M, N].
    """
    X1, X2 = (kernel.scale(X) for X in kernel.slice(X1, X2))
    norms1, norms2 = (tf.reduce_sum(tf.square(X), axis=-1, keepdims=True) for X in (X1, X2))
    if type(kernel).K_r2 is SquaredExponential.K_r2:
        # The exponent, log variance - |x - x'|^2 / 2, is a product of inputs extended by two
        # columns, [x, log variance - |x|^2 / 2, 1]^T [x', 1, -|x'|^2 / 2]: one pass over the
        # matrix, forward and backward, instead of five.
        exponents1 = tf.math.log(cast(tf.Tensor, kernel.variance)) - 0.5 * norms1
        left = tf.concat([X1, exponents1, tf.ones_like(norms1)], axis=-1)
        right = tf.concat([X2, tf.ones_like(norms2), -0.5 * norms2], axis=-1)
        return tf.exp(tf.matmul(left, right, transpose_b=True))
    # For other kernels the square root of a distance would magnify the rounding error of a zero.
    products = tf.matmul(X1, X2, transpose_b=True)
    return kernel.K_r2(norms1 + tf.linalg.matrix_transpose(norms2) - 2.0 * products)

"""Functions drawn from a kernel's prior, as finite sums of features.

    g(x) = phi(x)^T w,    w ~ N(0, I),    E phi(x)^T phi(x') = k(x, x')

A kernel with finitely many features, such as that of a network's layer, has them exactly. A
stationary kernel is the characteristic function of the distribution p of its frequencies (Bochner's
theorem), so that

    g(x) = sqrt(variance / F) sum_i [w_i cos(omega_i^T x) + v_i sin(omega_i^T x)],    omega_i ~ p

has its covariance, on average over frequencies (Rahimi & Recht 2007). Here each draw has its own
frequencies: moments over many draws are then those of the kernel, for any number of features. At a
single input each draw is Gaussian with the right variance, since cos^2 + sin^2 = 1.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import gpflow
import tensorflow as tf
from gpflow.kernels import (
    Constant,
    Exponential,
    Kernel,
    Linear,
    Matern12,
    Matern32,
    Matern52,
    Product,
    RationalQuadratic,
    SquaredExponential,
    Sum,
)

from ..core import linalg
from ..core.random import fold_in, standard_normal
from .bnn import BNNKernel
from .empirical import EmpiricalKernel

Function: TypeAlias = Callable[[tf.Tensor], tf.Tensor]


def has_features(kernel: Kernel) -> bool:
    """True if :func:`draw_function` supports the kernel.

    Only the class itself counts: a subclass may have another covariance.
    """
    if type(kernel) is Sum:
        return all(map(has_features, kernel.kernels))
    return type(kernel) in FINITE or has_frequencies(kernel)


def draw_function(
    kernel: Kernel,
    input_dim: int,
    samples: Sequence[int],
    num_outputs: int,
    num_features: int,
    seed: tf.Tensor,
) -> Function:
    """Draw functions g from GP(0, k), independent over samples and outputs.

    The outputs of a sample share its frequencies: their cosines are most of the work.

    :param kernel: a kernel that has features.
    :param input_dim: D, the number of columns of the inputs.
    :param samples: [S], or [] for one draw without a sample axis.
    :param num_outputs: P, the number of outputs of each sample.
    :param num_features: F, the number of random frequencies; not used for kernels with finitely
        many features.
    :param seed: [2].
    :return: a function from [N, D] or [S, N, D] to [N, P] or [S, N, P].
    """
    if type(kernel) is Sum:
        parts = [
            draw_function(part, input_dim, samples, num_outputs, num_features, fold_in(seed, i))
            for i, part in enumerate(kernel.kernels)
        ]
        return lambda X: tf.add_n([part(X) for part in parts])
    dtype = gpflow.default_float()
    if type(kernel) in FINITE:
        features = FINITE[type(kernel)]
        K = features(kernel, tf.zeros([1, input_dim], dtype)).shape[-1]
        weights = standard_normal([*samples, K, num_outputs], seed, dtype)
        return lambda X: linalg.product(features(kernel, X), weights)
    omega = frequencies(kernel, input_dim, [*samples, num_features], fold_in(seed, 0))
    transposed = tf.linalg.matrix_transpose(omega)
    return sum_of_waves(
        lambda X: linalg.product(X, transposed),
        _variance(kernel),
        [*samples, num_features, num_outputs],
        seed,
    )


def sum_of_waves(
    phases: Function, variance: tf.Tensor, shape: Sequence[int], seed: tf.Tensor
) -> Function:
    """Draw sqrt(variance / F) sum_i [w_i cos(phase_i) + v_i sin(phase_i)], with normal w and v.

    :param phases: from inputs [..., N, D] to the phases [..., N, F] of all frequencies.
    :param variance: [].
    :param shape: [*samples, F, P].
    :param seed: [2], of which the streams 1 and 2 are used.
    """
    amplitude, dtype = tf.sqrt(variance / shape[-2]), gpflow.default_float()
    w, v = (amplitude * standard_normal(shape, fold_in(seed, i), dtype) for i in (1, 2))

    def function(X: tf.Tensor) -> tf.Tensor:
        phase = phases(X)
        return tf.matmul(tf.cos(phase), w) + tf.matmul(tf.sin(phase), v)

    return function


FINITE: dict[type, Callable[[Any, tf.Tensor], tf.Tensor]] = {
    Linear: lambda kernel, X: kernel.slice(X)[0] * tf.sqrt(kernel.variance),
    BNNKernel: lambda kernel, X: (
        kernel.features(kernel.slice(X)[0]) * tf.sqrt(kernel.variance / kernel.num_features)
    ),
    EmpiricalKernel: lambda kernel, X: kernel.features(kernel.slice(X)[0]),
}
"""The features phi of kernels with finitely many: [..., N, D] -> [..., N, K]."""

_Gamma: TypeAlias = Callable[[Any], tf.Tensor]

SCALES: dict[type, Callable[[Any, _Gamma], Any]] = {
    SquaredExponential: lambda kernel, gamma: 1.0,
    Matern12: lambda kernel, gamma: tf.math.rsqrt(gamma(0.5)),
    Matern32: lambda kernel, gamma: tf.math.rsqrt(gamma(1.5)),
    Matern52: lambda kernel, gamma: tf.math.rsqrt(gamma(2.5)),
    Exponential: lambda kernel, gamma: 0.5 * tf.math.rsqrt(gamma(0.5)),  # GPflow's has exp(-r / 2)
    RationalQuadratic: lambda kernel, gamma: tf.sqrt(gamma(kernel.alpha)),
}
"""Gamma variables for the random scale of the frequencies, which are Gaussian given the scale, for
isotropic kernels: a Matern kernel's frequencies are Student's t with 2 nu degrees of freedom; a
rational quadratic kernel is a mixture of squared exponential ones (Rasmussen & Williams 2006, eq.
4.15 and 4.20)."""


def has_frequencies(kernel: Kernel) -> bool:
    """True for stationary kernels, and products of them."""
    if type(kernel) is Product:
        return all(map(has_frequencies, kernel.kernels))
    return type(kernel) is Constant or type(kernel) in SCALES


def frequencies(kernel: Any, input_dim: int, shape: list[int], seed: tf.Tensor) -> tf.Tensor:
    """Frequencies that multiply the D columns of the inputs, [*shape, D]."""
    if type(kernel) is Product:
        # A product of characteristic functions is the characteristic function of the sum.
        parts = enumerate(kernel.kernels)
        return tf.add_n([frequencies(k, input_dim, shape, fold_in(seed, i)) for i, k in parts])
    dtype = gpflow.default_float()
    if type(kernel) is Constant:
        return tf.zeros([*shape, input_dim], dtype)
    # The kernel selects columns and divides by lengthscales, which is linear in its inputs.
    columns = kernel.scale(kernel.slice(tf.eye(input_dim, dtype=dtype))[0])

    def gamma(a: Any) -> tf.Tensor:
        return tf.random.stateless_gamma([*shape, 1], fold_in(seed, 1), a, a, dtype)

    normal = standard_normal([*shape, columns.shape[-1]], fold_in(seed, 0), dtype)
    omega = normal * SCALES[type(kernel)](kernel, gamma)
    return tf.matmul(omega, columns, transpose_b=True)


def _variance(kernel: Any) -> tf.Tensor:
    if type(kernel) is Product:
        return math.prod(map(_variance, kernel.kernels))
    return tf.convert_to_tensor(kernel.variance)

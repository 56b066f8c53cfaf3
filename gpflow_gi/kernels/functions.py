"""Functions drawn from the priors of GPflow's kernels, beyond those that have features.

    a sum                       g = sum_i g_i
    change points               g = sum_i s_i(x) g_i(x), with the sigmoids s_i of the kernel
    finitely many features phi  g = phi(x)^T w,  w ~ N(0, I)
    such a kernel times k       g = sum_j phi_j(x) h_j(x),  h_j ~ GP(0, k) independent
    periodic                    frequencies of the base kernel on the circle of each input
    arc-cosine                  g = sqrt(2 variance / F) sum_i w_i max(0, a_i^T x)^order
    embedded inputs             g = h(e(x)), h ~ GP(0, k)
    patches of images           g = sum_p w_p h(patch p of x) / P,  h ~ GP(0, k)

Means and covariances over draws are those of the kernel. (MacKay 1998, "Introduction to Gaussian
processes", eq. 47, for the circle; Cho & Saul 2009, "Kernel methods for deep learning", eq. 1, for
arc-cosine kernels, with a bias.)
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from gpflow import kernels as gk

from ..core import linalg
from ..core.random import fold_in, standard_normal
from . import features
from .features import Function

_MOST_FEATURES = 10_000

Features = Callable[[tf.Tensor], tf.Tensor]


class NoFunctionError(ValueError):
    """Error: a kernel's prior cannot be drawn as functions. The message says why."""


def draw_function(
    kernel: Any,
    input_dim: int,
    samples: Sequence[int],
    num_outputs: int,
    num_features: int,
    seed: tf.Tensor,
) -> Function:
    """Draw functions as :func:`gpflow_gi.kernels.features.draw_function`, from more kernels.

    :raises NoFunctionError: if the kernel is white noise, or none of GPflow's and this library's.
    """
    shape = input_dim, samples, num_outputs, num_features
    if features.has_features(kernel):
        return features.draw_function(kernel, *shape, seed)
    if type(kernel) is gk.SharedIndependent and kernel.num_latent_gps == num_outputs:
        return draw_function(kernel.kernel, *shape, seed)
    if isinstance(kernel, gk.MultioutputKernel):
        return _outputs(kernel, shape, seed)
    if type(kernel) is gk.Sum:
        return _sum(kernel.kernels, shape, seed)
    if type(kernel) is gk.ChangePoints:
        return _change_points(kernel, shape, seed)
    if type(kernel) is gk.Convolutional:
        return _convolutional(kernel, shape, seed)
    if type(kernel) is gk.ArcCosine:
        return _arc_cosine(kernel, shape, seed)
    if type(kernel) in (gk.ArcHierarchical, gk.WedgeHierarchical):
        return _of_embedding(kernel, shape, seed)
    finite = _finite_features(kernel)
    if finite is not None:
        return _finite(finite, shape, seed)
    if _is_of_waves(kernel):
        return _waves(kernel, shape, seed)
    if type(kernel) is gk.Product:
        return _product(kernel.kernels, shape, seed)
    if type(kernel) is gk.White:
        raise NoFunctionError(
            "a White kernel is independent noise at every input, and no function; noise is a part "
            "of the likelihood"
        )
    raise NoFunctionError(f"it is not known how to draw functions of a {type(kernel).__name__}")


_Shape = tuple[int, Sequence[int], int, int]


def _sum(kernels: Sequence[Any], shape: _Shape, seed: tf.Tensor) -> Function:
    parts = [draw_function(part, *shape, fold_in(seed, i)) for i, part in enumerate(kernels)]
    return lambda X: tf.add_n([part(X) for part in parts])


def _outputs(kernel: Any, shape: _Shape, seed: tf.Tensor) -> Function:
    """One function for each latent process; outputs are those, or mixed by W."""
    input_dim, samples, num_outputs, num_features = shape
    mixes = isinstance(kernel, gk.LinearCoregionalization)
    size = kernel.W.shape[0] if mixes else kernel.num_latent_gps
    if size != num_outputs:
        raise NoFunctionError(f"it has {size} outputs, but {num_outputs} are asked for")
    parts = [
        draw_function(part, input_dim, samples, 1, num_features, fold_in(seed, i))
        for i, part in enumerate(kernel.latent_kernels)
    ]

    def function(X: tf.Tensor) -> tf.Tensor:
        g = tf.concat([part(X) for part in parts], axis=-1)
        return linalg.product(g, tf.transpose(kernel.W)) if mixes else g

    return function


def _change_points(kernel: Any, shape: _Shape, seed: tf.Tensor) -> Function:
    parts = [draw_function(part, *shape, fold_in(seed, i)) for i, part in enumerate(kernel.kernels)]

    def function(X: tf.Tensor) -> tf.Tensor:
        rises = tf.sigmoid(kernel.steepness * (X - tf.sort(kernel.locations)))
        one = tf.ones_like(rises[..., :1])
        starts, stops = tf.concat([one, rises], -1), tf.concat([1.0 - rises, one], -1)
        weights = starts * stops
        return tf.add_n([weights[..., i, None] * part(X) for i, part in enumerate(parts)])

    return function


def _convolutional(kernel: Any, shape: _Shape, seed: tf.Tensor) -> Function:
    _, samples, num_outputs, num_features = shape
    base = draw_function(
        kernel.base_kernel, kernel.patch_len, samples, num_outputs, num_features, seed
    )

    def function(X: tf.Tensor) -> tf.Tensor:
        patches = kernel.get_patches(X)  # [..., N, P, L]
        size = tf.shape(patches)
        rows = tf.reshape(patches, tf.concat([size[:-3], [size[-3] * size[-2], size[-1]]], 0))
        h = base(rows)
        h = tf.reshape(h, tf.concat([tf.shape(h)[:-2], size[-3:-1], [num_outputs]], 0))
        return tf.reduce_sum(h * kernel.weights[:, None], axis=-2) / kernel.num_patches

    return function


def _of_embedding(kernel: Any, shape: _Shape, seed: tf.Tensor) -> Function:
    def embedded(X: tf.Tensor) -> tf.Tensor:
        return kernel._embed(kernel.slice(X)[0])

    zeros = tf.zeros([1, shape[0]], gpflow.default_float())
    h = draw_function(kernel.base_kernel, embedded(zeros).shape[-1], *shape[1:], seed)
    return lambda X: h(embedded(X))


def _arc_cosine(kernel: Any, shape: _Shape, seed: tf.Tensor) -> Function:
    input_dim, samples, num_outputs, num_features = shape
    dtype = gpflow.default_float()
    columns = kernel.slice(tf.eye(input_dim, dtype=dtype))[0] * tf.sqrt(kernel.weight_variances)
    a, b, w = (
        standard_normal([*samples, *size], fold_in(seed, i), dtype)
        for i, size in enumerate(
            [(num_features, columns.shape[-1]), (1, num_features), (num_features, num_outputs)]
        )
    )
    a = tf.matmul(columns, a, transpose_b=True)  # [*S, D, F]
    b = b * tf.sqrt(kernel.bias_variance)
    amplitude = tf.sqrt(2.0 * kernel.variance / num_features)

    def function(X: tf.Tensor) -> tf.Tensor:
        units = linalg.product(X, a) + b
        on = tf.cast(units > 0.0, dtype)
        return amplitude * tf.matmul(on * units**kernel.order if kernel.order else on, w)

    return function


def _finite_features(kernel: Any) -> Features | None:
    """The features of a kernel that has finitely many, [..., N, D] -> [..., N, K]; or None."""
    if type(kernel) is gk.Constant:
        return lambda X: tf.ones_like(X[..., :1]) * tf.sqrt(kernel.variance)
    if type(kernel) is gk.Cosine:

        def waves(X: tf.Tensor) -> tf.Tensor:
            phase = 2.0 * np.pi * tf.reduce_sum(kernel.scale(kernel.slice(X)[0]), -1, keepdims=True)
            return tf.sqrt(kernel.variance) * tf.concat([tf.cos(phase), tf.sin(phase)], -1)

        return waves
    if type(kernel) is gk.Polynomial:
        degree = int(kernel.degree)
        if degree != kernel.degree or degree < 1:
            return None

        def powers(X: tf.Tensor) -> tf.Tensor:
            x = kernel.slice(X)[0] * tf.sqrt(kernel.variance)
            x = tf.concat([x, tf.ones_like(x[..., :1]) * tf.sqrt(kernel.offset)], -1)
            return _tensor_product([x] * degree)

        return powers
    if type(kernel) is gk.Coregion:

        def rows(X: tf.Tensor) -> tf.Tensor:
            root = tf.concat([kernel.W, tf.linalg.diag(tf.sqrt(kernel.kappa))], -1)
            return tf.gather(root, tf.cast(kernel.slice(X)[0][..., 0], tf.int32))

        return rows
    if type(kernel) in features.FINITE:
        known = features.FINITE[type(kernel)]
        return lambda X: known(kernel, X)
    if type(kernel) is gk.Product:
        found = [_finite_features(part) for part in kernel.kernels]
        parts = [part for part in found if part is not None]
        if len(parts) == len(found):
            return lambda X: _tensor_product([part(X) for part in parts])
    return None


def _tensor_product(parts: Sequence[tf.Tensor]) -> tf.Tensor:
    """All products of one feature of each part, several of [..., N, K_i] -> [..., N, prod K_i]."""
    size = math.prod(part.shape[-1] for part in parts)
    if size > _MOST_FEATURES:
        raise NoFunctionError(
            f"it has {size} features for these inputs, and {_MOST_FEATURES} is the most"
        )
    whole = parts[0]
    for part in parts[1:]:
        pairs = whole[..., :, None] * part[..., None, :]
        whole = tf.reshape(pairs, tf.concat([tf.shape(pairs)[:-2], [-1]], 0))
    return whole


def _finite(finite: Features, shape: _Shape, seed: tf.Tensor) -> Function:
    input_dim, samples, num_outputs, _ = shape
    w = standard_normal(
        [*samples, _number(finite, input_dim), num_outputs], seed, gpflow.default_float()
    )
    return lambda X: linalg.product(finite(X), w)


def _number(finite: Features, input_dim: int) -> int:
    """K, the number of features."""
    with tf.init_scope():  # also while a function is being traced
        return int(tf.shape(finite(tf.zeros([1, input_dim], gpflow.default_float())))[-1])


def _is_of_waves(kernel: Any) -> bool:
    """True for stationary kernels, periodic ones, and products of these."""
    if type(kernel) is gk.Product:
        return all(map(_is_of_waves, kernel.kernels))
    return features.has_frequencies(kernel.base_kernel if type(kernel) is gk.Periodic else kernel)


def _waves(kernel: Any, shape: _Shape, seed: tf.Tensor) -> Function:
    input_dim, samples, num_outputs, num_features = shape
    return features.sum_of_waves(
        _phases(kernel, input_dim, [*samples, num_features], fold_in(seed, 0)),
        _variance(kernel),
        [*samples, num_features, num_outputs],
        seed,
    )


def _phases(kernel: Any, input_dim: int, shape: list[int], seed: tf.Tensor) -> Features:
    """The phases omega^T x of all frequencies; a product's are the sums of its parts'."""
    if type(kernel) is gk.Product:
        parts = [
            _phases(part, input_dim, shape, fold_in(seed, i))
            for i, part in enumerate(kernel.kernels)
        ]
        return lambda X: tf.add_n([part(X) for part in parts])
    if type(kernel) is gk.Periodic:
        return _phases_on_circles(kernel, input_dim, shape, seed)
    omega = features.frequencies(kernel, input_dim, shape, seed)
    return lambda X: linalg.product(X, tf.linalg.matrix_transpose(omega))


def _phases_on_circles(kernel: Any, input_dim: int, shape: list[int], seed: tf.Tensor) -> Features:
    base, dtype = kernel.base_kernel, gpflow.default_float()
    d = base.slice(tf.zeros([1, input_dim], dtype))[0].shape[-1]
    if d > 1 and hasattr(base, "K_r"):
        # Of these kernels GPflow adds the chords' lengths, in place of their squares.
        raise NoFunctionError(f"a periodic {type(base).__name__} has functions of one input only")
    scale = 0.5 / tf.broadcast_to(base.lengthscales, [d])
    normal = standard_normal([*shape, 2 * d], fold_in(seed, 0), dtype)

    def gamma(a: Any) -> tf.Tensor:
        return tf.random.stateless_gamma([*shape, 1], fold_in(seed, 1), a, a, dtype)

    omega = tf.linalg.matrix_transpose(normal * features.SCALES[type(base)](base, gamma))

    def phases(X: tf.Tensor) -> tf.Tensor:
        angles = 2.0 * np.pi * base.slice(X)[0] / kernel.period
        # Chords have the lengths 2 |sin(pi (x - x') / period)|.
        circles = tf.concat([scale * tf.cos(angles), scale * tf.sin(angles)], -1)
        return linalg.product(circles, omega)

    return phases


def _variance(kernel: Any) -> tf.Tensor:
    if type(kernel) is gk.Product:
        return math.prod(map(_variance, kernel.kernels))
    return _variance(kernel.base_kernel) if type(kernel) is gk.Periodic else kernel.variance


def _product(kernels: Sequence[Any], shape: _Shape, seed: tf.Tensor) -> Function:
    input_dim, samples, num_outputs, num_features = shape
    for i, part in enumerate(kernels):
        if type(part) is gk.Sum:  # (k1 + k2) k3 = k1 k3 + k2 k3
            others = [*kernels[:i], *kernels[i + 1 :]]
            return _sum([gk.Product([one, *others]) for one in part.kernels], shape, seed)
    finite = [part for part in kernels if _finite_features(part) is not None]
    others = [part for part in kernels if part not in finite]
    waves = [part for part in others if _is_of_waves(part)]
    rest = [part for part in others if part not in waves]
    if len(rest) + bool(waves) > 1 or not finite:
        names = " and ".join(type(part).__name__ for part in others)
        raise NoFunctionError(f"it is not known how to draw functions of a product of {names}")
    other = rest[0] if rest else waves[0] if len(waves) == 1 else gk.Product(waves)
    phi = _finite_features(gk.Product(finite) if len(finite) > 1 else finite[0])
    assert phi is not None
    K = _number(phi, input_dim)
    h = draw_function(other, input_dim, samples, K * num_outputs, num_features, seed)

    def function(X: tf.Tensor) -> tf.Tensor:
        values = h(X)
        values = tf.reshape(values, tf.concat([tf.shape(values)[:-1], [K, num_outputs]], 0))
        return tf.reduce_sum(phi(X)[..., None] * values, axis=-2)

    return function

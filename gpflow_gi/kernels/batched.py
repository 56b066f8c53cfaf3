"""Any GPflow kernel at inputs with a sample axis.

GPflow's ``kernel(X1, X2)`` of [S, M, D] and [S, N, D] is the covariance between all samples,
[S, M, S, N]. Layers need it sample by sample: [S, M, N].
"""

from functools import reduce
from typing import Any, cast
from weakref import WeakKeyDictionary, ref

import tensorflow as tf
from gpflow.kernels import Combination, Kernel, Product, Stationary, Sum

from ..core.linalg import unfold
from ..core.structure import Structure
from . import stationary


def covariance(kernel: Kernel, X: tf.Tensor) -> tf.Tensor:
    """Compute k(X, X): [N, D] -> [N, N], or [S, N, D] -> [S, N, N]."""
    if type(kernel) in _COMBINE:
        return _combined(kernel, [covariance(part, X) for part in _parts(kernel)])
    if stationary.depends_on_distance(kernel):
        return stationary.covariance(kernel, X, X)
    if X.shape.rank == 2:
        return kernel(X)
    return _for_each_sample(kernel, X)


def cross_covariance(kernel: Kernel, X1: tf.Tensor, X2: tf.Tensor) -> tf.Tensor:
    """Compute k(X1, X2), sample by sample.

    :param X1: [M, D] or [S, M, D].
    :param X2: [N, D] or [S, N, D].
    :return: [M, N] if neither has a sample axis, else [S, M, N].
    """
    if type(kernel) in _COMBINE:
        return _combined(kernel, [cross_covariance(part, X1, X2) for part in _parts(kernel)])
    if stationary.depends_on_distance(kernel):
        return stationary.covariance(kernel, X1, X2)
    ranks = (X1.shape.rank, X2.shape.rank)
    if ranks == (2, 2):
        return kernel(X1, X2)
    if ranks == (2, 3):
        return unfold(kernel(X1, flatten_rows(X2)), tf.shape(X2)[0])
    if ranks == (3, 2):
        return tf.linalg.matrix_transpose(cross_covariance(kernel, X2, X1))
    return _for_each_sample(kernel, X1, X2)


def variance(kernel: Kernel, X: tf.Tensor) -> tf.Tensor:
    """Compute k(x, x) of every row: [N, D] -> [N], or [S, N, D] -> [S, N]."""
    if X.shape.rank == 2:
        return kernel(X, full_cov=False)
    return tf.reshape(kernel(flatten_rows(X), full_cov=False), tf.shape(X)[:-1])


def mean_variance(kernel: Kernel, X: tf.Tensor) -> tf.Tensor:
    """The mean of k(x, x) over rows: [] or [S]; [] also if k(x, x) is constant."""
    if stationary.has_one_variance(kernel):
        return tf.convert_to_tensor(cast(Stationary, kernel).variance)
    return tf.reduce_mean(variance(kernel, X), axis=-1)


def flatten_rows(X: tf.Tensor) -> tf.Tensor:
    """Reshape [S, N, D] -> [S*N, D]; [N, D] is unchanged."""
    return tf.reshape(X, [-1, X.shape[-1]])


_COMBINE = {Sum: tf.add, Product: tf.multiply}


def _parts(kernel: Kernel) -> list[Kernel]:
    return list(cast(Combination, kernel).kernels)


def _combined(kernel: Kernel, values: list[tf.Tensor]) -> tf.Tensor:
    return reduce(_COMBINE[type(kernel)], values)


def _for_each_sample(kernel: Kernel, *inputs: tf.Tensor) -> tf.Tensor:
    if not tf.executing_eagerly():
        return tf.vectorized_map(lambda one: kernel(*one), inputs)
    function = _compiled(kernel, len(inputs)) if inputs[0].shape[0] >= 10 else None
    if function is None:
        return tf.stack([kernel(*one) for one in zip(*map(tf.unstack, inputs), strict=True)])
    return function(*inputs)


_COMPILED: WeakKeyDictionary[Kernel, tuple[Structure, dict[int, Any]]] = WeakKeyDictionary()


def _compiled(kernel: Kernel, num_inputs: int) -> Any:
    """The vectorised kernel for eager calls, traced once for each kernel.

    ``tf.vectorized_map`` alone traces again in each eager call, which takes time and memory.

    :return: None for a kernel that can change unnoticed, as a user's own.
    """
    if kernel not in _COMPILED or not _COMPILED[kernel][0].is_unchanged():
        _COMPILED[kernel] = Structure(kernel), {}
    structure, functions = _COMPILED[kernel]
    if not structure.is_known:
        return None
    if num_inputs not in functions:
        # A weak reference: the dictionary would otherwise keep the kernel alive.
        reference = ref(kernel)
        functions[num_inputs] = tf.function(
            lambda *inputs: tf.vectorized_map(lambda one: cast(Kernel, reference())(*one), inputs),
            reduce_retracing=True,
        )
    return functions[num_inputs]

"""The Cholesky factor with its own gradients, against TensorFlow's."""

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.core import linalg
from gpflow_gi.core.cholesky import Cholesky

from ..builders import assert_slope

S, M, N = 3, 5, 4


def kernel_matrix(root: tf.Tensor) -> tf.Tensor:
    return tf.matmul(root, root, transpose_b=True) + tf.eye(M, dtype=root.dtype)


def plain(K: tf.Tensor, R: tf.Tensor) -> list[tf.Tensor]:
    """L, L R, L^T R and L^-1 R in TensorFlow's operations alone."""
    L = tf.linalg.cholesky(K)
    if R.shape.rank == 3 and L.shape.rank == 2:
        L = tf.tile(L[None], [S, 1, 1])
    products = [tf.matmul(L, R), tf.matmul(L, R, transpose_a=True)]
    return [tf.linalg.cholesky(K), *products, tf.linalg.triangular_solve(L, R)]


def ours(K: tf.Tensor, R: tf.Tensor) -> list[tf.Tensor]:
    factor = Cholesky(K)
    return [factor.L, factor.times(R), factor.transposed_times(R), factor.solve(R)]


@pytest.mark.parametrize(
    ("matrices", "columns"),
    [((), ()), ((), (S,)), ((S,), ()), ((S,), (S,))],
    ids=["none", "R", "K", "both"],
)
def test_values_and_gradients(matrices, columns, rng):
    root = tf.constant(rng.normal(size=(*matrices, M, M)))
    R = tf.constant(rng.normal(size=(*columns, M, N)))
    for i in range(4):
        outcomes = []
        for function in (plain, ours):
            with tf.GradientTape() as tape:
                tape.watch([root, R])
                value = function(kernel_matrix(root), R)[i]
                weights = tf.reshape(tf.range(tf.size(value), dtype=tf.float64), tf.shape(value))
                total = tf.reduce_sum(tf.sin(weights) * value)
            gradients = tape.gradient(total, [root, R], unconnected_gradients="zero")
            outcomes.append([value, *gradients])
        for expected, own in zip(*outcomes, strict=True):
            np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-9)

        def total_of(root, R, i=i, weights=weights):
            return tf.reduce_sum(tf.sin(weights) * ours(kernel_matrix(root), R)[i])

        directions = [rng.normal(size=argument.shape) for argument in (root, R)]
        assert_slope(total_of, (root, R), directions, gradients)


def test_gradients_of_several_uses_add_up(rng):
    root = tf.constant(rng.normal(size=(M, M)))
    R = tf.constant(rng.normal(size=(M, N)))

    def total(function):
        return tf.add_n([tf.reduce_sum(tf.square(v)) for v in function(kernel_matrix(root), R)])

    gradients = []
    for function in (plain, ours):
        with tf.GradientTape() as tape:
            tape.watch(root)
            value = total(function)
        gradients.append(tape.gradient(value, root))
    np.testing.assert_allclose(gradients[1], gradients[0], rtol=1e-9)


def test_second_derivatives_are_refused(rng):
    root = tf.constant(rng.normal(size=(M, M)))
    with tf.GradientTape() as outer:
        outer.watch(root)
        with tf.GradientTape() as inner:
            inner.watch(root)
            value = tf.reduce_sum(Cholesky(kernel_matrix(root)).solve(root))
        gradient = inner.gradient(value, root)
    message = r"GP layers .* have first derivatives in reverse mode only"
    with pytest.raises(Exception, match=message):
        outer.gradient(gradient, root)


def test_samples_share_one_factorisation(rng):
    """One triangular solve of all samples' columns, side by side."""
    K = kernel_matrix(tf.constant(rng.normal(size=(M, M))))
    R = tf.constant(rng.normal(size=(S, M, N)))
    graph = tf.function(lambda: Cholesky(K).solve(R)).get_concrete_function().graph

    def operations(graph):
        yield from graph.get_operations()
        for function in graph._functions.values():
            yield from operations(function.graph)

    solves = [each for each in operations(graph) if each.type == "MatrixTriangularSolve"]
    assert [solve.outputs[0].shape.rank for solve in solves] == [2]
    np.testing.assert_allclose(
        Cholesky(K).solve(R)[1], tf.linalg.triangular_solve(tf.linalg.cholesky(K), R[1])
    )
    np.testing.assert_array_equal(linalg.unfold(linalg.fold(R), S), R)

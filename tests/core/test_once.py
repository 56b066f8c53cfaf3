"""Values that are computed once in a step."""

import threading

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.core.once import once, parameters_once, values_once


def count() -> tuple[list[int], object]:
    calls: list[int] = []
    return calls, lambda: calls.append(1) or tf.constant(float(len(calls)))


def test_a_value_is_computed_once_in_a_block_and_each_time_outside():
    _, compute = count()
    assert [float(once("key", compute)) for _ in range(2)] == [1.0, 2.0]
    with values_once():
        assert [float(once("key", compute)) for _ in range(3)] == [3.0, 3.0, 3.0]
        with values_once():
            assert float(once("key", compute)) == 4.0
        assert float(once("key", compute)) == 3.0
        assert float(once("other", compute)) == 5.0
    assert float(once("key", compute)) == 6.0


def test_an_error_ends_the_block():
    calls, compute = count()
    with pytest.raises(ZeroDivisionError), values_once():
        once("key", compute)
        raise ZeroDivisionError
    once("key", compute)
    once("key", compute)
    assert len(calls) == 3


def test_each_graph_has_values_of_its_own():
    calls, compute = count()

    @tf.function(autograph=False)
    def function():
        with values_once():
            start = once("key", compute)
            # The tensors of a loop's body are unknown outside of it.
            total = tf.while_loop(
                lambda i, _: i < 3,
                lambda i, total: (i + 1, total + once("inner", compute) + once("inner", compute)),
                (0, start),
            )[1]
            return total + once("inner", compute) + start

    function()
    assert len(calls) == 3


def test_another_thread_has_no_block():
    calls, compute = count()
    with values_once():
        once("key", compute)
        thread = threading.Thread(target=lambda: [once("key", compute) for _ in range(2)])
        thread.start()
        thread.join()
        once("key", compute)
    assert len(calls) == 3


def softplus_nodes(function: object) -> int:
    graph = tf.function(function, autograph=False).get_concrete_function().graph
    return sum(node.type == "Softplus" for node in graph.get_operations())


def test_parameters_are_transformed_once_and_gradients_are_the_same():
    kernel = gpflow.kernels.SquaredExponential(0.7, lengthscales=[0.5, 2.0])
    X = np.random.default_rng(0).normal(size=(5, 2))

    def loss_and_gradients():
        with tf.GradientTape() as tape, values_once():
            loss = tf.reduce_sum(kernel(X) * kernel(X)) + tf.reduce_sum(kernel(X, full_cov=False))
        return loss, tape.gradient(loss, kernel.trainable_variables)

    before, several = loss_and_gradients(), softplus_nodes(loss_and_gradients)
    with parameters_once(kernel):
        after, single = loss_and_gradients(), softplus_nodes(loss_and_gradients)
        # Without a block of values, each read sees the present variable.
        kernel.variance.assign(2.0)
        np.testing.assert_allclose(kernel.variance.numpy(), 2.0)
        np.testing.assert_allclose(2.0 * kernel.variance, 4.0)
    assert (several, single) == (5, 2)
    np.testing.assert_array_equal(before[0], after[0])
    for one, other in zip(before[1], after[1], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
    assert softplus_nodes(loss_and_gradients) == several

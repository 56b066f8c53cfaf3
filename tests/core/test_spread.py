"""Variances by blocks, against products with the whole triangle."""

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.core.spread import spread

P, N, S = 2, 4, 3


@pytest.mark.parametrize("K", [1, 2, 3, 4, 7, 30])
@pytest.mark.parametrize("samples", [(), (S,)], ids=["no samples", "samples"])
def test_values_and_gradients(K, samples, rng):
    roots = tf.constant(np.tril(rng.normal(size=(P, K, K))))
    A = tf.constant(rng.normal(size=(*samples, K, N)))
    weights = rng.normal(size=(*samples, P, N))

    def plain(roots, A):
        half = tf.matmul(roots, A[..., None, :, :], transpose_a=True)
        return tf.reduce_sum(tf.square(half), axis=-2)

    outcomes = []
    for function in (plain, spread):
        with tf.GradientTape() as tape:
            tape.watch([roots, A])
            value = function(roots, A)
            total = tf.reduce_sum(weights * value)
        d_roots, dA = tape.gradient(total, [roots, A])
        outcomes.append([value, tf.linalg.band_part(d_roots, -1, 0), dA])
    for expected, own in zip(*outcomes, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-10, atol=1e-10)


def test_zeros_of_the_triangle_are_left_out(rng):
    """Values above the diagonal blocks are not read."""
    roots = np.tril(rng.normal(size=(P, 9, 9)))
    A = tf.constant(rng.normal(size=(9, N)))
    expected = spread(tf.constant(roots), A)
    roots[:, 0, 8] = np.nan
    np.testing.assert_array_equal(spread(tf.constant(roots), A), expected)

"""Noise that belongs to rows."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from gpflow_gi.core.random import RowSeed, as_seed, fold_in, keys_of, standard_normal

N, D, P, S = 500, 3, 4, 20


@pytest.fixture
def X(rng):
    return rng.normal(size=(N, D))


def noise(X, seed=0, shape=None, dtype=tf.float64):
    rows = RowSeed(as_seed(seed), keys_of(tf.constant(X, dtype)))
    return standard_normal(shape or [S, len(X), P], rows, dtype).numpy()


@pytest.mark.parametrize("dtype", [tf.float32, tf.float64])
def test_it_is_standard_normal_and_independent(dtype, X):
    values = noise(X, dtype=dtype)
    assert values.shape == (S, N, P) and values.dtype == dtype.as_numpy_dtype
    assert stats.kstest(values.ravel()[:20_000], "norm").pvalue > 1e-3
    for axis in range(3):
        one, other = np.delete(values, 0, axis).ravel(), np.delete(values, -1, axis).ravel()
        # Correlations of neighbours along each axis.
        assert abs(np.mean(one * other)) < 5 / np.sqrt(one.size)
    assert len(np.unique(values.astype(np.float64))) > 0.99 * values.size


def test_rows_of_a_grid_have_unrelated_noise():
    """Numbers that differ in a bit or two, and columns that are exchanged."""
    first, second = np.meshgrid(np.arange(32.0), np.arange(32.0))
    grid = np.stack([first.ravel(), second.ravel()], axis=1)
    values = noise(grid, shape=[S, len(grid), 1])[..., 0].reshape(S, 32, 32)
    assert len(np.unique(values)) == values.size
    for one, other in [
        (values[:, 1:], values[:, :-1]),
        (values[:, :, 1:], values[:, :, :-1]),
        (values, values.transpose(0, 2, 1) * (1 - np.eye(32))),
    ]:
        assert abs(np.mean(one * other)) < 5 / np.sqrt(one.size)


def test_it_is_a_function_of_seed_and_row(X):
    values = noise(X)
    np.testing.assert_array_equal(values, noise(X))
    order = np.random.default_rng(0).permutation(N)[:50]
    np.testing.assert_array_equal(values[:, order], noise(X[order]))
    twice = noise(np.vstack([X[:3], X[:3]]))
    np.testing.assert_array_equal(twice[:, :3], twice[:, 3:])
    np.testing.assert_array_equal(noise(np.zeros((1, D))), noise(-np.zeros((1, D))))
    other = noise(X, seed=1)
    assert abs(np.mean(values * other)) < 5 / np.sqrt(values.size)
    rows = RowSeed(as_seed(0), keys_of(tf.constant(X)))
    folded = standard_normal([S, N, P], fold_in(rows, 3), tf.float64)
    assert abs(np.mean(values * folded)) < 5 / np.sqrt(values.size)

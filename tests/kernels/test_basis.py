"""The whitened basis, and extending it."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.kernels import KernelBasis
from gpflow_gi.kernels.batched import covariance, cross_covariance, variance

S, D = 3, 2


@pytest.fixture
def kernel():
    return gpflow.kernels.SquaredExponential(1.7, lengthscales=[0.8, 1.4]) + gpflow.kernels.Linear()


@pytest.fixture(autouse=True)
def _small_jitter():
    gpflow.config.set_default_jitter(1e-12)


def inputs(rng, rows, sampled):
    return tf.constant(rng.normal(size=(S, rows, D) if sampled else (rows, D)))


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
def test_kernels_are_evaluated_sample_by_sample(kernel, rng, first, second):
    X1, X2 = inputs(rng, 4, first), inputs(rng, 5, second)
    K = cross_covariance(kernel, X1, X2)
    if not (first or second):
        np.testing.assert_allclose(K, kernel(X1, X2))
        return
    for s in range(S):
        expected = kernel(X1[s] if first else X1, X2[s] if second else X2)
        np.testing.assert_allclose(K[s], expected, atol=1e-12)
    if first:
        for s in range(S):
            np.testing.assert_allclose(covariance(kernel, X1)[s], kernel(X1[s]), atol=1e-12)
            np.testing.assert_allclose(
                variance(kernel, X1)[s], kernel(X1[s], full_cov=False), atol=1e-12
            )


@pytest.mark.parametrize("sampled", [False, True])
def test_the_basis_reproduces_the_kernel_at_its_inputs(kernel, rng, sampled):
    U = inputs(rng, 4, sampled)
    basis = KernelBasis(kernel, U)
    A = basis(U)
    np.testing.assert_allclose(tf.linalg.matrix_transpose(A), basis.design, atol=1e-8)
    np.testing.assert_allclose(tf.matmul(A, A, transpose_a=True), covariance(kernel, U), atol=1e-8)
    np.testing.assert_allclose(basis.gram, covariance(kernel, U), atol=1e-8)
    np.testing.assert_allclose(basis.cross_gram(U), covariance(kernel, U), atol=1e-8)


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("second", [False, True])
@pytest.mark.parametrize("at", [False, True])
def test_extending_equals_factorising_together(kernel, rng, first, second, at):
    U, more, X = inputs(rng, 4, first), inputs(rng, 3, second), inputs(rng, 5, at)
    if (first or second) and not at:
        X = tf.tile(X[None], [S, 1, 1])
    extended = KernelBasis(kernel, U).extend(more)
    both = [tf.tile(x[None], [S, 1, 1]) if x.shape.rank == 2 else x for x in (U, more)]
    together = KernelBasis(kernel, tf.concat(both, axis=1))
    A = extended(X)
    expected = together(X if X.shape.rank == 3 else tf.tile(X[None], [S, 1, 1]))
    np.testing.assert_allclose(np.broadcast_to(A, expected.shape), expected, atol=1e-7)
    np.testing.assert_allclose(
        np.broadcast_to(extended.design, (S, 3, 7)), together.design[..., 4:, :], atol=1e-7
    )


@pytest.mark.parametrize("sampled", [False, True])
def test_what_is_not_explained_remains(kernel, rng, sampled):
    X = inputs(rng, 5, sampled)
    A = tf.constant(0.3 * rng.normal(size=(*X.shape[:-2], 4, 5)))
    basis = KernelBasis(kernel, X)
    np.testing.assert_allclose(basis.variance(X), variance(kernel, X))
    np.testing.assert_allclose(basis.covariance(X), covariance(kernel, X))
    explained = np.swapaxes(A, -1, -2) @ A.numpy()
    left = basis.residual_covariance(X, A)
    np.testing.assert_allclose(left, covariance(kernel, X) - explained, atol=1e-12)
    variance_left = basis.residual_variance(X, A)
    expected = np.maximum(variance(kernel, X) - np.einsum("...nn->...n", explained), 0)
    np.testing.assert_allclose(variance_left, expected, atol=1e-12)
    assert np.all(variance_left > 0)  # never zero: its square root has a gradient


def test_an_empty_basis_leaves_the_prior(kernel, rng):
    X = inputs(rng, 5, False)
    basis = KernelBasis(kernel, tf.zeros([0, D], tf.float64))
    A = basis(X)
    assert A.shape == (0, 5)
    np.testing.assert_allclose(basis.extend(X).L, KernelBasis(kernel, X).L, atol=1e-8)


def test_jitter_is_relative_to_the_kernels_variance(rng):
    gpflow.config.set_default_jitter(1e-3)
    U = tf.zeros([2, 1], tf.float64)  # two equal rows: only the jitter makes it definite
    for amplitude in (1e-4, 1.0, 1e4):
        L = KernelBasis(gpflow.kernels.SquaredExponential(amplitude), U).L
        np.testing.assert_allclose(
            tf.matmul(L, L, transpose_b=True),
            amplitude * np.array([[1.001, 1.0], [1.0, 1.001]]),
            rtol=1e-10,
        )


def test_float32_follows_gpflow(rng):
    gpflow.config.set_default_float(np.float32)
    gpflow.config.set_default_jitter(1e-4)
    kernel = gpflow.kernels.SquaredExponential()
    U = tf.constant(rng.normal(size=(20, 2)), tf.float32)
    basis = KernelBasis(kernel, U)
    assert basis.L.dtype == tf.float32
    assert np.all(np.isfinite(basis.extend(U + 0.1)(U)))

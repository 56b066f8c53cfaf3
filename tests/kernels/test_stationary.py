"""Kernels of the distance, against GPflow's own evaluation, with gradients."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow import kernels as gk

from gpflow_gi.kernels import batched, stationary

M, N, D = 5, 7, 3

KERNELS = {
    "SquaredExponential": lambda: gk.SquaredExponential(2.5, lengthscales=[0.5, 1.0, 2.0]),
    "Matern12": lambda: gk.Matern12(0.3, lengthscales=0.7),
    "Matern52": lambda: gk.Matern52(active_dims=[0, 2]),
    "RationalQuadratic": lambda: gk.RationalQuadratic(alpha=0.4),
    "sum and product": lambda: (
        gk.SquaredExponential(active_dims=[1]) * gk.Linear() + gk.White(0.2) + gk.Matern32()
    ),
}


class OwnDistance(gk.SquaredExponential):
    """A user's kernel, with another distance."""

    def scaled_squared_euclid_dist(self, X, X2=None):
        return 4.0 * super().scaled_squared_euclid_dist(X, X2)


class OwnRadial(gk.SquaredExponential):
    """A user's kernel, with another function of the distance."""

    def K_r2(self, r2):
        return self.variance / (1.0 + r2)


@pytest.mark.parametrize("make", KERNELS.values(), ids=KERNELS.keys())
def test_values_and_gradients(make, rng):
    kernel = make()
    U, X = tf.constant(rng.normal(size=(M, D))), tf.constant(rng.normal(size=(N, D)))
    weights = rng.normal(size=(M, N))
    square = rng.normal(size=(M, M))

    def gradients(cross, own):
        with tf.GradientTape() as tape:
            tape.watch([U, X])
            total = tf.reduce_sum(weights * cross()) + tf.reduce_sum(square * own())
        sources = [U, X, *kernel.trainable_variables]
        return tape.gradient(total, sources)

    np.testing.assert_allclose(batched.cross_covariance(kernel, U, X), kernel(U, X), rtol=1e-12)
    np.testing.assert_allclose(batched.covariance(kernel, U), kernel(U), rtol=1e-12, atol=1e-14)
    own = gradients(
        lambda: batched.cross_covariance(kernel, U, X), lambda: batched.covariance(kernel, U)
    )
    expected = gradients(lambda: kernel(U, X), lambda: kernel(U))
    for one, other in zip(own, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("make", [OwnDistance, OwnRadial])
def test_what_a_user_overrides_is_used(make, rng):
    kernel = make()
    U, X = tf.constant(rng.normal(size=(M, D))), tf.constant(rng.normal(size=(N, D)))
    np.testing.assert_allclose(batched.cross_covariance(kernel, U, X), kernel(U, X), rtol=1e-12)
    assert stationary.depends_on_distance(kernel) is (make is OwnRadial)


@pytest.mark.parametrize("make", [gk.SquaredExponential, gk.Matern12, gk.Matern52])
def test_float32_is_as_accurate_as_gpflow(make, rng):
    X = rng.normal(size=(50, D)).astype(np.float32)
    exact = make()(X.astype(np.float64)).numpy()
    with gpflow.config.as_context():
        gpflow.config.set_default_float(np.float32)
        kernel = make()
        theirs = np.max(np.abs(kernel(X) - exact))
        ours = np.max(np.abs(batched.covariance(kernel, tf.constant(X)) - exact))
    assert ours < 3 * theirs + 1e-6


def test_the_mean_variance_is_that_of_the_diagonal(rng):
    X = tf.constant(rng.normal(size=(4, N, D)))
    for kernel in (gk.SquaredExponential(2.5), gk.Linear(), gk.Linear() + gk.White(0.5)):
        expected = tf.reduce_mean(kernel(X[1], full_cov=False))
        mean = batched.mean_variance(kernel, X)
        np.testing.assert_allclose(mean if mean.shape.rank == 0 else mean[1], expected)

"""Gaussians over z: every number that they give is that of a multivariate normal distribution."""

import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import SquaredExponential
from scipy.stats import multivariate_normal

from gpflow_gi.core.gaussians import (
    DiagonalGaussian,
    FreeGaussian,
    PointMass,
    StandardNormal,
    integrate,
)
from gpflow_gi.core.random import as_seed
from gpflow_gi.core.weight_root import WeightRoot
from gpflow_gi.kernels import KernelBasis
from gpflow_gi.posteriors.factorised import IndependentWeights

from ..builders import mean_and_standard_error, random_q_sqrt

K, P = 6, 2


def standard(rng):
    return StandardNormal(tf.zeros([K, P], tf.float64)), np.zeros((K, P)), np.stack([np.eye(K)] * P)


def free(rng):
    mean, roots = rng.normal(size=(K, P)), random_q_sqrt(rng, P, K)
    q = FreeGaussian(tf.constant(mean), tf.constant(roots))
    return q, mean, roots @ np.swapaxes(roots, 1, 2)


def diagonal(rng):
    mean, scale = rng.normal(size=(K, P)), rng.uniform(0.2, 1.5, (K, P))
    q = DiagonalGaussian(tf.constant(mean), tf.constant(scale))
    return q, mean, np.stack([np.diag(one**2) for one in scale.T])


def independent_weights(rng):
    """Three places of a kernel, which the prior correlates, and two channels."""
    T = np.eye(3) + 0.5 * rng.normal(size=(3, 3))
    R = 0.7 * np.kron(T, np.eye(2))
    mean, scale = rng.normal(size=(K, P)), rng.uniform(0.2, 1.5, (K, P))
    root = WeightRoot(tf.constant(0.7, tf.float64), tf.constant(T))
    q = IndependentWeights(tf.constant(mean), tf.constant(scale), root)
    inverse = np.linalg.inv(R)
    covariances = [inverse @ np.diag(one**2) @ inverse.T for one in scale.T]
    return q, inverse @ mean, np.stack(covariances)


GAUSSIANS = (standard, free, diagonal, independent_weights)
every_gaussian = pytest.mark.parametrize("made", GAUSSIANS, ids=lambda made: made.__name__)


@every_gaussian
def test_divergence_from_the_prior(made, rng):
    """1/2 [ tr S + |m|^2 - K - log|S| ], summed over outputs."""
    q, mean, covariances = made(rng)
    expected = [
        0.5 * (np.trace(S) + m @ m - K - np.linalg.slogdet(S)[1])
        for m, S in zip(mean.T, covariances, strict=True)
    ]
    np.testing.assert_allclose(q.kl(), np.sum(expected), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(q.mean, mean, rtol=1e-10, atol=1e-12)


@every_gaussian
def test_densities_of_draws(made, rng):
    q, mean, covariances = made(rng)
    draw = q.draw(5, as_seed(0))
    for z, log_ratio in zip(draw.z.numpy(), draw.log_p_minus_log_q.numpy(), strict=True):
        log_p = multivariate_normal(np.zeros(K)).logpdf(z.T).sum()
        log_q = [
            multivariate_normal(m, S).logpdf(one)
            for one, m, S in zip(z.T, mean.T, covariances, strict=True)
        ]
        np.testing.assert_allclose(log_ratio, log_p - np.sum(log_q), rtol=1e-9, atol=1e-9)
    assert q.draw(None, as_seed(0)).z.shape == (K, P)


@every_gaussian
def test_moments_of_draws(made, rng):
    q, mean, covariances = made(rng)
    z = q.draw(20_000, as_seed(1)).z.numpy()
    estimate, error = mean_and_standard_error(z)
    assert np.all(np.abs(estimate - mean) < 5 * error)
    centred = (z - mean).reshape(len(z), K * P)
    estimate, error = mean_and_standard_error(np.einsum("si,sj->sij", centred, centred))
    # Outputs are independent of each other.
    expected = np.einsum("pkl,pq->kplq", covariances, np.eye(P)).reshape(K * P, K * P)
    assert np.all(np.abs(estimate - expected) < 5 * error)


@every_gaussian
@pytest.mark.parametrize("samples", [(), (3,)])
def test_moments_of_functions(made, samples, rng):
    """A^T m, and A^T S A with the covariance of the residual."""
    q, mean, covariances = made(rng)
    kernel = SquaredExponential(1.3, lengthscales=[0.8, 1.4])
    basis = KernelBasis(kernel, tf.constant(rng.normal(size=(K, 2))))
    X = tf.constant(rng.normal(size=(*samples, 4, 2)))
    A = basis(X).numpy()
    residual = basis.residual_covariance(X, tf.constant(A)).numpy()
    covariance = np.einsum("...kn,pkl,...lm->...pnm", A, covariances, A)
    covariance += residual[..., None, :, :]
    for full_cov in (True, False):
        found, spread = integrate(q, basis, X, full_cov)
        np.testing.assert_allclose(found, np.swapaxes(A, -1, -2) @ mean, rtol=1e-9, atol=1e-9)
        expected = covariance
        if not full_cov:
            expected = np.swapaxes(np.diagonal(covariance, axis1=-2, axis2=-1), -1, -2)
        np.testing.assert_allclose(spread, expected, rtol=1e-7, atol=1e-9)


def test_a_point_has_no_density(rng):
    z = rng.normal(size=(3, K, P))
    q = PointMass(tf.constant(z))
    np.testing.assert_array_equal(q.kl(), [np.inf] * 3)
    draw = q.draw(3, as_seed(0))
    np.testing.assert_array_equal(draw.z, z)
    np.testing.assert_array_equal(draw.log_p_minus_log_q, [-np.inf] * 3)

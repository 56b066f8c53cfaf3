"""Whitened Gaussians against dense linear algebra and against their own samples."""

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.regression import FreeGaussian, RegressionPosterior, StandardNormal
from gpflow_gi.seeds import as_seed

from .builders import mean_and_standard_error, random_q_sqrt

K, M, P, N, S = 4, 6, 3, 5, 2


def regression(rng, samples=()):
    A = rng.normal(size=(*samples, K, M))
    T = np.tril(rng.normal(size=(M, M))) + 2 * np.eye(M)
    V = rng.normal(size=(M, P))
    q = RegressionPosterior(tf.constant(A @ T), tf.constant(T.T @ V))
    B = np.eye(K) + A @ T @ T.T @ np.swapaxes(A, -1, -2)
    mean = np.linalg.solve(B, A @ T @ T.T @ V)
    covariance = np.broadcast_to(np.linalg.inv(B)[..., None, :, :], (*samples, P, K, K))
    return q, mean, covariance


def free(rng):
    q_mu, q_sqrt = rng.normal(size=(K, P)), random_q_sqrt(rng, P, K)
    q = FreeGaussian(tf.constant(q_mu), tf.constant(q_sqrt))
    return q, q_mu, q_sqrt @ np.swapaxes(q_sqrt, -1, -2)


def standard(rng):
    q = StandardNormal(tf.zeros([K, M], tf.float64), P)
    return q, np.zeros((K, P)), np.broadcast_to(np.eye(K), (P, K, K))


gaussians = pytest.mark.parametrize(
    "make",
    [regression, lambda rng: regression(rng, (S,)), free, standard],
    ids=["regression", "sampled regression", "free", "standard"],
)


@gaussians
def test_moments_and_divergence_agree_with_dense_algebra(make, rng):
    q, mean, covariance = make(rng)
    A = rng.normal(size=(K, N))
    A = np.broadcast_to(A, (*mean.shape[:-2], K, N))
    np.testing.assert_allclose(q.mean, mean, atol=1e-12)

    projected = np.einsum("...kn,...pkl,...lm->...pnm", A, covariance, A)
    root = q.root(tf.constant(A)).numpy()
    if root.ndim == A.ndim:  # one covariance shared by all outputs
        root = root[..., None, :, :]
    np.testing.assert_allclose(
        np.broadcast_to(np.swapaxes(root, -1, -2) @ root, projected.shape), projected, atol=1e-12
    )
    variance = np.broadcast_to(q.variance(tf.constant(A)), (*A.shape[:-2], N, P))
    diagonal = np.einsum("...pnn->...np", projected)
    np.testing.assert_allclose(variance, diagonal, atol=1e-12)

    # KL( N(mean, covariance) || N(0, I) )
    kl = 0.5 * np.sum(
        np.trace(covariance, axis1=-2, axis2=-1) - K - np.linalg.slogdet(covariance)[1], axis=-1
    ) + 0.5 * np.sum(mean**2, axis=(-2, -1))
    np.testing.assert_allclose(q.kl(), kl, atol=1e-11)


@gaussians
def test_log_ratio_of_a_draw_agrees_with_dense_densities(make, rng):
    q, mean, covariance = make(rng)
    draw = q.draw(None, as_seed(1))
    z = draw.z.numpy()
    centred = np.swapaxes(z - mean, -1, -2)
    quadratic = np.einsum("...pk,...pkl,...pl->...p", centred, np.linalg.inv(covariance), centred)
    log_q = -0.5 * np.sum(quadratic + np.linalg.slogdet(covariance)[1], axis=-1)
    log_p = -0.5 * np.sum(z**2, axis=(-2, -1))
    np.testing.assert_allclose(draw.log_p_minus_log_q, log_p - log_q, atol=1e-11)


@gaussians
def test_draws_have_the_moments_and_the_divergence_of_q(make, rng):
    q, mean, covariance = make(rng)
    if mean.ndim == 3:  # q(z | U_s) gives one draw for each of its samples
        draws = [q.draw(None, as_seed(seed)) for seed in range(3000)]
        z = np.stack([draw.z for draw in draws])
        log_ratio = np.stack([draw.log_p_minus_log_q for draw in draws])
    else:
        draw = q.draw(100_000, as_seed(0))
        z, log_ratio = draw.z.numpy(), draw.log_p_minus_log_q.numpy()
    estimate, error = mean_and_standard_error(z)
    assert np.all(np.abs(estimate - mean) < 5 * error)
    centred = z - mean
    second, error = mean_and_standard_error(np.einsum("i...kp,i...lp->i...pkl", centred, centred))
    assert np.all(np.abs(second - covariance) < 5 * error)
    estimate, error = mean_and_standard_error(-log_ratio)
    assert np.all(np.abs(estimate - q.kl()) <= 5 * error)


def test_a_draw_without_a_sample_axis_has_none(rng):
    q, *_ = regression(rng)
    assert q.draw(None, as_seed(0)).z.shape == (K, P)
    assert q.draw(1, as_seed(0)).z.shape == (1, K, P)


def test_the_posterior_survives_extreme_precisions(rng):
    A, V = rng.normal(size=(K, M)), rng.normal(size=(M, P))
    for log10_precision in (-12, 12):
        T = np.full(M, 10.0 ** (log10_precision / 2))
        q = RegressionPosterior(tf.constant(A * T), tf.constant(T[:, None] * V))
        limit = np.zeros((K, P)) if log10_precision < 0 else np.linalg.lstsq(A.T, V, rcond=None)[0]
        np.testing.assert_allclose(q.mean, limit, atol=1e-8)
        assert np.isfinite(q.kl())

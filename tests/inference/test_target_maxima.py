"""Maxima and Laplace approximations of densities that are no network's."""

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.experiments.eight_schools import target as eight_schools
from gpflow_gi.inference import Target, laplace, map_estimate

L = 3
RNG = np.random.default_rng(0)
MEAN = RNG.normal(size=L)
ROOT = RNG.normal(size=(L, L)) + 2 * np.eye(L)
COVARIANCE = ROOT @ ROOT.T


def gaussian(level=0.0):
    """exp(level) N(mean, covariance)."""
    precision = tf.constant(np.linalg.inv(COVARIANCE))
    constant = level - 0.5 * np.linalg.slogdet(2 * np.pi * COVARIANCE)[1]

    def log_prob(theta):
        centred = theta - MEAN
        return constant - 0.5 * tf.einsum("sl,lm,sm->s", centred, precision, centred)

    return Target(L, log_prob)


def test_of_a_gaussian_both_are_exact():
    found = map_estimate(gaussian())
    np.testing.assert_allclose(found.theta, MEAN, atol=1e-3)
    assert found.model.is_of_target and found.model.theta.shape == (1, L)
    result = laplace(gaussian(level=1.5))
    q = result.weight_samples
    assert result.log_evidence == pytest.approx(1.5, abs=1e-9)
    assert result.model is q and result.linearised is None and result.noise_variance is None
    np.testing.assert_allclose(q.mean, MEAN, atol=1e-6)
    np.testing.assert_allclose(q.root @ tf.transpose(q.root), COVARIANCE, rtol=1e-6)
    np.testing.assert_allclose(q.elbo(None, 5, seed=0), 1.5, atol=1e-6)


def test_a_diagonal_has_the_conditional_variances():
    q = laplace(gaussian(), structure="diagonal").model
    variances = 1 / np.diag(np.linalg.inv(COVARIANCE))
    np.testing.assert_allclose(q.diagonal, np.sqrt(variances), rtol=1e-6)


def test_an_object_with_a_size_and_a_density_is_a_target():
    class Mine:
        size = 1

        def log_prob(self, theta):  # of log x, for x with a Gamma(3, 2) density
            return 3 * theta[:, 0] - 2 * tf.exp(theta[:, 0])

    found = laplace(Mine())
    np.testing.assert_allclose(found.model.mean, [np.log(1.5)], atol=1e-6)
    np.testing.assert_allclose(found.model.root, [[3**-0.5]], rtol=1e-6)  # of 2 exp(log 1.5)


@pytest.mark.slow
def test_a_density_without_a_maximum():
    """The centred eight schools rise without limit towards tau = 0."""
    with pytest.raises(ValueError, match=r"not positive|NaN or infinite"):
        laplace(eight_schools(centred=True), steps=200)


def test_what_a_target_does_not_have():
    for call, said in (
        (lambda: map_estimate(gaussian(), batch_size=3), "A target has no rows"),
        (lambda: map_estimate(gaussian(), train_likelihood=True), "no likelihood to train"),
        (lambda: map_estimate(gaussian(), (MEAN, MEAN)), "data must be None for a target"),
        (
            lambda: laplace(gaussian(), structure="kron"),
            "structure='kron' needs the layers of a network",
        ),
        (lambda: laplace(gaussian(), structure="last layer"), "needs the layers of a network"),
        (lambda: laplace(gaussian(), noise="marginal likelihood"), "noise=.* needs a network"),
    ):
        with pytest.raises(ValueError, match=said):
            call()
    with pytest.raises(TypeError, match="or a target"):
        laplace("model")


def two_modes():
    """Half of N(-3, 1) and half of N(3, 1), with a stationary point at zero between them."""

    def log_prob(theta):
        return tf.reduce_logsumexp([-0.5 * (theta[:, 0] - m) ** 2 for m in (-3.0, 3.0)], axis=0)

    return Target(1, log_prob)


def test_a_stationary_point_that_is_no_maximum_is_left():
    found = map_estimate(two_modes())
    assert abs(found.theta[0]) == pytest.approx(3.0, abs=1e-3)
    assert found.theta == map_estimate(two_modes()).theta
    result = laplace(two_modes())
    assert result.log_evidence == pytest.approx(0.5 * np.log(2 * np.pi), abs=1e-4)
    sides = {float(np.sign(map_estimate(two_modes(), seed=seed).theta[0])) for seed in range(6)}
    assert sides == {-1.0, 1.0}


def test_the_advice_is_not_that_of_networks():
    with pytest.raises(ValueError, match="target's log density is not positive") as error:
        laplace(Target(2, lambda theta: -(theta[:, 0] ** 2)))
    assert "ggn" not in str(error.value) and "relu" not in str(error.value)

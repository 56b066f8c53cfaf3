"""SWAG, chains with minibatches and annealing: exact for linear models."""

import math
import warnings

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.experiments import eight_schools
from gpflow_gi.inference import Gaussian, Mixture, multi_swag, reweighted, sghmc, sgld, swag
from gpflow_gi.inference.log_joint import joint_of
from gpflow_gi.inference.swag import gaussian_of
from gpflow_gi.layers import DenseLayer
from gpflow_gi.models import DeepGP, NoDensityError
from gpflow_gi.posteriors import Prior

from .test_weight_posteriors import NOISE, L, N, data, design, exact, network  # noqa: F401


def stationary_covariance(data, rate):  # noqa: F811
    """Of gradient ascent on one random row a step, theta' = theta + rate / N * (N g_n + g_0).

    About the posterior mean, delta' = (I - rate A_n) delta - rate c_n, so the second moments solve
    C = mean_n [ (I - rate A_n) C (I - rate A_n)^T + rate^2 c_n c_n^T ].
    """
    mean, _, _ = exact(data)
    features, Y = design(data[0]), data[1][:, 0]
    kept, noise = np.zeros((L * L, L * L)), np.zeros(L * L)
    for a, y in zip(features, Y, strict=True):
        A = np.outer(a, a) / NOISE + np.eye(L) / N
        c = A @ mean - a * y / NOISE
        kept += np.kron(np.eye(L) - rate * A, np.eye(L) - rate * A) / N
        noise += rate**2 * np.outer(c, c).reshape(-1) / N
    return np.linalg.solve(np.eye(L * L) - kept, noise).reshape(L, L)


@pytest.mark.slow
def test_swag_has_the_stationary_covariance_of_its_ascent(network, data):  # noqa: F811
    rate, K = 0.05, 1500
    found = swag(
        network, data, K, steps=40 * K, interval=40, batch_size=1, learning_rate=rate, seed=3
    )
    expected = stationary_covariance(data, rate)
    q = found.model
    covariance = q.covariance(tf.eye(L, dtype=tf.float64)).numpy()
    # The off-diagonal entries of 1/2 [diag + C] are halves of those of C.
    halved = 0.5 * (expected + np.diag(np.diag(expected)))
    deviations = np.sqrt(np.diag(expected))
    # Iterates 40 steps apart are nearly independent; their moments have errors of about
    # sqrt(2 / K), and heavier tails than a Gaussian's.
    error = 2 * math.sqrt(2 / K) * np.outer(deviations, deviations)
    assert np.all(np.abs(covariance - halved) < 4 * error)
    mean, _, _ = exact(data)
    assert np.all(np.abs(q.mean.numpy() - mean) < 5 * deviations / math.sqrt(K / 2))


def test_the_gaussian_of_iterates(network, rng):  # noqa: F811
    iterates = rng.normal(size=(30, L)) * [1.0, 2.0, 3.0]
    q = gaussian_of(network, iterates, 5)
    D = iterates[-5:] - iterates.mean(axis=0)
    expected = 0.5 * (np.diag(iterates.var(axis=0)) + D.T @ D / 4)
    np.testing.assert_allclose(q.covariance(tf.eye(L, dtype=tf.float64)), expected)
    np.testing.assert_allclose(q.mean, iterates.mean(axis=0))
    plain = gaussian_of(network, iterates, 0)  # N(mean, diag(variances))
    np.testing.assert_allclose(
        plain.covariance(tf.eye(L, dtype=tf.float64)), np.diag(iterates.var(axis=0))
    )


@pytest.mark.slow
def test_multi_swag_is_a_mixture(network, data):  # noqa: F811
    found = multi_swag(network, data, 3, 4, steps=40, interval=5)
    assert isinstance(found.model, Mixture) and found.iterates.shape == (3, 8, L)
    bound = found.model.elbo(data, 100, seed=0)
    assert np.isfinite(bound) and bound < exact(data)[2] + 1.0
    diagonal = multi_swag(network, data, 3, 0, steps=40, interval=5)
    np.testing.assert_array_equal(diagonal.iterates, found.iterates)
    for component, runs in zip(diagonal.model.components, found.iterates, strict=True):
        variances = component.covariance(tf.eye(L, dtype=tf.float64))
        np.testing.assert_allclose(variances, np.diag(runs.var(axis=0)))


@pytest.mark.parametrize("method", [sghmc, sgld])
def test_chains_have_the_exact_posterior(network, data, method):  # noqa: F811
    """Of all rows, at a small rate: the bias is of the order of the rate."""
    mean, covariance, _ = exact(data)
    settings = {"friction": 0.2} if method is sghmc else {}
    found = method(
        network,
        data,
        num_draws=50,
        num_chains=200,
        steps=1500,
        batch_size=None,
        learning_rate=0.03 if method is sghmc else 0.2,
        cycles=0,
        **settings,
    )
    assert found.theta.shape == (200, 50, L)
    # Chains are independent, and so are their means.
    of_chains = found.theta.mean(axis=1)
    error = of_chains.std(axis=0) / math.sqrt(200)
    assert np.all(np.abs(of_chains.mean(axis=0) - mean) < 5 * error)
    draws = found.theta.reshape(-1, L)
    np.testing.assert_allclose(np.cov(draws.T), covariance, atol=0.12 * np.max(covariance))
    with pytest.raises(NoDensityError):
        found.model.elbo(data)
    assert found.model.predict_y(data[0], 20, seed=0)[0].shape == (N, 1)


@pytest.mark.slow
def test_chains_begin_at_maxima(network, data):  # noqa: F811
    """Steps of no size leave them there: the posterior mean of a linear model."""
    settings = {"num_draws": 2, "num_chains": 3, "steps": 4, "learning_rate": 1e-12}
    found = sghmc(network, data, map_steps=100, **settings)
    expected = np.broadcast_to(exact(data)[0], found.theta.shape)
    np.testing.assert_allclose(found.theta, expected, atol=1e-4)
    assert np.max(np.abs(sghmc(network, data, **settings).theta - expected)) > 0.1
    one, same = (sgld(network, data, map_steps=5, **settings, seed=3) for _ in range(2))
    np.testing.assert_array_equal(one.theta, same.theta)


@pytest.mark.slow
def test_minibatches_cycles_and_seeds(network, data):  # noqa: F811
    settings = {"num_draws": 8, "steps": 80, "batch_size": 4, "cycles": 2}
    one, same = (sghmc(network, data, **settings, seed=5) for _ in range(2))
    other = sghmc(network, data, **settings, seed=6)
    np.testing.assert_array_equal(one.theta, same.theta)
    assert not np.array_equal(one.theta, other.theta)


@pytest.mark.slow
def test_annealing_has_the_evidence_of_a_linear_model(network, data):  # noqa: F811
    _, _, evidence = exact(data)
    value, error = gi.bounds.annealed_evidence(
        network, data, num_temperatures=100, num_chains=200, seed=1
    )
    assert error < 0.1
    assert abs(value - evidence) < 4 * error


@pytest.mark.longest
def test_annealing_has_the_evidence_of_the_eight_schools():
    """-31.3113, by quadrature."""
    schools = eight_schools.target(centred=False)
    mean, deviations = np.zeros(schools.size), np.ones(schools.size)
    mean[:2], deviations[:2] = (4.0, 0.8), (4.0, 1.2)  # mu and log tau
    q = Gaussian(schools, mean, diagonal=deviations)
    value, error = gi.bounds.annealed_evidence(schools, None, start=q)
    assert abs(value + 31.3113) < 4 * error < 0.2


@pytest.mark.longest
def test_annealing_can_begin_at_a_posterior(network, data):  # noqa: F811
    mean, _, evidence = exact(data)
    q = Gaussian(network, mean + 0.2, diagonal=np.full(L, 0.5))
    value, error = gi.bounds.annealed_evidence(
        network, data, start=q, num_temperatures=100, num_chains=200
    )
    assert abs(value - evidence) < 4 * error < 0.4
    # The exact posterior has nothing to anneal: every chain has the evidence.
    _, covariance, _ = exact(data)
    whole = Gaussian(network, mean, np.linalg.cholesky(covariance))
    value, _ = gi.bounds.annealed_evidence(
        network, data, start=whole, num_temperatures=2, num_chains=2, num_leapfrog=1
    )
    assert value == pytest.approx(evidence, abs=1e-6)


@pytest.mark.slow
def test_bounds_are_below_the_annealed_evidence(rng):
    """A nonlinear network, against a mean over the prior."""
    layers = [DenseLayer(1, 2, Prior()), tf.nn.tanh, DenseLayer(2, 1, Prior())]
    model = DeepGP(layers, gpflow.likelihoods.Gaussian(0.3), num_data=N)
    X = np.linspace(-1, 1, N)[:, None]
    rows = X, np.sin(3 * X)
    value, error = gi.bounds.annealed_evidence(model, rows, num_temperatures=100)
    log_joint = joint_of(model, rows)
    theta = log_joint.space.draw_prior(200_000, as_seed(0))
    weights = np.exp(log_joint.log_likelihood(theta).numpy())
    own_error = weights.std() / weights.mean() / math.sqrt(200_000)
    assert own_error < 0.05 and error < 0.1
    assert abs(value - math.log(weights.mean())) < 4 * math.hypot(error, own_error)
    q = gi.inference.variational(model, rows, "mean-field", steps=300).model
    assert float(q.iwbo(rows, 500, seed=0)) < value + 4 * error


@pytest.mark.longest
def test_weights_correct_a_posterior(network, data):  # noqa: F811
    """A Gaussian too wide and beside the exact one: k is below 0.7, and the evidence is known."""
    mean, covariance, evidence = exact(data)
    root = 1.4 * np.linalg.cholesky(covariance)
    q = Gaussian(network, mean + 0.3 * np.sqrt(np.diag(covariance)), root)
    found = gi.bounds.pareto_smoothed(q, data, 4000, seed=2)
    assert found.k_hat < 0.5 and found.num_samples == 4000
    assert found.log_evidence == pytest.approx(evidence, abs=0.05)
    assert found.elbo.value < evidence - 0.1 and found.elbo.value < found.iwbo
    assert found.elbo.value == pytest.approx(float(q.elbo(data, 4000, seed=3)), abs=0.1)
    assert f"k-hat {found.k_hat:.2f} of 4000 samples" in str(found)
    T = 2000
    theta = reweighted(q, data, 20_000, num_draws=T, seed=1).theta.numpy()
    deviations = np.sqrt(np.diag(covariance))
    assert np.all(np.abs(theta.mean(axis=0) - mean) < 5 * deviations / math.sqrt(T))
    np.testing.assert_allclose(theta.std(axis=0), deviations, rtol=5 / math.sqrt(2 * T))
    with pytest.raises(NoDensityError):
        reweighted(reweighted(q, data), data)
    with pytest.raises(TypeError, match="whose draws are vectors of weights"):
        reweighted(network, data)


def test_errors(network, data):  # noqa: F811
    with pytest.raises(ValueError, match="rank is 20, but 100 steps with an interval of 20 give 5"):
        swag(network, data, steps=100)
    with pytest.raises(ValueError, match=r"give 1 iterates\. Take at least 40 steps"):
        swag(network, data, 0, steps=20)
    with pytest.raises(ValueError, match="rank must be 0, or at least 2"):
        swag(network, data, 1)
    with pytest.raises(ValueError, match="lower learning_rate"):
        swag(network, data, 2, steps=2000, learning_rate=100.0)
    with pytest.raises(ValueError, match="friction must be at most 1"):
        sghmc(network, data, friction=2.0)
    with pytest.raises(ValueError, match="only 5 of 10 steps"):
        sghmc(network, data, steps=10, cycles=1)
    with pytest.raises(ValueError, match="diverge"):
        sgld(network, data, steps=2000, learning_rate=100.0, num_draws=2)
    target = gi.inference.Target(1, lambda theta: -(theta[:, 0] ** 2))
    with pytest.raises(ValueError, match="A target has no prior to draw from: give start"):
        gi.bounds.annealed_evidence(target, None)
    with pytest.raises(TypeError, match="start must be a posterior over weights with a density"):
        gi.bounds.annealed_evidence(network, data, start=network)
    with pytest.raises(ValueError, match="start is a distribution of 1 weights, but the model has"):
        gi.bounds.annealed_evidence(network, data, start=Gaussian(target, [0.0], diagonal=[1.0]))


def test_too_few_useful_weights_are_told(network, data):  # noqa: F811
    mean, covariance, _ = exact(data)
    root = np.linalg.cholesky(covariance)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        reweighted(Gaussian(network, mean, 1.1 * root), data)
    with pytest.warns(UserWarning, match=r"k-hat is \d\.\d\d, above 0\.7"):
        reweighted(Gaussian(network, mean, 0.2 * root), data)

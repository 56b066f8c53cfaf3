"""Bayesian neural networks, and networks mixed with Gaussian processes, as models."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi

from ..builders import (
    NUM_INDUCING,
    bounds,
    mean_and_standard_error,
    random_bnn,
    random_data,
    random_dense_posterior,
    random_posterior,
)

MIXES = [
    (("global", "own", "full"), "neal"),
    (("factorised", "local"), "scale"),
    (("prior", "factorised", "global"), "scale"),
    (("local", "global", "factorised"), "standard"),
]
mixes = pytest.mark.parametrize("kinds, prior", MIXES, ids=lambda value: str(value))


@pytest.mark.slow
@mixes
def test_a_draw_is_one_function(kinds, prior, rng):
    model = random_bnn(rng, kinds, prior=prior, P=2)
    X, _ = random_data(rng, N=4)
    draws = model.sample_functions(3, seed=0)
    first = draws(np.concatenate([X, X[:2]])).numpy()
    np.testing.assert_array_equal(first[:, 4:], first[:, :2])
    second = draws(np.concatenate([rng.normal(size=(3, 2)), X[::-1]])).numpy()
    np.testing.assert_allclose(second[:, 3:], first[:, 3::-1], rtol=1e-12)
    assert np.ptp(first[:, 0], axis=0).min() > 0
    if model.inducing_inputs is not None:
        # The inducing points and the rows meet the same weights.
        U = model.inducing_inputs.numpy()
        fresh = model.sample_functions(3, seed=0)(U + 1e-9)
        np.testing.assert_allclose(draws(U), fresh, atol=1e-6)


@pytest.mark.compiled
@mixes
def test_all_predictions_agree(kinds, prior, rng):
    S = 4000
    model = random_bnn(rng, kinds, prior=prior)
    X, Y = random_data(rng, N=4)
    mean, covariance = model.predict_f(X, num_samples=S, full_cov=True, seed=1)
    marginal_mean, variance = model.predict_f(X, num_samples=S, seed=2)
    rows = model.predict_f_samples(X, S, full_cov=False, seed=3).numpy()
    jointly = model.predict_f_samples(X, S, seed=4).numpy()
    for samples in (rows, jointly):
        error = np.sqrt(2) * samples.std(0) / np.sqrt(S)  # both sides are estimates
        assert np.all(np.abs(samples.mean(0) - mean) < 5 * error)
        assert np.all(np.abs(samples.mean(0) - marginal_mean) < 5 * error)
        squares = (samples - samples.mean(0)) ** 2
        error = np.sqrt(2) * squares.std(0) / np.sqrt(S)
        assert np.all(np.abs(squares.mean(0) - variance) < 5 * error)
        assert np.all(np.abs(squares[..., 0].mean(0) - np.diag(covariance[0])) < 5 * error[:, 0])
    centred = jointly[..., 0] - jointly[..., 0].mean(0)
    products = np.einsum("sn,sm->snm", centred, centred)
    error = np.sqrt(2) * products.std(0) / np.sqrt(S)
    assert np.all(np.abs(products.mean(0) - covariance[0]) < 5 * error)
    density = model.predict_log_density((X, Y), num_samples=S, seed=5)
    noise = model.likelihood.variance.numpy()
    densities = np.exp(-0.5 * (Y - jointly) ** 2 / noise)[..., 0] / np.sqrt(2 * np.pi * noise)
    estimate, error = mean_and_standard_error(densities)
    assert np.all(np.abs(np.exp(density) - estimate) < 5 * np.sqrt(2) * error)


def mixed_model(rng):
    """Dense layers below, between and above Gaussian processes; all kinds of posteriors."""
    layers = [
        gi.layers.DenseLayer(2, 3, random_dense_posterior(rng, "factorised", 2, 3)),
        tf.nn.tanh,
        gi.layers.GPLayer(
            gpflow.kernels.Matern52(1.2, 1.5), 2, random_posterior(rng, "local", 2, 3)
        ),
        gi.layers.DenseLayer(
            2, 4, random_dense_posterior(rng, "own", 2, 4), prior=gi.priors.ScalePrior()
        ),
        gi.layers.GPLayer(
            gi.kernels.BNNKernel(4, "erf"), 1, random_posterior(rng, "full", 1, 4)
        ),
    ]  # fmt: skip
    return gi.models.DeepGP(
        layers,
        gpflow.likelihoods.Gaussian(0.5),
        num_data=6,
        inducing_inputs=rng.normal(size=(NUM_INDUCING, 2)),
    )


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.longest
def test_networks_and_processes_mix(rng):
    model = mixed_model(rng)
    data = random_data(rng, N=6)
    many, many_error = mean_and_standard_error(bounds(model, data, 20, 100))
    one, one_error = mean_and_standard_error(bounds(model, data, 1, 600))
    assert abs(many - one) < 5 * np.hypot(many_error, one_error)
    weights = model.log_importance_weights(data, 2000, seed=0)
    sampled, error = mean_and_standard_error(weights)
    assert abs(sampled - many) < 5 * np.hypot(error, many_error)
    assert model.iwbo(data, 2000, seed=1) > many
    X, _ = data
    draws = model.sample_functions(2, seed=0)
    first = draws(X[:3]).numpy()
    np.testing.assert_allclose(draws(X)[:, :3], first, rtol=1e-10)
    gi.fit(model, data, steps=30, progress=False)
    assert np.isfinite(model.elbo(data, seed=0))


@pytest.mark.slow
@pytest.mark.parametrize("prior", ["neal", "scale"])
def test_seeds_and_compilation_do_not_matter(prior, rng):
    model = random_bnn(rng, ("global", "factorised", "own full"), prior=prior)
    data = random_data(rng)
    eager = model.elbo(data, num_samples=3, seed=7)
    compiled = tf.function(lambda: model.elbo(data, num_samples=3, seed=7))()
    np.testing.assert_allclose(eager, compiled, rtol=1e-9)
    assert eager != model.elbo(data, num_samples=3, seed=8)


def test_a_failing_layer_is_named(rng):
    model = random_bnn(rng, ("global", "factorised"))
    variable = model.layers[2].posterior.mean.unconstrained_variable
    variable.assign(np.full((5, 1), np.nan))
    said = model.first_non_finite(random_data(rng))
    assert said == "layer 3 of 3 (DenseLayer with Factorised): its posterior mean"


def test_copies_are_independent(rng):
    model = random_bnn(rng, ("global", "local", "factorised"), prior="scale")
    data = random_data(rng)
    copy = gpflow.utilities.deepcopy(model)
    before = model.elbo(data, seed=0)
    np.testing.assert_allclose(copy.elbo(data, seed=0), before)
    for parameter in copy.trainable_parameters:
        parameter.unconstrained_variable.assign_add(tf.ones_like(parameter.unconstrained_variable))
    assert copy.elbo(data, seed=0) != before
    np.testing.assert_allclose(model.elbo(data, seed=0), before)

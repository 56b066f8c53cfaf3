"""Inputs with noise, against a linear function, whose evidence is known."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import norm

import gpflow_gi as gi

N, SLOPE, NOISE, VARIANCE = 6, 1.7, 0.2, 0.3


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 1))
    return X, SLOPE * X + rng.normal(size=(N, 1))


def model(variance=VARIANCE, posterior=None, U=None):
    """y = slope (x + e) + noise."""
    mean = gpflow.functions.Linear([[SLOPE]], [0.0])
    kernel = gpflow.kernels.SquaredExponential(variance=1e-14)
    last = gi.layers.GPLayer(
        kernel,
        1,
        posterior or gi.posteriors.LocalInducing([[0.0]], 1, q_mu=[[0.0]], q_sqrt=[[[1.0]]]),
        mean_function=mean,
    )
    layers = [gi.layers.UncertainInputs(variance), last]
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    return gi.models.DeepGP(layers, likelihood, num_data=N, inducing_inputs=U)


def test_the_importance_weighted_bound_reaches_the_evidence(data):
    X, Y = data
    sd = np.sqrt(SLOPE**2 * VARIANCE + NOISE)
    evidence = norm.logpdf(Y, SLOPE * X, sd).sum()
    uncertain = model()
    bounds = [float(uncertain.iwbo(data, 5000, seed=seed)) for seed in range(4)]
    # A log mean of K weights is below the evidence by their relative variance / 2 K.
    assert abs(np.mean(bounds) - evidence) < 4 * np.std(bounds) / np.sqrt(3) + 0.01
    assert np.std(bounds) < 0.3
    # The ELBO: E (y - slope (x + e))^2 adds slope^2 variance / noise to each row.
    elbo = norm.logpdf(Y, SLOPE * X, np.sqrt(NOISE)).sum() - N * SLOPE**2 * VARIANCE / (2 * NOISE)
    estimate = gi.bounds.estimate_elbo(uncertain, data, 2000)
    assert abs(estimate.value - elbo) < 4 * estimate.standard_error
    assert estimate.value < np.mean(bounds) - 1
    np.testing.assert_allclose(uncertain.bound_terms(data, seed=0)[1], 0.0, atol=1e-9)


def test_predictions_have_the_noise_of_the_inputs(data):
    mean, variance = model().predict_y(data[0], num_samples=20000, seed=0)
    np.testing.assert_allclose(variance, SLOPE**2 * VARIANCE + NOISE, rtol=0.06)
    assert np.all(np.abs(mean - SLOPE * data[0]) < 5 * SLOPE * np.sqrt(VARIANCE / 20000))


def test_without_noise_nothing_changes(data, rng):
    U = rng.normal(size=(4, 1))
    posterior = gi.posteriors.GlobalInducing(4, 1, pseudo_outputs=rng.normal(size=(4, 1)))
    kernel = gpflow.kernels.SquaredExponential()
    last = gi.layers.GPLayer(kernel, 1, posterior)
    likelihood = gpflow.likelihoods.Gaussian()
    with_layer, without = (
        gi.models.DeepGP([*below, last], likelihood, num_data=N, inducing_inputs=U)
        for below in ([gi.layers.UncertainInputs(0.0)], [])
    )
    np.testing.assert_allclose(with_layer.elbo(data, 2, seed=0), without.elbo(data, 2, seed=0))
    for mine, its in zip(with_layer.predict_f(U, 3), without.predict_f(U, 3), strict=True):
        np.testing.assert_allclose(mine, its)


def test_drawn_functions_take_exact_inputs(data):
    values = model().sample_functions(3, seed=0)(data[0]).numpy()
    np.testing.assert_allclose(values, np.tile(SLOPE * data[0], (3, 1, 1)), atol=1e-6)


@pytest.mark.slow
def test_training(data):
    uncertain = model(
        np.array([VARIANCE]), gi.posteriors.GlobalInducing(3, 1), [[0.0], [1.0], [2.0]]
    )
    objective = gi.objectives.ImportanceWeighted(3)
    gi.fit(uncertain, data, steps=2, batch_size=2, objective=objective, progress=False)
    assert uncertain.layers[0].variance.numpy() == VARIANCE
    assert "UncertainInputs  1 -> 1  prior" in repr(uncertain)


def test_failures():
    for variance, words in (
        (-1.0, "must not be negative"),
        ([[1.0]], "variance must have shape"),
        (np.nan, "finite"),
        ("a", "must be an array of numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            gi.layers.UncertainInputs(variance)
    with pytest.raises(ValueError, match="variances of 2 columns, but its inputs have 1"):
        model(np.ones(2), gi.posteriors.GlobalInducing(1, 1), [[0.0]])
    with pytest.raises(ValueError, match="last layer is a UncertainInputs"):
        gi.models.DeepGP(
            [gi.layers.UncertainInputs(1.0)], gpflow.likelihoods.Gaussian(), num_data=1
        )


@pytest.mark.parametrize("variance", [0.0, -0.1])
def test_what_training_puts_below_zero_counts_as_zero(variance):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 1)), rng.normal(size=(N, 1))
    layer = gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, gi.posteriors.LocalInducing(X, 1))
    uncertain = gi.layers.UncertainInputs(0.01)
    model, plain = (
        gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=N)
        for layers in ([uncertain, layer], [layer])
    )
    gpflow.set_trainable(uncertain.variance, True)
    uncertain.variance.assign(variance)
    with tf.GradientTape() as tape:
        bound = model.elbo((X, Y), 2, seed=0)
    np.testing.assert_allclose(bound, plain.elbo((X, Y), seed=0))
    assert np.isfinite(tape.gradient(bound, uncertain.variance.unconstrained_variable))

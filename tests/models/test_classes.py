"""Probabilities of classes are the densities of labels, whichever way they are asked for."""

import gpflow
import numpy as np
import pytest
from gpflow import likelihoods as gl
from scipy.stats import norm

import gpflow_gi as gi
from gpflow_gi.architectures import build_deep_gp, build_resnet

N, D, S = 6, 2, 4

LIKELIHOODS = {
    "bernoulli": (gl.Bernoulli, 2),
    "multiclass": (lambda: gl.MultiClass(3), 3),
    "softmax": (lambda: gl.Softmax(3), 3),
}


def made(name, rng):
    make, C = LIKELIHOODS[name]
    X, Y = rng.normal(size=(N, D)), (np.arange(N) % C)[:, None].astype(float)
    model = build_deep_gp(X, Y, num_inducing=4, likelihood=make(), num_samples=2)
    model.layers[0].kernel.variance.assign(0.7)
    return model, X, C


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_they_are_the_densities_of_labels(name, rng):
    """With the same samples, those that a Monte Carlo likelihood draws included."""
    model, X, C = made(name, rng)
    probability = model.predict_proba(X, num_samples=S, seed=1)
    densities = np.stack(
        [
            np.exp(model.predict_log_density((X, np.full((N, 1), c)), num_samples=S, seed=1))
            for c in range(C)
        ],
        axis=1,
    )
    assert probability.shape == [N, C]
    np.testing.assert_allclose(probability, densities / densities.sum(1, keepdims=True), rtol=1e-9)
    np.testing.assert_allclose(densities.sum(1), 1.0, atol=1e-3)
    np.testing.assert_allclose(np.sum(probability, axis=1), 1.0, rtol=1e-12)
    assert np.ptp(probability) > 0.1


def test_two_classes_of_one_layer_are_a_probit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    model = build_deep_gp(X, X[:, :1] > 0, num_layers=1, likelihood=gl.Bernoulli())
    mean, variance = (moment.numpy()[:, 0] for moment in model.predict_f(X))
    # GPflow's probit keeps this far from 0 and 1.
    of_one = 1e-3 + (1 - 2e-3) * norm.cdf(mean / np.sqrt(1 + variance))
    expected = np.stack([1 - of_one, of_one], axis=1)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-9)


@pytest.mark.parametrize("name", LIKELIHOODS)
def test_a_frozen_posterior_has_them(name, rng):
    model, X, C = made(name, rng)
    frozen = model.posterior(S, seed=2)
    probability = frozen.predict_proba(X)
    mean, _ = frozen.predict_y(X)
    of_one = mean[:, 0] if C == 2 else mean[:, 1] / np.sum(mean, axis=1)
    assert probability.shape == [N, C]
    np.testing.assert_allclose(probability[:, 1], of_one, rtol=1e-12)
    np.testing.assert_allclose(np.sum(probability, axis=1), 1.0, rtol=1e-12)


@pytest.mark.slow
def test_images(rng):
    X, Y = rng.normal(size=(N, 4, 4, 1)), (np.arange(N) % 3)[:, None]
    model = build_resnet(X, Y, width=2, num_blocks=1, num_inducing=N)
    probability = model.predict_proba(X, num_samples=S, seed=0)
    assert probability.shape == [N, 3]
    of_rows = model.predict_proba(X.reshape(N, -1), num_samples=S, seed=0)
    np.testing.assert_array_equal(probability, of_rows)
    mean, _ = model.predict_y(X, num_samples=S, seed=0)
    np.testing.assert_allclose(probability, mean, rtol=1e-9)


@pytest.mark.parametrize(
    "likelihood, P, message",
    [
        (gl.Gaussian(), 1, r"over classes, .*, but the model has Gaussian\. .*predict_y"),
        (gl.SwitchedLikelihood([gl.Gaussian()]), 1, "the model has SwitchedLikelihood"),
        (gl.Bernoulli(), 2, "one class for each row, but a Bernoulli of 2 outputs"),
    ],
)
def test_other_targets_have_none(likelihood, P, message):
    layer = gi.layers.GPLayer(gpflow.kernels.Matern32(), P, gi.posteriors.Prior())
    model = gi.models.DeepGP([layer], likelihood, num_data=N)
    for predict in (model.predict_proba, model.posterior(1, 0).predict_proba):
        with pytest.raises(ValueError, match=message):
            predict(np.zeros((N, D)))

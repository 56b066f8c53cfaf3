"""Bayesian neural networks against values from an independent implementation."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.layers.dense import DenseBasis

from ..builders import bounds, mean_and_standard_error

pytestmark = pytest.mark.reference

WIDTHS = (6, 5, 5, 1)
LAYERS = ("layer0", "layer1", "layer2")


@pytest.fixture(params=["neal", "scale"])
def values(reference, request):
    with np.load(reference / f"global_bnn_{request.param}.npz") as file:
        return dict(file)


def prior_of(values, name):
    if f"{name}_scale_alpha" not in values:
        return None
    return gi.priors.ScalePrior(
        alpha=values[f"{name}_scale_alpha"], beta=values[f"{name}_scale_beta"]
    )


@pytest.fixture
def model(values):
    layers = []
    for name, inputs, outputs in zip(LAYERS, WIDTHS[:-1], WIDTHS[1:], strict=True):
        V = values[f"{name}_pseudo_outputs"]
        posterior = gi.posteriors.GlobalInducing(
            *V.shape, pseudo_outputs=V, pseudo_precision=values[f"{name}_pseudo_precision"]
        )
        layer = gi.layers.DenseLayer(inputs, outputs, posterior, prior=prior_of(values, name))
        layers += [layer, tf.nn.relu]
    return gi.models.DeepGP(
        layers[:-1],
        gpflow.likelihoods.Gaussian(values["noise_std"] ** 2),
        num_data=len(values["X"]),
        inducing_inputs=values["inducing_inputs"],
    )


def test_log_ratios_of_the_recorded_draws(model, values, monkeypatch):
    """The strongest test: given the weights, every number of log p - log q is exact."""
    X = np.concatenate([values["X"], values["Xtest"]])
    for i in range(4):
        U, F = tf.constant(values["inducing_inputs"]), tf.constant(X)
        for name, layer in zip(LAYERS, model.layers[::2], strict=True):
            scale = layer.prior.draw(layer.num_weights, None, as_seed(0))
            if f"{name}_draw_scale" in values:
                scale = layer.prior.given(values[f"{name}_draw_scale"][i], layer.num_weights)
                np.testing.assert_allclose(
                    scale.log_p_minus_log_q,
                    values[f"{name}_draw_scale_log_p_minus_log_q"][i],
                    atol=1e-8,
                )
            basis = DenseBasis(U, scale.root, bias=True)
            q = layer.posterior.q(basis, slice(0, layer.output_dim))
            weights = values[f"{name}_draw_weights"][i]
            # The noise with which our draw is the recorded one: z = W^T (r + eps).
            z = tf.constant(weights) / scale.standard_deviation
            eps = tf.linalg.triangular_solve(q._W, z, adjoint=True) - q._r
            monkeypatch.setattr(q, "_standard_normal", lambda *_, eps=eps: eps)
            draw = q.draw(None, as_seed(0))
            np.testing.assert_allclose(draw.z, z, atol=1e-8)
            np.testing.assert_allclose(
                draw.log_p_minus_log_q, values[f"{name}_draw_log_p_minus_log_q"][i], atol=1e-8
            )
            U, F = (x @ weights[:-1] + weights[-1] for x in (U, F))
            if name != LAYERS[-1]:
                U, F = tf.nn.relu(U), tf.nn.relu(F)
        np.testing.assert_allclose(F[:, 0], values["draw_f"][i], atol=1e-8)


@pytest.mark.parametrize("values", ["neal"], indirect=True)  # the other has a random scale
def test_divergence_of_the_first_layer(model, values):
    conditioned = model.layers[0].condition(tf.constant(values["inducing_inputs"]))
    np.testing.assert_allclose(conditioned.kl(), values["layer0_kl"], atol=1e-8)


def test_bound_and_its_terms(model, values):
    data = (values["X"], values["Y"])
    elbo, error = mean_and_standard_error(bounds(model, data, num_samples=100, repeats=200))
    assert np.abs(elbo - values["elbo_mean"]) < 3 * np.hypot(error, values["elbo_se"])
    bound_terms = tf.function(
        lambda seed: model.bound_terms(data, num_samples=400, seed=seed), autograph=False
    )
    terms = np.array([bound_terms(tf.constant([1, i])) for i in range(30)])
    for name, (mean, error), sign in zip(
        ("expected_log_likelihood", "log_p_minus_log_q"),
        zip(*mean_and_standard_error(terms), strict=True),
        (1, -1),
        strict=True,
    ):
        combined = np.hypot(error, values[f"{name}_se"])
        assert np.abs(sign * mean - values[f"{name}_mean"]) < 3 * combined


def test_moments_and_densities(model, values):
    X = np.concatenate([values["X"], values["Xtest"]])
    predict = tf.function(
        lambda seed: model.predict_f(X, num_samples=250, seed=seed), autograph=False
    )
    runs = [predict(tf.constant([0, i])) for i in range(60)]
    mean, error = mean_and_standard_error([run[0][:, 0] for run in runs])
    # Four, not three, standard errors: the largest of 58 is looked at.
    assert np.all(np.abs(mean - values["f_mean"]) < 4 * np.hypot(error, values["f_mean_se"]))
    variance, error = mean_and_standard_error([run[1][:, 0] for run in runs])
    # The reference gives no error of its variances; over 1e6 samples it is about this.
    reference_error = np.sqrt(2 / 1e6) * values["f_var"]
    assert np.all(np.abs(variance - values["f_var"]) < 4.5 * np.hypot(error, reference_error))
    data = (values["X"], values["Y"])
    predict = tf.function(
        lambda seed: model.predict_log_density(data, 1000, seed=seed), autograph=False
    )
    runs = [predict(tf.constant([0, i])) for i in range(20)]
    density, error = mean_and_standard_error(runs)
    combined = np.hypot(error, values["log_density_se"])
    assert np.all(np.abs(density - values["log_density"]) < 4 * combined)

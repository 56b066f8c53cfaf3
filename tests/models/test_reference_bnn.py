"""Bayesian neural networks against values from an independent implementation."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.layers.dense import DenseBasis

from .reference import check_bound_and_its_terms, check_moments_and_densities

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
    check_bound_and_its_terms(model, values)


def test_moments_and_densities(model, values):
    check_moments_and_densities(model, values)

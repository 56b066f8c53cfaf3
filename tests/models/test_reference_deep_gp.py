"""Values from an independent implementation (see the README of the folder they come from)."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import SquaredExponential, White

import gpflow_gi as gi
from gpflow_gi.kernels import KernelBasis

from ..builders import bounds, mean_and_standard_error

pytestmark = pytest.mark.reference

LAYERS = ("layer0", "layer1")


@pytest.fixture
def values(reference):
    # The reference adds its jitter to k(x, x) too, as white noise; so does a White kernel here.
    gpflow.config.set_default_jitter(1e-14)
    with np.load(reference / "global_dgp.npz") as file:
        return dict(file)


@pytest.fixture
def model(values):
    layers = []
    for layer in LAYERS:
        V = values[f"{layer}_pseudo_outputs"]
        kernel = SquaredExponential(
            values[f"{layer}_variance"], values[f"{layer}_lengthscales"]
        ) + White(values[f"{layer}_jitter"])
        posterior = gi.posteriors.GlobalInducing(
            *V.shape,
            pseudo_outputs=V,
            pseudo_precision=values[f"{layer}_pseudo_precision"],
            precision="full",
        )
        layers.append(gi.layers.GPLayer(kernel, V.shape[1], posterior))
    return gi.models.DeepGP(
        layers,
        gpflow.likelihoods.Gaussian(values["noise_std"] ** 2),
        num_data=len(values["X"]),
        inducing_inputs=values["inducing_inputs"],
    )


def test_log_ratios_of_the_recorded_draws(model, values):
    """The strongest test: given u, every number of log p(u) - log q(u) is exact."""
    for i in range(4):
        U = tf.constant(values["inducing_inputs"])
        for name, layer in zip(LAYERS, model.layers, strict=True):
            u = values[f"{name}_draw_u"][i]
            basis = KernelBasis(layer.kernel, U)
            q = layer.posterior.q(basis, slice(0, layer.output_dim))
            z = tf.linalg.triangular_solve(basis.L, tf.constant(u))  # u = L z
            np.testing.assert_allclose(
                q.log_p_minus_log_q(z), values[f"{name}_draw_log_p_minus_log_q"][i], atol=1e-8
            )
            U = tf.constant(u)


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

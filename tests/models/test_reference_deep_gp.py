"""Values from an independent implementation (see the README of the folder they come from)."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import SquaredExponential, White

import gpflow_gi as gi
from gpflow_gi.kernels import KernelBasis

from .reference import check_bound_and_its_terms, check_moments_and_densities

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
    check_bound_and_its_terms(model, values)


def test_moments_and_densities(model, values):
    check_moments_and_densities(model, values)

"""Implicit processes from data start at the regression of the targets on their draws."""

from itertools import product

import gpflow
import numpy as np
import pytest

import gpflow_gi as gi
from gpflow_gi.architectures import build_sip, build_vip
from gpflow_gi.implicit import KernelProcess, NetworkProcess, empirical_gp

N = 40


@pytest.fixture
def data(rng):
    X = rng.uniform(-1.7, 1.7, size=(N, 2))
    return X, np.sin(2 * X[:, :1]) + 0.3 * rng.normal(size=(N, 1))


def test_one_layer_starts_at_the_evidence(data):
    model = build_vip(*data, num_draws=15, seed=3)
    kernel, mean = empirical_gp(model.layers[0].process, 15)
    gpr = gpflow.models.GPR(data, kernel, mean, noise_variance=0.1)
    np.testing.assert_allclose(model.elbo(data), gpr.log_marginal_likelihood(), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inference", "process"),
    [
        *product(["full", "factorised", "global", ["full", "global"]], ["network", "sampler"]),
        ("full", "low-rank-sampler"),
    ],
)
def test_deep_ones_start_near_the_targets(data, inference, process):
    X, Y = data
    model = build_vip(
        X, Y, num_layers=2, inference=inference, process=process, num_inducing=20, seed=1
    )
    assert np.isfinite(model.elbo(data, seed=0))
    mean, _ = model.predict_f(X, seed=0)
    assert np.mean((mean - Y) ** 2) < 0.9 * np.var(Y)
    one, other = (layer.process.seed for layer in model.layers)
    assert one != other


def test_targets_of_two_columns_and_shared_processes(data):
    X, Y = data
    model = build_vip(
        X, np.hstack([Y, -Y]), process=lambda D, P, seed: NetworkProcess(D, seed=seed)
    )
    mean, _ = model.predict_f(X)
    assert np.all(np.mean((mean - np.hstack([Y, -Y])) ** 2, axis=0) < 0.9 * np.var(Y))
    labels = (Y > 0).astype(float)
    model = build_vip(X, labels, likelihood=gpflow.likelihoods.Bernoulli())
    assert np.mean((model.predict_proba(X)[:, 1:] > 0.5) == labels) > 0.8


def test_values_of_a_sparse_one_start_around_the_targets(data):
    X, Y = data
    model = build_sip(X, Y, num_inducing=15, noise_dim=7, seed=2)
    (layer,) = model.implicit_layers
    u = layer.sample_q(4000, gi.core.random.as_seed(0)).numpy()
    V, _ = gi.architectures.start.targets_near(
        X, Y, layer.posterior.inducing_inputs.numpy(), model.likelihood
    )
    error = u.std(axis=0) / 4000**0.5
    bias = layer.posterior.sampler.network.biases[-1]
    np.testing.assert_allclose(bias, V[:, 0])
    assert np.all(u.std(axis=0) > 0.1) and np.all(error < 0.1)
    assert model.predict_y(X, 20, seed=0)[0].shape == (N, 1)
    Z = [[0.0, 0.0], [1.0, 1.0]]
    assert build_sip(X, Y, inducing_inputs=Z).layers[0].posterior.num_inducing == 2


def test_wrong_arguments_are_refused_in_words(data):
    X, Y = data
    with pytest.raises(
        ValueError,
        match="process must be 'network', 'sampler', 'low-rank-sampler', 'low-rank-sampler-dr",
    ):
        build_vip(X, Y, process="bnn")
    with pytest.raises(ValueError, match=r"of 2 inputs .* but made one of 1 inputs and 1"):
        build_vip(X, Y, process=lambda D, P, seed: NetworkProcess(1))
    with pytest.raises(TypeError, match=r"makes one of gpflow_gi\.implicit"):
        build_sip(X, Y, process=lambda D, P, seed: gpflow.kernels.Matern52())
    with pytest.raises(ValueError, match="num_layers is 2"):
        build_vip(X, Y, num_layers=2, inference=["full"])
    with pytest.raises(ValueError, match='"full", "factorised", "global"'):
        build_vip(X, Y, inference="local")
    with pytest.raises(ValueError, match="num_draws"):
        build_vip(X, Y, num_draws=1)
    with pytest.raises(ValueError, match="X must be finite"):
        build_sip(np.full((3, 1), np.nan), np.ones((3, 1)))
    process = lambda D, P, seed: KernelProcess(gpflow.kernels.Matern52(), D, P, seed=seed)  # noqa: E731
    assert build_vip(X, Y, process=process).layers[0].process.kernel is not None

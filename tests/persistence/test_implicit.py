"""Saved implicit processes, layers and posteriors predict the same."""

import gpflow
import numpy as np
import pytest

import gpflow_gi as gi
from gpflow_gi.implicit import empirical_gp
from gpflow_gi.persistence import LoadError
from gpflow_gi.posteriors import FullGaussian, GlobalInducing, ImplicitInducing, NoiseNetwork

from ..implicit.test_processes import PROCESSES, X
from .test_saving import assert_same, shaken, there_and_back

SLOW = {"prior of a model"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in PROCESSES],
)
def test_every_process_and_posterior(name, tmp_path):
    sampler = NoiseNetwork(2 * 3, noise_dim=4, widths=(5,))
    layers = [
        gi.layers.ImplicitLayer(PROCESSES[name](), 2, FullGaussian(), num_draws=5),
        gi.layers.ImplicitLayer(PROCESSES[name](), 2, GlobalInducing(3, 2), num_draws=5),
        gi.layers.ImplicitLayer(PROCESSES[name](), 2, ImplicitInducing(X[:3], sampler)),
    ]
    likelihood = gpflow.likelihoods.Gaussian()
    model = gi.models.DeepGP(layers, likelihood, num_data=9, inducing_inputs=X[:3])
    assert_same(shaken(model), there_and_back(model, tmp_path), X)


def test_an_empirical_kernel_shares_its_process_with_the_mean(tmp_path):
    kernel, mean = empirical_gp(gi.implicit.NetworkProcess(2), 6)
    q = ImplicitInducing(X[:3], NoiseNetwork(3))
    layer = gi.layers.GPLayer(kernel, 1, q, mean_function=mean)
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=9)
    read = there_and_back(shaken(model), tmp_path)
    assert read.layers[0].kernel.process is read.layers[0].mean_function.process
    assert_same(model, read, X)


@pytest.mark.slow
def test_parts_that_do_not_fit_are_refused(tmp_path):
    def model():
        process = gi.implicit.NetworkProcess(2, widths=(4,))
        q = ImplicitInducing(X[:3], NoiseNetwork(3))
        layer = gi.layers.ImplicitLayer(process, 1, q)
        return gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=9)

    spoiled = [model() for _ in range(4)]
    spoiled[0].layers[0].process.output_dim = 2
    spoiled[1].layers[0].num_draws = 1
    spoiled[2].layers[0].posterior.sampler = NoiseNetwork(4)
    spoiled[3].layers[0].process.seed = "none"
    for i, one in enumerate(spoiled):
        gi.save(one, tmp_path / str(i))
        with pytest.raises(LoadError):
            gi.load(tmp_path / str(i))


def test_a_free_gaussian_of_another_size_is_refused(tmp_path):
    layer = gi.layers.DenseLayer(2, 1, FullGaussian())
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=9)
    assert_same(shaken(model), there_and_back(model, tmp_path), X)
    layer.posterior.q_mu = gpflow.Parameter(np.zeros((4, 1)))
    gi.save(model, tmp_path / "other")
    with pytest.raises(LoadError):
        gi.load(tmp_path / "other")


@pytest.mark.parametrize(
    "name, value",
    [
        ("q_mu", lambda: gpflow.Parameter(np.zeros((4, 1)))),
        ("num_inducing", lambda: None),
        ("num_inducing", lambda: "three"),
    ],
)
def test_a_free_gaussian_that_does_not_fit_a_gp_layer_is_refused(name, value, tmp_path):
    layer = gi.layers.GPLayer(gpflow.kernels.SquaredExponential(), 1, FullGaussian(3))
    likelihood = gpflow.likelihoods.Gaussian()
    model = gi.models.DeepGP([layer], likelihood, num_data=9, inducing_inputs=X[:3])
    assert_same(shaken(model), there_and_back(model, tmp_path), X)
    setattr(layer.posterior, name, value())
    gi.save(model, tmp_path / "other")
    with pytest.raises(LoadError):
        gi.load(tmp_path / "other")


def test_weights_with_inducing_points_are_refused(tmp_path):
    layers = [
        gi.layers.DenseLayer(2, 1, FullGaussian()),
        gi.layers.DenseLayer(1, 1, GlobalInducing(3, 1)),
    ]
    likelihood = gpflow.likelihoods.Gaussian()
    model = gi.models.DeepGP(layers, likelihood, num_data=9, inducing_inputs=X[:3])
    layers[0].posterior.num_inducing = 3
    gi.save(model, tmp_path / "other")
    with pytest.raises(LoadError):
        gi.load(tmp_path / "other")


@pytest.mark.parametrize("rate", [1.5, -1.0, "half"])
def test_a_dropout_rate_that_is_none_is_refused(rate, tmp_path):
    process = gi.implicit.NeuralSampler(2, widths=(3,), dropout_rate=0.1)
    layer = gi.layers.ImplicitLayer(process, 1, FullGaussian(), num_draws=3)
    process.dropout_rate = rate
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=9)
    gi.save(model, tmp_path / "other")
    with pytest.raises(LoadError):
        gi.load(tmp_path / "other")


@pytest.mark.parametrize("whiten", [True, "yes"])
def test_whitened_weights_are_refused(whiten, tmp_path):
    layer = gi.layers.DenseLayer(2, 1, GlobalInducing(3, 1))
    layer.posterior.whiten = whiten
    model = gi.models.DeepGP(
        [layer], gpflow.likelihoods.Gaussian(), num_data=9, inducing_inputs=X[:3]
    )
    gi.save(model, tmp_path / "other")
    with pytest.raises(LoadError):
        gi.load(tmp_path / "other")

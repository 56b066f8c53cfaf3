"""Sparse implicit processes: p(f | u) is GPflow's conditional, whatever the layer."""

import warnings

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.conditionals import base_conditional

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.implicit import NetworkProcess, empirical_gp
from gpflow_gi.layers import GPLayer, ImplicitLayer
from gpflow_gi.posteriors import ImplicitInducing, NoiseNetwork

Z = np.linspace(-2.0, 2.0, 5)[:, None]
X = np.linspace(-3.0, 3.0, 8)[:, None]


def model_of(*layers):
    likelihood = gpflow.likelihoods.Gaussian(0.1)
    return gi.models.DeepGP(list(layers), likelihood, num_data=8)


def layer_of(kind, process, num_draws, P=1, sampler=None):
    q = ImplicitInducing(Z, NoiseNetwork(5 * P, seed=1) if sampler is None else sampler)
    if kind == "implicit":
        return ImplicitLayer(process, P, q, num_draws=num_draws)
    kernel, mean = empirical_gp(process, num_draws)
    return GPLayer(kernel, P, q, mean_function=mean)


@pytest.fixture
def small_jitter():
    with gpflow.config.as_context(gpflow.config.Config(jitter=1e-12)):
        yield


@pytest.mark.usefixtures("small_jitter")
@pytest.mark.parametrize("kind", ["implicit", "kernel"])
@pytest.mark.parametrize("num_draws", [3, 30], ids=["fewer draws than points", "many draws"])
def test_components_are_the_conditionals_of_equation_13(kind, num_draws):
    process = NetworkProcess(1)
    u = np.random.default_rng(0).normal(size=(4, 5))
    layer = layer_of(kind, process, num_draws, sampler=lambda S, seed: tf.constant(u[:S]))
    mean, variance = model_of(layer).predict_y_components(X, 4, seed=0)
    kernel, m = empirical_gp(process, num_draws)
    for s in range(4):
        expected = base_conditional(
            kernel(Z, X),
            kernel(Z) + 1e-5 * np.eye(5),
            kernel(X, full_cov=False),
            u[s][:, None] - m(Z),
        )
        np.testing.assert_allclose(mean[s], m(X) + expected[0], rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(variance[s], 0.1 + expected[1], rtol=1e-6)


@pytest.mark.parametrize("num_draws", [10, 11])
def test_few_draws_are_warned_of_where_jitter_changes_the_model(num_draws):
    """With five inducing inputs more than ten draws are enough, and without jitter any number."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        layer_of("implicit", NetworkProcess(1), num_draws)
        assert not caught
        layer_of("kernel", NetworkProcess(1), num_draws)
    said = [str(warning.message) for warning in caught]
    assert len(said) == (num_draws == 10)
    assert all("covariance of 10 draws, and there are 5 inducing inputs" in line for line in said)


def test_with_enough_draws_the_usual_jitter_hardly_matters():
    """Largest difference of standard deviations, as a share of the largest of them."""
    u = np.random.default_rng(0).normal(size=(4, 5))
    gaps = {}
    for num_draws in (3, 30):
        exact, other = (
            np.sqrt(
                model_of(
                    layer_of(kind, NetworkProcess(1), num_draws, sampler=lambda S, seed: u[:S])
                ).predict_y_components(X, 4, seed=0)[1]
                - 0.1
            )
            for kind in ("implicit", "kernel")
        )
        gaps[num_draws] = np.abs(exact - other).max() / exact.max()
    assert gaps[30] < 0.01 < gaps[3], gaps


@pytest.mark.usefixtures("small_jitter")
@pytest.mark.parametrize("outputs", [1, 2])
def test_both_layers_are_one_model(outputs):
    process = NetworkProcess(1, outputs)
    one, other = (model_of(layer_of(kind, process, 20, 2)) for kind in ("implicit", "kernel"))
    for mine, its in zip(*(m.predict_f(X, 10, seed=3) for m in (one, other)), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-4, atol=1e-6)
    u = [m.implicit_layers[0].sample_q(6, as_seed(2)) for m in (one, other)]
    assert u[0].shape == (6, 10)
    np.testing.assert_array_equal(*u)


@pytest.mark.parametrize("kind", ["implicit", "kernel"])
def test_joint_draws_and_moments_agree(kind):
    model = model_of(layer_of(kind, NetworkProcess(1), 20))
    mean, variance = model.predict_f(X, 3000, seed=0)
    f = model.predict_f_samples(X, 3000, seed=1).numpy()
    assert np.all(np.abs(f.mean(axis=0) - mean) < 6 * f.std(axis=0) / 3000**0.5)
    assert np.all(np.abs(f.var(axis=0) / variance - 1) < 0.2)
    functions = model.sample_functions(4, seed=2)
    np.testing.assert_allclose(functions(X)[:, 3:], functions(X[3:]), rtol=1e-8)
    f = model.sample_functions(3000, seed=3)(Z).numpy()  # at Z f is u, up to the noise
    u = model.implicit_layers[0].sample_q(3000, as_seed(4)).numpy()[..., None]
    error = np.hypot(f.std(axis=0), u.std(axis=0)) / 3000**0.5
    assert np.all(np.abs(f.mean(axis=0) - u.mean(axis=0)) < 6 * error + 0.02)


@pytest.mark.parametrize("outputs", [1, 2], ids=["shared", "two outputs"])
@pytest.mark.parametrize("kind", ["implicit", "kernel"])
def test_samples_of_the_prior_are_those_of_the_process(kind, outputs):
    process = NetworkProcess(1, outputs, widths=(1,), nonlinearity="relu")
    layer = layer_of(kind, process, 20, 2)
    u = layer.sample_prior(4000, as_seed(0)).numpy().reshape(4000, 5, 2)
    f = process.draw(4000, seed=9)(Z).numpy()
    # Outputs of one process are dependent; those that share its only output are not.
    other = f[..., 1] if outputs == 2 else process.draw(4000, seed=10)(Z).numpy()[..., 0]
    expected = np.stack([f[..., 0], other], axis=-1)
    for moment in (np.square, lambda values: np.prod(np.square(values), axis=-1)):
        mine, its = moment(u), moment(expected)
        error = np.hypot(mine.std(axis=0), its.std(axis=0)) / 4000**0.5
        assert np.all(np.abs(mine.mean(axis=0) - its.mean(axis=0)) < 5 * error)
    squares = np.square(expected)
    independent = np.prod(squares.mean(axis=0), axis=-1)
    assert np.all(
        (np.prod(squares, axis=-1).mean(axis=0)[[0, 4]] > 1.2 * independent[[0, 4]])
        == (outputs == 2)
    )


def test_the_prior_of_an_ordinary_kernel_is_its_gaussian():
    kernel = gpflow.kernels.Matern52()
    q = ImplicitInducing(Z, NoiseNetwork(5))
    u = GPLayer(kernel, 1, q).sample_prior(4000, as_seed(0)).numpy()
    products = u[:, :, None] * u[:, None]
    error = products.std(axis=0) / 4000**0.5
    assert np.all(np.abs(products.mean(axis=0) - kernel(Z)) < 5 * error)


@pytest.mark.parametrize("kind", ["implicit", "kernel"])
def test_samples_have_gradients(kind):
    layer = layer_of(kind, NetworkProcess(1, widths=(5,)), 4)
    with tf.GradientTape(persistent=True) as tape:
        q = tf.reduce_sum(layer.sample_q(3, as_seed(0)) ** 2)
        p = tf.reduce_sum(layer.sample_prior(3, as_seed(0)) ** 2)
    sampler = layer.posterior.sampler.trainable_variables
    process = layer.submodules and next(
        part for part in layer.submodules if isinstance(part, NetworkProcess)
    )
    inputs = layer.posterior.inducing_inputs.unconstrained_variable
    for value, variables in ((q, sampler), (p, [*process.trainable_variables, inputs])):
        for gradient in tape.gradient(value, variables):
            assert np.any(tf.convert_to_tensor(gradient) != 0)


def test_a_deep_one_is_drawn_and_trained_like_any_chain():
    hidden = layer_of("implicit", NetworkProcess(1), 20)
    last = layer_of("implicit", NetworkProcess(1, seed=1), 20)
    model = model_of(hidden, last)
    assert model.predict_f(X, 7, seed=0)[0].shape == (8, 1)
    assert model.predict_f_samples(X, 7, seed=0).shape == (7, 8, 1)
    assert len(model.implicit_layers) == 2


def test_there_is_no_bound():
    model = model_of(layer_of("implicit", NetworkProcess(1), 20))
    for bound in (model.elbo, lambda data: model.iwbo(data, 2)):
        with pytest.raises(gi.models.no_density.NoDensityError, match="ImplicitInducing"):
            bound((X, X))
    assert model.draw(3, seed=0).kl is None


def test_wrong_samplers_and_layers_are_refused_in_words():
    with pytest.raises(TypeError, match="sampler must be a function"):
        ImplicitInducing(Z, 3)
    with pytest.raises(TypeError, match="failed or returned"):
        ImplicitInducing(Z, lambda S: S)
    with pytest.raises(ValueError, match="M = 5 inducing inputs"):
        ImplicitInducing(Z, NoiseNetwork(7))
    with pytest.raises(ValueError, match="noise_variance must be positive"):
        ImplicitInducing(Z, NoiseNetwork(5), noise_variance=0.0)
    with pytest.raises(ValueError, match="GPLayer without mixing, or an ImplicitLayer"):
        gi.layers.DenseLayer(1, 1, ImplicitInducing(Z, NoiseNetwork(5)))
    with pytest.raises(ValueError, match="output_dim=2; they must be equal"):
        ImplicitLayer(NetworkProcess(1), 1, ImplicitInducing(Z, NoiseNetwork(10)))
    with pytest.raises(ValueError, match="inducing inputs of 1 columns"):
        model_of(
            gi.layers.DenseLayer(3, 2, gi.posteriors.Prior()),
            layer_of("kernel", NetworkProcess(1), 20),
        )
    with pytest.raises(ValueError, match="mean must have shape"):
        NoiseNetwork(3, mean=np.zeros(2))

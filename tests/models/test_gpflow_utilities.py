"""GPflow's own training utilities take a DeepGP as they take GPflow's models."""

import copy
import importlib.util
from pathlib import Path

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.kernels import SquaredExponential

import gpflow_gi as gi

from ..builders import random_data, random_deep_gp, random_posterior

tf_keras = gpflow.keras.tf_keras


@pytest.fixture
def data(rng) -> tuple[np.ndarray, np.ndarray]:
    return random_data(rng)


@pytest.fixture
def model(rng) -> gi.models.DeepGP:
    return random_deep_gp(rng, ("local", "full"))


def one_layer(rng, kind) -> gi.models.DeepGP:
    """Nothing to sample, and quick to compile."""
    return random_deep_gp(rng, (kind,), mean_functions=False)


# ------------------------------------------------------------------------------------- training


@pytest.mark.slow
@pytest.mark.compiled
def test_training_loss_closure(model, data):
    loss = model.training_loss(data, seed=1)
    np.testing.assert_allclose(loss, -model.elbo(data, seed=1))
    for compile in (False, True):
        closure = model.training_loss_closure(data, compile=compile, seed=1)
        np.testing.assert_allclose(closure(), loss, rtol=1e-10)
        fresh = model.training_loss_closure(data, compile=compile)
        assert fresh() != fresh()


@pytest.mark.compiled
@pytest.mark.parametrize("compile", [False, True])
def test_closure_over_an_iterator_takes_ragged_batches(compile, data, rng):
    model = one_layer(rng, "global")
    dataset = tf.data.Dataset.from_tensor_slices(data).batch(4)
    closure = model.training_loss_closure(iter(dataset), compile=compile)
    X, Y = data
    for batch in (slice(0, 4), slice(4, 8), slice(8, 9)):
        np.testing.assert_allclose(closure(), -model.elbo((X[batch], Y[batch])))
    with pytest.raises(StopIteration):
        closure()


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.longest
def test_scipy_is_deterministic_with_a_seed(data, rng):
    def fitted_bound() -> tuple[float, float]:
        model = random_deep_gp(np.random.default_rng(1), ("local", "local"))
        closure = model.training_loss_closure(data, seed=2)
        start = model.elbo(data, seed=2)
        options = {"maxiter": 4}
        gpflow.optimizers.Scipy().minimize(closure, model.trainable_variables, options=options)
        return float(start), float(model.elbo(data, seed=2))

    start, end = fitted_bound()
    assert end > start + 1
    assert fitted_bound() == (start, end)


def test_natural_gradient_finds_the_optimum_in_one_step(data, rng):
    """With Z = X a step of size one is GPR; with other Z it is SGPR, the optimal q given Z."""
    X, _ = data
    noise, kernel = 0.3, SquaredExponential(1.2, lengthscales=[0.9, 1.4])
    Z = rng.normal(size=(4, 2))
    exact = gpflow.models.GPR(data, kernel, noise_variance=noise)
    sparse = gpflow.models.SGPR(data, kernel, Z, noise_variance=noise)
    for inputs, optimum in [(X, exact.log_marginal_likelihood()), (Z, sparse.elbo())]:
        layer = gi.layers.GPLayer(kernel, 1, gi.posteriors.LocalInducing(inputs, 1))
        model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(noise), num_data=len(X))
        assert model.elbo(data) < optimum - 1
        gpflow.optimizers.NaturalGradient(gamma=1.0).minimize(
            model.training_loss_closure(data, compile=False),
            [(layer.posterior.q_mu, layer.posterior.q_sqrt)],
        )
        np.testing.assert_allclose(model.elbo(data), optimum, atol=2e-4)  # jitter


def test_natural_gradients_of_two_layers_take_a_call_each(data, rng):
    """GPflow's optimizer takes parameters of one size at a time."""
    model = random_deep_gp(rng, ("local", "local"), num_data=len(data[0]))
    before = model.elbo(data, num_samples=50, seed=0)
    natural_gradient = gpflow.optimizers.NaturalGradient(gamma=0.1)
    for _ in range(3):
        for layer in model.layers:
            natural_gradient.minimize(
                model.training_loss_closure(data, compile=False, seed=1),
                [(layer.posterior.q_mu, layer.posterior.q_sqrt)],
            )
    assert model.elbo(data, num_samples=50, seed=0) > before + 1


@pytest.mark.slow
@pytest.mark.compiled
def test_training_loop(data, rng):
    model = one_layer(rng, "global")
    before = model.elbo(data)
    gpflow.utilities.training_loop(
        model.training_loss_closure(data, compile=False),
        tf_keras.optimizers.Adam(0.05),
        model.trainable_variables,
        maxiter=10,
        compile=True,
    )
    assert model.elbo(data) > before + 0.1


# ------------------------------------------------------------------------------------- monitors


def test_execute_callback(model, data):
    seen = []
    task = gpflow.monitor.ExecuteCallback(lambda: seen.append(float(model.elbo(data, seed=1))))
    gpflow.monitor.Monitor(gpflow.monitor.MonitorTaskGroup([task], period=2))(4)
    assert seen == [float(model.elbo(data, seed=1))]


@pytest.mark.skipif(
    importlib.util.find_spec("tensorboard") is None,
    reason="tensorboard is not installed: it comes with the extra [monitor]",
)
def test_tensorboard(model, data, tmp_path: Path):
    log_dir = str(tmp_path)
    tasks = [
        gpflow.monitor.ModelToTensorBoard(log_dir, model),
        gpflow.monitor.ScalarToTensorBoard(log_dir, lambda: model.elbo(data, seed=1), "elbo"),
    ]
    gpflow.monitor.Monitor(gpflow.monitor.MonitorTaskGroup(tasks))(0)
    assert list(tmp_path.glob("events*"))


# ----------------------------------------------------------------------------------- parameters


def test_parameters_have_their_names(model):
    assert set(gpflow.utilities.parameter_dict(model)) == {
        ".inducing_inputs",
        ".likelihood.variance",
        ".layers[0].kernel.variance",
        ".layers[0].kernel.lengthscales",
        ".layers[0].mean_function.A",
        ".layers[0].mean_function.b",
        ".layers[0].posterior.inducing_inputs",
        ".layers[0].posterior.q_mu",
        ".layers[0].posterior.q_sqrt",
        ".layers[1].kernel.variance",
        ".layers[1].kernel.lengthscales",
        ".layers[1].mean_function.A",
        ".layers[1].mean_function.b",
        ".layers[1].posterior.pseudo_outputs",
        ".layers[1].posterior.pseudo_precision",
    }


def test_print_summary(model, capsys):
    gpflow.utilities.print_summary(model)
    summary = capsys.readouterr().out
    for path in gpflow.utilities.parameter_dict(model):
        assert f"DeepGP{path}" in summary


def test_set_trainable(model):
    number = len(model.trainable_variables)
    gpflow.set_trainable(model.layers[0], False)
    assert len(model.trainable_variables) == number - 7
    gpflow.set_trainable(model, False)
    assert model.trainable_variables == ()


def test_priors_enter_the_training_loss_alone(model, data):
    loss, bound = model.training_loss(data, seed=1), model.elbo(data, seed=1)
    prior = tfp.distributions.LogNormal(np.float64(0.3), np.float64(0.7))
    model.layers[0].kernel.variance.prior = prior
    model.likelihood.variance.prior = prior
    np.testing.assert_array_equal(model.elbo(data, seed=1), bound)
    density = model.layers[0].kernel.variance.log_prior_density()
    density += model.likelihood.variance.log_prior_density()
    assert np.abs(density) > 0.1
    np.testing.assert_allclose(model.training_loss(data, seed=1), loss - density)
    np.testing.assert_allclose(model.training_loss_closure(data, seed=1)(), loss - density)


def test_parameter_values_move_to_another_model(model, data):
    other = random_deep_gp(np.random.default_rng(7), ("local", "full"))
    assert np.abs(other.elbo(data, seed=1) - model.elbo(data, seed=1)) > 0.1
    gpflow.utilities.multiple_assign(other, gpflow.utilities.read_values(model))
    np.testing.assert_allclose(other.elbo(data, seed=1), model.elbo(data, seed=1), rtol=1e-9)
    gpflow.utilities.multiple_assign(model, gpflow.utilities.parameter_dict(other))
    np.testing.assert_allclose(other.elbo(data, seed=1), model.elbo(data, seed=1), rtol=1e-9)


@pytest.mark.parametrize("deepcopy", [copy.deepcopy, gpflow.utilities.deepcopy])
def test_deepcopy(deepcopy, model, data):
    bound = model.elbo(data, seed=1)  # fills the caches of bijectors
    twin = deepcopy(model)
    np.testing.assert_array_equal(twin.elbo(data, seed=1), bound)
    assert len(twin.trainable_variables) == len(model.trainable_variables)
    for variable in twin.trainable_variables:
        variable.assign_add(0.1 * tf.ones_like(variable))
    assert np.abs(twin.elbo(data, seed=1) - bound) > 0.1
    np.testing.assert_array_equal(model.elbo(data, seed=1), bound)


def test_checkpoint(model, data, tmp_path: Path):
    path = tf.train.Checkpoint(model=model).save(str(tmp_path / "checkpoint"))
    other = random_deep_gp(np.random.default_rng(7), ("local", "full"))
    status = tf.train.Checkpoint(model=other).restore(path)
    status.assert_consumed()
    status.assert_existing_objects_matched()
    np.testing.assert_array_equal(other.elbo(data, seed=1), model.elbo(data, seed=1))


# ---------------------------------------------------------------------------------------- Keras


def keras_model(rng, layer, **kwargs) -> gi.models.DeepGP:
    layers = [
        layer,
        gi.layers.GPLayer(SquaredExponential(), 1, random_posterior(rng, "full", 1, 3)),
    ]
    likelihood = gpflow.likelihoods.Gaussian(0.3)
    return gi.models.DeepGP(layers, likelihood, num_data=9, **kwargs)


def test_keras_layers_are_trained(data, rng):
    dense = tf_keras.layers.Dense(3, activation="tanh", dtype=gpflow.default_float())
    model = keras_model(rng, dense, inducing_inputs=rng.normal(size=(6, 2)))
    # Before any call, so that an optimizer that takes the list now gets them.
    variables = model.trainable_variables
    assert {id(weight) for weight in dense.trainable_weights} < {id(v) for v in variables}
    with tf.GradientTape() as tape:
        bound = model.elbo(data)
    for gradient in tape.gradient(bound, dense.trainable_weights):
        assert np.all(np.isfinite(gradient)) and np.any(gradient)

    twin = gpflow.utilities.deepcopy(model)
    dense.kernel.assign_add(tf.ones_like(dense.kernel))
    np.testing.assert_allclose(twin.elbo(data), bound)
    assert np.abs(model.elbo(data) - bound) > 0.01


def test_keras_layers_are_applied_row_by_row(data, rng):
    """To the data and the inducing points alike, with and without a sample axis."""
    dense = tf_keras.layers.Dense(3, dtype=gpflow.default_float())
    layer = gi.layers.Deterministic(dense)
    X = tf.constant(rng.normal(size=(4, 5, 2)))
    np.testing.assert_allclose(layer(X), tf.stack([dense(x) for x in X]), rtol=1e-12)


def test_keras_layer_without_a_known_number_of_inputs(data, rng):
    dense = tf_keras.layers.Dense(2, dtype=gpflow.default_float())
    top = gi.layers.GPLayer(SquaredExponential(), 1, random_posterior(rng, "local", 1, 2))
    likelihood = gpflow.likelihoods.Gaussian(0.3)
    with pytest.raises(ValueError, match=r"Layer 1 .*Dense.* build\(\[None, D\]\) first"):
        gi.models.DeepGP([dense, top], likelihood, num_data=9)
    dense.build([None, 2])
    model = gi.models.DeepGP([dense, top], likelihood, num_data=9)
    assert np.isfinite(model.elbo(data))


def test_keras_layer_of_another_type(rng):
    dense = tf_keras.layers.Dense(3, dtype="float32")
    with pytest.raises(TypeError, match=r"float64 into float32.*dtype=gpflow.default_float\(\)"):
        keras_model(rng, dense, inducing_inputs=rng.normal(size=(6, 2)))


def test_keras_3_is_refused(rng):
    keras = pytest.importorskip("keras", minversion="3")
    for layer in (keras.layers.Dense(3), keras.Sequential([keras.layers.Dense(3)])):
        with pytest.raises(TypeError, match=r"Keras 3.*gpflow.keras.tf_keras"):
            keras_model(rng, layer, inducing_inputs=rng.normal(size=(6, 2)))

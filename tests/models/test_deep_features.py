"""A Keras network as the first layers: deep features, trained with the layers above."""

import copy
import pickle

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

import gpflow_gi as gi

from ..builders import random_data

N, M, D, FEATURES = 9, 5, 2, 3
Dense = tf_keras.layers.Dense


class OwnModel(tf_keras.Model):
    def __init__(self):
        super().__init__(dtype="float64")
        self.first, self.second = Dense(4, "tanh", dtype="float64"), dense()

    def call(self, inputs):
        return self.second(self.first(inputs))


class OwnLayer(tf_keras.layers.Layer):
    def __init__(self):
        super().__init__(dtype="float64")
        self.inner = dense()

    def call(self, inputs):
        return self.inner(inputs) + 0.1


def dense():
    return Dense(FEATURES, "tanh", dtype="float64")


def sequential():
    return tf_keras.Sequential([Dense(4, "relu", dtype="float64"), dense()])


def functional():
    inputs = tf_keras.Input((D,), dtype="float64")
    hidden = Dense(FEATURES, "tanh", dtype="float64")(inputs)
    return tf_keras.Model(inputs, hidden + dense()(hidden))


def part_of_another():
    net = sequential()
    net.build([None, D])
    return tf_keras.Sequential([net])


NETWORKS = {
    "dense": dense,
    "sequential": sequential,
    "functional": functional,
    "nested": part_of_another,
    "own model": OwnModel,
    "own layer": OwnLayer,
}


def build(network, inference=("global", "global"), seed=0):
    rng = np.random.default_rng(seed)
    layers = [network]
    for kind, inputs, outputs in zip(
        inference, (FEATURES, 2), (2, 1)[-len(inference) :], strict=False
    ):
        pseudo = rng.normal(size=(M, outputs))
        posterior = (
            gi.posteriors.GlobalInducing(M, outputs, pseudo_outputs=pseudo)
            if kind == "global"
            else gi.posteriors.LocalInducing(rng.normal(size=(M, inputs)), outputs, q_mu=pseudo)
        )
        kernel = gpflow.kernels.Matern52(lengthscales=0.7)
        layers.append(gi.layers.GPLayer(kernel, outputs, posterior))
    return gi.models.DeepGP(
        layers,
        gpflow.likelihoods.Gaussian(0.2),
        num_data=N,
        inducing_inputs=rng.normal(size=(M, D)) if "global" in inference else None,
    )


@pytest.fixture(autouse=True)
def same_weights():
    """Keras draws them from its own generator."""
    tf_keras.utils.set_random_seed(0)


@pytest.fixture(params=NETWORKS)
def model(request):
    return build(NETWORKS[request.param]())


def test_it_is_a_model_of_the_features(rng):
    """One global layer on a network is that layer on the network's outputs, at U and X alike."""
    X, Y = random_data(rng, N)
    net = sequential()
    model = build(net, ["global"])
    plain = build(lambda F: F, ["global"])
    plain.inducing_inputs = gpflow.Parameter(net(model.inducing_inputs))
    features = net(tf.constant(X))
    np.testing.assert_allclose(model.elbo((X, Y)), plain.elbo((features, Y)), rtol=1e-12)
    for of_X, of_features in zip(model.predict_y(X), plain.predict_y(features), strict=True):
        np.testing.assert_allclose(of_X, of_features, rtol=1e-12)


@pytest.mark.parametrize("inference", [["global", "global"], ["local", "global"], ["local"]])
def test_gradients_reach_the_network_through_inducing_points_and_data(inference, rng):
    X, Y = random_data(rng, N)
    net = sequential()
    net.build([None, D])
    model = build(net, inference)

    def bound():
        return model.elbo((X, Y), num_samples=2, seed=1)

    weights = net.trainable_variables
    with tf.GradientTape() as tape:
        value = bound()
    gradients = tape.gradient(value, weights)
    directions = [rng.normal(size=weight.shape) for weight in weights]
    slope = sum(np.sum(g * d) for g, d in zip(gradients, directions, strict=True))

    def moved(step):
        for weight, direction in zip(weights, directions, strict=True):
            weight.assign_add(step * direction)
        return bound().numpy()

    step = 1e-5
    difference = (moved(step) - moved(-2 * step)) / (2 * step)
    assert slope == pytest.approx(difference, rel=1e-5)
    assert abs(slope) > 1e-2


def test_every_weight_has_a_gradient(model, rng):
    with tf.GradientTape() as tape:
        loss = model.training_loss(random_data(rng, N), seed=0)
    weights = model.layers[0].function.trainable_variables
    assert {weight.ref() for weight in weights} <= {v.ref() for v in model.trainable_variables}
    for weight, gradient in zip(weights, tape.gradient(loss, weights), strict=True):
        # A shift of all features changes no stationary kernel.
        assert gradient is not None and (weight.shape.rank == 1 or np.any(gradient != 0))


@pytest.mark.slow
def test_fit_trains_the_network(rng):
    model = build(sequential())
    net = model.layers[0].function
    before = net.get_weights()
    gi.fit(model, random_data(rng, N), steps=2, progress=False)
    assert np.any(before[0] != net.get_weights()[0]) and np.any(before[2] != net.get_weights()[2])


def test_keras_trains_the_network(rng):
    model = build(sequential())
    net = model.layers[0].function
    before = net.get_weights()
    keras = gi.interop.as_keras_model(model)
    keras.compile("adam", run_eagerly=True)
    X, Y = random_data(rng, N)
    keras.fit({"inputs": X, "targets": Y}, verbose=0)
    assert np.any(before[0] != net.get_weights()[0]) and np.any(before[2] != net.get_weights()[2])


@pytest.mark.slow
def test_a_frozen_layer_is_not_trained(rng):
    model = build(sequential())
    first, second = model.layers[0].function.layers
    first.trainable = False
    before = first.get_weights(), second.get_weights()
    gi.fit(model, random_data(rng, N), steps=2, progress=False)
    np.testing.assert_array_equal(before[0][0], first.get_weights()[0])
    assert np.any(before[1][0] != second.get_weights()[0])
    assert {v.ref() for v in model.variables} >= {v.ref() for v in first.variables}


def freeze_the_last(model):
    """Freeze the last layer of the network, so that only some layers are frozen."""
    net = model.layers[0].function
    inner = [part for part in net.submodules if isinstance(part, Dense)]
    (inner or [net])[-1].trainable = False


def copies_of(model, tmp_path):
    yield copy.deepcopy(model)
    yield gpflow.utilities.deepcopy(model)
    gi.save(model, tmp_path / "model.gi")
    yield gi.load(
        tmp_path / "model.gi", custom_objects={"OwnModel": OwnModel, "OwnLayer": OwnLayer}
    )
    if type(model.layers[0].function) is not OwnModel:  # Keras wants it registered
        yield pickle.loads(pickle.dumps(model))


@pytest.mark.slow
def test_copies_are_whole_and_apart(model, rng, tmp_path):
    X = rng.normal(size=(4, D))
    freeze_the_last(model)
    expected = model.predict_f(X, seed=0)
    for copied in copies_of(model, tmp_path):
        for one, other in zip(expected, copied.predict_f(X, seed=0), strict=True):
            np.testing.assert_array_equal(one, other)
        assert len(copied.variables) == len(model.variables)
        assert len(copied.trainable_variables) == len(model.trainable_variables)
        for variable in copied.variables:
            variable.assign(variable + 1.0)
        np.testing.assert_array_equal(expected[0], model.predict_f(X, seed=0)[0])


def test_a_class_of_ones_own_is_not_looked_for(tmp_path):
    """A file must not have modules imported: classes are handed over."""
    with pytest.warns(UserWarning, match=r"trusted=\[OwnModel"):
        gi.save(build(OwnModel()), tmp_path / "model.gi")
    with pytest.raises(ValueError, match=r"uses 'OwnModel' of the module 'tests\.models"):
        gi.load(tmp_path / "model.gi")


@pytest.mark.slow
@pytest.mark.parametrize("model", ["sequential", "nested", "own model"], indirect=True)
def test_posterior_and_draws_are_of_the_model_as_it_was(model, rng):
    X = rng.normal(size=(4, D))
    posterior, draws = model.posterior(3, seed=0), model.sample_functions(3, seed=0)
    before = posterior.predict_f(X)[0].numpy(), draws(X).numpy()
    net = model.layers[0].function
    net.set_weights([weight + 1.0 for weight in net.get_weights()])
    np.testing.assert_array_equal(before[0], posterior.predict_f(X)[0])
    np.testing.assert_array_equal(before[1], draws(X))
    assert np.any(before[0] != model.posterior(3, seed=0).predict_f(X)[0].numpy())


@pytest.mark.slow
def test_checkpoints_hold_the_network(model, rng, tmp_path):
    X = rng.normal(size=(4, D))
    path = tf.train.Checkpoint(model=model).write(str(tmp_path / "checkpoint"))
    expected = model.predict_f(X, seed=0)[0].numpy()
    for variable in model.variables:
        variable.assign(variable + 1.0)
    tf.train.Checkpoint(model=model).read(path).assert_consumed()
    np.testing.assert_array_equal(expected, model.predict_f(X, seed=0)[0])


@pytest.mark.longest
def test_a_run_resumes_with_the_network(rng, tmp_path):
    data = random_data(rng, N)
    tf_keras.utils.set_random_seed(0)
    whole = build(sequential())
    stopped, resumed = gpflow.utilities.deepcopy(whole), gpflow.utilities.deepcopy(whole)
    gi.fit(whole, data, steps=4, progress=False)
    gi.fit(stopped, data, steps=2, progress=False, checkpoint_dir=tmp_path)
    gi.fit(resumed, data, steps=4, progress=False, checkpoint_dir=tmp_path)
    for one, other in zip(whole.variables, resumed.variables, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.slow
@pytest.mark.parametrize("build", [sequential, functional, dense])
def test_a_network_tells_the_number_of_inputs(build, rng, tmp_path):
    network = build()
    network.build([None, D])
    posterior = gi.posteriors.LocalInducing(rng.normal(size=(M, FEATURES)), 1)
    layer = gi.layers.GPLayer(gpflow.kernels.Matern32(), 1, posterior)
    model = gi.models.DeepGP([network, layer], gpflow.likelihoods.Gaussian(), num_data=N)
    assert model.input_dim == D
    X, _ = random_data(rng)
    with pytest.raises(ValueError, match=f"X has {D + 1} columns, but the model takes {D}"):
        model.predict_f(np.zeros((3, D + 1)))
    gi.export(model, tmp_path / "served", num_samples=2)
    served = tf.saved_model.load(tmp_path / "served").signatures["serving_default"]
    mean, _ = model.predict_f(X, 2, seed=0)
    np.testing.assert_allclose(served(x=tf.constant(X))["mean"], mean, rtol=1e-12)


def test_a_layer_without_weights_takes_any_number_of_inputs(rng):
    activation = tf_keras.layers.Activation("tanh", dtype="float64")
    activation(tf.zeros([2, D + 3], tf.float64))  # used elsewhere before
    posterior = gi.posteriors.LocalInducing(rng.normal(size=(M, D)), 1)
    layer = gi.layers.GPLayer(gpflow.kernels.Matern32(), 1, posterior)
    model = gi.models.DeepGP([activation, layer], gpflow.likelihoods.Gaussian(), num_data=N)
    assert model.input_dim is None
    assert model.predict_f(np.zeros((3, D)))[0].shape == (3, 1)

"""The vector of all whitened weights: its prior is the network's, its functions are the layers'."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.inference import WeightSpace
from gpflow_gi.layers import Conv2DLayer, DenseLayer, GPLayer, Residual
from gpflow_gi.models import DeepGP
from gpflow_gi.posteriors import GlobalInducing, Prior
from gpflow_gi.priors import NealPrior, ScalePrior, SpatialIWPrior, StandardPrior

N, D = 7, 3


def dense_network():
    layers = [
        DenseLayer(D, 4, Prior(), prior=ScalePrior()),
        tf.nn.tanh,
        DenseLayer(4, 2, Prior(), prior=StandardPrior(0.5), bias=False),
    ]
    return DeepGP(layers, gpflow.likelihoods.Gaussian(0.1), num_data=N)


def images_network():
    block = Residual([Conv2DLayer((4, 4, 2), 2, 3, Prior(), prior=SpatialIWPrior(3)), tf.nn.relu])
    layers = [
        Conv2DLayer((4, 4, 1), 2, 3, Prior()),
        block,
        DenseLayer(32, 1, Prior(), prior=NealPrior(2.0)),
    ]
    return DeepGP(layers, gpflow.likelihoods.Gaussian(0.1), num_data=N)


def test_coordinates_stand_layer_by_layer():
    space = WeightSpace(dense_network())
    assert list(space.coordinates) == [0, 2]
    assert space.num_weights == 4 * 4 + 4 * 2
    assert space.size == 16 + 1 + 8  # log s behind the weights of the first layer
    assert not space.is_standard_normal
    theta = tf.constant(np.arange(25.0)[None])
    np.testing.assert_array_equal(space.coordinates[0].z(theta)[0], np.arange(16.0).reshape(4, 4))
    np.testing.assert_array_equal(space.coordinates[0].eta(theta), [[16.0]])
    np.testing.assert_array_equal(space.coordinates[2].z(theta)[0].numpy().ravel(), range(17, 25))


def test_functions_are_those_of_the_weights(rng):
    space = WeightSpace(dense_network())
    theta, X = rng.normal(size=(5, 25)), rng.normal(size=(N, D))
    s = np.exp(theta[:, 16])
    lower = theta[:, :16].reshape(5, 4, 4) / np.sqrt(4 * s)[:, None, None]
    upper = 0.5 * theta[:, 17:].reshape(5, 4, 2)
    units = np.tanh(np.hstack([X, np.ones((N, 1))]) @ lower)
    np.testing.assert_allclose(space.functions(tf.constant(theta), X), units @ upper)
    # Rows of its own for each vector.
    each = space.functions(tf.constant(theta), tf.constant(np.stack([X[:1]] * 5)))
    np.testing.assert_allclose(each, (units @ upper)[:, :1])


def test_the_log_prior_is_that_of_z_and_log_s(rng):
    space = WeightSpace(dense_network())
    theta = rng.normal(size=(5, 25))
    z = np.delete(theta, 16, axis=1)
    normal = -0.5 * np.sum(z**2 + np.log(2 * np.pi), axis=1)
    prior = ScalePrior()
    log_s = theta[:, 16]
    expected = normal + prior.log_prior(np.exp(log_s)).numpy() + log_s
    np.testing.assert_allclose(space.log_prior(tf.constant(theta)), expected)


@pytest.mark.parametrize("network", [dense_network, images_network])
def test_draws_of_the_prior_are_those_of_the_network(rng, network):
    model = network()
    X = rng.normal(size=(2, model.input_dim))
    S = 4000
    space = WeightSpace(model)
    ours = space.functions(space.draw_prior(S, as_seed(1)), tf.constant(X)).numpy()
    theirs = model.sample_prior(S, seed=2)(X).numpy()
    assert ours.shape == theirs.shape
    # Squares too, in the logarithm: where scales are drawn, their tails are long.
    for function in (np.tanh, lambda f: np.log(f**2)):
        a, b = function(ours), function(theirs)
        error = np.sqrt((a.var(0) + b.var(0)) / S)
        assert np.all(np.abs(a.mean(0) - b.mean(0)) < 5 * error)


def test_blocks_have_places_of_their_own():
    space = WeightSpace(images_network())
    assert list(space.coordinates) == [0, (1, 0, 0), 2]
    conv = space.coordinates[(1, 0, 0)]
    assert conv.shape == (18, 2) and conv.num_coordinates == 9 * 10 // 2
    assert space.size == 9 * 2 + 18 * 2 + 45 + 33


@pytest.mark.parametrize(
    ("layers", "message"),
    [
        ([DenseLayer(D, 2, Prior()), GPLayer(gpflow.kernels.White(), 1, Prior())], "Layer 2 .*has"),
        ([GPLayer(gpflow.kernels.White(), 1, Prior())], r"Layer 1 \(GPLayer.* has no weights"),
    ],
)
def test_layers_without_weights_are_refused(layers, message):
    model = DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=N)
    with pytest.raises(ValueError, match=message):
        WeightSpace(model)


def test_what_is_no_model_is_refused():
    with pytest.raises(TypeError, match=r"model must be a gpflow_gi\.models\.DeepGP"):
        WeightSpace(gpflow.kernels.White())


def test_posteriors_of_layers_play_no_part(rng):
    layers = [DenseLayer(D, 1, GlobalInducing(4, 1))]
    likelihood = gpflow.likelihoods.Gaussian(0.1)
    X = rng.normal(size=(4, D))
    model = DeepGP(layers, likelihood, num_data=4, inducing_inputs=X)
    posterior = gi.inference.Gaussian(model, np.zeros(4), np.eye(4))
    assert len(posterior.trainable_variables) == 3  # mean, root, noise
    likelihood.variance.assign(9.0)
    assert posterior.likelihood.variance.numpy() == pytest.approx(0.1)

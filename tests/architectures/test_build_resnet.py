"""Residual networks from images and a few words: what they are, and where they start."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.architectures import build_resnet
from gpflow_gi.architectures.networks import INFERENCE
from gpflow_gi.architectures.start import LABEL_SCALE
from gpflow_gi.layers.residual import every_layer
from gpflow_gi.priors import NealPrior, SpatialIWPrior

N, SHAPE, CLASSES = 12, (4, 5, 2), 3


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, *SHAPE))
    return X, (np.arange(N) % CLASSES)[:, None].astype(float)


def build(data, **arguments):
    arguments = {"width": 3, "num_blocks": 2, "num_inducing": 5, **arguments}
    return build_resnet(*data, **arguments)


def test_it_is_the_network_of_the_paper(data):
    model = build_resnet(np.ones((N, 8, 8, 1)), data[1], num_inducing=2)
    kinds = [type(getattr(layer, "function", layer)).__name__ for layer in model.layers]
    pooled = ["Residual", "AveragePooling2D"]
    last = ["Residual", "GlobalAveragePooling2D", "DenseLayer"]
    assert kinds == ["Conv2DLayer", "function", *pooled, *pooled, *last]
    block = model.layers[2]
    assert not block.shortcut
    assert [isinstance(part, gi.layers.Conv2DLayer) for part in block.layers] == [1, 0, 1, 0]
    shapes = [layer.output_shape for layer in every_layer(model.layers)]
    assert shapes == [(8, 8, 32)] * 3 + [(4, 4, 32)] * 2 + [(2, 2, 32)] * 2 + [(CLASSES,)]


@pytest.mark.parametrize("inference", INFERENCE)
def test_the_start_is_a_network_that_knows_the_labels(data, inference):
    """Pseudo-outputs start at the labels, and inducing images are pushed through all layers."""
    model = build(data, inference=inference, num_inducing=N, seed=1)
    *lower, last = every_layer(model.layers)
    kind = inference.partition(" -> ")[0]
    posteriors = {"global": "GlobalInducing", "local": "LocalInducing"}
    expected = posteriors.get(kind, kind.capitalize())
    assert {type(layer.posterior).__name__ for layer in lower} == {expected}
    assert np.isfinite(model.elbo(data, seed=0))
    if "global" in inference:
        np.testing.assert_array_equal(model.inducing_inputs, data[0])
        V = last.posterior.pseudo_outputs.numpy()
        np.testing.assert_array_equal(V.argmax(1), data[1][:, 0])
        np.testing.assert_allclose(np.abs(V), LABEL_SCALE)
    else:
        assert model.inducing_inputs is None
    if kind == "local":
        # The inducing inputs of each layer are what the layers below it make of the images.
        np.testing.assert_array_equal(lower[0].posterior.inducing_inputs, data[0])
        made = np.maximum(lower[0].posterior.pseudo_outputs, 0.0)
        np.testing.assert_array_equal(lower[1].posterior.inducing_inputs, made)
    if kind == "factorised":
        images = tf.constant(data[0].reshape(N, -1))
        made = lower[0].convolution(images, tf.convert_to_tensor(lower[0].posterior.mean))
        scale = np.mean(made**2)  # N(0, 1) pixels and NealPrior, up to the padding
        assert 0.2 < scale < 2.0


@pytest.mark.longest
@pytest.mark.compiled
def test_it_trains(data):
    model = build(data, inference="factorised -> global", prior="scale")
    before = model.elbo(data, num_samples=10, seed=0)
    gi.fit(model, data, steps=40, batch_size=6, learning_rate=0.02, progress=False)
    assert model.elbo(data, num_samples=10, seed=0) > before


@pytest.mark.slow
@pytest.mark.parametrize("inference", INFERENCE)
def test_a_spatial_prior_is_for_the_convolutions(data, inference):
    model = build(data, num_blocks=1, inference=inference, prior="spatial", prior_scale=0.5)
    *convolutions, last = (layer.prior for layer in every_layer(model.layers))
    assert len({id(prior) for prior in convolutions}) == 3
    for prior in convolutions:
        assert isinstance(prior, SpatialIWPrior)
        assert prior.kernel_size == (3, 3) and prior.scale == 0.5
        assert prior.nu.trainable != inference.startswith("prior")
    assert isinstance(last, NealPrior) and last.scale.numpy() == 0.5
    assert np.isfinite(model.elbo(data, seed=0))


@pytest.mark.longest
@pytest.mark.compiled
@pytest.mark.parametrize("inference", ["global", "factorised -> global"])
def test_it_trains_with_a_spatial_prior(data, inference):
    model = build(data, num_blocks=1, inference=inference, prior="spatial")
    start = {path: p.numpy() for path, p in gpflow.utilities.parameter_dict(model).items()}
    before = model.elbo(data, num_samples=10, seed=0)
    gi.fit(model, data, steps=40, learning_rate=0.02, progress=False)
    assert model.elbo(data, num_samples=10, seed=0) > before
    for path, parameter in gpflow.utilities.parameter_dict(model).items():
        assert np.any(parameter.numpy() != start[path]) == parameter.trainable, path


def test_methods_are_one_for_each_layer_and_the_likelihood_is_free(rng):
    X, Y = rng.normal(size=(N, *SHAPE)), rng.normal(size=(N, 2))
    methods = ["global", "factorised", "local", "prior"]
    model = build(
        (X, Y), num_blocks=1, inference=methods, likelihood=gpflow.likelihoods.Gaussian(0.3)
    )
    kinds = [type(layer.posterior).__name__ for layer in every_layer(model.layers)]
    assert kinds == ["GlobalInducing", "Factorised", "LocalInducing", "Prior"]
    assert np.isfinite(model.elbo((X, Y), seed=0))


def test_more_inducing_images_than_images_are_all_of_them(data):
    with pytest.warns(UserWarning, match="num_inducing is 100, but there are only 12 images"):
        model = build_resnet(*data, width=2, num_blocks=1)
    np.testing.assert_array_equal(model.inducing_inputs, data[0])


@pytest.mark.parametrize(
    "change, said",
    [
        ({"X": np.ones((N, 20))}, r"X must have shape \[any, any, any, any\]"),
        ({"Y": np.ones(N)}, r"Y must have shape \[12, any\]"),
        ({"Y": np.full((N, 1), 0.5)}, r"Y must hold labels 0, 1, \.\.\. .*; it holds 0\.5"),
        ({"Y": np.full((N, 1), -1)}, r"Y must hold labels 0, 1, \.\.\. .*; it holds -1"),
        ({"Y": np.eye(N)}, r"Y must hold labels 0, 1, \.\.\. .*; its shape is \[12, 12\]"),
        ({"Y": np.full((N, 1), "cat")}, "Y must be an array of numbers"),
        (
            {"Y": np.full((N, 1), 3), "likelihood": gpflow.likelihoods.Softmax(3)},
            "Softmax takes labels from 0 to 2",
        ),
        ({"width": 0}, "width must be an integer"),
        ({"num_blocks": 4}, r"num_blocks is 4, but images of 4 x 5 can be halved only 2 times"),
        ({"inference": "sampled"}, "inference must be one of"),
        ({"inference": ["global"] * 3}, "inference has 3 methods, but the network has 6"),
        ({"prior": "flat"}, 'prior must be one of "neal", .*"spatial", or a function'),
        ({"seed": -1}, "seed must be an integer from 0"),
    ],
)
def test_what_does_not_fit_is_said(data, change, said):
    X, Y = data
    arguments = {"X": X, "Y": Y, "num_blocks": 2, "num_inducing": 5, **change}
    with pytest.raises(ValueError, match=said):
        build_resnet(**arguments)

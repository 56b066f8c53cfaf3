"""The ResNet-18: its shapes, its function, and its start."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.architectures import build_resnet18
from gpflow_gi.architectures.resnet18 import NUM_LAYERS
from gpflow_gi.layers import Residual
from gpflow_gi.layers.residual import every_layer
from gpflow_gi.priors import NealPrior, SpatialIWPrior

N, SHAPE, CLASSES, WIDTH = 12, (8, 10, 2), 3, 2


@pytest.fixture
def data(rng):
    return rng.normal(size=(N, *SHAPE)), (np.arange(N) % CLASSES)[:, None].astype(float)


def build(data, **arguments):
    return build_resnet18(*data, **{"width": WIDTH, "num_inducing": 5, **arguments})


def features(images, weights):
    """ResNet-18 up to the last layer, by TensorFlow's convolutions (He et al. 2016, eq. 1 and 2).

    :param weights: of 20 convolutions, [3, 3, C, P] or [1, 1, C, P], shortcuts after the chains.
    """
    remaining = iter(weights)

    def convolved(X, stride=1):
        return tf.nn.conv2d(X, next(remaining), stride, "SAME")

    X = tf.nn.relu(convolved(images))
    for stride in (1, 1, 2, 1, 2, 1, 2, 1):
        chain = convolved(tf.nn.relu(convolved(X, stride)))
        X = tf.nn.relu(chain + (X if stride == 1 else convolved(X, stride)))
    assert next(remaining, None) is None
    return tf.reduce_mean(X, axis=[1, 2]).numpy()


def weights_of(model):
    """The means of factorised convolutions, as kernels [kh, kw, C, P]."""
    for layer in list(every_layer(model.layers))[:-1]:
        W = tf.convert_to_tensor(layer.posterior.mean)
        yield tf.reshape(W, [*layer.convolution.kernel_size, -1, layer.filters])


@pytest.mark.slow
def test_its_blocks_and_shapes():
    model = build_resnet18(np.ones((4, 32, 32, 3)), np.arange(4.0)[:, None], num_inducing=1)
    blocks = [layer for layer in model.layers if isinstance(layer, Residual)]
    assert [len(block.shortcut) for block in blocks] == [0, 0, 1, 0, 1, 0, 1, 0]
    *convolutions, last = every_layer(model.layers)
    assert len(convolutions) + 1 == NUM_LAYERS == 21
    stages = [(32, 32, 64)] * 5 + [(16, 16, 128)] * 5 + [(8, 8, 256)] * 5 + [(4, 4, 512)] * 5
    assert [layer.output_shape for layer in convolutions] == stages
    small = [i for i, one in enumerate(convolutions) if one.convolution.kernel_size == (1, 1)]
    assert small == [7, 12, 17]
    # Public ones for CIFAR-10 have 11,173,962 numbers, 9600 of them of batch normalisation and
    # 5130 of a last layer for ten classes.
    numbers = sum(layer.num_weights * layer.filters for layer in convolutions)
    assert (numbers, last.num_weights * 4) == (11_173_962 - 9600 - 5130, 513 * 4)
    kinds = {type(layer.posterior).__name__ for layer in convolutions}
    assert kinds == {"Factorised"} and type(last.posterior).__name__ == "GlobalInducing"
    assert all(isinstance(layer.prior, SpatialIWPrior) for layer in convolutions)
    assert isinstance(last.prior, NealPrior)


def test_it_is_the_network_of_its_weights_and_starts_at_what_they_make_of_the_images(data):
    methods = ["factorised"] * 20 + ["local"]
    model = build(data, inference=methods, num_inducing=N)
    last = list(every_layer(model.layers))[-1]
    expected = features(data[0], weights_of(model))
    # The inducing inputs of the last layer are all images, pushed through the start.
    np.testing.assert_allclose(last.posterior.inducing_inputs, expected, rtol=1e-9)
    for layer in list(every_layer(model.layers))[:-1]:
        layer.posterior.standard_deviation.assign(
            tf.fill(layer.posterior.standard_deviation.shape, tf.constant(1e-12, tf.float64))
        )
    mean, _ = model.predict_f(data[0], num_samples=1, seed=0)
    plain = gi.models.DeepGP([last], model.likelihood, num_data=N)
    np.testing.assert_allclose(mean, plain.predict_f(expected)[0], rtol=1e-6, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("inference", "prior"),
    [
        ("global", "scale"),
        ("local", "spatial"),
        pytest.param("global", "spatial", marks=pytest.mark.longest),
        pytest.param("local", "scale", marks=pytest.mark.longest),
        pytest.param("factorised", "spatial", marks=pytest.mark.longest),
        pytest.param("factorised", "scale", marks=pytest.mark.longest),
    ],
)
def test_other_posteriors_and_priors(data, inference, prior, tmp_path):
    model = build(data, inference=inference, prior=prior, prior_scale=0.5)
    bound = model.elbo(data, seed=0)
    assert np.isfinite(bound)
    gi.save(model, tmp_path / "model")
    assert gi.load(tmp_path / "model").elbo(data, seed=0) == bound


@pytest.mark.longest
@pytest.mark.compiled
def test_it_trains_tempered_and_augmented(data):
    model = build(data)
    before = model.elbo(data, num_samples=10, seed=0)
    augment = functools.partial(gi.training.augmented, padding=1)
    settings = {"batch_size": 6, "temperature": 0.05, "augment": augment, "progress": False}
    gi.fit(model, data, steps=40, learning_rate=0.02, **settings)
    assert model.elbo(data, num_samples=10, seed=0) > before


def test_what_does_not_fit_is_said(data):
    for change, said in (
        ({"width": 0}, "width must be an integer"),
        ({"inference": ["global"] * 8}, "inference has 8 methods, but the network has 21"),
        ({"prior": "flat"}, 'prior must be one of "neal", .*"spatial", or a function'),
    ):
        with pytest.raises(ValueError, match=said):
            build(data, **change)

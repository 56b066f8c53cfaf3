"""Networks of convolutions and residual blocks as models."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.layers.residual import every_layer

from ..builders import (
    NUM_INDUCING,
    bounds,
    mean_and_standard_error,
    random_conv_layer,
    random_dense_posterior,
)

SHAPE, M, P = (4, 6, 2), NUM_INDUCING, 2


def pooling(size=2):
    return tf_keras.layers.AveragePooling2D(size, dtype=gpflow.default_float())


def random_network(rng, kinds, *, prior="neal", likelihood=None, noise=0.4):
    """A convolution, pooling, a block, a block with a shortcut, and a dense layer."""
    first, inner, second, shortcut, last = kinds
    half = (2, 3, 3)

    def conv(kind, shape, filters, kernel_size, **arguments):
        return random_conv_layer(rng, kind, shape, filters, kernel_size, prior=prior, **arguments)

    layers = [
        conv(first, SHAPE, 3, 3),
        tf.nn.tanh,
        pooling(),
        gi.layers.Residual([conv(inner, half, 3, 3), tf.nn.relu, conv(second, half, 3, (2, 1))]),
        gi.layers.Residual(
            [tf.nn.softplus, conv("global", half, 2, 3, strides=2)],
            shortcut=conv(shortcut, half, 2, 1, strides=2),
        ),
        tf_keras.layers.Flatten(dtype=gpflow.default_float()),
        gi.layers.DenseLayer(4, P, random_dense_posterior(rng, last, 4, P)),
    ]
    return gi.models.DeepGP(
        layers,
        likelihood or gpflow.likelihoods.Gaussian(noise),
        num_data=5,
        inducing_inputs=rng.normal(size=(M, *SHAPE)),
    )


MIXES = [
    ("global", "location", "global", "factorised", "full"),
    ("prior", "local", "factorised", "global", "global"),
    ("factorised", "local location", "prior", "prior", "factorised"),
]
mixes = pytest.mark.parametrize(
    "kinds",
    [MIXES[0], *(pytest.param(mix, marks=pytest.mark.longest) for mix in MIXES[1:])],
    ids=str,
)


def random_images(rng, N=5):
    return rng.normal(size=(N, *SHAPE)), rng.normal(size=(N, P))


@pytest.mark.parametrize("precision", ["diagonal", "location"])
def test_a_kernel_that_covers_the_image_is_bayesian_linear_regression(precision, rng):
    """Its evidence is the bound, with every image an inducing image."""
    N, K, noise = 7, int(np.prod(SHAPE)), 0.3
    X, Y = random_images(rng, N)
    posterior = gi.posteriors.GlobalInducing(
        N,
        (1, 1, P),
        pseudo_outputs=Y[:, None, None],
        pseudo_precision=1 / noise,
        precision=precision,
    )
    layer = gi.layers.Conv2DLayer(SHAPE, P, SHAPE[:2], posterior, padding="valid")
    model = gi.models.DeepGP(
        [layer], gpflow.likelihoods.Gaussian(noise), num_data=N, inducing_inputs=X
    )
    rows = X.reshape(N, K)
    covariance = rows @ rows.T / K + noise * np.eye(N)
    evidence = sum(
        -0.5 * (y @ np.linalg.solve(covariance, y) + np.linalg.slogdet(2 * np.pi * covariance)[1])
        for y in Y.T
    )
    for seed, S in ((0, 1), (1, 3)):
        np.testing.assert_allclose(model.elbo((X, Y), S, seed), evidence, rtol=1e-10)
    np.testing.assert_allclose(model.iwbo((X, Y), 10, seed=0), evidence, rtol=1e-10)
    new, _ = random_images(rng)
    k = new.reshape(-1, K) @ rows.T / K
    mean = k @ np.linalg.solve(covariance, Y)
    np.testing.assert_allclose(model.predict_f(new)[0], mean, atol=1e-10)
    prior = new.reshape(-1, K) @ new.reshape(-1, K).T / K
    full = prior - k @ np.linalg.solve(covariance, k.T)
    _, ours = model.predict_f(new, full_cov=True)
    np.testing.assert_allclose(ours, np.tile(full, (P, 1, 1)), atol=1e-10)


def test_locations_of_an_image_meet_the_same_weights(rng):
    """Factorised below, and nothing global above: rows must not be drawn pixel by pixel."""
    posterior = gi.posteriors.Factorised(mean=np.zeros((1, 1)), standard_deviation=1.0)
    layers = [
        gi.layers.Conv2DLayer((2, 2, 1), 1, 1, posterior),
        lambda images: tf.reshape(images[:, 0, 0] - images[:, 1, 1], [-1, 1]),
        gi.layers.DenseLayer(1, 1, gi.posteriors.Prior(), bias=False),
    ]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=5)
    same = np.full((3, 2, 2, 1), 0.7)
    _, variance = model.predict_f(same, num_samples=50)
    np.testing.assert_allclose(variance, 0.0, atol=1e-12)
    _, variance = model.posterior(50, seed=0).predict_f(same)
    np.testing.assert_allclose(variance, 0.0, atol=1e-12)


@pytest.mark.longest
@pytest.mark.compiled
@mixes
def test_the_bound_is_the_mean_of_sampled_ones(kinds, rng):
    model = random_network(rng, kinds)
    data = random_images(rng)
    many, many_error = mean_and_standard_error(bounds(model, data, 10, 60))
    one, one_error = mean_and_standard_error(bounds(model, data, 1, 500))
    assert abs(many - one) < 5 * np.hypot(many_error, one_error)
    sampled, error = mean_and_standard_error(model.log_importance_weights(data, 600, seed=0))
    assert abs(sampled - many) < 5 * np.hypot(error, many_error)


@pytest.mark.slow
@mixes
def test_a_draw_is_one_function(kinds, rng):
    model = random_network(rng, kinds, prior="scale")
    X, _ = random_images(rng, 4)
    draws = model.sample_functions(2, seed=0)
    first = draws(np.concatenate([X, X[:2]])).numpy()
    np.testing.assert_array_equal(first[:, 4:], first[:, :2])
    second = draws(np.concatenate([rng.normal(size=(3, *SHAPE)), X[::-1]])).numpy()
    np.testing.assert_allclose(second[:, 3:], first[:, 3::-1], rtol=1e-12)
    # The inducing points and the rows meet the same weights.
    U = model.inducing_inputs.numpy()
    fresh = model.sample_functions(2, seed=0)(U + 1e-9)
    np.testing.assert_allclose(draws(U), fresh, atol=1e-6)


@pytest.mark.compiled
@pytest.mark.slow
@mixes
def test_all_predictions_agree(kinds, rng):
    S = 300
    model = random_network(rng, kinds)
    X, Y = random_images(rng, 3)
    mean, variance = tf.function(model.predict_f, autograph=False)(X, num_samples=S, seed=1)
    jointly = tf.function(model.predict_f_samples, autograph=False)(X, S, seed=4).numpy()
    error = np.sqrt(2) * jointly.std(0) / np.sqrt(S)  # both sides are estimates
    assert np.all(np.abs(jointly.mean(0) - mean) < 5 * error)
    squares = (jointly - jointly.mean(0)) ** 2
    error = np.sqrt(2) * squares.std(0) / np.sqrt(S)
    assert np.all(np.abs(squares.mean(0) - variance) < 5 * error)
    noise = model.likelihood.variance.numpy()
    density = tf.function(model.predict_log_density, autograph=False)((X, Y), num_samples=S, seed=5)
    densities = np.exp(-0.5 * np.sum((Y - jointly) ** 2, -1) / noise) / (2 * np.pi * noise)
    estimate, error = mean_and_standard_error(densities)
    assert np.all(np.abs(np.exp(density) - estimate) < 5 * np.sqrt(2) * error)


@pytest.mark.longest
@pytest.mark.compiled
def test_seeds_and_compilation_do_not_matter(rng):
    model = random_network(rng, MIXES[0], prior="scale")
    data = random_images(rng)
    for S in (1, 2):
        eager, eager_gradient = value_and_gradient(model, data, S)
        compiled, gradient = tf.function(value_and_gradient, autograph=False)(model, data, S)
        np.testing.assert_allclose(eager, compiled, rtol=1e-9)
        for one, other in zip(eager_gradient, gradient, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-7)


def value_and_gradient(model, data, S):
    with tf.GradientTape() as tape:
        value = model.elbo(data, num_samples=S, seed=7)
    return value, tape.gradient(value, model.trainable_variables)


@mixes
def test_gradients_are_those_of_finite_differences(kinds, rng):
    model = random_network(rng, kinds)
    data = random_images(rng)
    _, gradients = value_and_gradient(model, data, 2)
    variables = model.trainable_variables
    directions = [rng.normal(size=variable.shape) for variable in variables]
    start, step, values = [tf.identity(variable) for variable in variables], 1e-5, []
    for sign in (1, -1):
        for variable, at, direction in zip(variables, start, directions, strict=True):
            variable.assign(at + sign * step * direction)
        values.append(model.elbo(data, num_samples=2, seed=7))
    slope = (values[0] - values[1]) / (2 * step)
    products = [tf.reduce_sum(g * d) for g, d in zip(gradients, directions, strict=True)]
    np.testing.assert_allclose(tf.add_n(products), slope, rtol=1e-6)


def test_images_and_their_rows_are_the_same(rng):
    model = random_network(rng, MIXES[0])
    X, Y = random_images(rng)
    rows = X.reshape(len(X), -1)
    assert model.elbo((X, Y), seed=0) == model.elbo((rows, Y), seed=0)
    assert model.input_shape == SHAPE
    images = tf.data.Dataset.from_tensor_slices((X, Y)).batch(2)
    closure = model.training_loss_closure(iter(images), compile=False)
    assert np.isfinite(closure())


def test_a_network_trains(rng):
    N = 100
    Y = rng.integers(2, size=(N, 1))
    X = 0.3 * rng.normal(size=(N, 4, 4, 1))
    X[:, :2] += 2.0 * Y[:, None, None] - 1.0
    first = pooling()  # nothing but X tells what it sees
    first.build([None, 4, 4, 1])
    layers = [
        first,
        gi.layers.Conv2DLayer((2, 2, 1), 4, 2, gi.posteriors.Factorised()),
        tf.nn.relu,
        gi.layers.DenseLayer(16, 2, gi.posteriors.Factorised()),
    ]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Softmax(2), num_data=N)
    before = model.elbo((X, Y), num_samples=20, seed=0)
    gi.fit(model, (X, Y), steps=100, batch_size=50, learning_rate=0.05, progress=False)
    assert model.elbo((X, Y), num_samples=20, seed=0) > before + 20


@pytest.mark.slow
def test_sample_prior_forgets_the_posterior(rng):
    model = random_network(rng, MIXES[0])
    values = model.sample_prior(300, seed=0)(random_images(rng)[0]).numpy()
    assert np.all(np.abs(values.mean(0)) < 5 * values.std(0) / np.sqrt(300))
    for layer in every_layer(model.layers):
        assert not isinstance(layer.posterior, gi.posteriors.Prior)


def test_what_is_not_finite_is_found(rng):
    model = random_network(rng, MIXES[0])
    data = random_images(rng)
    assert model.first_non_finite(data) is None
    posterior = model.layers[3].layers[2].posterior
    start = posterior.pseudo_outputs.numpy()
    posterior.pseudo_outputs.unconstrained_variable.assign(np.full_like(start, np.nan))
    said = model.first_non_finite(data)
    assert said == "layer 4 of 7 (Residual): Conv2DLayer 3 of the block, its posterior mean"


def prior_conv(*arguments, **keywords):
    return gi.layers.Conv2DLayer(*arguments, gi.posteriors.Prior(), **keywords)


def dense(input_dim):
    return gi.layers.DenseLayer(input_dim, 1, gi.posteriors.Prior())


CONV = prior_conv((4, 4, 1), 2, 3)
GLOBAL = gi.layers.Conv2DLayer((4, 4, 1), 2, 3, gi.posteriors.GlobalInducing(5, (4, 4, 2)))
LOCAL = gi.layers.Conv2DLayer(
    (4, 4, 1), 2, 3, gi.posteriors.LocalInducing(np.ones((5, 2, 8, 1)), (4, 4, 2))
)
IMAGES = np.ones((5, 4, 4, 1))


@pytest.mark.parametrize(
    "layers, inducing_inputs, said",
    [
        ([CONV], None, "The last layer is integrated.* but is Conv2DLayer with Prior"),
        ([gi.layers.Residual([CONV])], None, "but is Residual.*Let a DenseLayer follow"),
        ([CONV, dense(31)], None, r"Layer 2 .*input_dim=31, but gets 32 columns"),
        ([CONV, prior_conv((4, 4, 1), 1, 4)], None, "but is Conv2DLayer"),
        (
            [CONV, tf.nn.relu, prior_conv((4, 4, 1), 1, 4, padding="valid")],
            None,
            r"Layer 3 .*input_shape=\(4, 4, 1\), but gets \(4, 4, 2\)",
        ),
        ([GLOBAL, dense(32)], None, "Layer 1 .*needs the model's inducing_inputs"),
        ([GLOBAL, dense(32)], IMAGES[:4], "Layer 1 .*num_inducing=5.* have 4 rows"),
        (
            [GLOBAL, dense(32)],
            IMAGES.reshape(5, 2, 8, 1),
            r"Layer 1 .*input_shape=\(4, 4, 1\), but gets \(2, 8, 1\)",
        ),
        ([GLOBAL, dense(32)], IMAGES[:, :3], r"Layer 1 .*but gets \(3, 4, 1\)"),
        ([LOCAL, dense(32)], None, r"Layer 1 .*inducing inputs of images of shape \(2, 8, 1\)"),
        (
            [gi.layers.Residual([CONV]), dense(32)],
            None,
            r"The chain of the block at layer 1 makes rows of shape \(4, 4, 2\).*\(4, 4, 1\)",
        ),
        (
            [gi.layers.Residual([CONV, prior_conv((4, 4, 3), 1, 1)]), dense(16)],
            None,
            r"Layer 2 of the block at layer 1 .*input_shape=\(4, 4, 3\), but gets \(4, 4, 2\)",
        ),
        (
            [gi.layers.Residual([GLOBAL], shortcut=CONV), dense(32)],
            None,
            "Layer 1 of the block at layer 1 .*needs the model's inducing_inputs",
        ),
        ([gi.layers.Residual([tf.nn.relu]), dense(16)], None, "The shape of the inputs of a block"),
    ],
)
def test_a_model_names_what_does_not_fit(layers, inducing_inputs, said):
    with pytest.raises(ValueError, match=said):
        gi.models.DeepGP(
            layers, gpflow.likelihoods.Gaussian(), num_data=5, inducing_inputs=inducing_inputs
        )


@pytest.mark.parametrize(
    "X, said",
    [
        (np.ones((3, 15)), "X has 15 columns, but the model takes 16"),
        (np.ones((3, 5, 4, 1)), r"X has images of shape \(5, 4, 1\), but .* takes \(4, 4, 1\)"),
        (np.ones((3, 2, 8, 1)), r"X has images of shape \(2, 8, 1\), but .* takes \(4, 4, 1\)"),
        (
            np.ones((3, 4, 4)),
            r"X must have shape \[rows, columns\], or \[rows, height, width, channels\]",
        ),
    ],
)
def test_images_that_do_not_fit_are_refused(X, said):
    layers = [prior_conv((4, 4, 1), 2, 3), dense(32)]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=3)
    with pytest.raises(ValueError, match=said):
        model.predict_f(X)

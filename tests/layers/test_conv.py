"""Convolutional layers: as regression on explicit patches, and draws against moments."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.core.regression import WeightSpaceRegression
from gpflow_gi.core.weight_root import WeightRoot
from gpflow_gi.layers.conv import PatchBasis
from gpflow_gi.layers.dense import DenseBasis

from ..builders import CONV_KINDS, NUM_INDUCING, mean_and_standard_error, random_conv_layer
from ..core.test_convolution import images, patches_of

M, S, P = NUM_INDUCING, 2, 2

GEOMETRIES = [
    ((5, 4, 2), k, {"strides": stride, "padding": padding})
    for k, stride, padding in itertools.product((1, 3), (1, 2), ("same", "valid"))
] + [
    ((5, 5, 1), 5, {"padding": "same"}),
    ((3, 4, 3), (3, 4), {"padding": "valid"}),  # one location
    ((3, 5, 1), (2, 3), {}),
]
geometries = pytest.mark.parametrize("shape, kernel_size, arguments", GEOMETRIES, ids=str)


@geometries
@pytest.mark.parametrize("kind", ["global", "location", "local"])
@pytest.mark.parametrize("num_images", [1, M])
@pytest.mark.parametrize("sampled", [False, True])
def test_it_is_bayesian_linear_regression_on_patches(
    shape, kernel_size, arguments, kind, num_images, sampled, rng
):
    """The posterior of the weights, in their own units, as of the paper's eq. 11."""
    layer = random_conv_layer(rng, kind, shape, P, kernel_size, M=num_images, **arguments)
    batch = (S, num_images) if sampled else (num_images,)
    U = images(rng, layer.convolution, *batch)
    given = layer.condition(U)
    posterior, K = layer.posterior, layer.num_weights
    if kind == "local":
        U, batch = tf.reshape(posterior.inducing_inputs, (num_images + 1, -1)), (num_images + 1,)
    a = tf.reshape(patches_of(layer.convolution, U), (*batch[:-1], -1, K)).numpy()
    Lambda = posterior.pseudo_precision.numpy().reshape(batch[-1], -1)
    Lambda = np.broadcast_to(Lambda, (batch[-1], layer.convolution.num_locations)).ravel()
    V = posterior.pseudo_outputs.numpy().reshape(-1, P)
    aT = np.swapaxes(a, -1, -2)
    precision = K * np.eye(K) + aT * Lambda @ a
    covariance = np.linalg.inv(precision)
    mean = covariance @ (aT * Lambda @ V)

    np.testing.assert_allclose(given.q.mean / np.sqrt(K), mean, rtol=1e-10, atol=1e-10)
    squares = K * np.sum(mean**2, axis=(-2, -1))
    trace = K * np.trace(covariance, axis1=-2, axis2=-1)
    log_determinant = np.linalg.slogdet(precision)[1] - K * np.log(K)
    kl = 0.5 * (P * (trace - K + log_determinant) + squares)
    np.testing.assert_allclose(given.kl(), kl, rtol=1e-10)

    X = images(rng, layer.convolution, *batch[:-1], 3)
    x = patches_of(layer.convolution, X).numpy()
    f = np.einsum("...nlk,...kp->...nlp", x, mean).reshape(*batch[:-1], 3, -1)
    full = np.einsum("...nlk,...kj,...mlj->...lnm", x, covariance, x)
    full = np.repeat(full, P, axis=-3)
    for full_cov in (False, True):
        means, variances = given.predict(X, full_cov)
        np.testing.assert_allclose(means, f, atol=1e-10)
        expected = full if full_cov else np.einsum("...qnn->...nq", full)
        np.testing.assert_allclose(variances, expected, atol=1e-10)


@pytest.mark.parametrize("kind", ["global", "location"])
@pytest.mark.parametrize("prior", ["neal", "scale"])
def test_gradients_are_those_on_patches(kind, prior, rng):
    """Gradients of the divergence and of a draw, with respect to all inputs and parameters."""
    layer = random_conv_layer(rng, kind, (4, 5, 2), P, 3, prior=prior, strides=2)
    X = images(rng, layer.convolution, 3)

    def outcome(U, q, scale):
        draw = q.draw(S if U.shape.rank == 3 else None, as_seed(1))
        return tf.reduce_sum(q.kl()) + tf.reduce_sum(tf.sin(layer.convolution(X, scale * draw.z)))

    def root_of(s):
        return WeightRoot(s if s.shape.rank == 0 else s[:, None, None])

    def on_patches(U, s):
        posterior, locations = layer.posterior, layer.convolution.num_locations
        basis = DenseBasis(layer.convolution.patches(U), root_of(s), bias=False)
        T = tf.sqrt(posterior.pseudo_precision)
        T = tf.repeat(T, locations) if kind == "global" else tf.reshape(T, [-1])
        V = tf.reshape(posterior.pseudo_outputs, [-1, P])
        return outcome(U, WeightSpaceRegression(basis, T, V, shared=True), basis.root.scale)

    def ours(U, s):
        basis = PatchBasis(U, root_of(s), layer.convolution)
        return outcome(U, layer.posterior.q(basis, slice(0, P)), basis.root.scale)

    for batch in [(M,), (S, M)]:
        U = images(rng, layer.convolution, *batch)
        s = tf.constant([0.7, 1.3] if prior == "scale" and len(batch) == 2 else 0.7, tf.float64)
        results = []
        for function in (ours, on_patches):
            with tf.GradientTape() as tape:
                tape.watch([U, s])
                value = function(U, s)
            variables = [U, s, *layer.posterior.trainable_variables]
            results.append([value, *tape.gradient(value, variables)])
        for mine, other in zip(*results, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("kind", ["global", "local", "factorised", "prior"])
@pytest.mark.parametrize("prior", ["neal", "standard", "scale"])
def test_one_pixel_makes_a_dense_layer(kind, prior, rng):
    D = 3
    layer = random_conv_layer(rng, kind, (1, 1, D), P, 1, prior=prior)
    posterior = layer.posterior
    if kind == "global":
        same = gi.posteriors.GlobalInducing(
            M,
            P,
            pseudo_outputs=tf.reshape(posterior.pseudo_outputs, (M, P)),
            pseudo_precision=posterior.pseudo_precision.numpy(),
        )
    elif kind == "local":
        same = gi.posteriors.LocalInducing(
            tf.reshape(posterior.inducing_inputs, (M + 1, D)),
            P,
            pseudo_outputs=tf.reshape(posterior.pseudo_outputs, (M + 1, P)),
            pseudo_precision=posterior.pseudo_precision.numpy(),
        )
    elif kind == "factorised":
        same = gi.posteriors.Factorised(
            mean=posterior.mean.numpy(), standard_deviation=posterior.standard_deviation.numpy()
        )
    else:
        same = gi.posteriors.Prior()
    dense = gi.layers.DenseLayer(D, P, same, prior=layer.prior, bias=False)
    assert layer.has_independent_outputs
    for batch in [(M,), (S, M)]:
        U, X = (images(rng, layer.convolution, *batch[:-1], n) for n in (M, 4))
        mine, other = (one.condition(U, S, as_seed(1)) for one in (layer, dense))
        np.testing.assert_allclose(mine.kl(), other.kl(), rtol=1e-10)
        for full_cov in (False, True):
            for one, two in zip(mine.predict(X, full_cov), other.predict(X, full_cov), strict=True):
                np.testing.assert_allclose(one, two, atol=1e-10)
        if kind in ("factorised", "prior"):  # elsewhere one draws by another root
            one, two = (given.draw(S, as_seed(2)) for given in (mine, other))
            np.testing.assert_allclose(one.rows(X, None), two.rows(X, None), atol=1e-10)
            np.testing.assert_allclose(
                one.log_p_minus_log_q, two.log_p_minus_log_q, rtol=1e-10, atol=1e-12
            )


@pytest.mark.parametrize("kind", CONV_KINDS)
@pytest.mark.parametrize("prior", ["neal", "scale"])
def test_draws_have_the_moments_and_the_divergence_that_are_claimed(kind, prior, rng):
    layer = random_conv_layer(rng, kind, (4, 3, 2), P, 3, prior=prior, strides=2)
    num_draws = 20_000
    U, X = (images(rng, layer.convolution, n) for n in (M, 3))
    given = layer.condition(U, num_draws if prior == "scale" else None, as_seed(1))
    draw = given.draw(num_draws, as_seed(2))
    f = draw.rows(X, as_seed(3))
    again, _ = draw.extend(tf.concat([X, X], axis=0), as_seed(4))
    np.testing.assert_allclose(again, tf.concat([f, f], axis=1), rtol=1e-12, atol=1e-12)
    mean, covariance = given.predict(X, full_cov=True)
    difference, error = mean_and_standard_error(f - mean)
    assert np.all(np.abs(difference) < 5 * error)
    centred = (f - mean).numpy()
    products = np.einsum("snq,smq->sqnm", centred, centred) - covariance
    difference, error = mean_and_standard_error(products)
    assert np.all(np.abs(difference) < 5 * error)
    log_ratio, error = mean_and_standard_error(draw.log_p_minus_log_q + given.kl())
    assert abs(log_ratio) <= 5 * error


def conv(shape=(4, 4, 1), filters=2, kernel_size=3, posterior=None, **arguments):
    posterior = gi.posteriors.Prior() if posterior is None else posterior
    return gi.layers.Conv2DLayer(shape, filters, kernel_size, posterior, **arguments)


IMAGES = np.ones((3, 4, 4, 1))


@pytest.mark.parametrize(
    "make, error, said",
    [
        (lambda: conv((4, 4)), ValueError, r"input_shape must be \(H, W, C\), but is \(4, 4\)"),
        (lambda: conv(16), ValueError, r"input_shape must be \(H, W, C\), but is 16"),
        (lambda: conv((4, 0, 1)), ValueError, r"input_shape\[1\] must be an integer of at least 1"),
        (lambda: conv(filters=0), ValueError, "filters must be an integer"),
        (lambda: conv(kernel_size=0), ValueError, r"kernel_size\[0\] must be an integer"),
        (lambda: conv(kernel_size=(3,)), ValueError, "kernel_size must be one integer or two"),
        (lambda: conv(kernel_size=2.5), ValueError, "kernel_size must be one integer or two"),
        (lambda: conv(strides=0), ValueError, "strides must be an integer"),
        (lambda: conv(padding="SAME"), ValueError, 'padding must be "same" or "valid"'),
        (
            lambda: conv(kernel_size=(5, 1), padding="valid"),
            ValueError,
            "A kernel of 5 x 1 does not fit into images of 4 x 4",
        ),
        (lambda: conv(posterior="global"), TypeError, "posterior must be one of"),
        (lambda: conv(prior="neal"), TypeError, "prior must be one of"),
        (
            lambda: conv(posterior=gi.posteriors.GlobalInducing(5, 2)),
            ValueError,
            r"output_dim=\(4, 4, 2\), but its posterior has output_dim=2",
        ),
        (
            lambda: conv(posterior=gi.posteriors.GlobalInducing(5, (2, 4, 2))),
            ValueError,
            r"output_dim=\(4, 4, 2\), but its posterior has output_dim=\(2, 4, 2\)",
        ),
        (
            lambda: conv(posterior=gi.posteriors.Factorised(mean=np.ones((8, 2)))),
            ValueError,
            r"mean must have shape \[9, 2\]",
        ),
        (
            lambda: gi.layers.DenseLayer(3, 2, gi.posteriors.GlobalInducing(5, (4, 4, 2))),
            ValueError,
            r"output_dim=2, but its posterior has output_dim=\(4, 4, 2\)",
        ),
        (
            lambda: gi.posteriors.GlobalInducing(5, (4, 2)),
            ValueError,
            r"its \(height, width, filters\), but is \(4, 2\)",
        ),
        (
            lambda: gi.posteriors.GlobalInducing(5, (4, 4, 0)),
            ValueError,
            "output_dim must be an integer of at least 1, but is 0",
        ),
        (
            lambda: gi.posteriors.GlobalInducing(5, (4, 4, 2), precision="full"),
            ValueError,
            'must be "diagonal" or "location" for a convolution',
        ),
        (
            lambda: gi.posteriors.GlobalInducing(5, 2, precision="location"),
            ValueError,
            'precision must be "diagonal" or "full", but',
        ),
        (
            lambda: gi.posteriors.GlobalInducing(5, (4, 4, 2), shared=False),
            ValueError,
            "shared must be True for a convolution",
        ),
        (
            lambda: gi.posteriors.GlobalInducing(5, (4, 4, 2), pseudo_outputs=np.ones((5, 2))),
            ValueError,
            r"pseudo_outputs must have shape \[5, 4, 4, 2\], but has shape \[5, 2\]",
        ),
        (
            lambda: gi.posteriors.GlobalInducing(
                5, (4, 4, 2), pseudo_precision=np.ones((5, 4, 4))
            ),
            ValueError,
            r"pseudo_precision must have shape \[5\], but has shape \[5, 4, 4\]",
        ),
        (
            lambda: gi.posteriors.LocalInducing(IMAGES, (4, 4, 2), q_mu=np.ones((3, 2))),
            ValueError,
            "pseudo_outputs and pseudo_precision",
        ),
        (
            lambda: gi.posteriors.LocalInducing(IMAGES[0], (4, 4, 2)),
            ValueError,
            r"inducing_inputs must have shape \[any, any\]",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_precisions_of_images_stand_for_those_of_locations():
    given = np.array([0.5, 2.0])
    posterior = gi.posteriors.GlobalInducing(
        2, (3, 1, 4), pseudo_precision=given, precision="location"
    )
    expected = np.tile(given[:, None, None], (1, 3, 1))
    np.testing.assert_allclose(posterior.pseudo_precision, expected)

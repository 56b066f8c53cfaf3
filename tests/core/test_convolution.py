"""Moments of patches against the patches themselves, as TensorFlow extracts them."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.core.convolution import _MANY, Convolution, _compiled

M, S, P = 3, 2, 4

SIZES = [(7, 6, 2), (5, 5, 1)]
GEOMETRIES = [
    Convolution(shape, (k, k), stride, padding)
    for shape, k, stride, padding in itertools.product(SIZES, (1, 3, 5), (1, 2), ("same", "valid"))
] + [
    Convolution((6, 9, 2), (2, 3), 1, "same"),  # no place is in the middle
    Convolution((9, 6, 1), (4, 2), 3, "valid"),  # rows are left over
    Convolution((3, 2, 2), (5, 5), 1, "same"),  # wider than the image
    Convolution((4, 4, 2), (2, 2), 3, "same"),  # some pixels are in no patch
    Convolution((1, 1, 3), (1, 1), 1, "valid"),
]
geometries = pytest.mark.parametrize("convolution", GEOMETRIES, ids=str)


def patches_of(convolution, X):
    """[..., N, D] -> [..., N, L, K]"""
    height, width = convolution.kernel_size
    patches = tf.image.extract_patches(
        tf.reshape(X, (-1, *convolution.input_shape)),
        [1, height, width, 1],
        [1, convolution.stride, convolution.stride, 1],
        [1, 1, 1, 1],
        convolution.padding.upper(),
    )
    assert convolution.output_size == tuple(patches.shape[1:3])
    return tf.reshape(patches, (*X.shape[:-1], convolution.num_locations, convolution.num_weights))


def images(rng, convolution, *batch):
    return tf.constant(rng.normal(size=(*batch, np.prod(convolution.input_shape))))


@geometries
def test_patches_and_outputs(convolution, rng):
    K, L = convolution.num_weights, convolution.num_locations
    for batch in [(M,), (S, M)]:
        X = images(rng, convolution, *batch)
        patches = patches_of(convolution, X)
        ours = convolution.patches(X)
        np.testing.assert_array_equal(ours, tf.reshape(patches, (*batch[:-1], M * L, K)))
        for shape in [(K, P), (S, K, P)]:
            weights = tf.constant(rng.normal(size=shape))
            values = convolution(X, weights)
            sampled = len(batch) == 2 or len(shape) == 3
            assert values.shape == ((S,) if sampled else ()) + (M, L * P)
            W = weights[:, None] if len(shape) == 3 else weights
            expected = tf.reshape(tf.matmul(patches, W), values.shape)
            np.testing.assert_allclose(values, expected, atol=1e-12)


@geometries
@pytest.mark.parametrize(
    "batch, per_location", [((M,), False), ((S, M), True), ((1,), True)], ids=str
)
def test_moments_and_their_gradients(convolution, batch, per_location, rng):
    num_images, size = batch[-1], convolution.output_size
    X = images(rng, convolution, *batch)
    precision = np.exp(rng.normal(size=(num_images, *(size if per_location else ()))))
    precision, V = tf.constant(precision), tf.constant(rng.normal(size=(num_images, *size, P)))

    def explicit(X, precision, V):
        a = patches_of(convolution, X)
        weight = tf.reshape(precision, (num_images, -1, 1))
        second = tf.einsum("...mlk,...mlj->...kj", a, weight * a)
        v = weight * tf.reshape(V, (num_images, -1, P))
        return second, tf.einsum("...mlk,mlp->...kp", a, v)

    inputs = (X, precision, V)
    mine, mine_gradients = with_gradients(convolution.moments, inputs)
    theirs, their_gradients = with_gradients(explicit, inputs)
    for one, other in zip(mine + mine_gradients, theirs + their_gradients, strict=True):
        assert one.shape == other.shape
        scale = np.abs(other).max() + 1e-300
        np.testing.assert_allclose(one / scale, other / scale, atol=1e-12)


def with_gradients(function, inputs):
    weights = None
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        values = function(*inputs)
        rng = np.random.default_rng(1)
        weights = [tf.constant(rng.normal(size=value.shape)) for value in values]
        total = tf.add_n(
            [tf.reduce_sum(w * value) for w, value in zip(weights, values, strict=True)]
        )
    return tuple(values), tuple(tape.gradient(total, inputs))


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_moments_are_the_same(rng):
    convolution = GEOMETRIES[6]
    inputs = (
        images(rng, convolution, S, M),
        tf.constant(np.exp(rng.normal(size=M))),
        tf.constant(rng.normal(size=(M, *convolution.output_size, P))),
    )
    moment = convolution.moments
    eager, eager_gradients = with_gradients(moment, inputs)
    compiled, gradients = tf.function(lambda: with_gradients(moment, inputs))()
    for one, other in zip(eager + eager_gradients, compiled + gradients, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_many_samples_of_an_eager_caller_are_those_one_by_one(rng, dtype):
    """Whose loop is compiled once, whatever the number of samples and of images."""
    convolution, num_compiled = GEOMETRIES[7], _compiled.cache_info().currsize
    atol = 1e-12 if dtype == "float64" else 1e-5

    def moments(X, precision, V):
        return convolution.moments(X, precision, V)

    def values(X, weights):
        return [convolution(X, weights)]

    for num_samples, num_images in [(_MANY, 3), (_MANY + 3, 2)]:
        size = (num_images, *convolution.output_size)
        X = images(rng, convolution, num_samples, num_images)
        precision, V = np.exp(rng.normal(size=size)), rng.normal(size=(*size, P))
        weights = rng.normal(size=(num_samples, convolution.num_weights, P))
        X, precision, V, weights = (tf.cast(x, dtype) for x in (X, precision, V, weights))

        many = (*moments(X, precision, V), *values(X, weights))
        ones = [
            (*moments(x, precision, V), *values(x[None], w[None]))
            for x, w in zip(X, weights, strict=True)
        ]
        for found, *expected in zip(many, *ones, strict=True):
            expected = tf.reshape(tf.stack(expected), found.shape)
            scale = np.abs(expected).max()
            np.testing.assert_allclose(found / scale, expected / scale, atol=atol)
    assert _compiled.cache_info().currsize == num_compiled + 2  # the moments and the convolution


@pytest.mark.longest
@pytest.mark.compiled
def test_gradients_through_many_samples_of_an_eager_caller(rng):
    convolution = GEOMETRIES[8]
    X = images(rng, convolution, _MANY, M)
    precision = tf.constant(np.exp(rng.normal(size=M)))
    V = tf.constant(rng.normal(size=(M, *convolution.output_size, P)))
    weights = tf.constant(rng.normal(size=(_MANY, convolution.num_weights, P)))

    def both(X, precision, V, weights):
        return (*convolution.moments(X, precision, V), convolution(X, weights))

    def in_two_parts(X, precision, V, weights):
        half = _MANY // 2
        parts = [both(X[s], precision, V, weights[s]) for s in (slice(half), slice(half, None))]
        return [tf.concat(pair, axis=0) for pair in zip(*parts, strict=True)]

    inputs = (X, precision, V, weights)
    found, found_gradients = with_gradients(both, inputs)
    expected, gradients = with_gradients(in_two_parts, inputs)
    for one, other in zip(found + found_gradients, expected + gradients, strict=True):
        scale = np.abs(other).max()
        np.testing.assert_allclose(one / scale, other / scale, atol=1e-12)

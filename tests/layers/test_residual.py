"""Residual blocks: what they are made of."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed

from ..builders import NUM_INDUCING, random_conv_layer, random_dense_posterior, random_posterior

M, D, S = NUM_INDUCING, 3, 4


def dense(rng, kind, D=D, P=D, prior=None):
    return gi.layers.DenseLayer(D, P, random_dense_posterior(rng, kind, D, P), prior=prior)


def connected(layers, shortcut=None, input_dim=D, output_dim=D):
    block = gi.layers.Residual(layers, shortcut)
    block.connect((input_dim,), (output_dim,))
    return block


@pytest.mark.parametrize("sampled", [False, True])
@pytest.mark.parametrize("num_samples", [None, S])
def test_a_block_is_its_parts(sampled, num_samples, rng):
    """The draws, divergences and log ratios of the layers that it holds, added up."""
    if sampled and num_samples is None:
        pytest.skip("what comes from below has as many samples as are asked for")
    block = connected(
        [dense(rng, "global"), tf.nn.tanh, dense(rng, "factorised", P=2)],
        dense(rng, "own", P=2, prior=gi.priors.ScalePrior()),
        output_dim=2,
    )
    U, X = (tf.constant(rng.normal(size=((S,) if sampled else ()) + (n, D))) for n in (M, 5))
    given = block.condition(U, num_samples, as_seed(3))
    draw = given.draw(num_samples, as_seed(4))
    at_U, same = draw.extend_inducing(U, as_seed(5))
    assert same is draw
    first, _, last = draw._chains[0]
    (shortcut,) = draw._chains[1]
    for inputs, values in ((U, at_U), (X, draw.rows(X, as_seed(6)))):
        f = last(tf.nn.tanh(first(inputs))) + shortcut(inputs)
        np.testing.assert_allclose(values, f, rtol=1e-12)
    parts = [first, last, shortcut]
    ratio = sum(part.log_p_minus_log_q for part in parts)
    np.testing.assert_allclose(draw.log_p_minus_log_q, ratio)
    lower = block.layers[0].condition(U).kl()
    above = block.layers[2].condition(U).kl()
    beside = block.shortcut[0].condition(U, None, as_seed(0))
    assert np.shape(given.kl()) == (() if num_samples is None else (S,))
    # The divergence of the scale is constant, and that of the weights depends on the scale drawn.
    rest = given.kl() - lower - above - beside.scale.kl
    assert np.all(rest > 0)


def test_a_shortcut_is_the_identity_or_a_function(rng):
    zero = gi.posteriors.Factorised(mean=np.zeros((D, D)), standard_deviation=1e-12)
    layer = gi.layers.DenseLayer(D, D, zero, bias=False)
    X = tf.constant(rng.normal(size=(5, D)))
    for shortcut, expected in ((None, X), (tf.nn.relu, tf.nn.relu(X))):
        block = connected([layer], shortcut)
        draw = block.condition(tf.zeros([0, D], X.dtype), None, as_seed(0)).draw(None, as_seed(1))
        np.testing.assert_allclose(draw.rows(X, as_seed(2)), expected, atol=1e-10)


@pytest.mark.parametrize("inner", ["local", "global", "prior"])
def test_a_process_in_a_block_is_one_function(inner, rng):
    gpflow.config.set_default_jitter(1e-10)
    layer = gi.layers.GPLayer(
        gpflow.kernels.Matern52(1.1, 0.8), D, random_posterior(rng, inner, D, D)
    )
    model = gi.models.DeepGP(
        [gi.layers.Residual([layer]), dense(rng, "global", P=1)],
        gpflow.likelihoods.Gaussian(),
        num_data=5,
        inducing_inputs=rng.normal(size=(M, D)),
    )
    draws = model.sample_functions(S, seed=0)
    X = rng.normal(size=(4, D))
    first = draws(X).numpy()
    again = draws(np.concatenate([rng.normal(size=(2, D)), X]))
    np.testing.assert_allclose(again[:, 2:], first)
    near = draws(X + 1e-7).numpy()
    np.testing.assert_allclose(near, first, atol=1e-3)


def test_what_is_no_block_is_refused(rng):
    for layers in ([], dense(rng, "prior"), None):
        with pytest.raises(ValueError, match="layers must be a list of at least one layer"):
            gi.layers.Residual(layers)
    with pytest.raises(TypeError, match="A layer must be one of"):
        gi.layers.Residual([dense(rng, "prior"), 3])
    block = gi.layers.Residual([random_conv_layer(rng, "prior", (2, 2, 1), 1, 1)])
    assert block.input_shape == (2, 2, 1)
    with pytest.raises(ValueError, match="not known before"):
        block.output_shape  # noqa: B018


def test_a_block_of_fixed_functions_has_nothing_to_learn():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    below = gi.layers.DenseLayer(2, 2, gi.posteriors.FullGaussian())
    last = gi.layers.DenseLayer(2, 1, gi.posteriors.FullGaussian())
    block = gi.layers.Residual([tf.nn.relu])
    model, other = (
        gi.models.DeepGP([below, middle, last], gpflow.likelihoods.Gaussian(), num_data=6)
        for middle in (block, lambda F: F + tf.nn.relu(F))
    )
    for name, *arguments in (("predict_f", X), ("elbo", (X, Y)), ("iwbo", (X, Y))):
        found, expected = (getattr(one, name)(*arguments, 3) for one in (model, other))
        assert np.shape(found) == np.shape(expected) and np.isfinite(found).all()
    assert model.maximum_log_likelihood_objective((X, Y)).dtype == tf.float64

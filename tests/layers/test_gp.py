"""GP layers: kernels shared and separate, and layers that need no model."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import Linear, Matern32, SeparateIndependent, SharedIndependent
from gpflow.kernels import SquaredExponential as SE

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed

from ..builders import NUM_INDUCING, random_dense_posterior, random_posterior

D, P, S = 2, 3, 4
KINDS = ["global", "full", "free", "local", "prior"]


def kernels():
    return [SE(1.2, 0.8), Matern32(0.7, 1.5), SE(0.5, 2.0) + Linear(0.3)]


@pytest.mark.parametrize("kind", [*KINDS, "own"])
def test_separate_kernels_are_layers_of_one_output_each(kind, rng):
    """Also where each output has a precision of its own."""
    if kind == "own":
        posterior = random_dense_posterior(rng, kind, D, P)
    else:
        posterior = random_posterior(rng, kind, P, D)
    layer = gi.layers.GPLayer(kernels(), P, posterior)
    U = tf.constant(rng.normal(size=(NUM_INDUCING, D)))
    X = tf.constant(rng.normal(size=(S, 5, D)))
    conditioned = layer.condition(U)
    mean, variance = conditioned.predict(X)
    _, covariance = conditioned.predict(X, full_cov=True)
    kl = 0.0
    for p, kernel in enumerate(kernels()):
        if kind == "local":
            one = gi.posteriors.LocalInducing(
                posterior.inducing_inputs,
                1,
                q_mu=posterior.q_mu[:, p : p + 1],
                q_sqrt=posterior.q_sqrt[p : p + 1],
            )
        elif kind == "prior":
            one = posterior
        elif kind == "free":
            one = gi.posteriors.FullGaussian(
                NUM_INDUCING,
                q_mu=posterior.q_mu[:, p : p + 1],
                q_sqrt=posterior.q_sqrt[p : p + 1],
            )
        else:
            Lambda = posterior.pseudo_precision
            one = gi.posteriors.GlobalInducing(
                NUM_INDUCING,
                1,
                pseudo_outputs=posterior.pseudo_outputs[:, p : p + 1],
                pseudo_precision=Lambda[p] if kind == "own" else Lambda,
                precision="full" if kind == "full" else "diagonal",
            )
        single = gi.layers.GPLayer(kernel, 1, one).condition(U)
        kl += single.kl()
        one_mean, one_variance = single.predict(X)
        np.testing.assert_allclose(mean[..., p : p + 1], one_mean, atol=1e-10)
        np.testing.assert_allclose(variance[..., p : p + 1], one_variance, atol=1e-10)
        np.testing.assert_allclose(
            covariance[:, p : p + 1], single.predict(X, full_cov=True)[1], atol=1e-10
        )
    np.testing.assert_allclose(conditioned.kl(), kl, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_gpflows_multioutput_kernels_mean_the_same(kind, rng):
    U = tf.constant(rng.normal(size=(NUM_INDUCING, D)))
    X = tf.constant(rng.normal(size=(5, D)))

    def moments(kernel):
        posterior = random_posterior(np.random.default_rng(1), kind, P, D)
        return gi.layers.GPLayer(kernel, P, posterior).condition(U).predict(X)

    pairs = [
        (SE(1.2), SharedIndependent(SE(1.2), P)),
        (kernels(), SeparateIndependent(kernels())),
    ]
    for ours, gpflows in pairs:
        for one, other in zip(moments(ours), moments(gpflows), strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_marginal_prediction_is_the_mean_over_draws(kind, rng):
    """z integrated out row by row, and z drawn: the same distribution of every row.

    Outputs are independent of each other.
    """
    layer = gi.layers.GPLayer(kernels(), P, random_posterior(rng, kind, P, D))
    U = tf.constant(rng.normal(size=(NUM_INDUCING, D)))
    X = tf.constant(rng.normal(size=(2, D)))
    conditioned = layer.condition(U)
    mean, variance = conditioned.predict(X)
    draws = conditioned.draw(40_000, as_seed(0)).rows(X, as_seed(1)).numpy()
    standard_error = np.sqrt(variance / len(draws))
    assert np.all(np.abs(draws.mean(0) - mean) < 5 * standard_error)
    # The variance of a Gaussian's sample variance is 2 var^2 / (n - 1).
    assert np.all(np.abs(draws.var(0) / variance - 1) < 5 * np.sqrt(2 / len(draws)))
    for row in np.moveaxis(draws, 1, 0):
        assert np.all(np.abs(np.corrcoef(row.T) - np.eye(P)) < 5 / np.sqrt(len(draws)))


def test_conditioning_on_samples_is_conditioning_on_each(rng):
    layer = gi.layers.GPLayer(kernels(), P, random_posterior(rng, "full", P, D))
    U = tf.constant(rng.normal(size=(S, NUM_INDUCING, D)))
    X = tf.constant(rng.normal(size=(S, 5, D)))
    conditioned = layer.condition(U)
    mean, variance = conditioned.predict(X)
    for s in range(S):
        one = layer.condition(U[s])
        np.testing.assert_allclose(conditioned.kl()[s], one.kl(), atol=1e-10)
        one_mean, one_variance = one.predict(X[s])
        np.testing.assert_allclose(mean[s], one_mean, atol=1e-10)
        np.testing.assert_allclose(variance[s], one_variance, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_function_shifts_every_output_of_the_layer(kind, rng):
    one, same = (random_posterior(np.random.default_rng(1), kind, P, D) for _ in range(2))
    m = gpflow.functions.Linear(rng.normal(size=(D, P)), rng.normal(size=P))
    plain = gi.layers.GPLayer(SE(), P, one)
    shifted = gi.layers.GPLayer(SE(), P, same, mean_function=m)
    U = tf.constant(rng.normal(size=(NUM_INDUCING, D)))
    X = tf.constant(rng.normal(size=(S, 5, D)))
    np.testing.assert_allclose(shifted.condition(U).kl(), plain.condition(U).kl())
    for full_cov in (False, True):
        mean, variance = plain.condition(U).predict(X, full_cov)
        shifted_mean, same_variance = shifted.condition(U).predict(X, full_cov)
        np.testing.assert_allclose(shifted_mean, mean + m(X), atol=1e-12)
        np.testing.assert_allclose(same_variance, variance)
    draws = [layer.condition(U).draw(S, as_seed(0)) for layer in (plain, shifted)]
    for one, other in zip(*(draw.extend(X, as_seed(1))[:1] for draw in draws), strict=True):
        np.testing.assert_allclose(other, one + m(X), atol=1e-12)
    one, other = (draw.rows(X, as_seed(1)) for draw in draws)
    np.testing.assert_allclose(other, one + m(X), atol=1e-12)


def test_inducing_outputs_are_L_z(rng):
    """u = m(U) + L z at what the layer was conditioned on, without any residual."""
    layer = gi.layers.GPLayer(SE(), P, random_posterior(rng, "global", P, D))
    U = tf.constant(rng.normal(size=(NUM_INDUCING, D)))
    draw = layer.condition(U).draw(None, as_seed(0))
    u, same = draw.extend_inducing(tf.identity(U), as_seed(1))
    assert same is draw
    # Among any inputs the same, up to the jitter.
    again, _ = draw.extend(U, as_seed(3))
    np.testing.assert_allclose(again, u, atol=10 * np.sqrt(gpflow.default_jitter()))
    np.testing.assert_allclose(
        draw.rows(tf.identity(U), as_seed(4)), u, atol=10 * np.sqrt(gpflow.default_jitter())
    )


def test_local_layers_remember_their_values_at_the_inducing_activations(rng):
    """A draw returns its values at the inducing activations again, which are not its own inputs."""
    layer = gi.layers.GPLayer(SE(), P, random_posterior(rng, "local", P, D))
    U, X = (tf.constant(rng.normal(size=(rows, D))) for rows in (NUM_INDUCING, 3))
    draw = layer.condition(U).draw(S, as_seed(0))
    u, extended = draw.extend_inducing(U, as_seed(1))
    again, same = extended.extend_inducing(U, as_seed(2))
    assert same is extended and u.shape == [S, NUM_INDUCING, P]
    np.testing.assert_array_equal(again, u)
    # After values elsewhere they are values among others.
    _, further = extended.extend(X, as_seed(3))
    again, _ = further.extend_inducing(U, as_seed(4))
    np.testing.assert_allclose(again, u, atol=20 * np.sqrt(gpflow.default_jitter()))


def test_which_posteriors_have_inputs_of_their_own(rng):
    for kind in ("global", "full", "free", "prior"):
        assert not random_posterior(rng, kind, P, D).has_own_inputs
    assert random_posterior(rng, "local", P, D).has_own_inputs
    assert not gi.posteriors.Factorised().has_own_inputs

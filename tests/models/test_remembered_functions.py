"""Exact draws, which remember: equal inputs, equal outputs, with kernels of any kind."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi

from ..builders import MIXES, random_data, random_deep_gp

S = 3
mixes = pytest.mark.parametrize("kinds", MIXES, ids=lambda kinds: "-".join(kinds))


@pytest.mark.slow
@mixes
def test_equal_inputs_give_equal_outputs(kinds, rng):
    model = random_deep_gp(rng, kinds, P=2)
    X, _ = random_data(rng, N=4)
    draws = model.sample_functions(S, seed=0, num_features=None)
    first = draws(np.concatenate([X, X[:2]])).numpy()
    assert first.shape == (S, 6, 2)
    np.testing.assert_array_equal(first[:, 4:], first[:, :2])  # within a call
    more = np.concatenate([rng.normal(size=(3, 2)), X[::-1]])
    second = draws(more).numpy()
    np.testing.assert_array_equal(second[:, 3:], first[:, 3::-1])  # across calls, in any order
    np.testing.assert_array_equal(draws(more), second)
    assert np.ptp(first[:, 0], axis=0).min() > 0  # S different functions
    np.testing.assert_array_equal(
        model.sample_functions(S, seed=0, num_features=None)(more[:3]).shape, (S, 3, 2)
    )


def test_the_same_seed_and_calls_give_the_same_functions(rng):
    model = random_deep_gp(rng, ("local", "global"))
    X, _ = random_data(rng)
    one, other, different = (
        model.sample_functions(S, seed=seed, num_features=None)(X) for seed in (1, 1, 2)
    )
    np.testing.assert_array_equal(one, other)
    assert np.all(one.numpy() != different.numpy())


def test_values_at_the_inducing_inputs_are_the_inducing_outputs(rng):
    model = random_deep_gp(rng, ("local", "full"))
    U = model.inducing_inputs.numpy()
    X, _ = random_data(rng)
    draws = model.sample_functions(S, seed=0, num_features=None)
    at_data_first = draws(np.concatenate([X, U])).numpy()[:, len(X) :]
    np.testing.assert_array_equal(
        at_data_first, model.sample_functions(S, seed=0, num_features=None)(U)
    )


@pytest.mark.slow
def test_close_inputs_give_close_outputs(rng):
    gpflow.config.set_default_jitter(1e-9)
    for kinds in MIXES:
        draws = random_deep_gp(rng, kinds).sample_functions(S, seed=0, num_features=None)
        X, _ = random_data(rng, N=3)
        far = draws(X + 1.0) - draws(X)
        close = draws(X + 1e-6) - draws(X)
        assert np.max(np.abs(close)) < 0.01 * np.mean(np.abs(far))


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("local", "global"), ("global", "local")])
def test_moments_over_many_draws_are_those_of_the_prediction(kinds, rng):
    model = random_deep_gp(rng, kinds)
    X, _ = random_data(rng, N=3)
    S = 20_000
    functions = model.sample_functions(S, seed=0, num_features=None)
    values = np.concatenate([functions(X[:1]), functions(X[1:])], axis=1)  # in two calls
    mean, covariance = model.predict_f(X, num_samples=S, full_cov=True, seed=1)
    jointly = model.predict_f_samples(X, S, seed=2).numpy()
    for samples in (values, jointly):
        error = np.sqrt(2) * samples.std(0) / np.sqrt(S)  # both sides are estimates
        assert np.all(np.abs(samples.mean(0) - mean) < 5 * error)
        centred = samples[..., 0] - samples[..., 0].mean(0)
        products = np.einsum("sn,sm->snm", centred, centred)
        error = np.sqrt(2) * products.std(0) / np.sqrt(S)
        assert np.all(np.abs(products.mean(0) - covariance[0]) < 5 * error)
    rows = model.predict_f_samples(X, S, full_cov=False, seed=3).numpy()
    assert np.all(np.abs(rows.mean(0) - mean) < 5 * np.sqrt(2) * rows.std(0) / np.sqrt(S))
    marginal_mean, variance = model.predict_f(X, num_samples=S, seed=4)
    squares = (rows - rows.mean(0)) ** 2
    error = np.sqrt(2) * squares.std(0) / np.sqrt(S)
    assert np.all(np.abs(squares.mean(0) - variance) < 5 * error)
    assert np.all(np.abs(marginal_mean - mean) < 5 * np.sqrt(2) * rows.std(0) / np.sqrt(S))


def test_training_on_does_not_change_draws(rng):
    model = random_deep_gp(rng, ("local", "global"))
    X, _ = random_data(rng)
    draws, same_draws = (
        model.sample_functions(S, seed=0, num_features=None),
        model.sample_functions(S, seed=0, num_features=None),
    )
    model.layers[0].kernel.lengthscales.assign([9.0, 9.0])
    model.inducing_inputs.assign(0 * model.inducing_inputs)
    np.testing.assert_array_equal(draws(X), same_draws(X))


def test_inside_a_graph_the_reason_is_said(rng):
    draws = random_deep_gp(rng, ("global",)).sample_functions(S, seed=0, num_features=None)
    with pytest.raises(RuntimeError, match="eagerly"):
        tf.function(draws)(tf.zeros([2, 2], tf.float64))


def test_no_rows_have_no_values(rng):
    draws = random_deep_gp(rng, ("global",), P=2).sample_functions(S, seed=0, num_features=None)
    assert draws(np.zeros((0, 2))).shape == (S, 0, 2)


def test_signed_zeros_are_equal(rng):
    draws = random_deep_gp(rng, ("global",)).sample_functions(S, seed=0, num_features=None)
    np.testing.assert_array_equal(draws(np.array([[0.0, 1.0]])), draws(np.array([[-0.0, 1.0]])))


def test_a_function_of_a_latent_variable_is_continuous_at_inducing_inputs():
    """Inducing points have latent variables of their own, and their values are other functions'."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 1))
    posterior = gi.posteriors.GlobalInducing(
        4, 1, pseudo_outputs=3.0 * Y[:4], pseudo_precision=100.0
    )
    last = gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, posterior)
    model = gi.models.DeepGP(
        [gi.layers.LatentVariableLayer(1, num_data=12), last],
        gpflow.likelihoods.Gaussian(0.1),
        num_data=12,
        inducing_inputs=X[:4],
    )
    functions = model.sample_functions(S, seed=0, num_features=None)
    near = functions(X[:4] + 1e-7)
    np.testing.assert_allclose(functions(X[:4]), near, atol=0.02)

"""Pathwise draws are functions: one answer to an input, with the model's moments and gradients."""

import copy
import pickle

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow import kernels as gk

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.models import pathwise_functions

from ..builders import MIXES, random_data, random_deep_gp, random_dense_posterior, random_posterior

S = 3


def mixed_model(rng):
    """Several kernels, GP and dense layers, a deterministic one, a global one at the top."""
    separate = [gk.Matern32(lengthscales=0.7), gk.Linear() + gk.Constant(0.3) * gk.Matern52()]
    mean = gpflow.functions.Linear(rng.normal(size=(2, 2)), rng.normal(size=2))
    return gi.models.DeepGP(
        [
            gi.layers.GPLayer(
                separate, 2, random_posterior(rng, "local", 2, 2), mean_function=mean
            ),
            lambda X: tf.concat([X, tf.sin(X)], axis=1),
            gi.layers.DenseLayer(4, 3, random_dense_posterior(rng, "factorised", 4, 3)),
            tf.nn.tanh,
            gi.layers.GPLayer(
                gi.kernels.BNNKernel(3, "tanh") + gk.RationalQuadratic(active_dims=[0, 2]),
                2,
                random_posterior(rng, "global", 2, 3),
            ),
        ],
        gpflow.likelihoods.Gaussian(),
        num_data=9,
        inducing_inputs=rng.normal(size=(6, 2)),
    )


MODELS = {
    **{
        "-".join(kinds): lambda rng, kinds=kinds: random_deep_gp(rng, kinds, P=2) for kinds in MIXES
    },
    "mixed": mixed_model,
}
models = pytest.mark.parametrize("name", MODELS)


@pytest.mark.slow
@models
def test_equal_inputs_give_equal_outputs(name, rng):
    model = MODELS[name](rng)
    X, _ = random_data(rng, N=4)
    draws = model.sample_functions(S, seed=0)
    assert draws.is_pathwise
    first = draws(np.concatenate([X, X[:2]])).numpy()
    assert first.shape == (S, 6, 2)
    close = dict(rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(first[:, 4:], first[:, :2], **close)
    more = np.concatenate([rng.normal(size=(50, 2)), X[::-1]])
    np.testing.assert_allclose(draws(more)[:, 50:], first[:, 3::-1], **close)
    np.testing.assert_array_equal(draws(more), draws(more))
    np.testing.assert_allclose(model.sample_functions(S, seed=0)(X), first[:, :4], **close)
    assert np.ptp(first[:, 0], axis=0).min() > 0  # S different functions
    assert np.all(model.sample_functions(S, seed=1)(X) != first[:, :4])


@pytest.mark.slow
@pytest.mark.compiled
@models
def test_inside_a_compiled_function(name, rng):
    model = MODELS[name](rng)
    X = tf.constant(random_data(rng, N=4)[0])
    signature = [tf.TensorSpec([None, 2], tf.float64)]
    draws, same_draws = model.sample_functions(S, seed=0), model.sample_functions(S, seed=0)
    compiled = tf.function(draws, input_signature=signature)  # the first call is this one
    np.testing.assert_allclose(compiled(X), same_draws(X), rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(compiled(X[:1]), draws(X)[:, :1], rtol=1e-9, atol=1e-9)


@pytest.mark.longest
@models
def test_gradient_and_curvature(name, rng):
    model = MODELS[name](rng)
    draws = model.sample_functions(S, seed=0)
    X = tf.constant(random_data(rng, N=1)[0])
    with tf.GradientTape() as outer:
        outer.watch(X)
        with tf.GradientTape() as tape:
            tape.watch(X)
            values = draws(X)[:, 0]
        jacobian = tape.jacobian(values, X)[:, :, 0]  # [S, P, D]
    step = 1e-5
    for d in range(2):
        move = step * np.eye(2)[d]
        differences = (draws(X + move) - draws(X - move))[:, 0] / (2 * step)
        np.testing.assert_allclose(jacobian[..., d], differences, rtol=1e-4, atol=1e-5)
    assert np.all(np.isfinite(outer.gradient(jacobian, X)))


KERNELS = {
    "matern": lambda: gk.Matern32(1.7, lengthscales=[0.3, 0.6]),
    "two": lambda: [gk.Matern12(0.8), gk.SquaredExponential(lengthscales=0.3) + gk.Linear()],
}


@pytest.mark.parametrize("kind", ["global", "full", "free", "local", "prior"])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("num_samples", [None, S])
def test_values_at_the_inducing_inputs_are_the_drawn_ones(kind, kernel, num_samples, rng):
    """f(U) = m(U) + L z."""
    jitter = 1e-12
    gpflow.config.set_default_jitter(jitter)
    mean = gpflow.functions.Linear(rng.normal(size=(2, 2)), rng.normal(size=2))
    posterior = random_posterior(rng, kind, 2, 2)
    layer = gi.layers.GPLayer(KERNELS[kernel](), 2, posterior, mean_function=mean)
    U = layer.posterior.basis_inputs(tf.constant(rng.normal(size=(6, 2))))
    draw = layer.condition(U).draw(num_samples, as_seed(0))
    u, _ = draw.extend_inducing(U, as_seed(1))
    f = draw.function(20, as_seed(2))
    np.testing.assert_allclose(f(tf.identity(U)), u, atol=10 * np.sqrt(2 * jitter))
    np.testing.assert_array_equal(f.log_p_minus_log_q, draw.log_p_minus_log_q)


@models
def test_inducing_points_and_rows_meet_the_same_functions(name, rng):
    model = MODELS[name](rng)
    X, U = tf.zeros([1, 2], tf.float64), tf.convert_to_tensor(model.inducing_inputs)
    propagated = model.propagate(X, S, as_seed(0), draw_all=True, num_features=20)
    F = U
    for layer in propagated.hidden:
        F = layer(F)
    if model.layers[-1].posterior.uses_global_inducing:
        np.testing.assert_array_equal(F, propagated.inducing)


@pytest.mark.parametrize("jitter", [1e-6, 0.2])
@pytest.mark.parametrize("kind", ["global", "local", "prior"])
def test_one_layer_has_the_moments_of_the_prediction_for_any_number_of_features(kind, jitter, rng):
    """The jitter is part of what a layer says of its residuals."""
    gpflow.config.set_default_jitter(jitter)
    S = 20_000
    kernel = gk.SquaredExponential(1.3, [0.7, 1.4]) + gk.Matern12(0.4)
    layer = gi.layers.GPLayer(kernel, 1, random_posterior(rng, kind, 1, 2))
    U = rng.normal(size=(6, 2)) if kind == "global" else None
    likelihood = gpflow.likelihoods.Gaussian()
    model = gi.models.DeepGP([layer], likelihood, num_data=9, inducing_inputs=U)
    X = np.concatenate([rng.normal(size=(3, 2)), [[2.5, -2.5]]])
    X[1] = layer.posterior.basis_inputs(U)[2] if kind != "prior" else X[1]
    values = model.sample_functions(S, seed=0, num_features=2)(X).numpy()[..., 0]
    assert_moments(values, *model.predict_f(X, full_cov=True), errors_of_both=1.0)


@pytest.mark.parametrize(
    "name",
    ["local-global", *(pytest.param(n, marks=pytest.mark.slow) for n in ("global-local", "mixed"))],
)
def test_deep_models_have_the_moments_of_the_prediction(name, rng):
    model = MODELS[name](rng)
    X, _ = random_data(rng, N=3)
    S = 10_000
    values = model.sample_functions(S, seed=0, num_features=100)(X).numpy()[..., 1]
    mean, covariance = model.predict_f(X, num_samples=S, full_cov=True, seed=1)
    assert_moments(values, mean[:, 1:], covariance[1:], errors_of_both=np.sqrt(2))


def assert_moments(values, mean, covariance, errors_of_both):
    root_S = np.sqrt(len(values)) / errors_of_both
    assert np.all(np.abs(values.mean(0) - mean[:, 0]) < 5 * values.std(0) / root_S)
    centred = values - values.mean(0)
    products = np.einsum("sn,sm->snm", centred, centred)
    assert np.all(np.abs(products.mean(0) - covariance[0]) < 5 * products.std(0) / root_S)


def test_training_on_does_not_change_draws(rng):
    model = random_deep_gp(rng, ("local", "global"))
    X, _ = random_data(rng)
    draws, same_draws = model.sample_functions(S, seed=0), model.sample_functions(S, seed=0)
    before = draws(X)
    model.layers[0].kernel.lengthscales.assign([9.0, 9.0])
    model.layers[1].posterior.parameters[0].assign(0 * model.layers[1].posterior.parameters[0])
    model.inducing_inputs.assign(0 * model.inducing_inputs)
    np.testing.assert_array_equal(draws(X), before)
    np.testing.assert_array_equal(same_draws(X), before)


@pytest.mark.slow
@models
def test_many_rows_are_taken_in_chunks(name, rng, monkeypatch):
    draws = MODELS[name](rng).sample_functions(S, seed=0, num_features=50)
    X, _ = random_data(rng, N=11)
    X = tf.constant(X)
    whole = draws(X)
    sizes = []
    through = pathwise_functions.through
    monkeypatch.setattr(
        pathwise_functions,
        "through",
        lambda layers, X: sizes.append(len(X)) or through(layers, X),
    )
    monkeypatch.setattr("gpflow_gi.models.chunks.TARGET_SIZE", 4 * S * 50)
    with tf.GradientTape() as tape:
        tape.watch(X)
        np.testing.assert_allclose(draws(X), whole, rtol=1e-9, atol=1e-9)
        total = tf.reduce_sum(draws(X))
    assert sizes == 2 * [4, 4, 3]
    assert np.all(tape.gradient(total, X) != 0)


def test_one_function_and_no_rows(rng):
    model = mixed_model(rng)
    X, _ = random_data(rng, N=4)
    assert model.sample_functions(1, seed=0)(X).shape == (1, 4, 2)
    assert model.sample_functions(S, seed=0)(X[:0]).shape == (S, 0, 2)
    assert model.sample_functions(1, seed=0)(X[:0]).shape == (1, 0, 2)


def test_the_prior_is_drawn_the_same_way(rng):
    model = mixed_model(rng)
    X, _ = random_data(rng, N=3)
    draws = model.sample_prior(10_000, seed=0, num_features=20)
    assert draws.is_pathwise
    values = draws(X).numpy()[..., 1]
    exact = model.sample_prior(10_000, seed=1, num_features=None)
    assert not exact.is_pathwise
    others = exact(X).numpy()[..., 1]
    error = np.hypot(values.std(0), others.std(0)) / 100
    assert np.all(np.abs(values.mean(0) - others.mean(0)) < 5 * error)
    squares, other_squares = values**2, others**2
    error = np.hypot(squares.std(0), other_squares.std(0)) / 100
    assert np.all(np.abs(squares.mean(0) - other_squares.mean(0)) < 5 * error)


@pytest.mark.slow
def test_float32(rng):
    gpflow.config.set_default_float(np.float32)
    gpflow.config.set_default_jitter(1e-4)
    model = random_deep_gp(rng, ("local", "global", "local"))
    X = rng.normal(size=(5, 2)).astype(np.float32)
    draws = model.sample_functions(S, seed=0)
    values = draws(X)
    assert values.dtype == tf.float32
    assert np.all(np.isfinite(values))
    compiled = tf.function(draws)(tf.constant(X[:2]))
    np.testing.assert_allclose(compiled, values[:, :2], atol=1e-2)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
@pytest.mark.parametrize("used", [False, True])
def test_copies_are_the_same_functions(copied, used, rng):
    draws = random_deep_gp(rng, ("local", "global")).sample_functions(S, seed=0)
    X, _ = random_data(rng)
    if used:
        draws(X)
    np.testing.assert_array_equal(copied(draws)(X), draws(X))

"""An implicit layer is the empirical Gaussian process of its draws, whatever its q(z)."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.implicit import NetworkProcess, empirical_gp
from gpflow_gi.layers import DenseLayer, ImplicitLayer
from gpflow_gi.posteriors import Factorised, FullGaussian, GlobalInducing, LocalInducing, Prior

from ..builders import random_q_sqrt

N, S = 60, 12
NOISE = 0.05


def model_of(*layers, U=None):
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    return gi.models.DeepGP(list(layers), likelihood, num_data=N, inducing_inputs=U)


@pytest.fixture
def data(rng):
    X = rng.uniform(-2.0, 2.0, size=(N, 1))
    return X, np.sin(2 * X) + np.sqrt(NOISE) * rng.normal(size=(N, 1))


def gpr_of(process, data, num_draws=S):
    kernel, mean = empirical_gp(process, num_draws)
    return gpflow.models.GPR(data, kernel, mean, noise_variance=NOISE)


@pytest.mark.slow
def test_the_optimum_of_the_bound_is_the_evidence(data, rng):
    process = NetworkProcess(1)
    q = FullGaussian()
    model = model_of(ImplicitLayer(process, 1, q, num_draws=S))
    gpr = gpr_of(process, data)
    evidence = gpr.log_marginal_likelihood().numpy()
    assert model.elbo(data) < evidence - 1.0
    # With Gaussian noise one natural gradient step of length one reaches the optimum.
    step = gpflow.optimizers.NaturalGradient(1.0)
    step.minimize(model.training_loss_closure(data), [(q.q_mu, q.q_sqrt)])
    np.testing.assert_allclose(model.elbo(data), evidence, rtol=1e-9)
    Xnew = np.linspace(-3, 3, 7)[:, None]
    for full_cov in (False, True):
        mine, its = (one.predict_f(Xnew, full_cov=full_cov) for one in (model, gpr))
        np.testing.assert_allclose(mine[0], its[0], atol=1e-8)
        np.testing.assert_allclose(mine[1], its[1], atol=1e-8)
    at_optimum = q.q_mu.numpy(), q.q_sqrt.numpy()
    for _ in range(20):
        q.q_mu.assign(at_optimum[0] + 0.1 * rng.normal(size=(S, 1)))
        q.q_sqrt.assign(at_optimum[1] * np.exp(0.1 * rng.normal(size=(1, S, S))))
        assert model.elbo(data) < evidence


@pytest.mark.slow
def test_training_reaches_the_evidence_of_a_fixed_process(data):
    process = NetworkProcess(1)
    model = model_of(ImplicitLayer(process, 1, FullGaussian(), num_draws=S))
    gpflow.set_trainable(process, False)
    gpflow.set_trainable(model.likelihood, False)
    gi.fit(model, data, steps=3000, learning_rate=0.02, progress=False)
    evidence = gpr_of(process, data).log_marginal_likelihood()
    assert evidence - 0.5 < model.elbo(data) < evidence


def test_global_inducing_points_at_the_data_are_exact(data):
    """The first of the project's exact checks, for a basis of draws."""
    process = NetworkProcess(1)
    X, Y = data
    mean = empirical_gp(process, S)[1]
    q = GlobalInducing(N, 1, pseudo_outputs=Y - mean(X), pseudo_precision=1 / NOISE)
    model = model_of(ImplicitLayer(process, 1, q, num_draws=S), U=X)
    gpr = gpr_of(process, data)
    np.testing.assert_allclose(model.elbo(data), gpr.log_marginal_likelihood(), rtol=1e-9)
    np.testing.assert_allclose(model.predict_f(X)[1], gpr.predict_f(X)[1], rtol=1e-6)


@pytest.mark.parametrize("outputs", [1, 2], ids=["a shared process", "a process of two outputs"])
def test_the_prior_is_the_empirical_process(outputs):
    process = NetworkProcess(2, outputs)
    layer = ImplicitLayer(process, 2, Prior(), num_draws=S)
    X = np.random.default_rng(0).normal(size=(5, 2))
    mean, covariance = model_of(layer).predict_f(X, full_cov=True)
    values = process.draw(S)(X).numpy()
    np.testing.assert_allclose(mean, np.broadcast_to(values.mean(axis=0), (5, 2)))
    for p in range(2):
        expected = np.cov(values[..., min(p, outputs - 1)].T, bias=True)
        np.testing.assert_allclose(covariance[p], expected, atol=1e-12)


def random_q(kind, rng, P):
    if kind == "full":
        return FullGaussian(q_mu=rng.normal(size=(S, P)), q_sqrt=random_q_sqrt(rng, P, S))
    if kind == "factorised":
        return Factorised(mean=rng.normal(size=(S, P)))
    if kind == "local":
        return LocalInducing(rng.normal(size=(4, 2)), P, pseudo_outputs=rng.normal(size=(4, P)))
    return GlobalInducing(6, P, pseudo_outputs=rng.normal(size=(6, P)))


@pytest.mark.parametrize("kind", ["full", "factorised", "local", "global"])
@pytest.mark.parametrize("outputs", [1, 2])
def test_draws_have_the_moments_and_the_divergence_of_q(kind, outputs, rng):
    layer = ImplicitLayer(NetworkProcess(2, outputs), 2, random_q(kind, rng, 2), num_draws=S)
    U, X = tf.constant(rng.normal(size=(6, 2))), tf.constant(rng.normal(size=(3, 2)))
    q = layer.condition(U)
    mean, variance = (moment.numpy() for moment in q.predict(X))
    draw = q.draw(4000, as_seed(1))
    f = draw(X).numpy()
    error = f.std(axis=0) / np.sqrt(4000)
    assert np.all(np.abs(f.mean(axis=0) - mean) < 5 * error)
    squares = (f - mean) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - variance) < 5 * squares.std(axis=0) / 4000**0.5)
    ratio = draw.log_p_minus_log_q.numpy()
    assert abs(ratio.mean() + q.kl()) < 5 * ratio.std() / 4000**0.5


def test_a_chain_hands_one_function_to_inducing_points_and_rows(rng):
    hidden = ImplicitLayer(NetworkProcess(2, 2, seed=1), 2, FullGaussian(), num_draws=S)
    last = ImplicitLayer(NetworkProcess(2, seed=2), 1, random_q("global", rng, 1), num_draws=S)
    U = rng.normal(size=(6, 2))
    model = model_of(hidden, last, U=U)
    propagated = model.propagate(2, 5, as_seed(0))
    at_U, at_rows = propagated.inducing, propagated.rows(tf.constant(U[::-1]), as_seed(1))
    assert at_U.shape == (5, 6, 2)
    np.testing.assert_allclose(at_rows[:, ::-1], at_U, rtol=1e-10)
    functions = model.sample_functions(3, seed=4)
    assert functions.is_pathwise
    np.testing.assert_allclose(functions(U)[:, :2], functions(U[:2]), rtol=1e-10)
    mean, _ = model.predict_f(U, num_samples=2000, seed=0)
    f = model.predict_f_samples(U, 2000, seed=5).numpy()
    assert np.all(np.abs(f.mean(axis=0) - mean) < 6 * f.std(axis=0) / 2000**0.5)


def test_bounds_are_in_order(data):
    X, Y = data
    layers = [
        ImplicitLayer(NetworkProcess(1, seed=1), 1, FullGaussian(), num_draws=S),
        ImplicitLayer(NetworkProcess(1, seed=2), 1, FullGaussian(), num_draws=S),
    ]
    model = model_of(*layers)
    elbo = np.array([model.elbo((X, Y), 5, seed=i) for i in range(5)])
    assert elbo.mean() < model.iwbo((X, Y), 100, seed=0)


def test_all_weights_at_once_are_those_of_the_layer(rng):
    process = NetworkProcess(2)
    model = model_of(ImplicitLayer(process, 1, Prior(), num_draws=S))
    space = gi.inference.WeightSpace(model)
    assert space.size == S
    assert space.is_standard_normal
    X, z = rng.normal(size=(4, 2)), rng.normal(size=(3, S))
    values = process.draw(S)(X).numpy()[..., 0]
    m = values.mean(axis=0)
    expected = m + z @ (values - m) / np.sqrt(S)
    np.testing.assert_allclose(space.functions(tf.constant(z), X)[..., 0], expected)


def test_parameters_of_the_process_are_trained(data):
    model = model_of(ImplicitLayer(NetworkProcess(1, widths=(5,)), 1, FullGaussian(), num_draws=6))
    with tf.GradientTape() as tape:
        loss = -model.elbo(data)
    for gradient in tape.gradient(loss, model.trainable_variables):
        assert np.any(tf.convert_to_tensor(gradient) != 0)


def test_wrong_arguments_are_refused_in_words():
    process = NetworkProcess(2, 3)
    with pytest.raises(TypeError, match="process must be one of"):
        ImplicitLayer(DenseLayer(2, 1, Prior()), 1, Prior())
    with pytest.raises(ValueError, match="its process has 3 outputs"):
        ImplicitLayer(process, 2, Prior())
    with pytest.raises(ValueError, match="num_draws"):
        ImplicitLayer(process, 3, Prior(), num_draws=1)
    with pytest.raises(ValueError, match="X has 5 columns"):
        model_of(DenseLayer(4, 5, Prior()), ImplicitLayer(process, 3, Prior()))
    with pytest.raises(ValueError, match=r"q_mu must have shape \[20, 3\]"):
        ImplicitLayer(process, 3, FullGaussian(q_mu=np.zeros((4, 3))))


def test_outputs_with_one_kernel_are_independent_in_the_prior():
    """Only empirical kernels of one process share their draws."""
    kernel = gpflow.kernels.Matern52()
    Z = np.linspace(-1.0, 1.0, 3)[:, None]
    layer = gi.layers.GPLayer([kernel, kernel], 2, LocalInducing(Z, 2))
    draws = layer.prior_values(tf.constant(Z), 4000, as_seed(0)).numpy()[:, 0]
    assert abs(np.corrcoef(draws.T)[0, 1]) < 5 / np.sqrt(4000)
    np.testing.assert_allclose(draws.var(axis=0), 1.0, atol=5 * np.sqrt(2 / 4000))


def test_draws_have_the_scale_of_the_prior(rng):
    """A factor on the process's deviation: variances of draws are those that are integrated."""
    layer = ImplicitLayer(NetworkProcess(1), 1, Prior(), num_draws=S)
    model = model_of(layer)
    X, R = np.array([[-1.0], [0.5]]), 20_000
    before = model.predict_f(X)[1].numpy()[:, 0]
    layer.prior.scale = 3.0 * layer.prior.scale
    variance = model.predict_f(X)[1].numpy()[:, 0]
    np.testing.assert_allclose(variance, 9.0 * before, rtol=1e-9)
    for draws in (model.predict_f_samples(X, R, seed=0), model.sample_functions(R, seed=1)(X)):
        values = draws.numpy()[..., 0]
        centred = values - values.mean(axis=0)
        error = (centred**2).std(axis=0) / np.sqrt(R)
        assert np.all(np.abs((centred**2).mean(axis=0) - variance) < 6 * error)


def test_bounds_with_a_scaled_prior_are_estimates_of_one_number(data, rng):
    layer = ImplicitLayer(NetworkProcess(1), 1, Factorised(), num_draws=S)
    model = model_of(layer)
    layer.prior.scale = 3.0 * layer.prior.scale
    X, Y = data
    weights = model.log_importance_weights((X, Y), 4000, seed=0).numpy()
    error = weights.std() / np.sqrt(len(weights))
    assert abs(weights.mean() - model.elbo((X, Y))) < 6 * error

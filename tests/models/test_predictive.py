"""The contract of draws: everything that is predicted follows from them."""

import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import SquaredExponential
from gpflow.likelihoods import Gaussian

from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.layers import DenseLayer, GPLayer
from gpflow_gi.models import DeepGP, NoDensityError, mixture
from gpflow_gi.nonlinearities import tanh
from gpflow_gi.posteriors import Prior, Recorded, RecordedInducing

from ..builders import random_data, random_deep_gp

N = 9


@pytest.mark.parametrize("kinds", [("global",), ("global", "local"), ("local", "prior", "full")])
@pytest.mark.parametrize("S", [1, 3])
def test_draws_have_a_sample_axis(rng, kinds, S):
    model = random_deep_gp(rng, kinds)
    X, _ = random_data(rng, N=N)
    seed = as_seed(3)
    draws = model.draw(S, seed)
    mean, variance = draws.moments(X, fold_in(seed, 1))
    assert mean.shape == variance.shape == draws(X, seed).shape == (S, N, 1)
    assert draws.kl.shape == () and draws.log_p_minus_log_q is None
    joint = model.draw(S, seed, joint=True)
    assert joint(X, seed).shape == (S, N, 1) and joint.log_p_minus_log_q.shape == (S,)
    mean, covariance = joint.moments(X, fold_in(seed, 1), full_cov=True)
    assert mean.shape == (S, N, 1) and covariance.shape == (S, 1, N, N)


@pytest.mark.parametrize("S", [1, 4])
def test_bounds_and_predictions_are_those_of_the_draws(rng, S):
    model = random_deep_gp(rng, ("global", "local"))
    X, Y = random_data(rng, N=N)
    seed = as_seed(5)
    draws = model.draw(S, seed)
    mean, variance = draws.moments(X, fold_in(seed, 1))
    expectations = model.likelihood.variational_expectations(
        np.tile(X, (S, 1)),
        mean.numpy().reshape(-1, 1),
        variance.numpy().reshape(-1, 1),
        np.tile(Y, (S, 1)),
    )
    elbo = N * np.mean(expectations) - draws.kl
    np.testing.assert_allclose(model.elbo((X, Y), S, seed), elbo)
    joint = model.draw(S, seed, joint=True)
    np.testing.assert_allclose(model.predict_f_samples(X, S, seed=seed), joint(X, seed))
    both = joint.moments(X, fold_in(seed, 1), full_cov=True)
    for one, other in zip(
        model.predict_f(X, S, full_cov=True, seed=seed), mixture.moments_jointly(*both), strict=True
    ):
        np.testing.assert_allclose(one, other)


def test_draws_need_to_know_how_many_columns_there_are(rng):
    layers = [GPLayer(SquaredExponential(), 1, Prior())]
    model = DeepGP(layers, Gaussian(0.1), num_data=N)
    with pytest.raises(ValueError, match="number of inputs of the model is not known"):
        model.draw(2, seed=0)
    assert model.predict_f(rng.normal(size=(3, 2)))[0].shape == (3, 1)


def test_recorded_layers_have_no_bound(rng):
    X, Y = random_data(rng, N=N)
    layers = [
        DenseLayer(X.shape[1], 2, Recorded(rng.normal(size=(5, X.shape[1] + 1, 2)))),
        tanh,
        DenseLayer(2, 1, Prior()),
    ]
    model = DeepGP(layers, Gaussian(0.1), num_data=N)
    for bound in (
        lambda: model.elbo((X, Y)),
        lambda: model.iwbo((X, Y), 2),
        lambda: model.k_hat((X, Y), 30),
        lambda: model.first_non_finite((X, Y)),
    ):
        with pytest.raises(NoDensityError, match=r"Recorded.*predict_log_density"):
            bound()
    assert np.all(np.isfinite(model.predict_log_density((X, Y), 5, seed=0)))


def test_outputs_with_kernels_of_their_own_have_covariances_of_their_own():
    """Also where all samples share them: a mean over samples must not be one over outputs."""
    rng = np.random.default_rng(0)
    kernels = [SquaredExponential(variance=1.0), SquaredExponential(variance=9.0)]
    X, U = rng.normal(size=(4, 2)), rng.normal(size=(3, 2))
    posterior = RecordedInducing(U, rng.normal(size=(10, 3, 2)))
    model = DeepGP([GPLayer(kernels, 2, posterior)], Gaussian(0.1), num_data=4)
    mean, variance = model.predict_f(X, 10, seed=0)
    joint_mean, covariance = model.predict_f(X, 10, seed=0, full_cov=True)
    np.testing.assert_allclose(joint_mean, mean)
    np.testing.assert_allclose(np.diagonal(covariance, axis1=1, axis2=2).T, variance, rtol=1e-4)
    assert np.all(variance[:, 1] > variance[:, 0])


@pytest.mark.slow
def test_joint_draws_are_first_called_in_a_graph():
    model = random_deep_gp(np.random.default_rng(0), ("global", "local"))
    X, _ = random_data(np.random.default_rng(1))
    draws, seed = model.draw(3, seed=0, joint=True), as_seed(1)
    in_graph = tf.function(lambda X: draws(X, seed))(tf.constant(X))
    np.testing.assert_allclose(draws(tf.constant(X), seed), in_graph)

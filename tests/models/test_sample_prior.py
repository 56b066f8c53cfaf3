"""Functions drawn from the prior."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi

from ..builders import random_data, random_deep_gp

S = 4000


def test_one_layer_has_the_kernels_covariance(rng):
    model = random_deep_gp(rng, ("full",))
    X, _ = random_data(rng, N=3)
    values = model.sample_prior(S, seed=0)(X).numpy()[..., 0]
    kernel, mean = model.layers[0].kernel, model.layers[0].mean_function
    expected = kernel(X).numpy()
    centred = values - (0.0 if mean is None else mean(X).numpy()[:, 0])
    # The standard error of an entry of a covariance matrix
    spread = np.sqrt((expected**2 + np.outer(np.diag(expected), np.diag(expected))) / S)
    assert np.all(np.abs(centred.T @ centred / S - expected) < 5 * spread)


@pytest.mark.parametrize("inference", ["global", "local"])
def test_the_posterior_plays_no_part(inference, rng):
    X, Y = random_data(rng, N=30)
    models = []
    for method in (inference, "prior"):
        model = gi.architectures.build_deep_gp(X, Y, num_inducing=5, inference=method)
        model.layers[0].kernel.variance.assign(0.7)
        models.append(model)
    one, other = (model.sample_prior(5, seed=3)(X) for model in models)
    np.testing.assert_array_equal(one, other)
    assert not np.allclose(one, models[0].sample_functions(5, seed=3)(X))


def test_networks_draw_a_random_scale_from_its_prior(rng):
    X, Y = random_data(rng, N=30)
    model = gi.architectures.build_bnn(X, Y, widths=(), num_inducing=5, prior="scale")
    model.layers[0].prior.alpha.assign(50.0)  # q(s) is far from p(s) = Gamma(2, 2)
    values = model.sample_prior(S, seed=0)(X[:1]).numpy().ravel()
    # f = w^T [x, 1], Var w = 1 / (N s): |f| has the mean E s^-1/2 sqrt(2 / pi) |[x, 1]| / sqrt N
    N = X.shape[1] + 1
    norm = np.sqrt((np.sum(X[0] ** 2) + 1.0) / N)
    mean_root = np.sqrt(2.0) * np.exp(tf.math.lgamma(1.5) - tf.math.lgamma(2.0))
    expected = mean_root * np.sqrt(2 / np.pi) * norm
    absolute = np.abs(values)
    assert abs(absolute.mean() - expected) < 5 * absolute.std() / np.sqrt(S)


def test_draws_are_functions_and_leave_the_model_alone(rng):
    model = random_deep_gp(rng, ("local", "global"))
    X, Y = random_data(rng)
    bound = model.elbo((X, Y), seed=0)
    draws = model.sample_prior(3, seed=0)
    np.testing.assert_array_equal(draws(X), draws(X))
    assert model.elbo((X, Y), seed=0) == bound
    before = draws(X)
    model.layers[0].kernel.variance.assign(9.0)
    np.testing.assert_array_equal(draws(X), before)
    with pytest.raises(ValueError, match="num_samples"):
        model.sample_prior(0)
    assert isinstance(model.layers[0].posterior, gi.posteriors.LocalInducing)
    assert gpflow.utilities.parameter_dict(model)

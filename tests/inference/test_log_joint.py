"""log p(Y, theta), over all weights in units of their prior and logs of their scales."""

import numpy as np
import pytest
import tensorflow as tf
from gpflow.likelihoods import Gaussian
from scipy.stats import gamma, norm

from gpflow_gi.inference import WeightSpace, laplace, map_estimate, nuts
from gpflow_gi.inference.log_joint import LogJoint
from gpflow_gi.layers import DenseLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.nonlinearities import tanh
from gpflow_gi.posteriors import Prior
from gpflow_gi.priors import NealPrior, ScalePrior

N, D, WIDTH, NOISE = 5, 2, 3, 0.2


@pytest.mark.parametrize("is_random", [False, True])
def test_it_is_that_of_the_prior_and_of_the_targets(is_random, rng):
    X, Y = rng.normal(size=(N, D)), rng.normal(size=(N, 1))
    prior = ScalePrior(scale=0.5, shape=3.0, rate=1.5) if is_random else NealPrior(0.5)
    layers = [
        DenseLayer(D, WIDTH, Prior(), prior=prior),
        tanh,
        DenseLayer(WIDTH, 1, Prior(), prior=NealPrior(0.7), bias=False),
    ]
    model = DeepGP(layers, Gaussian(NOISE), num_data=N)
    space = WeightSpace(model)
    log_joint = LogJoint(space, model.likelihood, tf.constant(X), tf.constant(Y))
    num_lower = (D + 1) * WIDTH
    assert space.size == num_lower + is_random + WIDTH
    states = rng.normal(size=(4, space.size))
    expected = []
    for state in states:
        lower, rest = state[:num_lower], state[num_lower:]
        log_s, upper = (rest[0], rest[1:]) if is_random else (0.0, rest)
        W = 0.5 / np.sqrt((D + 1) * np.exp(log_s)) * lower.reshape(D + 1, WIDTH)
        f = np.tanh(np.hstack([X, np.ones((N, 1))]) @ W) @ (0.7 / np.sqrt(WIDTH) * upper)
        value = norm.logpdf(np.concatenate([lower, upper])).sum()
        value += norm.logpdf(Y[:, 0], f, np.sqrt(NOISE)).sum()
        if is_random:  # s ~ Gamma(3, 1.5), and ds = s dlog s
            value += gamma(3.0, scale=1 / 1.5).logpdf(np.exp(log_s)) + log_s
        expected.append(value)
    np.testing.assert_allclose(log_joint(tf.constant(states)), expected, rtol=1e-10)


def test_missing_outputs_are_refused():
    X, Y = np.ones((3, 1)), np.array([[1.0, 2.0], [np.nan, 1.0], [0.0, 1.0]])
    layer = DenseLayer(1, 2, Prior())
    likelihood = Gaussian()
    model = DeepGP([layer], likelihood, num_data=3, missing="ignore")
    for method in (map_estimate, laplace, nuts):
        with pytest.raises(ValueError, match="Y holds NaN: posteriors over all weights need"):
            method(model, (X, Y))

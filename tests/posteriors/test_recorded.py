"""Recorded weights are what a layer draws, whatever its prior's scale."""

import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed

T, S = 12, 4
STATES = [1, 4, 7, 10]
"""The middles of four equal parts of twelve."""


def test_draws_are_what_was_recorded(rng):
    weights = rng.normal(size=(T, 4, 2))
    prior = gi.priors.ScalePrior(scale=0.3)
    layer = gi.layers.DenseLayer(3, 2, gi.posteriors.Recorded(weights), prior=prior)
    X = rng.normal(size=(7, 3))
    draw = layer.condition(tf.constant(X), S, as_seed(0)).draw(S, as_seed(1))
    expected = np.hstack([X, np.ones((7, 1))]) @ weights[STATES]
    np.testing.assert_allclose(draw(tf.constant(X)), expected, rtol=1e-10)

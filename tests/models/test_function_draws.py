"""The choice between the two kinds of function draws."""

import numpy as np
import pytest
import tensorflow as tf
from gpflow import kernels as gk

from ..builders import random_data, random_deep_gp

S = 3


@pytest.mark.slow
@pytest.mark.parametrize("layer", [0, 1])
def test_one_kernel_without_features_makes_all_draws_exact(layer, rng):
    model = random_deep_gp(rng, ("local", "global"))
    assert model.sample_functions(S).is_pathwise
    model.layers[layer].kernel = gk.Matern32() * gk.Linear()
    X, _ = random_data(rng, N=4)
    for draws in (model.sample_functions(S, seed=0), model.sample_prior(S, seed=0)):
        assert not draws.is_pathwise
        first = draws(X)
        assert first.shape == (S, 4, 1)
        np.testing.assert_array_equal(draws(X[2:]), first[:, 2:])
        with pytest.raises(RuntimeError, match=r"cannot be called inside tf\.function"):
            tf.function(draws)(tf.constant(X))


def test_exact_draws_on_request(rng):
    model = random_deep_gp(rng, ("local", "global"))
    assert not model.sample_functions(S, num_features=None).is_pathwise
    assert not model.sample_prior(S, num_features=None).is_pathwise


@pytest.mark.parametrize("name", ["num_samples", "num_features"])
@pytest.mark.parametrize("method", ["sample_functions", "sample_prior"])
def test_a_wrong_number_is_named(name, method, rng):
    model = random_deep_gp(rng, ("global",))
    for number in (0, 2.5):
        with pytest.raises(ValueError, match=f"{name} must be an integer of at least 1"):
            getattr(model, method)(**{"num_samples": S, name: number})


@pytest.mark.parametrize("num_features", [None, 10])
def test_wrong_inputs_are_named(num_features, rng):
    draws = random_deep_gp(rng, ("global",)).sample_functions(S, num_features=num_features)
    with pytest.raises(ValueError, match="X has 3 columns, but the model takes 2"):
        draws(np.zeros((2, 3)))

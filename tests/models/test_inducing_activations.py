"""The inducing points on their way through the layers."""

import numpy as np
import pytest
import tensorflow as tf

from ..builders import NUM_INDUCING, mean_and_standard_error, random_bnn, random_deep_gp


@pytest.mark.parametrize(
    ("kinds", "widths"),
    [
        (["global"], [2, 1]),
        (["global", "global"], [2, 2, 1]),
        (["local", "global"], [2, 2, 1]),
        (["global", "local"], [2]),
        (["global", "global", "prior"], [2, 2]),
    ],
)
def test_points_go_as_far_as_a_layer_uses_them(rng, kinds, widths):
    model = random_deep_gp(rng, kinds)
    levels = model.inducing_activations(3, seed=0)
    assert [level.shape for level in levels] == [(3, NUM_INDUCING, width) for width in widths]
    for one in levels[0]:
        np.testing.assert_array_equal(one, model.inducing_inputs)
    for one, again in zip(levels, model.inducing_activations(3, seed=0), strict=True):
        np.testing.assert_array_equal(one, again)


def test_they_have_the_distribution_of_the_layers(rng):
    model = random_deep_gp(rng, ["global", "global"])
    S = 4000
    _, hidden, outputs = model.inducing_activations(S, seed=1)
    U = tf.convert_to_tensor(model.inducing_inputs)
    first = model.layers[0].condition(U).predict(U)
    last = model.predict_f(U, num_samples=S, seed=2)
    for draws, (mean, variance) in [(hidden, first), (outputs, last)]:
        average, error = mean_and_standard_error(draws)
        # The moments of the outputs are themselves of S samples.
        assert np.all(np.abs(average - mean) < 5 * np.sqrt(2) * error + 1e-6)
        np.testing.assert_allclose(np.var(draws, axis=0), variance, rtol=0.25, atol=1e-3)


def test_deterministic_layers_are_passed(rng):
    """The inputs of a layer are the outputs of the callables below it."""
    model = random_bnn(rng, ["global", "global"], nonlinearity=tf.nn.relu)
    inputs, hidden, outputs = model.inducing_activations(2, seed=0)
    assert inputs.shape[-1] == 2 and hidden.shape[-1] == 4 and outputs.shape[-1] == 1
    assert np.min(hidden) == 0.0


def test_a_model_without_them(rng):
    with pytest.raises(ValueError, match="no global inducing inputs"):
        random_deep_gp(rng, ["local", "local"]).inducing_activations()

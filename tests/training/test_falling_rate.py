"""The rate that is less in the second half of the steps."""

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.training.learning_rate import falling_rate


def values(rate, steps):
    return np.array([float(rate(tf.constant(step, tf.int64))) for step in range(steps)])


@pytest.mark.parametrize("steps", [10, 11])
def test_at_once(steps):
    found = values(falling_rate(0.02, 0.002, steps), steps)
    np.testing.assert_allclose(found[: steps // 2], 0.02, rtol=1e-6)
    np.testing.assert_allclose(found[steps // 2 :], 0.002, rtol=1e-6)


def test_smoothly():
    """A straight line of its logarithm, which would be at the last rate after the last step."""
    found = values(falling_rate(0.02, 0.0002, 10, smoothly=True), 11)
    np.testing.assert_allclose(found[:6], 0.02, rtol=1e-6)
    np.testing.assert_allclose(found[5:], np.geomspace(0.02, 0.0002, 6), rtol=1e-5)


def test_a_rate_that_does_not_fall_is_a_number():
    assert falling_rate(0.01, 0.01, 10) == 0.01

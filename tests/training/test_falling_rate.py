"""Learning rates that fall in the course of a run."""

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.training.learning_rate import LinearTail, falling_rate

from .models import LinearModel, linear_data, train


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


def test_a_linear_tail():
    """Constant for the first steps, then a line to zero, which the last step does not reach."""
    schedule = LinearTail(0.1, 10, share=0.4)
    rates = [float(schedule(tf.constant(step, tf.int64))) for step in range(11)]
    np.testing.assert_allclose(rates[:7], 0.1, rtol=1e-6)
    np.testing.assert_allclose(rates[7:], [0.075, 0.05, 0.025, 0.0], rtol=1e-5)


def test_a_linear_tail_is_known_by_its_numbers(tmp_path):
    """A resumed run notices another one; its record shows it."""
    data = linear_data(12)
    settings = {"steps": 4, "checkpoint_dir": tmp_path}
    record = train(LinearModel(12), data, learning_rate=LinearTail(0.1, 4), **settings)
    assert record.settings["learning_rate"] == "LinearTail(rate=0.1, steps=4, share=0.5)"
    with pytest.raises(ValueError, match="learning_rate"):
        train(LinearModel(12), data, learning_rate=LinearTail(0.2, 4), **settings)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0.0, 5), "rate must"), ((0.1, 0), "steps must"), ((0.1, 5, 1.5), "share must be at most 1")],
)
def test_a_linear_tail_is_checked(arguments, message):
    with pytest.raises(ValueError, match=message):
        LinearTail(*arguments)

"""Errors for a bound or a gradient that stops being finite."""

import gpflow
import numpy as np
import pytest
from gpflow.keras import tf_keras

from gpflow_gi.training import NonFiniteError

from .models import DATA, FailingModel, FailingWithDiagnosis, train, values

pytestmark = pytest.mark.compiled


def fail(model, monkeypatch=None, call_seconds=1e9, **kwargs):
    """Train with a rate of 1, so that the level falls by 1 a step, until it fails."""
    if monkeypatch is not None:
        monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", call_seconds)
    optimizer = tf_keras.optimizers.SGD(1.0, momentum=kwargs.pop("momentum", 0.0))
    with pytest.raises(NonFiniteError) as caught:
        train(model, DATA, steps=100, optimizer=optimizer, recover=False, **kwargs)
    return caught.value, optimizer


# With calls of 1, 10 and 89 steps, and with calls of one step: failures in a call's first step, in
# its second and later, where the last good parameters lie in the call before or in this one.
@pytest.mark.parametrize("call_seconds", [1e9, 0.0])
@pytest.mark.parametrize("good_steps", [1, 2, 3, 11, 12, 13, 20])
def test_bound_keeps_the_parameters_of_the_last_finite_bound(monkeypatch, good_steps, call_seconds):
    # The levels at which a bound is computed: good_steps - 0.5, ..., 0.5, then -0.5, which fails.
    model = FailingModel(good_steps - 0.5, "bound")
    error, optimizer = fail(model, monkeypatch, call_seconds)
    assert error.step == good_steps + 1
    assert values(model)[".level"] == 0.5
    assert int(optimizer.iterations) == good_steps - 1
    assert f"bound is not finite at step {good_steps + 1}:" in str(error)
    assert "expected log likelihood is NaN" in str(error)
    assert f"had after {good_steps - 1} steps" in str(error)


@pytest.mark.parametrize("call_seconds", [1e9, 0.0])
@pytest.mark.parametrize("good_steps", [1, 2, 11, 15])
def test_gradient_keeps_the_parameters_of_its_own_bound(monkeypatch, good_steps, call_seconds):
    model = FailingModel(float(good_steps), "gradient")
    error, optimizer = fail(model, monkeypatch, call_seconds)
    assert error.step == good_steps + 1
    assert values(model)[".level"] == 0.0
    assert int(optimizer.iterations) == good_steps
    assert "gradient of .level is NaN" in str(error)
    assert f"had after {good_steps} steps" in str(error)


def test_the_state_is_that_of_a_shorter_run():
    """Optimizer state included: bitwise what it is after as many steps."""
    model, expected = FailingModel(30.5, "bound"), FailingModel(30.5, "bound")
    error, optimizer = fail(model, momentum=0.9)
    shorter = tf_keras.optimizers.SGD(1.0, momentum=0.9)
    train(expected, DATA, steps=error.step - 2, optimizer=shorter)
    assert values(model) == values(expected)
    assert [float(v) for v in optimizer.variables] == [float(v) for v in shorter.variables]


def test_failure_at_the_first_step():
    for model, text in (
        (FailingModel(-1.0, "bound"), "bound is not finite at step 1:"),
        (FailingModel(0.0, "gradient"), "gradient is not finite at step 1:"),
    ):
        before = values(model)
        error, _ = fail(model)
        assert error.step == 1 and error.record.reports == []
        assert values(model) == before
        assert text in str(error) and "training started from" in str(error)


def test_the_model_says_what_failed():
    error, _ = fail(FailingWithDiagnosis(3.5, "bound"))
    assert "layer 1 of 1 (Test): its level is NaN" in str(error)


def test_terms_and_parameters_are_told_apart():
    error, _ = fail(FailingModel(3.5, "bound", in_kl=True))
    assert "the KL divergence is NaN" in str(error)
    model = FailingModel(3.5, "bound")
    model.other.unconstrained_variable.assign(np.nan)
    error, _ = fail(model)
    assert "the parameter .other is NaN" in str(error)


def test_operations_that_raise():
    model = FailingModel(3.5, "bound", raises=True)
    error, optimizer = fail(model)
    assert error.step == 5 and "in a test" in str(error)
    assert values(model)[".level"] == 0.5 and int(optimizer.iterations) == 3


def test_advice():
    error, _ = fail(FailingModel(1.5, "bound"))
    message = str(error)
    assert "set_default_jitter(1e-04) (it is 1e-06)" in message
    assert "lower learning rate (it is 1)" in message
    assert "float64" not in message
    gpflow.config.set_default_float(np.float32)
    try:
        error, _ = fail(FailingModel(1.5, "bound"))
        assert "set_default_float(numpy.float64)" in str(error)
    finally:
        gpflow.config.set_default_float(np.float64)


def test_the_record_ends_before_the_failure(monkeypatch):
    monkeypatch.setattr("gpflow_gi.training.pace.FEWEST_CALLS", 1)
    monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", 1e9)
    error, _ = fail(FailingModel(14.5, "bound"))
    assert [r.step for r in error.record.reports] == [1, 11]
    assert isinstance(error, ArithmeticError)

"""Warnings of runs that end too early or badly."""

import numpy as np
import pytest

import gpflow_gi as gi
from gpflow_gi.training import ConvergenceWarning, FitRecord, Report
from gpflow_gi.training.convergence import shortcoming_of

from .models import LinearModel, linear_data, train

STEPS = np.r_[1, 11, np.arange(20, 1020, 20)]


def record_of(bounds, **fields):
    return FitRecord(
        reports=[
            Report(
                step=int(step),
                seconds=0.0,
                expected_log_likelihood=float(bound),
                kl=0.0,
                kl_weight=1.0,
                learning_rate=0.1,
                **fields,
            )
            for step, bound in zip(STEPS, bounds, strict=True)
        ]
    )


def noise(scale, seed=0):
    # A report's noise is that of a mean over its steps.
    return (
        scale * np.random.default_rng(seed).normal(size=len(STEPS)) / np.sqrt(np.diff([0, *STEPS]))
    )


@pytest.mark.parametrize("seed", range(20))
def test_a_run_that_has_converged_passes(seed):
    bounds = -50.0 * np.exp(-STEPS / 50) + noise(3.0, seed)
    assert shortcoming_of(record_of(bounds), num_rows=100) is None
    # Nor does one that began where it ends, however lucky its first step was.
    assert shortcoming_of(record_of(noise(3.0, seed)), num_rows=100) is None


def test_a_rise_above_the_noise_is_named():
    sentence = shortcoming_of(record_of(0.1 * STEPS + noise(3.0)), num_rows=100)
    assert "still rises: by 10" in sentence and "ELBO" in sentence and "more steps" in sentence
    # 1 nat in the last tenth, with a noise of 3.
    assert shortcoming_of(record_of(0.01 * STEPS + noise(15.0)), num_rows=100) is None
    # Without noise, less than a nat.
    assert shortcoming_of(record_of(0.009 * STEPS), num_rows=100) is None
    assert shortcoming_of(record_of(0.011 * STEPS), num_rows=100) is not None


def test_an_end_below_the_start_is_named():
    falling = record_of(-0.1 * STEPS + noise(3.0))
    assert "made the model worse" in shortcoming_of(falling, num_rows=100)
    # The noise of what training has come to is no excuse.
    wild = -6e4 * (STEPS > 1) + noise(1e5)
    assert "lower learning rate" in shortcoming_of(record_of(wild), num_rows=100)


def test_a_few_reports_say_nothing():
    record = record_of(0.1 * STEPS)
    record.reports = record.reports[:11]
    assert shortcoming_of(record, num_rows=100) is None


def test_a_warm_up_is_no_fall():
    """The objective falls as the weight of the KL divergence grows; the bound rises."""
    record = FitRecord(
        reports=[
            Report(int(t), 0.0, 10.0, 100 * np.exp(-t / 20), min(t / 500, 1.0), 0.1) for t in STEPS
        ]
    )
    assert shortcoming_of(record, num_rows=100) is None


@pytest.mark.compiled
def test_fit_warns():
    X, Y = linear_data()
    data = X, 10 * Y
    with pytest.warns(ConvergenceWarning, match="The ELBO still rises"):
        train(LinearModel(20), data, steps=30, learning_rate=0.01, num_samples=1000)


@pytest.mark.compiled
def test_a_rate_far_too_high_is_no_success():
    X, Y = linear_data()
    model = gi.architectures.build_bnn(X, Y, widths=(5,), num_inducing=5)
    with pytest.warns(ConvergenceWarning, match="made the model worse"):
        train(model, (X, Y), steps=60, learning_rate=10.0)

"""Warnings of runs that end too early or badly."""

from dataclasses import replace

import numpy as np
import pytest

import gpflow_gi as gi
from gpflow_gi.training import ConvergenceWarning, FitRecord, NoRise, Report
from gpflow_gi.training.convergence import WINDOW, LevelLastThird, shortcoming_of

from .models import LinearModel, linear_data, train

STEPS = np.r_[1, 11, np.arange(20, 1020, 20)]


def report_of(step, bound, **fields):
    return Report(
        step=int(step),
        seconds=0.0,
        expected_log_likelihood=float(bound),
        kl=0.0,
        kl_weight=1.0,
        learning_rate=0.1,
        **fields,
    )


def record_of(bounds, **fields):
    pairs = zip(STEPS, bounds, strict=True)
    return FitRecord(reports=[report_of(step, bound, **fields) for step, bound in pairs])


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


def curve(rise, scale=3.0, steps=6000, report=WINDOW, seed=0):
    """A record of reports of so many steps, and its steps."""
    at = np.arange(1, steps + 1)
    values = rise(at) + scale * np.random.default_rng(seed).normal(size=steps)
    means = values.reshape(-1, report).mean(axis=1)
    return [report_of(*pair) for pair in zip(at[report - 1 :: report], means, strict=True)]


def first_stop(reports, kl_warmup=0, rule=None):
    rule = rule or LevelLastThird()
    for i in range(len(reports)):
        if rule.is_met(FitRecord(reports=reports[: i + 1]), kl_warmup, num_rows=10):
            return reports[i].step
    return None


@pytest.mark.parametrize("seed", range(5))
def test_a_run_stops_when_its_bound_is_level(seed):
    """At the time constant of 300 steps, 30 nats are left after 600 steps, 1.3 after 1,500."""
    step = first_stop(curve(lambda at: -222.0 * np.exp(-at / 300), seed=seed))
    assert 1000 <= step <= 3000


def test_a_run_that_rises_above_its_noise_goes_on():
    """0.01 nats a step: 2 nats in the last third of 600 steps, whose error is about half a nat."""
    assert first_stop(curve(lambda at: 0.01 * at, scale=1.0)) is None
    # Without noise, a nat in the last third counts.
    assert first_stop(curve(lambda at: 0.002 * at, scale=0.0)) == 600
    assert first_stop(curve(lambda at: 0.01 * at, scale=0.0)) is None


def test_the_warm_up_does_not_count():
    level = curve(lambda at: 0.0 * at)
    assert first_stop(level) < 1500
    assert 1500 <= first_stop(level, kl_warmup=1000) <= 3000


def test_reports_of_another_length_tell_the_same():
    steps = [
        first_stop(curve(lambda at: -222.0 * np.exp(-at / 300), report=report))
        for report in (1, 5, WINDOW)
    ]
    assert len(set(steps)) == 1


@pytest.mark.longest
@pytest.mark.compiled
def test_fit_stops_when_it_has_converged(monkeypatch, tmp_path):
    """At the same step with the same parameters, however fast the machine is, resumed or not."""
    X, Y = linear_data(12)
    ends = []
    for seconds in (1.0, 1e-6):
        monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", seconds)
        model = LinearModel(12)
        record = train(model, (X, Y), steps=5000, learning_rate=0.1, until_converged=True)
        assert record.stopped == "converged"
        assert record.step < 5000
        ends.append((record.step, *model.mean.numpy()))
    assert ends[0] == ends[1]

    class AfterHalf:
        def __call__(self, report):
            if report.step >= record.step // 2:
                raise gi.training.Stop

    settings = {"learning_rate": 0.1, "until_converged": True, "checkpoint_dir": tmp_path}
    first = train(LinearModel(12), (X, Y), steps=5000, callbacks=[AfterHalf()], **settings)
    assert first.stopped == "callback"
    model = LinearModel(12)
    second = train(model, (X, Y), steps=5000, **settings)
    assert (second.step, *model.mean.numpy()) == ends[0]
    # A run that has converged is returned as it is, and goes on if it is to take all its steps.
    third = train(LinearModel(12), (X, Y), steps=5000, **settings)
    assert third.to_dict() == second.to_dict()
    settings["until_converged"] = False
    assert train(LinearModel(12), (X, Y), steps=5000, **settings).step == 5000


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("how", ["raises", "returns True"])
def test_a_callback_stops_the_run(how, tmp_path):
    """The parameters are those of a run of so many steps."""
    X, Y = linear_data(12)

    def stop(report):
        if report.step >= 10:
            if how == "raises":
                raise gi.training.Stop
            return True
        return 1  # is not True

    model, other = LinearModel(12), LinearModel(12)
    record = train(model, (X, Y), steps=200, callbacks=[stop], checkpoint_dir=tmp_path)
    assert record.stopped == "callback"
    assert FitRecord.from_dict(record.to_dict()) == record
    train(other, (X, Y), steps=record.step)
    np.testing.assert_array_equal(model.mean, other.mean)
    assert train(LinearModel(12), (X, Y), steps=200, checkpoint_dir=tmp_path).stopped is None


def test_zero_of_any_type_is_a_tolerance():
    assert NoRise(np.float32(0), 5).tol == 0.0


def test_no_rise_compares_two_means():
    """A rise of 0.01 nats a step is 2 nats in 200 steps: 0.2 per row of ten."""
    reports = curve(lambda at: 0.01 * at, scale=0.0)
    assert first_stop(reports, rule=NoRise(0.19, 200)) is None
    assert first_stop(reports, rule=NoRise(0.21, 200)) == 400
    assert first_stop(reports, kl_warmup=210, rule=NoRise(0.21, 200)) == 800
    falling = curve(lambda at: -0.01 * at, scale=0.0)
    assert first_stop(falling, rule=NoRise(0.0, 50)) == 100


@pytest.mark.compiled
def test_fit_takes_the_rule():
    model = LinearModel(12)
    record = train(model, linear_data(12), steps=500, until_converged=NoRise(1e9, 30))
    assert (record.step, record.stopped) == (60, "converged")


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ((-1.0, 10), ValueError, "tol must be positive"),
        ((np.nan, 10), ValueError, "tol must be"),
        ((False, 10), ValueError, "tol must be"),
        ((0.1, 0), ValueError, "steps must be"),
    ],
)
def test_a_rule_is_checked(settings, error, message):
    with pytest.raises(error, match=message):
        NoRise(*settings)


def test_until_converged_is_checked():
    with pytest.raises(TypeError, match="until_converged must be True, False or a"):
        train(LinearModel(12), linear_data(12), steps=5, until_converged=1e-3)


@pytest.mark.compiled
@pytest.mark.parametrize("steps", [7, 50])
@pytest.mark.slow
def test_a_rule_that_comes_later(steps, tmp_path):
    """A record without means of so many steps says nothing, and another rule is another."""
    settings = {"checkpoint_dir": tmp_path, "progress": False}
    gi.fit(LinearModel(12), linear_data(12), steps=205, **settings)
    rule = NoRise(1e9, steps)
    record = gi.fit(LinearModel(12), linear_data(12), steps=1000, until_converged=rule, **settings)
    assert record.stopped == "converged" and 205 < record.step < 205 + 3 * steps
    for _ in range(2):
        stricter = gi.fit(
            LinearModel(12),
            linear_data(12),
            steps=record.step + 2 * steps,
            until_converged=NoRise(0.0, 10**6),
            **settings,
        )
        assert stricter.step == record.step + 2 * steps


def test_a_value_with_a_warm_up_is_compared_at_the_weight_of_the_end():
    """With a small KL weight the value of an objective starts high; it rises all the same."""
    rest = len(STEPS) - 20
    values = [25.0, 20.0, 10.0, *np.linspace(5.0, 14.0, 17), *[14.0] * rest]
    weights = [0.01, 0.3, 0.7, *[1.0] * (len(STEPS) - 3)]
    reports = [
        replace(report, value=value, kl_weight=weight, name="energy")
        for report, value, weight in zip(
            record_of(np.zeros(len(STEPS))).reports, values, weights, strict=True
        )
    ]
    assert shortcoming_of(FitRecord(reports=reports), num_rows=1) is None
    falls = [replace(report, kl_weight=1.0) for report in reports]
    assert "made the model worse" in shortcoming_of(FitRecord(reports=falls), num_rows=1)

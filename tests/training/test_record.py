"""Reports, timing, and what is shown."""

import io
import json
import math
import time
from dataclasses import replace

import gpflow
import numpy as np
import pytest

from gpflow_gi.objectives import AlphaEnergy, AugmentedBound, Elbo, TemperedBound
from gpflow_gi.training import FitRecord, Report
from gpflow_gi.training.progress import Progress, describe

from .models import LinearModel, linear_data, noisy, train

DATA = linear_data()


def report(step, seconds, kl_weight=1.0, objective=None, value=None):
    objective = objective or Elbo()
    return Report(
        step=step,
        seconds=seconds,
        expected_log_likelihood=-100.0,
        kl=20.0,
        kl_weight=kl_weight,
        learning_rate=0.01,
        temperature=objective.temperature,
        value=value,
        name=objective.name,
    )


def test_bound_and_objective():
    assert report(1, 1.0, 0.25).bound == -120.0
    assert report(1, 1.0, 0.25).objective == -105.0


def test_in_a_notebook_an_objective_has_its_own_name():
    def shown(*reports):
        return repr(FitRecord({}, reports=list(reports)))

    assert shown() == "<FitRecord: 0 steps in 0.0 s>"
    assert shown(report(3, 1.5, 0.25)) == "<FitRecord: 3 steps in 1.5 s, bound -120>"
    energy = report(3, 1.5, objective=AlphaEnergy(0.5), value=-90.0)
    text = "<FitRecord: 3 steps in 1.5 s, alpha-energy (0.5) -90, ELBO -120>"
    assert shown(energy) == text
    without = replace(energy, kl=math.nan)  # the model has no ELBO
    assert shown(without) == text.removesuffix(", ELBO -120>") + ">"


def test_a_warmed_up_objective_is_not_called_elbo():
    assert describe(report(1, 1.0, 0.25), 10) == "objective (KL x 0.25) per row -10.5000"
    assert describe(report(1, 1.0), 10) == "ELBO per row -12.0000"


@pytest.mark.parametrize(
    ("kl_weight", "text"),
    [
        (0.05, "tempered bound (KL x 0.050) per row -10.1000, ELBO per row -12.0000"),
        (0.005, "tempered bound (KL x 0.0050) per row -10.0100, ELBO per row -12.0000"),
    ],
)
def test_a_tempered_bound_is_not_called_elbo_and_has_it_beside_it(kl_weight, text):
    """During the warm-up and after it."""
    tempered = report(1, 1.0, kl_weight, TemperedBound(0.05))
    assert describe(tempered, 10) == text
    assert tempered.to_dict()["objective_name"] == "tempered bound"
    assert tempered.bound == -120.0
    hot = report(1, 1.0, 2.0, TemperedBound(2.0))
    assert describe(hot, 10) == (
        "tempered bound (KL x 2.0) per row -14.0000, ELBO per row -12.0000"
    )


@pytest.mark.parametrize(
    ("kl_weight", "temperature", "text"),
    [
        (0.25, 1.0, "augmented bound (KL x 0.25) per row -13.0000, ELBO per row -12.0000"),
        (1.0, 1.0, "augmented bound per row -13.0000, ELBO per row -12.0000"),
        (0.1, 0.1, "tempered augmented bound (KL x 0.10) per row -13.0000, ELBO per row -12.0000"),
        (1.0, 2.0, "tempered augmented bound per row -13.0000, ELBO per row -12.0000"),
    ],
)
def test_an_augmented_bound_is_not_called_elbo_and_has_it_beside_it(kl_weight, temperature, text):
    objective = AugmentedBound(noisy, temperature=temperature)
    augmented = report(1, 1.0, kl_weight, objective, value=-130.0)
    assert describe(augmented, 10) == text
    assert augmented.bound == -120.0 and augmented.objective == -130.0
    assert augmented.augmented_bound == -130.0 and report(1, 1.0).augmented_bound is None
    written = FitRecord(reports=[augmented]).to_dict()
    assert written["reports"][0]["objective_name"] in text
    assert FitRecord.from_dict(json.loads(json.dumps(written))).reports == [augmented]


def test_the_record_names_the_objective():
    names = [report(1, 1.0, weight).to_dict()["objective_name"] for weight in (0.25, 1.0)]
    assert names == ["objective", "ELBO"]


@pytest.mark.compiled
def test_a_tempered_run(capsys):
    record = train(LinearModel(20), DATA, steps=4, kl_warmup=2, temperature=0.1, progress=True)
    assert [report.kl_weight for report in record.reports][-1] == pytest.approx(0.1)
    assert record.settings["temperature"] == 0.1
    assert {report.temperature for report in record.reports} == {0.1}
    assert FitRecord.from_dict(json.loads(json.dumps(record.to_dict()))) == record
    lines = capsys.readouterr().err.splitlines()
    assert lines and all("tempered bound (KL x" in line and "ELBO" in line for line in lines)


def test_seconds_per_step_is_the_median_step():
    # 1 step of 5 s, 10 of 1 s, 100 of 0.1 s: the middle one of 111 took 0.1 s.
    record = FitRecord(reports=[report(1, 5.0), report(11, 15.0), report(111, 25.0)])
    assert record.seconds_per_step == pytest.approx(0.1)
    assert record.seconds == 25.0 and record.step == 111
    assert FitRecord(reports=[report(4, 2.0)]).seconds_per_step == 0.5
    assert math.isnan(FitRecord().seconds_per_step) and FitRecord().step == 0


def test_to_dict_and_back():
    record = FitRecord({"seed": [0, 1]}, [report(1, 5.0), report(11, 15.0)], 3.0)
    written = json.loads(json.dumps(record.to_dict()))
    assert FitRecord.from_dict(written) == record
    assert written["reports"][0]["bound"] == -120.0
    assert written["seconds"] == 15.0 and written["compile_seconds"] == 3.0


@pytest.mark.slow
@pytest.mark.compiled
def test_compilation_and_callbacks_are_no_training(monkeypatch):
    monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", 0.0)
    started = time.perf_counter()
    record = train(
        LinearModel(20), DATA, steps=4, callbacks=[lambda _: time.sleep(0.2)], batch_size=6
    )
    elapsed = time.perf_counter() - started
    assert record.seconds + record.compile_seconds < elapsed - 0.75
    assert record.compile_seconds > 10 * record.seconds_per_step
    assert json.loads(json.dumps(record.to_dict()))["settings"]["batch_size"] == 6


@pytest.mark.compiled
def test_callbacks_see_every_report_and_the_model_as_it_is():
    model, seen = LinearModel(20), []

    def callback(report):
        seen.append((report, model.mean.numpy().copy()))

    record = train(model, DATA, steps=15, callbacks=[callback, lambda report: None])
    assert [r for r, _ in seen] == record.reports
    assert seen[-1][0].step == 15
    np.testing.assert_array_equal(seen[-1][1], model.mean.numpy())
    assert np.all(seen[0][1] != seen[-1][1])


@pytest.mark.compiled
def test_gpflow_monitor():
    """As the docstring of fit shows it."""
    steps = []
    monitor = gpflow.monitor.Monitor(
        gpflow.monitor.MonitorTaskGroup(
            gpflow.monitor.ExecuteCallback(lambda: steps.append(1)), period=1
        )
    )
    record = train(LinearModel(20), DATA, steps=15, callbacks=[lambda report: monitor(report.step)])
    assert len(steps) == len(record.reports)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def show(monkeypatch, stream, steps, show=True):
    monkeypatch.setattr("sys.stderr", stream)
    with Progress(100, 0, 10, show) as progress:
        progress.compiled(0.0)
        for step in steps:
            progress.report(report(step, 0.1 * step, min(step / 50, 1.0)))
    return stream.getvalue()


def test_a_terminal_gets_a_bar(monkeypatch):
    text = show(monkeypatch, Terminal(), range(1, 101))
    states = text.split("\r")
    assert any("objective (KL x 0.50) per row" in state for state in states)
    last = states[-1]
    assert "100/100" in last and "ELBO per row -12.0000" in last and "step/s" in last
    assert not any("ELBO" in state for state in states if "objective" in state)


def test_a_file_gets_a_few_lines(monkeypatch):
    lines = show(monkeypatch, io.StringIO(), range(1, 101)).splitlines()
    assert (
        lines[0] == "step 25/100, objective (KL x 0.50) per row -11.0000, 10.0 steps/s, 00:07 left"
    )
    assert lines[-1] == "step 100/100, ELBO per row -12.0000, 10.0 steps/s, 00:00 left"
    assert len(lines) == 4
    assert len(show(monkeypatch, io.StringIO(), [1, 100]).splitlines()) == 1


def test_silence(monkeypatch):
    assert show(monkeypatch, Terminal(), [1, 100], show=False) == ""
    assert show(monkeypatch, io.StringIO(), [1, 100], show=False) == ""


@pytest.mark.slow
@pytest.mark.compiled
def test_no_warnings(capfd, recwarn):
    for _ in range(6):  # TensorFlow warns of the fifth trace of one function
        model = LinearModel(20)
        model.unused = gpflow.Parameter(1.0)  # has no gradient
        train(model, DATA, steps=1)
    captured = capfd.readouterr()
    assert captured.out == "" and "WARN" not in captured.err.upper()
    assert not [w for w in recwarn if issubclass(w.category, (UserWarning, RuntimeWarning))]

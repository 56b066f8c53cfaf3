"""Measures against CPU time: the points of a curve, and runs that are resumed."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from gpflow_gi.datasets import Table
from gpflow_gi.experiments import large
from gpflow_gi.experiments.large import COMPARED, Settings, _Curve

TINY = Settings(
    methods=("svgp", "sip-ns"),
    cpu_seconds=0.3,
    first_seconds=0.1,
    num_test=20,
    num_start=50,
    batch_size=10,
    num_inducing=5,
    num_test_samples=3,
    rows_of_steps=(50, 100),
    steps_of_cost=5,
)


def table(num_rows=150):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(num_rows, 2))
    return Table(
        "waves", X, np.sin(X[:, :1]) + 0.1 * rng.normal(size=(num_rows, 1)), ("a", "b"), "y"
    )


@pytest.fixture
def clock(monkeypatch):
    """A process's CPU time, which measuring takes 100 s of."""
    time = SimpleNamespace(now=0.0)
    monkeypatch.setattr(large.time, "process_time", lambda: time.now)

    def measured(self):
        time.now += 100.0
        return {"rmse": 1.0, "log_density": 2.0, "crps": 3.0}

    monkeypatch.setattr(_Curve, "_measured", measured)
    return time


def reports(curve, clock, steps, seconds_per_step=1.0):
    for step in steps:
        clock.now += seconds_per_step
        if curve.report(SimpleNamespace(step=step)):
            return step
    return None


def test_points_are_apart_by_a_factor_and_measuring_does_not_count(clock, tmp_path):
    settings = Settings(cpu_seconds=20.0, first_seconds=2.0, factor=2.0)
    curve = _Curve(None, settings, 0, tmp_path / "curve.json")
    # The clock starts at the first report, after the compilation.
    assert reports(curve, clock, range(1, 100)) == 21
    assert [point["cpu_seconds"] for point in curve.values["points"]] == [2, 4, 8, 16, 20]
    assert [point["step"] for point in curve.values["points"]] == [3, 5, 9, 17, 21]
    assert curve.is_done and _Curve(None, settings, 0, tmp_path / "curve.json").is_done


def test_a_resumed_curve_has_used_what_its_steps_cost(clock, tmp_path):
    settings = Settings(cpu_seconds=20.0, first_seconds=2.0, factor=2.0)
    first = _Curve(None, settings, 0, tmp_path / "curve.json")
    assert reports(first, clock, range(1, 8)) is None
    again = _Curve(None, settings, 0, tmp_path / "curve.json")
    assert not again.is_done and len(again.values["points"]) == 2
    end = reports(again, clock, range(6, 100))  # from a checkpoint after 5 steps
    assert end == pytest.approx(21, abs=5)
    assert [point["cpu_seconds"] for point in again.values["points"]][:2] == [2, 4]


def test_the_compared_methods_are_those_of_the_benchmark():
    assert all(name == method.name for name, method in COMPARED.items())
    assert set(large.USUAL.methods) == set(COMPARED)


@pytest.mark.longest
@pytest.mark.compiled
def test_everything_is_trained_once(monkeypatch, tmp_path):
    monkeypatch.setattr(large, "FAST", TINY)
    monkeypatch.setitem(large.TABLES, "airline", table)
    said = []
    results = large.run(fast=True, announce=said.append, checkpoints=tmp_path)
    assert set(results["curves"]) == {"svgp", "sip-ns"} and results["num_train"] == 130
    for curve in results["curves"].values():
        points = curve["points"]
        assert curve["failed"] is None and curve["done"]
        assert points[-1]["cpu_seconds"] >= 0.3 and points[-1]["step"] > points[0]["step"] - 1
        assert all(np.isfinite(point[name]) for point in points for name in large.MEASURES)
    assert set(results["cost_of_steps"]) == {"50", "100"}
    again = large.run(fast=True, announce=said.append, checkpoints=tmp_path)
    assert again["curves"] == results["curves"]
    assert isinstance(large.plot(results), Figure)
    assert "130 rows to train on" in large.summary(results)

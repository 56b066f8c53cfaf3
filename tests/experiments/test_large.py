"""Measures against CPU time: the points of a curve, and runs that are resumed."""

import os
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from gpflow_gi.benchmark.worker import StopSweepError
from gpflow_gi.benchmark.workers import LocalWorkers
from gpflow_gi.datasets import DataError, Table
from gpflow_gi.experiments import curve, large
from gpflow_gi.experiments.curve import _Curve
from gpflow_gi.experiments.large import COMPARED, COST_OF_STEPS, Settings

from .in_process import InProcess

SHARED = Path(__file__).resolve().parents[3] / "shared" / "data"

TINY = Settings(
    name="tiny",
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
    monkeypatch.setattr(curve.time, "process_time", lambda: time.now)

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
    assert set(large.FAST_METHODS) < set(COMPARED)


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(large, "FAST", TINY)
    monkeypatch.setattr(large, "FAST_METHODS", ("svgp", "sip-ns"))
    monkeypatch.setitem(large.TABLES, "airline", table)


@pytest.mark.longest
@pytest.mark.compiled
def test_everything_is_trained_once(tiny, tmp_path):
    workers = InProcess()
    results = large.run(fast=True, announce=[].append, checkpoints=tmp_path, workers=workers)
    assert workers.ran == ["svgp", "sip-ns", COST_OF_STEPS] and workers.is_closed
    assert set(results["curves"]) == {"svgp", "sip-ns"} and results["num_train"] == 130
    for found in results["curves"].values():
        points = found["points"]
        assert found["failed"] is None
        assert points[-1]["cpu_seconds"] >= 0.3
        assert all(np.isfinite(point[name]) for point in points for name in large.MEASURES)
    assert set(results["cost_of_steps"]) == {"50", "100"}
    workers = InProcess()
    again = large.run(fast=True, announce=[].append, checkpoints=tmp_path, workers=workers)
    assert again == results and not workers.ran
    assert isinstance(large.plot(results), Figure)
    assert "130 rows to train on" in large.summary(results)


def test_a_curve_that_is_done_is_taken_as_it_is(tiny, tmp_path, monkeypatch):
    """From the records in docs/results, for example."""
    monkeypatch.setattr(large, "FAST_METHODS", ("svgp",))
    monkeypatch.setattr(curve, "_cost_of_steps", lambda rows, settings: {"50": 1.5})
    monkeypatch.setattr(curve, "fit", None)
    point = {"step": 3, "cpu_seconds": 9.0, "rmse": 1.0, "log_density": -2.0, "crps": 0.5}
    done = _Curve(None, TINY, 0, tmp_path / "svgp" / "curve.json")
    done.values["points"].append(point)
    done.end(None)
    results = large.run(fast=True, announce=[].append, checkpoints=tmp_path, workers=InProcess())
    assert results["curves"] == {"svgp": {"points": [point], "failed": None}}
    assert results["cost_of_steps"] == {"50": 1.5} and results["peak_memory_mb"] > 0


def test_a_method_that_fails_is_named_and_tried_again(tiny, tmp_path, monkeypatch):
    monkeypatch.setattr(large, "FAST_METHODS", ("svgp",))
    monkeypatch.setattr(curve, "_cost_of_steps", lambda rows, settings: {"50": 1.5})
    run = lambda workers: large.run(  # noqa: E731
        fast=True, announce=[].append, checkpoints=tmp_path, workers=workers
    )

    def crash(*arguments):
        raise MemoryError("no more of it")

    monkeypatch.setattr(curve, "_curve", crash)
    with pytest.raises(StopSweepError, match=r"1 of 2 parts failed: svgp \(MemoryError: "):
        run(workers := InProcess())
    assert workers.ran == ["svgp", COST_OF_STEPS]
    monkeypatch.setattr(curve, "_curve", lambda *arguments: {"points": [], "failed": "It was NaN."})
    results = run(workers := InProcess())
    assert workers.ran == ["svgp"]
    assert results["curves"]["svgp"]["failed"] == "It was NaN."
    assert "svgp ended early: It was NaN." in " ".join(large.summary(results).split())


def test_predictions_that_are_not_finite_end_a_curve(tmp_path, monkeypatch):
    def no_prediction(*arguments, **options):
        raise ValueError("The prediction is NaN or infinite, although the data are finite.")

    monkeypatch.setattr(curve, "predictive_components", no_prediction)
    settings = Settings(cpu_seconds=20.0, first_seconds=0.0)
    ended = _Curve(SimpleNamespace(X_test=None), settings, 0, tmp_path / "curve.json")
    assert ended.report(SimpleNamespace(step=7))
    again = _Curve(None, settings, 0, tmp_path / "curve.json")
    assert again.is_done and again.values["points"] == []
    assert again.values["failed"].endswith("are not finite after step 7.")


def test_other_data_on_a_worker_are_refused(tiny):
    described = {"name": "airline", "sha256": "0", "folder": "none"}
    with pytest.raises(DataError, match="has another version of the data 'airline'"):
        curve.run(described, 0, "svgp", asdict(TINY), 0)


def test_workers_are_closed_if_there_are_no_data(monkeypatch):
    def absent():
        raise DataError("there is none.")

    monkeypatch.setitem(large.TABLES, "airline", absent)
    workers = InProcess()
    with pytest.raises(DataError):
        large.run(workers=workers)
    assert workers.is_closed


@pytest.mark.longest
def test_processes_of_their_own(tmp_path, monkeypatch):
    """With the real data, since these processes know no other; two at a time."""
    folder = Path(os.environ.get("GPFLOW_GI_DATA", SHARED / "uci")).parent
    if not (folder / "airline" / "airline.npz").is_file():
        pytest.skip("no airline.npz")
    monkeypatch.setenv("GPFLOW_GI_DATA", str(folder))
    monkeypatch.setattr(large, "FAST", replace(TINY, most_rows=200))
    monkeypatch.setattr(large, "FAST_METHODS", ("svgp",))
    results = large.run(
        fast=True, announce=[].append, checkpoints=tmp_path, workers=LocalWorkers(2)
    )
    assert results["num_train"] == 200 and results["curves"]["svgp"]["points"]
    assert set(results["cost_of_steps"]) == {"50", "100"}

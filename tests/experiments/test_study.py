"""Running an experiment by name, with one that takes no time."""

import json
import subprocess
import sys
from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure
from matplotlib.image import imread

from gpflow_gi import __version__
from gpflow_gi.core.json_file import with_none_for_non_finite
from gpflow_gi.experiments import study
from gpflow_gi.experiments.catalogue import EXPERIMENTS, FILES, Experiment
from gpflow_gi.experiments.estimates import mean_and_standard_error, written


@pytest.fixture
def fake(monkeypatch):
    """Three experiments that note how they were run.

    The second has a full version, the third a choice of data.
    """

    def run(**options):
        module.calls.append(options)
        options["announce"]("a part")
        return {"values": [1.0, float("nan"), float("inf")], "pair": (1, 2)}

    def plot(results):
        figure = Figure()
        figure.subplots().plot(results["values"])
        return figure

    def summary(results):
        return f"{len(results['values'])} values"

    module = SimpleNamespace(run=run, plot=plot, summary=summary, calls=[])
    monkeypatch.setitem(sys.modules, "fake_experiment", module)
    for name, has_full in [("fake", False), ("fake-full", True)]:
        experiment = Experiment(name, "Nothing.", "fake_experiment", has_full)
        monkeypatch.setitem(EXPERIMENTS, name, experiment)
    of_data = Experiment("fake-data", "Nothing.", "fake_experiment", data=("this", "that"))
    monkeypatch.setitem(EXPERIMENTS, "fake-data", of_data)
    return module


def test_catalogue_answers_without_heavy_imports():
    script = (
        "import sys\n"
        "from gpflow_gi.experiments.catalogue import EXPERIMENTS\n"
        "print(*EXPERIMENTS)\n"
        "heavy = {'tensorflow', 'gpflow', 'matplotlib', 'numpy', 'scipy'} & set(sys.modules)\n"
        "sys.exit(', '.join(heavy) or 0)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert run.stdout.split() == [
        "toy", "toy-iwbo", "prior-scale", "num-inducing", "deep-linear", "global-local",
        "posteriors", "compositional", "eight-schools", "implicit", "inducing-inputs", "densities",
        "shift", "images", "large",
    ]  # fmt: skip


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_every_module_has_the_three_functions(name):
    experiment = EXPERIMENTS[name]
    assert experiment.name == name
    assert len(experiment.description) <= 70 and "\n" not in experiment.description
    module = import_module(experiment.module)
    assert all(callable(getattr(module, function)) for function in ("run", "plot", "summary"))


def test_options_reach_the_experiment(fake):
    said = []
    study.run("fake", fast=True, seed=3, announce=said.append, progress=False)
    study.run("fake-full", full=True, announce=said.append)
    first, second = fake.calls
    assert first == {"fast": True, "seed": 3, "announce": said.append, "progress": False}
    assert second["full"] is True and second["fast"] is False and second["seed"] == 0
    assert said == ["a part", "a part"]


def test_data_is_a_choice_where_there_is_one(fake):
    for data in (None, "this", "that"):
        study.run("fake-data", data=data, announce=lambda line: None)
    assert [call["data"] for call in fake.calls] == ["this", "this", "that"]


def test_a_folder_for_unfinished_work_reaches_those_that_can_be_resumed(
    fake, monkeypatch, tmp_path
):
    resumed = Experiment("fake-resumed", "Nothing.", "fake_experiment", is_resumable=True)
    monkeypatch.setitem(EXPERIMENTS, "fake-resumed", resumed)
    for name in ("fake", "fake-resumed", "fake-resumed"):
        study.run(name, announce=lambda line: None, checkpoints=tmp_path)
    study.run("fake-resumed", announce=lambda line: None, checkpoints=tmp_path, seed=1)
    study.run("fake-resumed", announce=lambda line: None, checkpoints=tmp_path, fast=True)
    study.run("fake-resumed", announce=lambda line: None)
    assert "checkpoints" not in fake.calls[0]
    folders = [call["checkpoints"] for call in fake.calls[1:]]
    # The same run again has the same folder, another one its own.
    names = ["seed0", "seed0", "seed1", "fast-seed0"]
    assert folders == [*(tmp_path / f"{name}-v{__version__}" for name in names), None]


def test_results_are_plain_and_say_what_made_them(fake):
    results = study.run("fake", seed=3, announce=lambda line: None)
    assert results["values"] == [1.0, None, None] and results["pair"] == [1, 2]
    assert results["experiment"] == "fake" and results["command"] == "experiment"
    assert results["options"] == {"fast": False, "seed": 3}
    assert {"gpflow_gi", "gpflow", "tensorflow", "python"} <= set(results["versions"])
    assert results["seconds"] >= 0
    assert json.loads(json.dumps(results, allow_nan=False)) == results


def test_figure_and_table_come_from_the_file(fake, tmp_path):
    results = study.run("fake", announce=lambda line: None)
    study.write(results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES)

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    read = json.loads((tmp_path / "results.json").read_text(), parse_constant=refuse)
    assert read == results
    picture = imread(tmp_path / "figure.png")
    again = tmp_path / "again"
    again.mkdir()
    study.write(read, again)
    np.testing.assert_array_equal(imread(again / "figure.png"), picture)
    assert study.summary(read) == "3 values"


@pytest.mark.parametrize(
    "name, options, message",
    [
        ("toys", {}, "name must be one of toy, "),
        ("fake", {"full": True}, "fake has no full version"),
        ("fake-full", {"full": True, "fast": True}, "not both"),
        ("fake", {"data": "this"}, "fake runs on its own data, not on 'this'"),
        ("fake-data", {"data": "these"}, "fake-data runs on this, that, not on 'these'"),
    ],
)
def test_what_cannot_be_run_is_refused(fake, name, options, message):
    with pytest.raises(ValueError, match=message):
        study.run(name, **options)
    assert fake.calls == []


def test_none_stands_for_what_json_cannot_hold():
    value = {"a": [float("nan"), (1, float("-inf"))], "b": "nan", "c": None, "d": True}
    assert with_none_for_non_finite(value) == {
        "a": [None, [1, None]],
        "b": "nan",
        "c": None,
        "d": True,
    }


def test_estimates_and_how_they_are_written():
    estimate = mean_and_standard_error([1.0, 2.0, 3.0, 6.0])
    assert estimate["mean"] == 3.0
    assert estimate["standard_error"] == pytest.approx(np.sqrt(14 / 3 / 4))
    assert written(estimate) == "3.00 ± 1.08"
    assert written(mean_and_standard_error([1.234]), 1) == "1.2"
    assert written({"mean": None, "standard_error": None}) == "-"

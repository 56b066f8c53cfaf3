"""A comparison whose models fail, or that is interrupted: what has ended is kept, and said."""

import json
import os
import re
from types import SimpleNamespace

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from matplotlib.image import imread

from gpflow_gi.benchmark import train
from gpflow_gi.benchmark.results_folder import ResultsFolderError
from gpflow_gi.bounds import Estimate
from gpflow_gi.cli import main
from gpflow_gi.experiments import report
from gpflow_gi.experiments.settings import FILES
from gpflow_gi.training import FitRecord, NonFiniteError, Recovery, Report

NAMES = ["Sparse GP", "Deep GP, local", "Deep GP, global"]


def a_record(step=20):
    return FitRecord(
        reports=[Report(i, 0.1 * i, -50.0 / i, 1.0, 1.0, 0.01) for i in range(10, step + 1, 10)]
    )


@pytest.fixture
def table(tmp_path):
    """The arguments that name a small table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 2))
    rows = [f"{a},{b},{np.sin(a) + 0.1 * b}" for a, b in X]
    path = tmp_path / "table.csv"
    path.write_text("\n".join(["a,b,y", *rows]))
    return ["--data", str(path), "--target", "y"]


def measured(model, X, num_samples, seed=0):
    """Some prediction, without a model."""
    return np.zeros((1, len(X), 1)), np.ones((1, len(X), 1))


@pytest.fixture
def comparing(monkeypatch, table, tmp_path, capsys):
    """Run the command; in the place of training, functions are called, one for each model.

    They are given the folder of the results, and return a record or raise. Unless they are to be
    `real`, models and measures are made up too, and so are figures unless they are to be `drawn`.
    """
    out = tmp_path / "out"

    def run(*functions, data=table, more=(), real=False, drawn=False):
        left = list(functions)
        if not real:
            for name in ("build_sparse_gp", "build_deep_gp"):
                monkeypatch.setattr(train.architectures, name, lambda *_, **__: tf.Module())
            monkeypatch.setattr(train, "_few_numbers", lambda model: {})
            monkeypatch.setattr(train, "predictive_components", measured)
            monkeypatch.setattr(train, "estimate_elbo", lambda *_, **__: Estimate(-1.0, 0.1))
            if not drawn:
                monkeypatch.setattr(report, "_picture", lambda figure: b"a picture")

        def fit(model, data, **options):
            return left.pop(0)(out)

        monkeypatch.setattr(train, "fit", fit)
        fixed = ["--num-inducing", "5", "--test-samples", "3", "--out", str(out)]
        code = main(["compare", *data, *fixed, *more])
        assert left == []
        said = capsys.readouterr()
        return SimpleNamespace(
            code=code, out=said.out, words=" ".join(said.out.split()), err=said.err
        )

    run.out = out
    return run


def works(out):
    return a_record()


def fails(out):
    raise NonFiniteError("The bound is nan\nin step 17.", step=17, record=a_record(10))


def numbers_in(out):
    return json.loads((out / "results.json").read_text())


@pytest.mark.slow
def test_a_model_that_fails_has_a_row_that_says_so_and_the_others_are_compared(comparing):
    run = comparing(works, fails, works, real=True)
    assert run.code == 1
    assert run.err == (
        "gpflow-gi: error: 1 of 3 models failed: Deep GP, local (The bound is nan in step 17.)\n"
    )
    lines = run.out.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("---"))
    assert [line[:16].strip() for line in lines[start + 1 : start + 4]] == NAMES
    assert lines[start + 2].split() == ["Deep", "GP,", "local", "failed", *5 * "-"]
    assert "Deep GP, local failed: The bound is nan in step 17." in run.words
    assert "a difference in log density" in run.words  # of the two that there are
    assert all(len(line) <= 80 for line in lines if str(comparing.out) not in line)

    assert {path.name for path in comparing.out.iterdir()} == set(FILES)
    numbers = numbers_in(comparing.out)
    assert numbers["models_left"] == []
    first, failed, last = numbers["models"]
    assert [one["name"] for one in numbers["models"]] == NAMES
    assert (first["status"], failed["status"], last["status"]) == ("done", "failed", "done")
    assert failed["error"]["type"] == "NonFiniteError"
    assert failed["error"]["message"] == "The bound is nan in step 17."
    assert "in fails" in failed["error"]["traceback"]
    assert failed["training"]["step"] == 10 and first["training"]["step"] == 20
    assert np.isfinite([first["rmse"], last["rmse"]]).all() and "rmse" not in failed
    table = (comparing.out / "table.txt").read_text()
    assert table.strip() in run.out
    assert imread(comparing.out / "predictions.png").shape[1] == 1200  # two panels


@pytest.mark.slow
@pytest.mark.parametrize("where", ["building", "measuring", "predicting"])
def test_whatever_fails_is_a_row(comparing, monkeypatch, where):
    def raises(*arguments, **options):
        raise ValueError("no\nsuch thing" + 1000 * "!")

    if where == "building":
        monkeypatch.setattr(train.architectures, "build_deep_gp", raises)
        run = comparing(works, real=True)
    else:
        if where == "measuring":
            monkeypatch.setattr(train, "estimate_elbo", raises)
        else:
            nan = (np.full((1, 3, 1), np.nan), np.ones((1, 3, 1)))
            monkeypatch.setattr(train, "predictive_components", lambda *_, **__: nan)
        run = comparing(works, works, works, real=True)
    assert run.code == 1
    if where == "predicting":
        why = "ArithmeticError: predictions of held-out rows are not finite."
    else:
        why = f"ValueError: no such thing{487 * '!'}… (all of it is in results.json)"
    # A word that long is broken into lines.
    assert f"Deep GP, global failed: {why}".replace(" ", "") in run.words.replace(" ", "")
    assert why in run.err
    last = numbers_in(comparing.out)["models"][-1]
    assert (last["training"] is None) == (where == "building")
    left = [one["name"] for one in numbers_in(comparing.out)["models"] if one["status"] == "done"]
    assert left == (["Sparse GP"] if where == "building" else [])


def test_a_file_of_an_earlier_run_is_named(comparing, tmp_path):
    """The folder may hold the model that has failed now, as it was trained before."""
    models = tmp_path / "models"
    models.mkdir()
    for name in ("dgp-local", "unknown"):
        (models / f"{name}.gi").write_text("a model")
    run = comparing(fails, fails, fails, more=["--save", str(models)])
    said = re.findall(r"(\S+) is of an earlier run: this one saved no such model", run.words)
    assert said == [str(models / "dgp-local.gi")] and "The models are in" not in run.words


def test_no_model_but_failures(comparing):
    """No figures; none of an earlier comparison is left either."""
    comparing.out.mkdir()
    for name in FILES:
        (comparing.out / name).write_text("of earlier results")
    run = comparing(fails, fails, fails)
    assert run.code == 1 and "3 of 3 models failed" in run.err
    assert {path.name for path in comparing.out.iterdir()} == {"results.json", "table.txt"}
    assert [one["status"] for one in numbers_in(comparing.out)["models"]] == 3 * ["failed"]


def test_each_model_is_kept_as_it_ends(comparing):
    seen = []

    def looks(out):
        numbers = numbers_in(out)
        seen.append(([one["name"] for one in numbers["models"]], numbers["models_left"]))
        assert {path.name for path in out.iterdir()} == set(FILES)
        text = (out / "table.txt").read_text()
        assert f"Not there yet: {'; '.join(numbers['models_left'])}." in text
        return a_record()

    assert comparing(works, looks, looks).code == 0
    assert seen == [(NAMES[:1], NAMES[1:]), (NAMES[:2], NAMES[2:])]
    assert "Not there yet" not in (comparing.out / "table.txt").read_text()


def interrupts(out):
    raise KeyboardInterrupt


def test_an_interrupt_keeps_what_has_ended(comparing):
    run = comparing(works, fails, interrupts)
    assert run.code == 130
    assert run.err == (
        f"gpflow-gi: error: interrupted; what has ended before is in {comparing.out}{os.sep}\n"
    )
    assert [one["status"] for one in numbers_in(comparing.out)["models"]] == ["done", "failed"]


def test_an_interrupt_of_the_first_model_leaves_earlier_results(comparing):
    comparing.out.mkdir()
    (comparing.out / "results.json").write_text("of earlier results")
    run = comparing(interrupts)
    assert run.code == 130
    assert run.err == "gpflow-gi: error: interrupted before it was done.\n"
    assert (comparing.out / "results.json").read_text() == "of earlier results"


@pytest.mark.parametrize("full", [1, 3])
def test_a_disk_that_is_full_does_not_end_training(comparing, monkeypatch, full):
    """For the first of three models, or to the end."""
    put, calls = report.put_file, []

    def put_if_there_is_room(path, content):
        calls.extend([1] * (path.name == "results.json"))
        if len(calls) <= full:
            raise ResultsFolderError(f"{path} cannot be written: No space left on device.")
        put(path, content)

    monkeypatch.setattr(report, "put_file", put_if_there_is_room)
    run = comparing(works, works, works)
    said = f"gpflow-gi: error: {comparing.out}/results.json cannot be written: No space left on dev"
    assert run.err.count(said) == full and run.err.count("\n") == full
    assert "Deep GP, global" in run.words.rpartition("----")[2]  # in the table
    if full == 1:
        assert run.code == 0 and len(numbers_in(comparing.out)["models"]) == 3
        assert "It is tried again after the next model." in run.err
    else:
        assert run.code == 2 and not comparing.out.exists()


def test_a_figure_that_cannot_be_drawn_costs_nothing_else(comparing, monkeypatch):
    def fails(comparison):
        raise OverflowError("too\nlarge.")

    monkeypatch.setattr(report, "training_figure", fails)
    run = comparing(works, works, works)
    said = f"{comparing.out}/training_curves.png cannot be drawn: OverflowError: too large"
    assert run.code == 2 and run.err.count(said) == 3
    assert len(numbers_in(comparing.out)["models"]) == 3 and "Deep GP, global" in run.out


def test_what_training_had_to_change_is_said(comparing):
    def recovers(out):
        record = a_record()
        record.recoveries = [Recovery(12, "layer 1", jitter=1e-5)]
        record.shortcoming = "The ELBO\nstill rises."
        return record

    run = comparing(works, recovers, works)
    assert run.code == 0
    sentence = (
        "At step 12 layer 1 was NaN or infinite: the jitter of this model was raised to 1e-05."
    )
    assert f"Deep GP, local: {sentence}" in run.words
    assert "Deep GP, local: The ELBO still rises." in run.words
    first, second, third = numbers_in(comparing.out)["models"]
    assert second["notes"] == [sentence, "The ELBO\nstill rises."]
    assert first["notes"] == third["notes"] == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, target",
    [
        (b"cost in $x_{$.csv", r"$\frac{$ y"),
        (b"caf\xe9.csv", "東京 😀 é"),
        (b"a\\1\n\x1b[31m" + 100 * b"x" + b".csv", "\\udc80"),
    ],
)
def test_any_name_of_data_and_columns(comparing, tmp_path, name, target):
    path = tmp_path / os.fsdecode(name)
    rows = "".join(f"{i},{i * i % 7}\n" for i in range(12))
    try:
        path.write_text(f"a,{target}\n{rows}", encoding="utf-8")
    except OSError:
        pytest.skip("this file system takes no such names")
    run = comparing(works, fails, fails, data=["--data", str(path), "--target", target], drawn=True)
    assert run.code == 1 and "cannot be" not in run.err
    assert {found.name for found in comparing.out.iterdir()} == {*FILES} - {"map.png"}
    assert numbers_in(comparing.out)["data"]["target"] == target
    assert "\x1b" not in run.out.replace(str(comparing.out), "")


def test_the_options_reach_training(comparing, monkeypatch):
    """Jitter within the comparison alone, and the rule for its end."""
    before, seen = gpflow.default_jitter(), []
    real = train.train_by

    def watched(numbers, model, data, **options):
        seen.append((gpflow.default_jitter(), options["until_converged"]))
        return real(numbers, model, data, **options)

    monkeypatch.setattr(train, "train_by", watched)
    run = comparing(works, works, converges, more=["--jitter", "1e-4", "--until-converged"])
    assert seen == 3 * [(1e-4, True)] and gpflow.default_jitter() == before
    assert "Deep GP, local had not yet converged after 20 steps." in run.words
    assert "Deep GP, global had converged after 20 steps." in run.words
    assert numbers_in(comparing.out)["settings"]["jitter"] == 1e-4
    assert "plays no part" not in run.words
    run = comparing(works, works, lambda out: FitRecord(), more=["--until-converged"])
    assert "Deep GP, global: --until-converged plays no part in its training." in run.words


def converges(out):
    record = a_record()
    record.stopped = "converged"
    return record


@pytest.mark.longest
def test_a_table_with_two_inputs_has_a_map(comparing):
    """Of places at random; and no map is left where the next table has none."""
    assert comparing(works, fails, works, drawn=True).code == 1
    assert imread(comparing.out / "map.png").shape[:2] == (960, 3 * 465)  # two models
    one_input = comparing.out.parent / "one.csv"
    one_input.write_text("a,y\n" + "".join(f"{i},{i * i % 7}\n" for i in range(12)))
    data = ["--data", str(one_input), "--target", "y"]
    assert comparing(works, works, works, data=data, drawn=True).code == 0
    assert not (comparing.out / "map.png").exists()


def test_what_a_killed_run_left_is_written_over(comparing):
    comparing.out.mkdir()
    (comparing.out / ".results.json.part").write_text("half of it")
    assert comparing(works, works, works).code == 0
    assert {path.name for path in comparing.out.iterdir()} == set(FILES)

"""A run that is stopped and resumed ends where one that never stopped ends."""

import functools
import json
import os
import signal
import threading

import gpflow
import numpy as np
import pytest
from gpflow.keras import tf_keras

from gpflow_gi.training import NoRise
from gpflow_gi.training.checkpoint_file import name_of_step, step_of_name
from gpflow_gi.training.checkpoints import INDEX
from gpflow_gi.training.run import Run

from .models import LinearModel, assert_same, linear_data, noisy, train

pytestmark = pytest.mark.compiled
DATA = linear_data()
SETTINGS = {
    "batch_size": 6,
    "kl_warmup": 20,
    "learning_rate": tf_keras.optimizers.schedules.ExponentialDecay(0.05, 10, 0.9),
    "seed": 4,
}


class Stop(Exception):
    pass


def stop_at(step, error=Stop):
    def callback(report):
        if report.step >= step:
            raise error

    return callback


@pytest.fixture
def eager_checkpoints(monkeypatch):
    """A report after every step and a checkpoint at every report."""
    monkeypatch.setattr("gpflow_gi.training.pace.CALL_SECONDS", 0.0)
    monkeypatch.setattr("gpflow_gi.training.checkpoints.EVERY_SECONDS", 0.0)


# 7 lies within an epoch of 3 steps.
@pytest.mark.parametrize("stops", [pytest.param((1,), marks=pytest.mark.slow), (7, 8, 20)])
def test_resume_is_exact(tmp_path, eager_checkpoints, stops):
    directory = tmp_path / "run"
    for stop in stops:
        with pytest.raises(Stop):
            train(
                LinearModel(20),
                DATA,
                steps=25,
                checkpoint_dir=directory,
                callbacks=[stop_at(stop)],
                **SETTINGS,
            )
    resumed, whole = LinearModel(20), LinearModel(20)
    record = train(resumed, DATA, steps=25, checkpoint_dir=directory, **SETTINGS)
    reference = train(whole, DATA, steps=25, **SETTINGS)
    assert_same(resumed, whole)
    assert [r.step for r in record.reports] == list(range(1, 26))
    for a, b in zip(record.reports, reference.reports, strict=True):
        assert (a.expected_log_likelihood, a.kl) == (b.expected_log_likelihood, b.kl)
        assert (a.kl_weight, a.learning_rate) == (b.kl_weight, b.learning_rate)
    assert np.all(np.diff([r.seconds for r in record.reports]) > 0)


def test_a_finished_run_is_returned_and_can_be_continued(tmp_path):
    model = LinearModel(20)
    first = train(model, DATA, steps=5, checkpoint_dir=tmp_path, **SETTINGS)
    again = LinearModel(20)
    record = train(again, DATA, steps=5, checkpoint_dir=tmp_path, **SETTINGS)
    assert record.to_dict() == first.to_dict()
    assert again.num_traces == 0
    assert_same(again, model)
    train(again, DATA, steps=9, checkpoint_dir=tmp_path, **SETTINGS)
    whole = LinearModel(20)
    train(whole, DATA, steps=9, **SETTINGS)
    assert_same(again, whole)
    with pytest.raises(ValueError, match="9 steps already, more than steps=5"):
        train(LinearModel(20), DATA, steps=5, checkpoint_dir=tmp_path, **SETTINGS)


def test_directory_holds_two_checkpoints_and_what_was_there(tmp_path, eager_checkpoints):
    theirs = {
        *("ckpt-2.json", "ckpt-7.index", "ckpt-best.h5", "record.tmp", "checkpoint", "notes.txt"),
        *("gpflow_gi-checkpoint-x.npz", "gpflow_gi-checkpoint-1.npz.txt"),
    }
    for name in theirs:
        (tmp_path / name).write_text(f"the user's {name}")
    (tmp_path / "ckpt-3.data").mkdir()
    train(LinearModel(20), DATA, steps=2, checkpoint_dir=tmp_path, **SETTINGS)
    train(LinearModel(20), DATA, steps=4, checkpoint_dir=tmp_path, **SETTINGS)
    ours = {INDEX, name_of_step(3), name_of_step(4)}
    assert {path.name for path in tmp_path.iterdir()} == {*theirs, "ckpt-3.data", *ours}
    assert all((tmp_path / name).read_text() == f"the user's {name}" for name in theirs)


def test_checkpoint_is_a_file_of_numpys(tmp_path):
    model = LinearModel(20)
    train(model, DATA, steps=3, checkpoint_dir=tmp_path)
    with np.load(tmp_path / name_of_step(3)) as arrays:
        np.testing.assert_array_equal(
            arrays["model/mean/_pretransformed_input"], model.mean.numpy()
        )
        assert arrays["step"] == 3
        about = json.loads(arrays["about.json"])
    assert about["record"]["step"] == 3
    assert about["description"]["model"] == "tests.training.models:LinearModel"


def test_interrupt_in_a_callback(tmp_path):
    model, resumed, whole = (LinearModel(20) for _ in range(3))
    with pytest.raises(KeyboardInterrupt):
        train(
            model,
            DATA,
            steps=25,
            checkpoint_dir=tmp_path,
            callbacks=[stop_at(2, KeyboardInterrupt)],
            **SETTINGS,
        )
    record = train(resumed, DATA, steps=25, checkpoint_dir=tmp_path, **SETTINGS)
    train(whole, DATA, steps=25, **SETTINGS)
    assert_same(resumed, whole)
    assert record.step == 25


def test_a_rule_for_the_end_sees_no_hole_after_an_interrupt(tmp_path, monkeypatch):
    """Steps without a report would be missing in the means by which it decides."""
    model, resumed, expected = (LinearModel(20) for _ in range(3))
    settings = {**SETTINGS, "until_converged": NoRise(0.0, 10), "steps": 10**4}
    steps, report = [], Run._report

    def interrupted(self, outcome):
        steps.append(outcome.step)
        if len(steps) == 3:  # before there is a report
            raise KeyboardInterrupt
        return report(self, outcome)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Run, "_report", interrupted)
        train(model, DATA, checkpoint_dir=tmp_path, **settings)
    train(expected, DATA, steps=steps[1], **SETTINGS)
    assert steps[1] < steps[2]
    assert_same(model, expected)
    record = train(resumed, DATA, checkpoint_dir=tmp_path, **settings)
    assert record.step == train(LinearModel(20), DATA, **settings).step < 10**4


@pytest.mark.slow
def test_interrupt_within_a_call(tmp_path):
    """As from the keyboard, at any moment: parameters and step still belong together."""
    model, expected = LinearModel(20), LinearModel(20)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))

    def start_timer(report):
        if report.step == 1:
            timer.start()

    with pytest.raises(KeyboardInterrupt):
        train(
            model,
            DATA,
            steps=10**8,
            checkpoint_dir=tmp_path,
            callbacks=[start_timer],
            **SETTINGS,
        )
    timer.join()
    step = _latest_step(tmp_path)
    assert step >= 1
    train(expected, DATA, steps=step, **SETTINGS)
    assert_same(model, expected)


@pytest.mark.parametrize(
    "changed, name",
    [
        ({"seed": 5}, "seed"),
        ({"batch_size": 7}, "batch_size"),
        ({"batch_size": None}, "batch_size"),
        ({"kl_warmup": 0}, "kl_warmup"),
        ({"temperature": 0.5}, "temperature"),
        ({"augment": noisy}, "augment"),
        ({"num_samples": 2}, "num_samples"),
        ({"learning_rate": 0.01}, "learning_rate"),
        (
            {"learning_rate": tf_keras.optimizers.schedules.ExponentialDecay(0.05, 10, 0.8)},
            "learning_rate decay_rate",
        ),
        ({"optimizer": tf_keras.optimizers.SGD()}, "optimizer"),
        ({"optimizer": tf_keras.optimizers.Adam(beta_1=0.5)}, "optimizer beta_1"),
        ({"data": linear_data(18)}, "number of rows"),
        ({"data": linear_data(20, seed=1)}, "the data's checksum"),
        ({"data": linear_data(20, num_inputs=3)}, "columns of X"),
        ({"model": "fixed noise"}, "parameter .noise"),
    ],
)
def test_other_settings_are_refused_by_name(tmp_path_factory, changed, name):
    directory = _run_of_three(tmp_path_factory)
    kwargs = {**SETTINGS, **changed}
    data = kwargs.pop("data", DATA)
    model = LinearModel(len(data[0]), num_inputs=data[0].shape[1])
    if kwargs.pop("model", None):
        gpflow.set_trainable(model.noise, False)
    before = sorted(os.listdir(directory))
    with pytest.raises(ValueError, match=f"with {name} = .*, but this one has {name} = "):
        train(model, data, steps=5, checkpoint_dir=directory, **kwargs)
    assert sorted(os.listdir(directory)) == before
    assert np.all(model.mean.numpy() == 0.0)


@pytest.mark.slow
def test_augmented_runs_resume_exactly_with_the_same_arguments(tmp_path):
    models = [LinearModel(20) for _ in range(3)]
    settings = {**SETTINGS, "augment": functools.partial(noisy, scale=0.5)}
    train(models[0], DATA, steps=7, checkpoint_dir=tmp_path, **settings)
    other = {**SETTINGS, "augment": functools.partial(noisy, scale=0.6)}
    with pytest.raises(ValueError, match=r"noisy\(scale=0.5\), but .* noisy\(scale=0.6\)"):
        train(models[1], DATA, steps=10, checkpoint_dir=tmp_path, **other)
    resumed = train(models[1], DATA, steps=10, checkpoint_dir=tmp_path, **settings)
    whole = train(models[2], DATA, steps=10, **settings)
    assert_same(models[1], models[2])
    assert [(r.bound, r.objective) for r in resumed.reports] == [
        (r.bound, r.objective) for r in whole.reports
    ]


def test_learning_rate_of_the_optimizer_is_compared(tmp_path):
    SGD = tf_keras.optimizers.SGD
    train(LinearModel(20), DATA, steps=2, optimizer=SGD(0.02), checkpoint_dir=tmp_path)
    with pytest.raises(ValueError, match=r"learning_rate = 0.02, but .* learning_rate = 0.03"):
        train(LinearModel(20), DATA, steps=4, optimizer=SGD(0.03), checkpoint_dir=tmp_path)
    train(LinearModel(20), DATA, steps=4, optimizer=SGD(0.02), checkpoint_dir=tmp_path)


def test_directories_that_do_not_do(tmp_path):
    path = tmp_path / "file"
    path.write_text("")
    with pytest.raises(ValueError, match="checkpoint_dir cannot be made"):
        train(LinearModel(20), DATA, steps=1, checkpoint_dir=path)
    with pytest.raises(ValueError, match="checkpoint_dir cannot be made: embedded null"):
        train(LinearModel(20), DATA, steps=1, checkpoint_dir="a\0b")
    with pytest.raises(ValueError, match="checkpoint_dir is an empty string"):
        train(LinearModel(20), DATA, steps=1, checkpoint_dir="")
    for no_path in (3, ["run"], b"run", True, object()):
        with pytest.raises(TypeError, match="must be the path of a folder, but is"):
            train(LinearModel(20), DATA, steps=1, checkpoint_dir=no_path)
    with pytest.raises(ValueError, match="needs a seed"):
        train(LinearModel(20), DATA, steps=1, checkpoint_dir=tmp_path, seed=None)


_directory = None


def _run_of_three(tmp_path_factory):
    """One run of three steps, made once."""
    global _directory
    if _directory is None:
        _directory = tmp_path_factory.mktemp("run")
        train(LinearModel(20), DATA, steps=3, checkpoint_dir=_directory, **SETTINGS)
    return _directory


def _latest_step(directory):
    steps = [step_of_name(path.name) for path in directory.iterdir()]
    return max((step for step in steps if step is not None), default=0)

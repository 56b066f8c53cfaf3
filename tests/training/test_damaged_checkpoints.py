"""Damaged checkpoints: a run continues from the newest complete one, or raises an error."""

import functools
import json
import os
import resource
import shutil
import warnings
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.training import FitRecord, Report
from gpflow_gi.training.checkpoint_file import (
    UNFINISHED,
    DamagedError,
    Saved,
    name_of_step,
    read,
    versions,
    write,
)
from gpflow_gi.training.checkpoints import INDEX, Checkpoints

from .models import LinearModel, assert_same, noisy, train
from .test_checkpoints import DATA, SETTINGS

EARLIER = Path(__file__).parent / "checkpoint_of_0_1"


class Run:
    """The state of a run, without the steps."""

    def __init__(self, directory, **kwargs):
        self.step = tf.Variable(0, dtype=tf.int64)
        self.variables = [tf.Variable([0.0, 0.0]), tf.Variable(0.0, dtype=tf.float64)]
        model = tf.Module()
        model.inner = {"a/b": self.variables}
        self.settings = {"seed": 1}
        self.checkpoints = Checkpoints(
            directory,
            {"model": model, "step": self.step},
            self.settings,
            **{"description": {"model": "mine"}, **kwargs},
        )

    def save(self, *steps):
        """As if these steps had been taken."""
        for step in steps:
            self.step.assign(step)
            self.variables[0].assign([step, 2.0 * step])
            self.variables[1].assign(0.1 * step)
            report = Report(step, 0.1, -1.0, 2.0, 1.0, 0.01)
            self.checkpoints.save(FitRecord(self.settings, [report]))
        return self

    def restored(self):
        """The step that the state and the record agree on."""
        record = self.checkpoints.restore()
        step = 0 if record is None else record.step
        assert self.step.numpy() == step
        np.testing.assert_array_equal(self.variables[0].numpy(), [step, 2.0 * step])
        assert self.variables[1].numpy() == np.float64(0.1 * step)
        return step


def files_in(directory):
    return {path.name: path.read_bytes() for path in Path(directory).iterdir()}


def emptied(path):
    path.write_bytes(b"")


def zeroed(path):
    path.write_bytes(bytes(len(path.read_bytes())))


def truncated(path):
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def flipped(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def removed(path):
    path.unlink()


HARM = [emptied, zeroed, truncated, flipped, removed]


@pytest.mark.slow
def test_any_byte_changed_and_any_length_is_noticed(tmp_path):
    path, other = tmp_path / "whole", tmp_path / "other"
    whole = Saved({"step": 1}, {"a": "b"}, versions(), {"v": np.arange(3.0), "w": np.array(2)})
    write(path, whole)
    content = path.read_bytes()
    changed = [
        content[:i] + bytes([content[i] ^ 255]) + content[i + 1 :] for i in range(len(content))
    ]
    shortened = [content[:i] for i in range(len(content))]
    unnoticed = 0
    for damaged in [*changed, *shortened]:
        other.write_bytes(damaged)
        try:
            saved = read(other, {})
        except DamagedError:
            continue
        unnoticed += 1  # a byte that nothing depends on, such as one of a date
        assert (saved.record, saved.description, saved.versions) == (
            whole.record,
            whole.description,
            whole.versions,
        )
        assert all(np.array_equal(saved.values[name], v) for name, v in whole.values.items())
        assert len(damaged) == len(content)
    assert unnoticed < 250


def test_nothing_of_a_damaged_file_is_interpreted(tmp_path):
    """A shape that is damaged may ask for all of the memory."""
    path = tmp_path / "whole"
    write(path, Saved({}, {}, {}, {"v": np.arange(3.0)}))
    path.write_bytes(path.read_bytes().replace(b"(3,)", b"(9,)"))
    with pytest.raises(DamagedError, match=r"it is damaged, at v\.npy"):
        read(path, {})


@pytest.mark.parametrize("harm", HARM)
def test_the_one_before_a_damaged_one_is_taken(tmp_path, harm):
    Run(tmp_path).save(3, 5, 8)
    harm(tmp_path / name_of_step(8))
    run = Run(tmp_path)
    with pytest.warns(UserWarning, match=f"{name_of_step(8)}: it is .* goes on from .* of step 5"):
        assert run.restored() == 5
    # The damaged one goes once there are two that are whole.
    run.save(6)
    assert set(files_in(tmp_path)) == {INDEX, name_of_step(5), name_of_step(6)}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert Run(tmp_path).restored() == 6


@pytest.mark.parametrize("harm", HARM)
def test_the_index_is_not_needed(tmp_path, harm):
    Run(tmp_path).save(3, 5)
    (tmp_path / "ckpt-1.data").write_text("the user's")
    harm(tmp_path / INDEX)
    run = Run(tmp_path)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert run.restored() == 5
    # A run that is killed before it has written the index has none, and nothing is wrong.
    assert ["the index" in str(one.message) for one in caught] == [True] * (harm is not removed)
    run.save(6, 7)
    # Nothing says any more that 3 is this run's.
    there = {INDEX, *map(name_of_step, (3, 6, 7)), "ckpt-1.data"}
    assert set(files_in(tmp_path)) == there
    assert Run(tmp_path).restored() == 7


@pytest.mark.parametrize("names", [["../kept"], ["kept"], 3, [3], [None], "kept", {"kept": 1}])
def test_an_index_cannot_have_other_files_deleted(tmp_path, names):
    directory = tmp_path / "run"
    kept = [tmp_path / "kept", directory / "kept"]
    Run(directory).save(3)
    for path in kept:
        path.write_text("kept")
    (directory / INDEX).write_text(json.dumps({"checkpoints": names}))
    run = Run(directory)
    with pytest.warns(UserWarning, match="the index .* is damaged"):
        assert run.restored() == 3
    run.save(4, 5, 6)
    assert all(path.read_text() == "kept" for path in kept)


@pytest.mark.parametrize("harm", HARM)
def test_where_none_can_be_read_nothing_is_started_and_nothing_deleted(tmp_path, harm):
    Run(tmp_path).save(3, 5)
    for step in (3, 5):
        harm(tmp_path / name_of_step(step))
    before = files_in(tmp_path)
    run = Run(tmp_path)
    with pytest.raises(
        ValueError, match=r"no checkpoint can be read: .*-5\.npz: .*-3\.npz: .*anew"
    ):
        run.checkpoints.restore()
    assert run.step.numpy() == 0
    assert files_in(tmp_path) == before

    if harm is not removed:
        harm(tmp_path / INDEX)
        with pytest.raises(ValueError, match="no checkpoint can be read"):
            Run(tmp_path).checkpoints.restore()


def test_what_a_kill_leaves_behind_is_used_again(tmp_path):
    run = Run(tmp_path).save(1)
    (tmp_path / UNFINISHED).write_bytes(b"half a checkpoint")
    run.save(2)
    assert set(files_in(tmp_path)) == {INDEX, name_of_step(1), name_of_step(2)}


@pytest.mark.parametrize("limit", [0, 500, 1000])
def test_full_disk(tmp_path, limit):
    run = Run(tmp_path).save(1, 2)
    before = files_in(tmp_path)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limits[1]))
    try:
        with pytest.raises(OSError) as caught:
            run.save(3)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert str(caught.value).startswith("The checkpoint of step 3 cannot be written to ")
    assert "File too large" in str(caught.value)
    assert files_in(tmp_path) == before
    run.save(3)
    assert Run(tmp_path).restored() == 3


@pytest.mark.slow
def test_a_run_on_a_full_disk_can_be_taken_up_again(tmp_path, monkeypatch):
    train(LinearModel(20), DATA, steps=3, checkpoint_dir=tmp_path, **SETTINGS)
    stopped, whole = LinearModel(20), LinearModel(20)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(OSError, match=r"checkpoint of step 6 .*No space left.* resumes from"):
            train(stopped, DATA, steps=6, checkpoint_dir=tmp_path, **SETTINGS)
    train(whole, DATA, steps=6, **SETTINGS)
    assert_same(stopped, whole)
    resumed = LinearModel(20)
    assert train(resumed, DATA, steps=6, checkpoint_dir=tmp_path, **SETTINGS).step == 6
    assert_same(resumed, whole)


def test_another_runs_checkpoints_are_refused(tmp_path):
    Run(tmp_path).save(3)
    before = files_in(tmp_path)
    with pytest.raises(ValueError, match="another run: model is mine there, and yours here"):
        Run(tmp_path, description={"model": "yours"}).checkpoints.restore()
    with pytest.raises(ValueError, match=r"model\.x is not there there, and 1 here"):
        Run(tmp_path, description={"model": "mine", "model.x": "1"}).checkpoints.restore()
    run = Run(tmp_path)
    run.settings["seed"] = 2
    with pytest.raises(ValueError, match="a run with seed = 1, but this one has seed = 2"):
        run.checkpoints.restore()
    assert files_in(tmp_path) == before


def test_other_versions(tmp_path, monkeypatch):
    """A class may have got an attribute, and Python compiles a function otherwise."""
    where = "gpflow_gi.training.checkpoint_file"
    described = {"model": "mine", "f.code": "1"}
    with monkeypatch.context() as patched:
        patched.setattr(f"{where}.__version__", "0.0.1")
        Run(tmp_path, description=described).save(3)
    now = {"model": "mine", "model.new": "None", "f.code": "2"}
    assert Run(tmp_path, description=now).restored() == 3
    with pytest.raises(ValueError, match=r"yours here. \(It was written with gpflow_gi 0.0.1, .*"):
        Run(tmp_path, description={"model": "yours"}).checkpoints.restore()

    with monkeypatch.context() as patched:
        patched.setattr(f"{where}.FORMAT", 2)
        patched.setattr(f"{where}.__version__", "9.0")
        Run(tmp_path).save(4)
    with pytest.raises(
        ValueError, match=r"written by gpflow_gi 9\.0, in a format that this version"
    ):
        Run(tmp_path).checkpoints.restore()


def test_variables_of_another_shape_are_refused(tmp_path):
    Run(tmp_path).save(3)
    run = Run(tmp_path)
    run.checkpoints._variables["model/inner/a.Sb/0"] = tf.Variable([0.0])
    with pytest.raises(ValueError, match=r"shape \[2\] for the variable model/inner/a.Sb/0 of"):
        run.checkpoints.restore()
    assert run.step.numpy() == 0


@pytest.fixture
def earlier(tmp_path):
    """A run of four steps that the first version of this library has left."""
    return shutil.copytree(EARLIER, tmp_path / "earlier")


def earlier_settings(scale=0.5):
    return {**SETTINGS, "augment": functools.partial(noisy, scale=scale)}


def test_earlier_checkpoints_are_resumed_and_left_alone(earlier):
    resumed, whole = LinearModel(20), LinearModel(20)
    before = files_in(earlier)
    with pytest.raises(ValueError, match=r"holds a run with augment = noisy\(scale=0.5\), but"):
        train(resumed, DATA, steps=9, checkpoint_dir=earlier, **earlier_settings(0.6))
    record = train(resumed, DATA, steps=9, checkpoint_dir=earlier, **earlier_settings())
    train(whole, DATA, steps=9, **earlier_settings())
    # Exactly, on the machine that wrote it.
    assert_same(resumed, whole, tolerance=1e-10)
    assert [report.step for report in record.reports[:4]] == [1, 2, 3, 4]
    after = files_in(earlier)
    assert set(after) - set(before) == {INDEX, name_of_step(9)}
    assert all(after[name] == content for name, content in before.items())
    again = LinearModel(20)
    train(again, DATA, steps=9, checkpoint_dir=earlier, **earlier_settings())
    assert_same(again, resumed)


@pytest.mark.slow
@pytest.mark.parametrize("end", ["index", "data-00000-of-00001", "json"])
def test_damaged_earlier_checkpoints(earlier, end):
    harm = zeroed if end.startswith("data") else truncated
    harm(earlier / f"ckpt-4.{end}")
    model = LinearModel(20)
    with pytest.warns(UserWarning, match=r"ckpt-4: its .* damaged.*goes on from .* of step 3"):
        record = train(model, DATA, steps=4, checkpoint_dir=earlier, **earlier_settings())
    assert [report.step for report in record.reports] == [1, 2, 3, 4]

    (earlier / name_of_step(4)).unlink()
    zeroed(earlier / f"ckpt-3.{end}")
    before = files_in(earlier)
    with pytest.raises(ValueError, match=r"no checkpoint can be read: .*ckpt-4: .*ckpt-3: "):
        train(LinearModel(20), DATA, steps=4, checkpoint_dir=earlier, **earlier_settings())
    assert files_in(earlier) == before


def test_other_checkpoints_of_tensorflows_are_not_ours(tmp_path):
    manager = tf.train.CheckpointManager(
        tf.train.Checkpoint(v=tf.Variable(1.0)), str(tmp_path), max_to_keep=1
    )
    manager.save()
    before = files_in(tmp_path)
    assert train(LinearModel(20), DATA, steps=1, checkpoint_dir=tmp_path).step == 1
    after = files_in(tmp_path)
    assert all(after[name] == content for name, content in before.items())

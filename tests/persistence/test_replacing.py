"""Files appear whole, with the mode of the umask, and leave nothing behind."""

import os
import signal
import stat
import subprocess
import sys
import time

import pytest

import gpflow_gi as gi
from gpflow_gi.persistence import replacing

from .fixtures.make import HERE

WRITES_FOR_EVER = """
import sys, time
from pathlib import Path
sys.modules["gpflow_gi"] = type(sys)("gpflow_gi")  # whose imports take long
sys.path.insert(0, {folder!r})
import replacing
def write(file):
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
replacing.replace(Path({path!r}), write)
"""


@pytest.fixture
def writer(tmp_path):
    """A process that is writing a file in the folder."""
    script = WRITES_FOR_EVER.format(
        folder=os.path.dirname(replacing.__file__), path=str(tmp_path / "other")
    )
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "writing\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def save(path):
    replacing.replace(path, lambda file: file.write(b"whole"))


def temporary(folder):
    return sorted(path.name for path in folder.glob(".gpflow-gi-*.tmp"))


def test_what_a_killed_process_left_is_removed_at_the_next_save(writer, tmp_path):
    theirs = [".gpflow-gi-notes.tmp", "mine.tmp", ".gpflow-gi-0123456789abcdef.tmp.txt", "tmpabcd"]
    for name in theirs:
        (tmp_path / name).write_text("of the user's")
    (tmp_path / ".gpflow-gi-0123456789abcdef.tmp").mkdir()  # ours are no folders
    left = set(temporary(tmp_path)) - {*theirs, ".gpflow-gi-0123456789abcdef.tmp"}
    assert len(left) == 1
    # As long as the process lives, it is left alone.
    save(tmp_path / "file")
    assert left <= set(temporary(tmp_path))
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    save(tmp_path / "file")
    assert not left & set(temporary(tmp_path))
    assert (tmp_path / "file").read_bytes() == b"whole" and not (tmp_path / "other").exists()
    assert all((tmp_path / name).read_text() == "of the user's" for name in theirs)
    assert (tmp_path / ".gpflow-gi-0123456789abcdef.tmp").is_dir()


def test_a_file_that_is_taken_away_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    if replacing.fcntl is None:
        pytest.skip("no locks here")
    lock, taken = replacing.fcntl.flock, []

    def flock(file, how):
        if how == replacing.fcntl.LOCK_EX and not taken:
            taken.extend(temporary(tmp_path))
            os.unlink(tmp_path / taken[0])
        lock(file, how)

    monkeypatch.setattr(replacing.fcntl, "flock", flock)
    save(tmp_path / "file")
    assert taken and (tmp_path / "file").read_bytes() == b"whole"
    assert not temporary(tmp_path)


@pytest.mark.parametrize("umask", [0o022, 0o027, 0o077, 0o002])
def test_the_mode_is_that_of_the_umask(umask, tmp_path):
    before = os.umask(umask)
    try:
        save(tmp_path / "file")
    finally:
        os.umask(before)
    mode = stat.S_IMODE((tmp_path / "file").stat().st_mode)
    assert mode == 0o666 & ~umask
    (tmp_path / "file").chmod(0o640)
    save(tmp_path / "file")
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_a_model_has_the_mode_of_the_umask(tmp_path):
    model = gi.load(HERE / "recorded.gi")
    before = os.umask(0o026)
    try:
        gi.save(model, tmp_path / "model")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "model").stat().st_mode) == 0o640
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_what_is_written_is_on_the_disk_before_it_is_renamed(tmp_path, monkeypatch):
    order = []
    monkeypatch.setattr(replacing.os, "fsync", lambda _: order.append("fsync"))
    rename = os.replace
    monkeypatch.setattr(
        replacing.os, "replace", lambda *names: (order.append("replace"), rename(*names))
    )
    save(tmp_path / "file")
    assert order == ["fsync", "replace"]


@pytest.mark.slow
@pytest.mark.longest
def test_a_save_that_is_killed_leaves_the_file_before_it_whole(tmp_path):
    """At any moment; what it leaves beside it goes away with the next save."""
    path = tmp_path / "model"
    gi.save(gi.load(HERE / "recorded.gi"), path)
    script = (
        "import sys, gpflow_gi as gi\n"
        f"model = gi.load({str(path)!r})\n"
        "print('saving', flush=True)\n"
        f"while True: gi.save(model, {str(path)!r})\n"
    )
    for i in range(3):
        process = subprocess.Popen(
            [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert process.stdout.readline() == b"saving\n"
        time.sleep(0.05 + 0.074 * i)
        process.kill()
        process.wait()
        process.stdout.close()
        gi.load(path)
    gi.save(gi.load(path), path)
    assert [one.name for one in tmp_path.iterdir()] == ["model"]

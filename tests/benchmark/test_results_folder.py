import os
from pathlib import Path

import pytest

from gpflow_gi.benchmark.results_folder import (
    ResultsFolderError,
    check_results_folder,
    results_folder,
)
from gpflow_gi.cli.compare import saved_in

FILES = ("results.json", "figure.png")


def fill(path, text="new"):
    with results_folder(path, FILES) as folder:
        (folder / "results.json").write_text(text)


def contents(path):
    return {str(found.relative_to(path)) for found in path.rglob("*")}


def test_appears_whole(tmp_path):
    path = tmp_path / "a" / "b"
    with results_folder(path, FILES) as folder:
        (folder / "results.json").write_text("{}")
        assert not path.exists()
    assert contents(tmp_path) == {"a", "a/b", "a/b/results.json"}
    # Readable by whoever can read an ordinary new folder.
    ordinary = tmp_path / "ordinary"
    ordinary.mkdir()
    assert path.stat().st_mode == ordinary.stat().st_mode


def test_replaces_earlier_results(tmp_path):
    path = tmp_path / "out"
    fill(path, "old")
    (path / "figure.png").touch()
    fill(path)
    assert contents(tmp_path) == {"out", "out/results.json"}
    assert (path / "results.json").read_text() == "new"


def test_an_empty_folder_is_filled(tmp_path):
    path = tmp_path / "out"
    path.mkdir()
    fill(path)
    assert contents(path) == {"results.json"}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [True, False])
def test_nothing_half_written_is_left(tmp_path, error, before):
    path = tmp_path / "out"
    if before:
        fill(path, "old")
    with pytest.raises(error), results_folder(path, FILES) as folder:
        (folder / "results.json").write_text("half")
        raise error
    assert contents(tmp_path) == ({"out", "out/results.json"} if before else set())
    assert not before or (path / "results.json").read_text() == "old"


def test_earlier_results_survive_a_failing_rename(tmp_path, monkeypatch):
    path = tmp_path / "out"
    fill(path, "old")
    rename = Path.rename

    def fail_for_the_new_one(self, target):
        if self.name == "new":
            raise OSError("the disk is gone")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new_one)
    with pytest.raises(ResultsFolderError, match="cannot be written: the disk is gone"):
        fill(path)
    assert (path / "results.json").read_text() == "old"
    assert contents(tmp_path) == {"out", "out/results.json"}


@pytest.mark.parametrize("fails", [False, True])
def test_the_working_directory_stays_what_it_is(tmp_path, monkeypatch, fails):
    """Results in "." replace its content, not the folder, which a shell would lose."""
    path = tmp_path / "out"
    fill(path, "old")
    (path / "figure.png").touch()
    monkeypatch.chdir(path)
    rename = Path.rename

    def fail_for_the_new_one(self, target):
        if fails and self.parent.name == "new":
            raise OSError("the disk is gone")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_for_the_new_one)
    if fails:
        with pytest.raises(ResultsFolderError, match="cannot be written: the disk is gone"):
            fill(Path("."))
    else:
        fill(Path("."))
    assert Path.cwd() == path and Path("results.json").read_text() == ("old" if fails else "new")
    kept = {"out/figure.png"} if fails else set()
    assert contents(tmp_path) == {"out", "out/results.json"} | kept


def test_what_is_not_ours_stays(tmp_path):
    path = tmp_path / "out"
    fill(path, "old")
    (path / "thesis.tex").touch()
    with pytest.raises(ResultsFolderError, match=r"holds 'thesis\.tex'"):
        check_results_folder(path, FILES)
    with pytest.raises(ResultsFolderError, match=r"holds 'thesis\.tex'"):
        fill(path)
    assert contents(path) == {"results.json", "thesis.tex"}

    (tmp_path / "file").touch()
    with pytest.raises(ResultsFolderError, match="is a file"):
        check_results_folder(tmp_path / "file", FILES)
    with pytest.raises(ResultsFolderError, match="cannot be written"):
        check_results_folder(tmp_path / "file" / "below", FILES)


def test_checking_leaves_no_trace(tmp_path):
    check_results_folder(tmp_path / "a" / "b", FILES)
    assert contents(tmp_path) == set()


@pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere"
)
def test_no_leave_to_write(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ResultsFolderError, match="Permission denied"):
        check_results_folder(tmp_path / "out", FILES)


def test_a_full_disk_is_said_before_the_work(tmp_path, monkeypatch):
    def full(*arguments, **keywords):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.mkdtemp", full)
    with pytest.raises(ResultsFolderError, match="No space left on device"):
        check_results_folder(tmp_path / "out", FILES)


def test_a_link_to_nothing_is_refused(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    with pytest.raises(ResultsFolderError, match="is a link to nothing: choose another folder"):
        check_results_folder(tmp_path / "link", FILES)


@pytest.mark.parametrize("below", ["", "models", "models/of today"])
def test_models_may_be_saved_among_results(tmp_path, below):
    """The same command again replaces what it has written."""
    out, save = tmp_path / "results", tmp_path / "results" / below
    save.mkdir(parents=True)
    (save / "dgp-global.gi").write_text("a model")
    check_results_folder(out, [*FILES, *saved_in(out, save)])
    with pytest.raises(ResultsFolderError, match="is not a folder of results"):
        check_results_folder(out, [*FILES, *saved_in(out, None)])
    assert saved_in(out, tmp_path / "elsewhere") == []

"""Records and the claims on them: what is in the file, and that there is one or none."""

import fcntl
import json
import multiprocessing
import os
import pickle
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

from gpflow_gi.benchmark import claims, records
from gpflow_gi.benchmark.claims import RecordNotWrittenError, claimed, part_of, remove_unclaimed
from gpflow_gi.benchmark.lock import SweepRunningError, is_running, only_sweep
from gpflow_gi.benchmark.records import DamagedRecordError

from .synthetic import data, trial


def a_record(one=None, **metrics):
    return records.done(one or trial(), records.now(), 1.5, {"metrics": metrics})


def written(path, record, replaces=None):
    with claimed(path, replaces) as write:
        assert write is not None
        write(records.encode(record))


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# Keys


def test_the_key_is_a_hash_of_all_that_the_result_depends_on(monkeypatch):
    one = trial(steps=5)
    others = [
        replace(one, split=1),
        replace(one, method="n"),
        replace(one, budget={"name": "test", "steps": 6}),
        replace(one, seed=1),
        replace(one, settings={"layers": 3}),
        replace(one, data=data("b")),
        replace(one, data={**data(), "sha256": 64 * "1"}),
    ]
    assert len({one.key, *(other.key for other in others)}) == 1 + len(others)
    key = one.key
    monkeypatch.setattr(records, "__version__", "99.0")
    assert replace(one).key != key


def test_the_key_is_made_once(monkeypatch):
    made, key_of = [], records.key_of
    monkeypatch.setattr(records, "key_of", lambda identity: made.append(1) or key_of(identity))
    one = trial()
    assert one.key == one.key == pickle.loads(pickle.dumps(one)).key
    assert len(made) == 1
    assert one == trial()


def test_the_key_depends_on_nothing_else():
    one = trial(steps=5, rate=0.1)
    same = replace(
        one, data=data(path="/elsewhere"), budget={"rate": 0.1, "steps": 5, "name": "test"}
    )
    assert same.key == one.key
    assert len(one.key) == 16 and int(one.key, 16) >= 0


def test_a_record_that_was_read_gives_the_key_of_its_trial(tmp_path):
    one = replace(trial(), settings={"widths": (50, 50), "none": None, "nested": {"b": 1, "a": 2}})
    path = one.path(tmp_path)
    written(path, a_record(one))
    assert records.key_of(records.read(path)) == one.key


def test_file_names_are_fit_for_files():
    name = trial(name="../Ä b/" + 300 * "x").name
    assert "/" not in name and " " not in name and not name.startswith(".-") and len(name) < 200
    assert name.isascii()


# Contents


def test_a_record_says_what_the_trial_was(tmp_path):
    one = trial(split=3, seed=7, steps=5)
    path = one.path(tmp_path)
    result = {"metrics": {"rmse": 1.0}, "data": {"num_train": 9, "sha256": "?"}, "key": "?"}
    written(path, records.done(one, "2026-01-01T12:00:00+00:00", 1.5, result))
    record = records.read(path)
    assert record == {
        "key": one.key,
        "status": "done",
        "trial": {
            "dataset": "a",
            "split": 3,
            "method": "m",
            "budget": {"name": "test", "steps": 5},
            "seed": 7,
            "settings": {"layers": 2},
        },
        "data": {"name": "a", "sha256": 64 * "0", "num_train": 9},
        "version": records.__version__,
        "started": "2026-01-01T12:00:00+00:00",
        "host": record["host"],
        "seconds": 1.5,
        "metrics": {"rmse": 1.0},
        "format": 2,
        "checksum": record["checksum"],
    }
    assert path.name == f"a-3-m-{one.key}.json"


def test_numbers_that_are_not_finite_are_null(tmp_path):
    path = trial().path(tmp_path)
    written(path, a_record(rmse=float("nan"), crps=float("inf")))
    assert records.read(path)["metrics"] == {"rmse": None, "crps": None}
    assert "NaN" not in path.read_text()


def test_notes_of_the_attempt_stand_before_those_of_the_trial():
    result = {"metrics": {}, "notes": ["of training"]}
    assert records.done(trial(), "now", 1.0, result, ["of a worker"])["notes"] == [
        "of a worker", "of training"
    ]  # fmt: skip
    assert "notes" not in records.done(trial(), "now", 1.0, {"metrics": {}})
    assert records.failed(trial(), "now", 1.0, "E", "no", notes=["so"])["notes"] == ["so"]


def test_messages_of_failures_are_one_line():
    record = records.failed(trial(), records.now(), 1.0, "ValueError", "one\n  two", "trace\n")
    assert record["error"] == {"type": "ValueError", "message": "one two", "traceback": "trace\n"}


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[]",
        lambda text: "3",
        lambda text: text.replace('"split": 0', '"split": 1'),
        lambda text: text.replace('"status": "done"', '"status": "perhaps"'),
        lambda text: text.replace('"metrics"', '"numbers"'),
        lambda text: "\0" * len(text),
    ],
)
def test_damaged_records_are_noticed(tmp_path, damage):
    path = trial().path(tmp_path)
    written(path, a_record())
    path.write_text(damage(path.read_text()))
    with pytest.raises(DamagedRecordError, match=f"{path} is damaged"):
        records.read(path)


def test_a_record_that_is_changed_anywhere_is_noticed(tmp_path):
    """Each byte in turn becomes another; what still says the same may be read."""
    path = trial().path(tmp_path)
    record = {**a_record(rmse=1.25), "cost": {"seconds": 3}, "notes": ["so"]}
    written(path, record)
    whole, sound, rng = path.read_bytes(), records.read(path), np.random.default_rng(0)
    noticed = 0
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= rng.integers(1, 256)
        path.write_bytes(changed)
        try:
            assert records.read(path) == sound
        except DamagedRecordError:
            noticed += 1
    assert noticed > 0.75 * len(whole)  # the rest are spaces between


@pytest.mark.parametrize("name", ["1.25", '"metrics"', '"seconds"', '"checksum"', '"format"'])
def test_results_are_part_of_the_checksum(tmp_path, name):
    path = trial().path(tmp_path)
    written(path, {**a_record(rmse=1.25), "notes": ["so"]})
    text = path.read_text()
    assert text.count(name) == 1
    path.write_text(text.replace(name, "1.26" if name == "1.25" else '"others"'))
    with pytest.raises(DamagedRecordError):
        records.read(path)


def test_the_checksum_is_of_what_is_read_back(tmp_path):
    """Tuples, keys that are no texts, numbers of all sizes, names that are no UTF-8."""
    path = trial(name="no UTF-8: \udcff").path(tmp_path)
    odd = {"widths": (1, 2), 3: None, "least": 5e-324, "large": 10**400, "letters": "\udcff é \0"}
    written(path, {**a_record(trial(name="no UTF-8: \udcff")), "hyperparameters": odd})
    record = records.read(path)
    assert record["hyperparameters"] == {
        "widths": [1, 2], "3": None, "least": 5e-324, "large": 10**400, "letters": "\udcff é \0"
    }  # fmt: skip
    assert records.encode(record) == path.read_bytes()
    assert records.is_verified(record)


def test_records_of_before_there_were_checksums_are_read(tmp_path):
    path, record = trial().path(tmp_path), a_record(rmse=1.0)
    path.write_text(json.dumps(record))
    assert records.read(path) == record
    assert not records.is_verified(record)
    with claimed(path, None) as write:
        assert write is None


def test_a_folder_in_the_place_of_a_record_is_named(tmp_path):
    path = trial().path(tmp_path)
    path.mkdir()
    with pytest.raises(DamagedRecordError) as raised:
        records.read(path)
    said = f"{path} is damaged: it is a folder, where the record of a trial should be."
    assert str(raised.value) == said
    path.rmdir()
    os.mkfifo(path)
    with pytest.raises(DamagedRecordError, match="it is no file, where the record"):
        records.read(path)


def test_what_is_set_aside_replaces_nothing(tmp_path):
    path = trial().path(tmp_path)
    for text in ("one", "two", "three"):
        path.write_text(text)
        records.set_aside(path)
    path.mkdir()
    assert records.set_aside(path).is_dir()
    assert {found.name: found.is_file() and found.read_text() for found in tmp_path.iterdir()} == {
        f"{path.name}.damaged": "one",
        f"{path.name}.damaged-2": "two",
        f"{path.name}.damaged-3": "three",
        f"{path.name}.damaged-4": False,
    }


def test_the_record_of_another_trial_is_damage(tmp_path):
    path = trial(0).path(tmp_path)
    written(path, a_record(trial(1)))
    with pytest.raises(DamagedRecordError):
        records.read(path)


# Claims


def test_writing_leaves_nothing_but_the_record(tmp_path):
    path = trial().path(tmp_path)
    record = a_record(rmse=1.0)
    written(path, record)
    assert names(tmp_path) == [path.name]
    assert path.read_bytes() == records.encode(record)


def test_records_larger_than_the_room_reserved(tmp_path):
    path = trial().path(tmp_path)
    written(path, {**a_record(), "hyperparameters": list(range(50_000))})
    assert len(records.read(path)["hyperparameters"]) == 50_000
    assert path.stat().st_size > claims.RESERVED


def test_a_claim_without_a_record_leaves_nothing(tmp_path):
    path = trial().path(tmp_path)
    with pytest.raises(KeyError), claimed(path, None):
        assert part_of(path).exists() and not path.exists()
        raise KeyError
    assert names(tmp_path) == []


def test_what_has_a_record_cannot_be_claimed(tmp_path):
    path = trial().path(tmp_path)
    written(path, a_record())
    with claimed(path, None) as write:
        assert write is None
    assert names(tmp_path) == [path.name]


def test_a_damaged_record_is_set_aside_by_whoever_claims_its_trial(tmp_path):
    path = trial().path(tmp_path)
    path.write_text("half a rec")
    written(path, a_record(rmse=1.0))
    assert names(tmp_path) == [path.name, f"{path.name}.damaged"]
    assert (tmp_path / f"{path.name}.damaged").read_text() == "half a rec"


def test_a_failure_is_replaced_once(tmp_path):
    path = trial().path(tmp_path)
    failure = records.failed(trial(), "the first", 1.0, "ValueError", "?")
    written(path, failure)
    written(path, {**failure, "started": "the second"}, replaces="the first")
    assert records.read(path)["started"] == "the second"
    with claimed(path, "the first") as write:
        assert write is None


def _claim_and_count(path, entered, barrier):
    barrier.wait()
    with claimed(path, None) as write:
        if write is not None:
            with entered.get_lock():
                entered.value += 1
            time.sleep(0.05)
            write(records.encode(a_record()))


def test_of_many_that_claim_a_trial_one_runs_it(tmp_path):
    spawn = multiprocessing.get_context("fork")
    path, entered, barrier = trial().path(tmp_path), spawn.Value("i", 0), spawn.Barrier(8)
    processes = [
        spawn.Process(target=_claim_and_count, args=(path, entered, barrier)) for _ in range(8)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert entered.value == 1
    assert names(tmp_path) == [path.name]


def test_the_claim_of_a_killed_process_is_free(tmp_path):
    path = trial().path(tmp_path)
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from gpflow_gi.benchmark.claims import claimed\n"
        "with claimed(Path(sys.argv[1]), None):\n    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(path)]).returncode == -9
    assert names(tmp_path) == [part_of(path).name]
    written(path, a_record())
    assert names(tmp_path) == [path.name]


def test_what_is_left_is_removed_unless_it_is_claimed(tmp_path):
    claimed_path, left = trial(0).path(tmp_path), part_of(trial(1).path(tmp_path))
    left.write_text("half a rec")
    with claimed(claimed_path, None):
        remove_unclaimed(tmp_path)
        assert names(tmp_path) == [part_of(claimed_path).name]


@pytest.mark.parametrize("when", ["claimed", "written"])
def test_a_full_disk_is_said_and_leaves_no_half_a_record(tmp_path, monkeypatch, when):
    path, limit = trial().path(tmp_path), claims.RESERVED if when == "written" else 100
    whole = os.write

    class Full(claims.FileIO):
        """A file on a disk with room for so many bytes, which takes what it can."""

        def write(self, content):
            room = limit - self.tell()
            if room <= 0:
                raise OSError(28, "No space left on device")
            return whole(self.fileno(), content[:room])

    monkeypatch.setattr(claims, "FileIO", Full)
    reached = []
    with (
        pytest.raises(RecordNotWrittenError) as raised,
        claimed(path, None) as write,
    ):
        reached.append("claimed")
        write(records.encode({**a_record(), "hyperparameters": list(range(50_000))}))
    assert str(raised.value) == f"{path} cannot be written: No space left on device."
    assert reached == (["claimed"] if when == "written" else [])
    assert names(tmp_path) == []


# The lock of a sweep


def test_a_second_sweep_is_refused(tmp_path):
    kept = tmp_path / "records"
    kept.mkdir()
    with only_sweep(kept) as token:
        assert is_running(kept, token)
        with pytest.raises(SweepRunningError) as raised, only_sweep(kept):
            pass
        assert is_running(kept, token)
    said = str(raised.value)
    assert said.startswith(f"another sweep is running in {tmp_path} (")
    assert f"process {os.getpid()})" in said
    assert not is_running(kept, token)
    with only_sweep(kept) as other:
        assert other != token and not is_running(kept, token)


def test_the_lock_of_a_killed_sweep_is_free(tmp_path):
    script = (
        "import os, sys\nfrom pathlib import Path\n"
        "from gpflow_gi.benchmark.lock import only_sweep\n"
        "with only_sweep(Path(sys.argv[1])):\n    os.kill(os.getpid(), 9)\n"
    )
    assert subprocess.run([sys.executable, "-c", script, str(tmp_path)]).returncode == -9
    with (tmp_path / ".lock").open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    with only_sweep(tmp_path) as token:
        assert is_running(tmp_path, token)


def test_the_file_is_plain_json(tmp_path):
    path = trial().path(tmp_path)
    written(path, a_record(rmse=0.1))
    assert json.loads(path.read_text())["metrics"]["rmse"] == 0.1

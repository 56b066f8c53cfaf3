"""Whole sweeps: every trial has its record and is done once, whatever is killed and when."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
import time
from collections import Counter

import psutil
import pytest

from gpflow_gi.benchmark import claims, records, sweep
from gpflow_gi.benchmark.lock import SweepRunningError, only_sweep
from gpflow_gi.benchmark.progress import Progress, duration, seconds_left
from gpflow_gi.benchmark.worker import StopSweepError
from gpflow_gi.benchmark.workers import LocalWorkers

from .driver import run, trials
from .synthetic import HERE, data, lines, trial

TITLES = sorted(
    f"{name} {split} {method}" for name in "ab" for split in range(3) for method in "mn"
)


def kept(folder):
    """By title, the status of every record, each of them read and whole; and nothing else there."""
    paths = list((folder / "records").iterdir())
    assert {path.suffix for path in paths} <= {".json", "", ".damaged"}, paths
    found = [records.read(path) for path in paths if path.suffix == ".json"]
    statuses = {
        "{dataset} {split} {method}".format(**record["trial"]): record["status"] for record in found
    }
    assert len(statuses) == len(found)
    return dict(sorted(statuses.items()))


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "out"


@pytest.fixture
def counts(tmp_path):
    return str(tmp_path / "counts")


@pytest.fixture
def driver(folder):
    """Start a driver in a process of its own."""
    started = []

    def start(budget):
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.benchmark.driver", str(folder), json.dumps(budget)],
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def num_records(folder):
    return len(list((folder / "records").glob("*.json")))


def until(condition, seconds=50):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came to that"
        time.sleep(0.01)


def kill_with_workers(driver):
    """Kill the driver, and see that its workers go with it."""
    workers = psutil.Process(driver.pid).children()
    driver.kill()
    driver.wait()
    assert workers
    until(lambda: all(is_gone(worker) for worker in workers))


def is_gone(process):
    try:  # Some systems leave what nobody waits for as a zombie for a while.
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


# Plans


def test_plans_are_balanced():
    order = [(one.split, one.data["name"], one.method) for one in trials({})]
    assert order == [(i, name, method) for i in range(3) for name in "ab" for method in "mn"]


def test_splits_that_there_are_not_are_left_out():
    plan = sweep.plan(
        [data("a"), data("b", num_splits=2)], [0, 1, 5], {"m": {}}, {"name": "test"}, 0
    )
    assert [(one.split, one.data["name"]) for one in plan] == [
        (0, "a"), (0, "b"), (1, "a"), (1, "b"), (5, "a")
    ]  # fmt: skip


# What is done stays done


def test_a_sweep_and_the_same_again(folder, counts, capsys):
    budget = {"counts": counts}
    first = run(folder, budget)
    assert [record["status"] for record in first] == 12 * ["done"]
    assert [record["key"] for record in first] == [one.key for one in trials(budget)]
    assert kept(folder) == dict.fromkeys(TITLES, "done")
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 12
    assert [line.split()[0] for line in said] == [f"{i}/12" for i in range(1, 13)]
    # Two workers share the trials, which end in any order.
    pattern = re.compile(r"\d+/12 (\w) split (\d) (\w): log density (\S+), \d+\.\d s")
    ends = [pattern.match(line).groups() for line in said]
    density = ("0.00", "-1.00", "-2.00")
    assert {one[:3]: one[3] for one in ends} == {
        (name, str(split), method): density[split]
        for split in range(3)
        for name in "ab"
        for method in "mn"
    }
    again = run(folder, budget)
    assert [record["started"] for record in again] == [record["started"] for record in first]
    assert lines(counts, "begun") == TITLES


def test_a_larger_sweep_does_what_is_new(folder, counts):
    budget = {"name": "test", "counts": counts}
    for splits in (range(1), range(3)):
        plan = sweep.plan([data()], splits, {"m": {}}, budget, 0)
        sweep.run(plan, folder, LocalWorkers(1), function=f"{HERE}:behaves")
    assert lines(counts, "begun") == ["a 0 m", "a 1 m", "a 2 m"]


def test_another_budget_is_another_trial(folder, counts):
    run(folder, {"counts": counts, "steps": 1})
    run(folder, {"counts": counts, "steps": 2})
    assert Counter(lines(counts, "begun")) == dict.fromkeys(TITLES, 2)


@pytest.mark.slow
def test_failures_are_kept_and_retried_when_asked(folder, counts, tmp_path, capsys):
    crash = {"a 0 n": "raise", "b 1 m": "kill", "b 2 n": "exit"}
    budget = {"counts": counts, "crash": crash}
    first = run(folder, budget)
    assert kept(folder) == {title: "failed" if title in crash else "done" for title in TITLES}
    assert "3 failed" in capsys.readouterr().err.splitlines()[-1]
    assert run(folder, budget) == first == run(folder, budget)
    # Whoever is killed is run twice before it has failed.
    assert Counter(lines(counts, "begun")) == {**dict.fromkeys(TITLES, 1), "b 1 m": 2}
    again = run(folder, budget, retry_failed=True)
    assert Counter(lines(counts, "begun")) == {
        title: 4 if title == "b 1 m" else 2 if title in crash else 1 for title in TITLES
    }
    assert [record["status"] for record in again] == [record["status"] for record in first]
    assert {
        record["started"] == before["started"]
        for record, before in zip(again, first, strict=True)
        if record["status"] == "failed"
    } == {False}


# Killing


@pytest.mark.slow
def test_a_killed_worker_costs_no_trial(folder, counts, driver):
    process = driver({"counts": counts, "seconds": 0.3})
    until(lambda: len(lines(counts, "begun")) >= 3)
    worker = psutil.Process(process.pid).children()[0]
    worker.kill()
    assert process.wait(50) == 0
    assert kept(folder) == dict.fromkeys(TITLES, "done")
    begun = Counter(lines(counts, "begun"))
    assert sum(begun.values()) <= 13  # 12 if it was between two trials
    ended = Counter(lines(counts, "ended"))
    assert sorted(ended) == TITLES
    # Killed after its end and before its record, a trial ends again.
    assert all(begun[title] == 2 for title, times in ended.items() if times > 1)


@pytest.mark.slow
def test_a_killed_driver_costs_the_trials_in_flight(folder, counts, driver):
    budget = {"counts": counts, "seconds": 0.3}
    first = driver(budget)
    until(lambda: num_records(folder) >= 3)
    kill_with_workers(first)
    done = [title for title, status in kept_so_far(folder).items() if status == "done"]
    begun = lines(counts, "begun")
    assert 3 <= len(done) and len(begun) <= len(done) + 2

    assert driver(budget).wait(50) == 0
    assert kept(folder) == dict.fromkeys(TITLES, "done")
    times = Counter(lines(counts, "begun"))
    assert all(times[title] == 1 for title in done)
    assert sum(times.values()) == 12 + len(begun) - len(done)


def kept_so_far(folder):
    """As `kept`, where a sweep was killed and has left what it was writing."""
    claims.remove_unclaimed(folder / "records")
    return kept(folder)


@pytest.mark.slow
def test_drivers_killed_again_and_again_do_nothing_twice(folder, counts, driver):
    budget = {"counts": counts, "seconds": 0.1}
    for kill in range(3):
        process = driver(budget)
        until(lambda kill=kill: num_records(folder) > 3 * kill)
        kill_with_workers(process)
    done = set(kept_so_far(folder))
    before = Counter(lines(counts, "begun"))
    assert driver(budget).wait(50) == 0
    assert kept(folder) == dict.fromkeys(TITLES, "done")
    after = Counter(lines(counts, "begun"))
    assert all(after[title] == before[title] for title in done)


def test_an_interrupt_stops_at_once_and_cleanly(folder, counts, driver):
    process = driver({"counts": counts, "seconds": 60.0})
    until(lambda: len(lines(counts, "begun")) == 2)
    workers = psutil.Process(process.pid).children()
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=40)  # less than a trial takes
    assert all(is_gone(worker) for worker in workers)
    assert kept(folder) == {}


@pytest.mark.slow
def test_two_drivers_in_one_folder(folder, counts, driver):
    process = driver({"counts": counts, "seconds": 0.5})
    until(lambda: lines(counts, "begun"))
    with pytest.raises(SweepRunningError, match="another sweep is running in"):
        run(folder, {"counts": counts, "seconds": 0.5})
    assert process.wait(50) == 0
    assert lines(counts, "begun") == TITLES


# Disks


def test_damaged_records_are_put_aside_and_made_again(folder, counts, capsys):
    budget = {"counts": counts}
    before = run(folder, budget)
    half, changed, other = (trials(budget)[i].path(folder / "records") for i in (4, 6, 7))
    damaged = {
        half: half.read_bytes()[:100],
        changed: changed.read_bytes().replace(b'"log_density": -1', b'"log_density": -9'),
    }
    for path, content in damaged.items():
        assert path.read_bytes() != content
        path.write_bytes(content)
    other.unlink()
    other.mkdir()
    capsys.readouterr()
    after = run(folder, budget)
    said = capsys.readouterr().err.splitlines()
    for line, path, why in [
        (said[0], half, "is not a complete record of a trial"),
        (said[1], changed, "does not match its checksum"),
        (said[2], other, "is a folder, where the record of a trial should be"),
    ]:
        aside = f"It is now {path.name}.damaged, and the trial is run again."
        assert line == f"{path} is damaged: it {why}. {aside}"
    assert len(said) == 6
    for path, content in damaged.items():
        assert path.with_name(f"{path.name}.damaged").read_bytes() == content
    assert other.with_name(f"{other.name}.damaged").is_dir()
    assert kept(folder) == dict.fromkeys(TITLES, "done")
    assert [a["started"] == b["started"] for a, b in zip(after, before, strict=True)] == [
        i not in (4, 6, 7) for i in range(12)
    ]


@pytest.mark.slow
def test_what_cannot_be_written_stops_the_sweep_and_is_said(folder, counts):
    budget = {"counts": counts, "seconds": 0.2, "crash": {"a 1 n": "no room once"}}
    lost = trials(budget)[5]
    with pytest.raises(StopSweepError) as raised:
        run(folder, budget)
    path = lost.path(folder / "records")
    assert str(raised.value) == f"{path} cannot be written: File too large."
    done = kept(folder)
    # What was in flight was waited for, and nothing was begun after it.
    assert sorted([*done, "a 1 n"]) == lines(counts, "begun") == lines(counts, "ended")
    assert 5 <= len(done) <= 7 and set(done.values()) == {"done"}
    run(folder, budget)
    assert kept(folder) == dict.fromkeys(TITLES, "done")
    assert Counter(lines(counts, "begun")) == {**dict.fromkeys(TITLES, 1), "a 1 n": 2}


@pytest.mark.skipif(os.geteuid() != 0, reason="a small file system can be mounted by root alone")
def test_a_disk_that_is_full(tmp_path, counts):
    small = tmp_path / "small"
    small.mkdir()
    size = 5 * claims.RESERVED
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(small)]
    if subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        # Room for two trials in flight, the lock and five records.
        budget = {"counts": counts, "seconds": 0.1}
        filler = sweep.prepare(small / "out").parent / "filler"
        filler.write_bytes(bytes(size - 2 * claims.RESERVED - 6 * resource.getpagesize()))
        with pytest.raises(StopSweepError, match="cannot be written: No space left on device"):
            run(small / "out", budget)
        done = kept(small / "out")
        assert sorted(done) == lines(counts, "ended")
        assert 4 <= len(done) < 12
        filler.unlink()
        run(small / "out", budget)
        assert kept(small / "out") == dict.fromkeys(TITLES, "done")
        assert lines(counts, "begun") == TITLES
    finally:
        subprocess.run(["umount", str(small)], check=True)


@pytest.mark.parametrize("make", ["file", "others"])
def test_folders_that_are_not_for_sweeps(folder, make):
    if make == "file":
        folder.write_text("")
        said = "cannot be written"
    else:
        folder.mkdir()
        (folder / "mine.txt").write_text("")
        said = "is not the folder of a sweep \\(it holds 'mine.txt'\\)"
    with pytest.raises(sweep.FolderError, match=said):
        run(folder, {})


@pytest.mark.slow
def test_everything_at_once(folder, counts, driver, capsys):
    """Crashes, a killed worker, a killed driver, a damaged record, a record that has no room."""
    crash = {"a 1 m": "raise", "b 1 n": "kill", "a 2 n": "abort", "b 2 m": "no room once"}
    budget = {"counts": counts, "seconds": 0.2, "crash": crash}
    plan, place = trials(budget), folder / "records"
    first = driver(budget)
    until(lambda: num_records(folder) >= 2)
    psutil.Process(first.pid).children()[0].kill()
    until(lambda: num_records(folder) >= 3)
    kill_with_workers(first)
    kept_so_far(folder)

    damaged = next(one for one in plan if one.path(place).exists())
    with damaged.path(place).open("r+b") as file:
        file.truncate(50)
    with pytest.raises(StopSweepError, match="cannot be written"):
        run(folder, budget)
    assert "b 2 m" not in kept(folder)

    final = run(folder, budget)
    statuses = kept(folder)
    assert list(statuses) == TITLES
    assert statuses == {
        "{dataset} {split} {method}".format(**record["trial"]): record["status"] for record in final
    }
    failed = {title for title, status in statuses.items() if status == "failed"}
    assert failed == {"a 1 m", "b 1 n", "a 2 n"}
    # Once more: at most two in flight with the driver, the killed worker's, the one that kills its
    # worker (which may be in flight too), the damaged one, the one without room.
    assert len(lines(counts, "begun")) <= 12 + 2 + 1 + 2 + 1 + 1


# Progress


def test_the_time_left_is_that_of_the_same_method_on_the_same_data():
    def took(one, seconds):
        return records.done(one, records.now(), seconds, {"metrics": {}})

    known = [took(trial(0, "m"), 10.0), took(trial(1, "m"), 20.0), took(trial(0, "n"), 60.0)]
    assert seconds_left([trial(2, "m"), trial(3, "m")], known, 1) == pytest.approx(30)
    assert seconds_left([trial(2, "m"), trial(2, "n")], known, 2) == pytest.approx(37.5)
    assert seconds_left([trial(2, "n", name="b")], known, 1) == pytest.approx(60)
    assert seconds_left([trial(2, "other")], known, 1) == pytest.approx(30)
    assert seconds_left([trial(2, "m")], [], 1) is None


def test_a_terminal_gets_a_bar_and_lines_for_failures(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    plan = [trial(split) for split in range(4)]
    before = records.done(plan[0], records.now(), 20.0, {"metrics": {}})
    progress = Progress(plan, {plan[0].key: before})
    progress.show(plan[1:4], 3)
    progress.finished(plan[1], records.failed(plan[1], records.now(), 40.0, "Error", "no"), 3)
    progress.show(plan[2:], 2)
    progress.close()
    said = capsys.readouterr().err
    assert "1/4 |" in said
    assert "about 20 s left; running a split 1 m, a split 2 m, 1 more" in said
    assert "\ra split 1 m: failed after 40 s (Error: no)\n" in said
    assert "2/4 |" in said
    assert "1 failed; about 30 s left; running a split 2 m, a split 3 m" in said


@pytest.mark.parametrize(
    "seconds, text",
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (32.4, "32 s"), (840, "14 min"), (12000, "3 h 20 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


def test_the_lock_is_free_after_a_sweep(folder, counts):
    run(folder, {"counts": counts})
    with only_sweep(folder / "records"):
        pass

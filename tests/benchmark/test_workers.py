"""Trials that crash, hang and hoard: each has a record that says so."""

import os
import threading
import time

import psutil
import pytest

from gpflow_gi.benchmark import records, workers
from gpflow_gi.benchmark.claims import part_of
from gpflow_gi.benchmark.lock import only_sweep
from gpflow_gi.benchmark.worker import StopSweepError, Task
from gpflow_gi.benchmark.workers import LocalWorkers, Worker

from .synthetic import HERE, data, lines, trial
from .test_sweep import is_gone, until


@pytest.fixture
def token(tmp_path):
    with only_sweep(tmp_path) as token:
        yield token


@pytest.fixture
def worker():
    worker = Worker()
    yield worker
    worker.end()


@pytest.fixture
def task(tmp_path, token):
    def make(one, function=f"{HERE}:behaves", **more):
        return Task(one, function, tmp_path, token, **more)

    return make


@pytest.fixture
def counts(tmp_path):
    return str(tmp_path / "counts")


def crashing(how, **budget):
    return trial(crash={"a 0 m": how}, **budget)


def test_a_trial_is_run_and_recorded(worker, task, tmp_path):
    one = task(trial(3, seed=2))
    record = worker.run(one)
    assert record["status"] == "done"
    assert record["metrics"]["log_density"] == pytest.approx(-3.2)
    assert record["data"]["num_train"] == 9
    kept = records.read(one.path)
    assert kept["metrics"]["rmse"] is None
    assert kept["key"] == record["key"] == one.trial.key
    assert kept["cost"]["threads"] == "1"
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", one.path.name]


@pytest.mark.parametrize(
    "how, kind, message, traceback",
    [
        ("raise", "ValueError", "the matrix is not positive definite", "synthetic.py"),
        ("exit", "SystemExit", "no more", "synthetic.py"),
        ("array", "TypeError", "not JSON serializable", "encode"),
        ("kill", "WorkerDied", "the worker was ended by SIGKILL (which is what", "the last words"),
        ("abort", "WorkerDied", "the worker was ended by SIGABRT.", "Fatal Python error: Aborted"),
    ],
)
def test_crashes_are_recorded(worker, task, how, kind, message, traceback):
    one = task(crashing(how))
    record = worker.run(one)
    assert record == records.read(one.path)
    assert record["status"] == "failed"
    assert record["error"]["type"] == kind
    assert message in record["error"]["message"]
    assert traceback in record["error"]["traceback"]
    assert not part_of(one.path).exists()


def test_a_trial_whose_worker_is_killed_is_run_once_more(worker, task, counts, capsys):
    one = task(crashing("kill once", counts=counts))
    record = worker.run(one)
    assert record == records.read(one.path)
    assert record["status"] == "done" and record["metrics"]["log_density"] == 0
    assert record["notes"] == [
        "The worker was ended by SIGKILL in a first attempt; the trial was run again."
    ]
    assert lines(counts, "begun") == 2 * ["a 0 m"] and lines(counts, "ended") == ["a 0 m"]
    said = capsys.readouterr().err
    assert said == "a split 0 m: the worker was ended by SIGKILL; the trial is run again.\n"
    assert "notes" not in worker.run(task(trial(1)))


@pytest.mark.slow
@pytest.mark.parametrize("how, times", [("kill", 2), ("terminate", 2), ("abort", 1), ("exit", 1)])
def test_who_is_killed_twice_has_failed_and_who_crashes_is_not_run_again(
    worker, task, counts, how, times
):
    record = worker.run(task(crashing(how, counts=counts)))
    assert record["status"] == "failed" and ("notes" in record) == (times == 2)
    assert lines(counts, "begun") == times * ["a 0 m"]


def test_the_time_limit_is_of_the_trial(worker, task, counts):
    record = worker.run(task(crashing("hang", counts=counts), time_limit=0.5))
    assert lines(counts, "begun") == ["a 0 m"]  # ended by the supervisor, and not from outside
    assert record["error"]["type"] == "TimeLimit"
    assert record["error"]["message"] == "it took longer than 0.5 s."
    assert 0.5 < record["seconds"] < 50  # it hangs for 60 s
    assert not worker.is_alive()


@pytest.mark.slow
def test_imports_do_not_count_for_the_time_limit(task, tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text(
        "import time\ntime.sleep(1.5)\nfrom tests.benchmark.synthetic import behaves\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    worker = Worker()
    try:
        record = worker.run(task(trial(), "slow_to_import:behaves", time_limit=1.0))
    finally:
        worker.end()
    assert record["status"] == "done"


def test_the_memory_limit(worker, task):
    record = worker.run(task(crashing("memory"), memory_limit=250.0))
    assert record["error"]["type"] == "MemoryLimit"
    assert record["error"]["message"].endswith("MB; 250 MB are allowed.")
    assert not worker.is_alive()


@pytest.mark.slow
def test_memory_of_earlier_trials_does_not_count(worker, task):
    assert worker.run(task(crashing("leave memory")))["status"] == "done"
    record = worker.run(task(trial(1, seconds=1.0), memory_limit=250.0))
    assert record["status"] == "done"
    (note,) = record["notes"]
    assert "over the memory limit with what earlier trials left in a first attempt; the" in note


def test_memory_is_not_looked_at_without_a_limit(worker, task, monkeypatch):
    def looked_at(process):
        raise AssertionError

    monkeypatch.setattr(workers.psutil, "Process", looked_at)
    assert worker.run(task(trial(seconds=0.3)))["status"] == "done"
    with pytest.raises(AssertionError):
        worker.run(task(trial(1, seconds=5.0), memory_limit=250.0))


def test_limits_that_are_kept_change_nothing(worker, task):
    record = worker.run(task(trial(), memory_limit=250.0, time_limit=50.0))
    assert record["status"] == "done"


def test_a_record_that_is_there_is_not_made_again(worker, task, tmp_path):
    one = task(trial(counts=str(tmp_path / "counts")))
    assert worker.run(one)["started"] == worker.run(one)["started"]
    assert lines(tmp_path / "counts", "begun") == ["a 0 m"]


@pytest.mark.parametrize(
    "function, said",
    [
        ("tests.benchmark.nothing:trial", "No module named 'tests.benchmark.nothing'"),
        (f"{HERE}:nothing", "has no attribute 'nothing'"),
    ],
)
def test_a_function_that_is_not_there_is_no_failure_of_the_trial(worker, task, function, said):
    one = task(trial(), function)
    with pytest.raises(StopSweepError, match=said):
        worker.run(one)
    assert not one.path.exists()


def test_workers_of_another_version_are_refused(worker, task):
    with pytest.raises(StopSweepError, match=r"the sweep was started with 0\.0"):
        worker.run(task(trial(), version="0.0"))


def test_data_that_have_changed_are_refused(worker, task, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n1,2\n")
    one = trial()
    changed = records.Trial(
        data(path=str(path), target="y", drop=[]), 0, "m", one.budget, 0, one.settings
    )
    with pytest.raises(StopSweepError, match=f"{path} has changed since the sweep was started"):
        worker.run(task(changed))


def test_a_record_that_cannot_be_written_stops_the_sweep(worker, task, tmp_path):
    one = task(trial())
    part_of(one.path).mkdir()
    with pytest.raises(StopSweepError) as raised:
        worker.run(one)
    assert str(raised.value) == f"{one.path} cannot be written: Is a directory."


def test_the_end_of_the_sweep_ends_its_trials(tmp_path):
    worker, ended = Worker(), []

    def run(token):
        try:
            worker.run(Task(crashing("hang"), f"{HERE}:behaves", tmp_path, token))
        except StopSweepError as error:
            ended.append(str(error))

    with only_sweep(tmp_path) as token:
        thread = threading.Thread(target=run, args=(token,))
        thread.start()
        while not part_of(crashing("hang").path(tmp_path)).exists():
            time.sleep(0.02)
    thread.join(timeout=50)  # the trial hangs for 60 s
    assert (
        len(ended) == 1 and f"cannot find the sweep in {tmp_path.parent}: it has ended" in ended[0]
    )
    worker.end()
    assert not list(tmp_path.glob("*.json"))


def test_workers_are_used_again_for_a_while_and_not_after_a_failure(task, monkeypatch):
    monkeypatch.setattr(workers, "TRIALS_EACH", 2)
    pool = LocalWorkers(1)
    try:
        trials = [trial(split, crash={"a 3 m": "raise"}) for split in range(6)]
        done = [pool.submit(task(one)).result() for one in trials]
    finally:
        pool.close()
    processes = [record["cost"]["process"] for record in done if record["status"] == "done"]
    first, second, third, fourth, fifth = processes
    assert first == second != third  # two each; the second process failed in its second trial
    assert fourth == fifth and fourth not in (first, third)
    for process in set(processes):
        with pytest.raises(ProcessLookupError):
            os.kill(process, 0)


def test_an_idle_worker_that_died_is_replaced(task):
    pool = LocalWorkers(1)
    try:
        process = pool.submit(task(trial(0))).result()["cost"]["process"]
        killed = psutil.Process(process)
        killed.kill()
        until(lambda: is_gone(killed))
        record = pool.submit(task(trial(1))).result()
    finally:
        pool.close()
    assert record["status"] == "done" and record["cost"]["process"] != process

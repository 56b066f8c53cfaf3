"""The same sweep on a cluster of this machine, some of whose workers are killed."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import Future

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed")

from dask.distributed import Client, KilledWorker, LocalCluster

from gpflow_gi.benchmark import records, sweep
from gpflow_gi.benchmark.cluster import ClusterError, ClusterWorkers
from gpflow_gi.benchmark.lock import SweepRunningError, only_sweep
from gpflow_gi.benchmark.worker import Task
from gpflow_gi.benchmark.workers import LocalWorkers

from .driver import trials
from .synthetic import HERE, lines
from .test_sweep import TITLES, kept, num_records, until


@pytest.fixture(scope="module")
def cluster():
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        yield cluster


def run(cluster, folder, budget, **options):
    return sweep.run(
        trials(budget),
        folder,
        ClusterWorkers(cluster.scheduler_address),
        function=f"{HERE}:behaves",
        **options,
    )


@pytest.fixture
def counts(tmp_path):
    return str(tmp_path / "counts")


@pytest.mark.slow
def test_crashes_and_a_killed_worker(cluster, tmp_path, counts):
    crash = {
        "a 0 n": "raise",
        "b 0 n": "kill",
        "b 1 m": "kill the supervisor once",
        "a 2 m": "hang",
    }
    budget = {"counts": counts, "crash": crash}
    result = run(cluster, tmp_path / "out", budget, time_limit=5.0)
    statuses = kept(tmp_path / "out")
    assert list(statuses) == TITLES
    kinds = {
        "{dataset} {split} {method}".format(**record["trial"]): record["error"]["type"]
        for record in result
        if record["status"] == "failed"
    }
    assert kinds == {"a 0 n": "ValueError", "b 0 n": "WorkerDied", "a 2 m": "TimeLimit"}
    times = Counter(lines(counts, "begun"))
    # The trial of the worker that was lost is run by another, and that of a process that is killed
    # by another process; no other trial is run twice.
    assert times == {**dict.fromkeys(TITLES, 1), "b 1 m": 2, "b 0 n": 2}

    sweep.run(trials(budget), tmp_path / "out", LocalWorkers(1), function=f"{HERE}:behaves")
    assert Counter(lines(counts, "begun")) == times


@pytest.mark.longest
def test_a_killed_driver_and_another_one(cluster, tmp_path, counts):
    """Trials of the first driver that are still running end when there is a second."""
    folder, budget = tmp_path / "out", {"counts": counts, "seconds": 0.5}
    script = (
        "import json, sys\nfrom pathlib import Path\nfrom gpflow_gi.benchmark import sweep\n"
        "from gpflow_gi.benchmark.cluster import ClusterWorkers\n"
        "from tests.benchmark.driver import trials\nfrom tests.benchmark.synthetic import HERE\n"
        f"sweep.run(trials({budget!r}), Path({str(folder)!r}),\n"
        f"    ClusterWorkers({cluster.scheduler_address!r}), function=HERE + ':behaves')\n"
    )
    first = subprocess.Popen([sys.executable, "-c", script], stderr=subprocess.PIPE)
    until(lambda: num_records(folder) >= 2)
    with pytest.raises(SweepRunningError):
        run(cluster, folder, budget)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    before = {path.name: path.read_bytes() for path in (folder / "records").glob("*.json")}
    run(cluster, folder, budget)
    assert kept(folder) == dict.fromkeys(TITLES, "done")
    for name, content in before.items():
        assert (folder / "records" / name).read_bytes() == content
    assert sum(Counter(lines(counts, "begun")).values()) <= 12 + 2
    assert max(Counter(lines(counts, "ended")).values()) == 1


@pytest.mark.slow
def test_an_interrupt_ends_the_trials_on_the_cluster(cluster, tmp_path, counts, monkeypatch):
    folder, budget = tmp_path / "out", {"counts": counts, "seconds": 60.0}
    begun = sweep.Progress.show

    def interrupt(*arguments):
        begun(*arguments)
        if len(lines(counts, "begun")) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(sweep.Progress, "show", interrupt)
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        run(cluster, folder, budget)
    with Client(cluster.scheduler_address, set_as_default=False) as client:
        until(lambda: not any(client.processing().values()), 40)
    assert time.monotonic() - start < 55  # a trial takes 60 s
    with only_sweep(folder / "records"):
        assert kept_nothing(folder)


def kept_nothing(folder):
    return num_records(folder) == 0 and lines(folder.parent / "counts", "ended") == []


@pytest.mark.slow
def test_a_scheduler_that_is_killed_stops_the_sweep(tmp_path, counts):
    script = (
        "import time\nfrom dask.distributed import LocalCluster\n"
        "if __name__ == '__main__':\n"
        "    cluster = LocalCluster(n_workers=1, processes=False, dashboard_address=None,\n"
        "        protocol='tcp', threads_per_worker=1)\n"
        "    print(cluster.scheduler_address, flush=True)\n    time.sleep(60)\n"
    )
    scheduler = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    address = scheduler.stdout.readline().strip()
    budget = {"counts": counts, "seconds": 0.1, "crash": {"a 1 m": "kill the supervisor once"}}
    with pytest.raises(sweep.StopSweepError, match=f"the cluster at {address} was lost"):
        sweep.run(
            trials(budget), tmp_path / "out", ClusterWorkers(address), function=f"{HERE}:behaves"
        )
    assert scheduler.wait(50) == -9
    scheduler.stdout.close()
    assert set(kept(tmp_path / "out").values()) == {"done"} and num_records(tmp_path / "out") == 4


def test_workers_without_this_package_are_said(cluster, monkeypatch):
    workers = ClusterWorkers(cluster.scheduler_address)

    def raises(task):
        raise ModuleNotFoundError("No module named 'gpflow_gi'")

    monkeypatch.setattr("gpflow_gi.benchmark.cluster.run_alone", raises)
    with pytest.raises(sweep.StopSweepError, match="ModuleNotFoundError: No module named 'gpflow"):
        workers.outcome(workers.submit(None), None)
    workers.close()


def test_no_cluster(monkeypatch):
    monkeypatch.setattr("gpflow_gi.benchmark.cluster.CONNECT_SECONDS", 0.3)
    with pytest.raises(ClusterError, match=r"no scheduler answers at tcp://127\.0\.0\.1:1 "):
        ClusterWorkers("tcp://127.0.0.1:1")
    with pytest.raises(ClusterError, match="'nonsense://x:1' is not the address of a scheduler"):
        ClusterWorkers("nonsense://x:1")


def test_workers_without_the_folder_are_refused(cluster, tmp_path, counts):
    """As on a machine that does not share it: here the lock is taken away from under the sweep."""
    folder = tmp_path / "out"
    kept = sweep.prepare(folder)

    class Elsewhere(ClusterWorkers):
        def submit(self, task):
            os.replace(kept / ".lock", kept / ".gone")
            return super().submit(task)

    with pytest.raises(sweep.StopSweepError, match="has ended, or the folder is not shared"):
        sweep.run(
            trials({"counts": counts})[:1],
            folder,
            Elsewhere(cluster.scheduler_address),
            function=f"{HERE}:behaves",
        )
    assert lines(counts, "begun") == []


@pytest.mark.slow
def test_a_trial_that_takes_all_workers_along_is_recorded(cluster, tmp_path):
    workers, one = ClusterWorkers(cluster.scheduler_address), trials({})[0]
    lost: Future = Future()
    lost.set_exception(KilledWorker("run_alone", None, 3))
    record = workers.outcome(lost, Task(one, f"{HERE}:behaves", tmp_path, "token"))
    workers.close()
    assert record["error"]["type"] == "WorkerDied"
    assert record == records.read(one.path(tmp_path))

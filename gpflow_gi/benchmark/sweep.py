"""Sweeps of many trials: the plan, the finished trials, and the run of the others.

Nothing here imports TensorFlow; the workers do.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any, Protocol

from .claims import part_of, remove_unclaimed
from .lock import only_sweep
from .progress import Progress, announce
from .records import FAILED, FOLDER, DamagedRecordError, Trial, read, set_aside
from .worker import StopSweepError, Task

TRIAL_FUNCTION = "gpflow_gi.benchmark.described_trial:run"
"""The trial function by name, because it imports TensorFlow."""

REFRESH_SECONDS = 1.0
"""Seconds between updates of the progress display."""


class Workers(Protocol):
    """The interface of workers; see :class:`gpflow_gi.benchmark.workers.LocalWorkers`."""

    def num_jobs(self) -> int: ...

    def submit(self, task: Task) -> "Future[dict[str, Any]]": ...

    def outcome(self, future: "Future[dict[str, Any]]", task: Task) -> dict[str, Any]: ...

    def close(self) -> None: ...


class FolderError(Exception):
    """Error: a sweep cannot use the folder. The message is one line with the reason."""


def plan(
    data: Sequence[Mapping[str, Any]],
    splits: Iterable[int],
    methods: Mapping[str, Mapping[str, Any]],
    budget: Mapping[str, Any],
    seed: int,
) -> list[Trial]:
    """The trials of a sweep: all methods on all data, split by split.

    In this order an interrupted sweep is balanced.

    :param data: descriptions, see :mod:`gpflow_gi.benchmark.data`. Splits that a data set does not
        have are left out.
    :param splits: numbers of the splits.
    :param methods: settings, by the methods' names.
    :param budget: its numbers, and its name.
    :param seed: seed of every trial.
    """
    return [
        Trial(one, split, method, budget, seed, settings)
        for split in splits
        for one in data
        if one["num_splits"] is None or split < one["num_splits"]
        for method, settings in methods.items()
    ]


def prepare(folder: Path) -> Path:
    """Make the folder of a sweep, unless it exists.

    :return: the folder of records in it.
    :raises FolderError: if there is something else, or no permission to write.
    """
    kept = folder / FOLDER
    try:
        if folder.is_dir() and not kept.exists():
            others = sorted(entry.name for entry in folder.iterdir())
            if others:
                raise FolderError(
                    f"{folder} exists and is not the folder of a sweep (it holds {others[0]!r}): "
                    "choose another with --out."
                )
        kept.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FolderError(
            f"{folder} cannot be written ({error.strerror}): choose another with --out."
        ) from None
    return kept


def run(
    trials: Sequence[Trial],
    folder: Path,
    workers: Workers,
    *,
    function: str,
    retry_failed: bool = False,
    time_limit: float | None = None,
    memory_limit: float | None = None,
) -> list[dict[str, Any]]:
    """Run the trials that have no record.

    :param trials: see :func:`plan`.
    :param folder: see :func:`prepare`.
    :param workers: the workers, which are closed at the end.
    :param function: see :class:`gpflow_gi.benchmark.worker.Task`, like the limits.
    :param retry_failed: True to run trials again whose record says that they failed.
    :return: the records of all trials, in their order.
    :raises FolderError: as :func:`prepare`, or if existing files cannot be read.
    :raises SweepRunningError: if there is another sweep in the folder.
    :raises StopSweepError: if it cannot go on. Running trials have ended then.
    """
    kept = prepare(folder).resolve()
    # In this order: remains are removed once the workers are gone, and workers go once they can see
    # that the sweep was ended.
    with ExitStack() as stack:
        stack.callback(remove_unclaimed, kept)
        stack.callback(workers.close)
        try:
            token = stack.enter_context(only_sweep(kept))
            remove_unclaimed(kept)
            found = _found(trials, kept)
        except OSError as error:
            where = error.filename or kept
            raise FolderError(f"{where} cannot be used: {error.strerror}.") from None
        replaced = {
            key: record.get("started")
            for key, record in found.items()
            if retry_failed and record["status"] == FAILED
        }
        before = {key: record for key, record in found.items() if key not in replaced}
        tasks = [
            Task(
                trial,
                function,
                kept,
                token,
                replaces=replaced.get(trial.key),
                time_limit=time_limit,
                memory_limit=memory_limit,
            )
            for trial in trials
            if trial.key not in before
        ]
        with closing(Progress(trials, before)) as progress:
            records = {**before, **_run(tasks, workers, progress)}
    return [records[trial.key] for trial in trials]


def _found(trials: Sequence[Trial], kept: Path) -> dict[str, dict[str, Any]]:
    """Existing records by their keys; damaged files are renamed."""
    found = {}
    for trial in trials:
        path = trial.path(kept)
        try:
            found[trial.key] = read(path)
        except FileNotFoundError:
            continue
        except DamagedRecordError as error:
            aside = set_aside(path)
            announce(f"{error} It is now {aside.name}, and the trial is run again.")
    return found


def _run(tasks: Sequence[Task], workers: Workers, progress: Progress) -> dict[str, dict[str, Any]]:
    waiting = deque(tasks)
    running: dict[Future[dict[str, Any]], Task] = {}
    records: dict[str, dict[str, Any]] = {}
    stopped: StopSweepError | None = None
    while running or (waiting and not stopped):
        num_jobs = workers.num_jobs()
        # Not all at once: the order stays ours, and no trial stays behind on a cluster.
        while waiting and not stopped and len(running) < num_jobs:
            task = waiting.popleft()
            running[workers.submit(task)] = task
        for future in wait(running, REFRESH_SECONDS, FIRST_COMPLETED).done:
            task = running.pop(future)
            try:
                record = workers.outcome(future, task)
            except StopSweepError as error:
                stopped = stopped or error
                if running:
                    announce(f"{error} No other trial is begun; waiting for {len(running)}.")
                continue
            records[task.trial.key] = record
            progress.finished(task.trial, record, num_jobs)
        begun = [task.trial for task in running.values() if part_of(task.path).exists()]
        progress.show(begun, num_jobs)
    if stopped:
        raise stopped
    return records

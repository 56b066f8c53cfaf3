"""The worker process: it runs one trial after another.

It ends at once when its parent process is gone: a trial without a listener is a trial that the next
sweep runs.
"""

import importlib
import json
import os
import queue
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from socket import gethostname
from typing import Any

from gpflow_gi._version import __version__
from gpflow_gi.datasets import DataError

from . import data, records
from .claims import RecordNotWrittenError, claimed

STARTED, FINISHED, STOP = "started", "finished", "stop"
"""Messages of a worker: the clock runs; there is a record; no trial can be run."""


class StopSweepError(Exception):
    """Error: a problem that other trials would have too. The message is one line."""


@dataclass(frozen=True)
class Task:
    """A trial, and the settings of its run.

    :param trial: the trial to run.
    :param function: "module:name" of the trial function. It is called with the trial's data, split,
        method, budget and seed, and returns the rest of the record: at least "metrics".
    :param records: the folder for the record.
    :param token: token of the sweep; see :func:`gpflow_gi.benchmark.lock.only_sweep`.
    :param replaces: "started" of a failed record to replace.
    :param time_limit: in seconds from the trial's start, which is after all imports.
    :param memory_limit: limit of the worker's resident memory, in MB (10^6 bytes).
    :param notes: remarks on earlier attempts, for the record.
    :param version: version of this package.
    """

    trial: records.Trial
    function: str
    records: Path
    token: str
    replaces: str | None = None
    time_limit: float | None = None
    memory_limit: float | None = None
    notes: tuple[str, ...] = ()
    version: str = __version__

    @property
    def path(self) -> Path:
        """The record's file."""
        return self.trial.path(self.records)


def serve(descriptor: int) -> None:
    """Run tasks as long as the parent process sends them.

    :param descriptor: one end of a two-way pipe. Tasks come in; pairs go out: a word, such as
        :data:`STARTED`, and a record, a message or None.
    """
    connection = Connection(descriptor)
    tasks: queue.SimpleQueue[Task] = queue.SimpleQueue()

    def receive() -> None:
        while True:
            try:
                tasks.put(connection.recv())
            except (EOFError, OSError):
                os._exit(0)

    threading.Thread(target=receive, daemon=True).start()
    while True:
        task = tasks.get()
        try:
            record = run(task, lambda: connection.send((STARTED, None)))
        except StopSweepError as error:
            connection.send((STOP, str(error)))
        else:
            connection.send((FINISHED, record))


def run(task: Task, started: Callable[[], None]) -> dict[str, Any]:
    """Run a trial and write its record, unless there is a record.

    :param started: called just before the trial function.
    :return: the record.
    :raises StopSweepError: if the trial cannot be run, or its record cannot be written, for a
        reason that other trials have too.
    """
    function = _prepared(task)

    def content() -> bytes:
        started()
        return _outcome(task, function)

    return recorded(task, content)


def recorded(task: Task, content: Callable[[], bytes]) -> dict[str, Any]:
    """Write a trial's record, unless there is a record.

    :param content: returns the content of the record; called once the trial is claimed.
    :return: the record.
    :raises StopSweepError: if it cannot be written.
    """
    try:
        with claimed(task.path, task.replaces) as write:
            if write is None:
                return records.read(task.path)
            made = content()
            write(made)
            return dict(json.loads(made))
    except RecordNotWrittenError as error:
        raise StopSweepError(str(error)) from None


def _prepared(task: Task) -> Callable[..., Any]:
    """The trial function, after a check that software and data are those of the sweep."""
    here = gethostname()
    if task.version != __version__:
        raise StopSweepError(
            f"{here} has version {__version__} of gpflow_gi, but the sweep was started with "
            f"{task.version}: install that version there."
        )
    module, _, name = task.function.partition(":")
    try:
        data.check(task.trial.data)
        return getattr(importlib.import_module(module), name)
    except DataError as error:
        raise StopSweepError(f"{here}: {error}") from None
    except Exception as error:
        raise StopSweepError(f"{here} cannot import {task.function}: {error}") from None


def _outcome(task: Task, function: Callable[..., Any]) -> bytes:
    """The content of the record."""
    trial, notes = task.trial, task.notes
    began, clock = records.now(), time.perf_counter()
    try:
        result = function(trial.data, trial.split, trial.method, trial.budget, trial.seed)
        seconds = time.perf_counter() - clock
        return records.encode(records.done(trial, began, seconds, result, notes))
    except (Exception, SystemExit) as error:
        seconds, kind = time.perf_counter() - clock, type(error).__name__
        where = traceback.format_exc()
        return records.encode(records.failed(trial, began, seconds, kind, str(error), where, notes))

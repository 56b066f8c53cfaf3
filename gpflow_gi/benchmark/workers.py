"""Worker processes and their supervision.

A worker is started as a separate program, not by a library's pool of processes, for four reasons.
The clock of a trial must start with the trial and not when it is sent (importing TensorFlow takes
long). Memory must be measured from outside. The last output of a crashed process must be kept. And
the workers of a cluster, which supervise in the same way, may not start children with
:mod:`multiprocessing`.
"""

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from multiprocessing import Pipe
from socket import gethostname
from typing import Any

import psutil

from . import records
from .lock import is_running
from .progress import announce
from .worker import FINISHED, STARTED, STOP, StopSweepError, Task, recorded

_FROM_OUTSIDE = ("SIGHUP", "SIGINT", "SIGKILL", "SIGQUIT", "SIGTERM")
"""Signals from other processes. Signals of a crashing program are not among them."""

POLL_SECONDS = 0.1
"""Seconds between checks of a trial's time and memory."""

TRIALS_EACH = 10
"""Number of trials after which a worker is replaced, since TensorFlow does not free all memory."""

_ENVIRONMENT = {
    # One core for each trial: many small matrices do not gain from more, and the numbers then do
    # not depend on the number of cores.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TF_NUM_INTRAOP_THREADS": "1",
    "TF_NUM_INTEROP_THREADS": "1",
    "TF_CPP_MIN_LOG_LEVEL": "3",
}


class _KilledError(Exception):
    """Error: a worker's process was ended for a reason that may lie outside of the trial.

    The message goes on after "the worker".

    :param failure: the arguments of the trial's record, if the trial is to fail.
    """

    def __init__(self, message: str, failure: tuple[str, float, str, str, str | None]) -> None:
        super().__init__(message)
        self.failure = failure


class Worker:
    """A worker process, replaced by another one if it is killed.

    :raises StopSweepError: if no process can be started.
    """

    def __init__(self) -> None:
        self._start()

    def _start(self) -> None:
        self.trials = 0
        try:
            self._start_process()
        except OSError as error:
            raise StopSweepError(f"a worker cannot be started: {error.strerror}.") from None

    def _start_process(self) -> None:
        self._connection, theirs = Pipe()
        self._output = tempfile.TemporaryFile()
        descriptor = theirs.fileno()
        program = f"from gpflow_gi.benchmark.worker import serve; serve({descriptor})"
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-X", "faulthandler", "-c", program],
                stdin=subprocess.DEVNULL,
                stdout=self._output,
                stderr=subprocess.STDOUT,
                pass_fds=[descriptor],
                env={
                    **os.environ,
                    **_ENVIRONMENT,
                    "PYTHONPATH": os.pathsep.join(path or os.getcwd() for path in sys.path),
                },
                # Ctrl-C in a terminal reaches all processes of a session: only the supervisor may
                # tell this one.
                start_new_session=True,
            )

    def is_alive(self) -> bool:
        """True if the process exists and is not about to end."""
        # After a kill, poll() reports nothing before the last thread of the process is gone.
        return (
            self._process.poll() is None
            and psutil.Process(self._process.pid).status() != psutil.STATUS_ZOMBIE
        )

    def end(self) -> None:
        """Kill the process."""
        self._process.kill()
        self._process.wait()
        self._connection.close()
        self._output.close()

    def run(self, task: Task) -> dict[str, Any]:
        """Run a trial, and make sure that it has a record in every case.

        If the process is killed from outside, or takes too much memory after other trials, which
        says nothing about this one, then another process runs it once more, and its record has a
        note.

        :return: the record. If it failed, the worker may be unfit for another trial.
        :raises StopSweepError: if the sweep was ended, or if it cannot go on.
        """
        try:
            return self._run(task)
        except _KilledError as killed:
            note = f"The worker {killed} in a first attempt; the trial was run again."
            announce(f"{task.trial.title}: the worker {killed}; the trial is run again.")
        self.end()
        self._start()
        again = replace(task, notes=(*task.notes, note))
        try:
            return self._run(again)
        except _KilledError as killed:
            return write_failure(again, *killed.failure)

    def _run(self, task: Task) -> dict[str, Any]:
        self.trials += 1
        self._output.seek(0)
        self._output.truncate()
        began, sent, started = records.now(), time.monotonic(), None
        _check_running(task)
        try:
            self._connection.send(task)
            while True:
                if self._connection.poll(POLL_SECONDS):
                    word, what = self._connection.recv()
                    if word == FINISHED:
                        return dict(what)
                    if word == STOP:
                        raise StopSweepError(what)
                    if word == STARTED:
                        began, started = records.now(), time.monotonic()
                _check_running(task)
                excess = self._excess(task, started)
                if excess is not None:
                    break
        except (EOFError, OSError):
            excess = None
        self._process.kill()
        code = self._process.wait()
        kind, message = excess or ("WorkerDied", f"the worker {_described(code)}.")
        seconds = time.monotonic() - (started or sent)
        failure = (began, seconds, kind, message, self._last_output())
        if kind == "MemoryLimit" and self.trials > 1:
            raise _KilledError("was over the memory limit with what earlier trials left", failure)
        if excess is None and code < 0 and signal.Signals(-code).name in _FROM_OUTSIDE:
            raise _KilledError(f"was ended by {signal.Signals(-code).name}", failure)
        return write_failure(task, *failure)

    def _excess(self, task: Task, started: float | None) -> tuple[str, str] | None:
        """The limit that a trial has exceeded: type and message of its error."""
        limit = task.time_limit
        if limit is not None and started is not None and time.monotonic() - started > limit:
            return "TimeLimit", f"it took longer than {limit:g} s."
        if task.memory_limit is None:
            return None
        try:
            memory = psutil.Process(self._process.pid).memory_info().rss / 1e6
        except psutil.NoSuchProcess:
            return None
        if memory > task.memory_limit:
            return "MemoryLimit", f"it took {memory:.0f} MB; {task.memory_limit:g} MB are allowed."
        return None

    def _last_output(self, most: int = 4000) -> str | None:
        size = self._output.seek(0, os.SEEK_END)
        self._output.seek(max(0, size - most))
        return self._output.read().decode(errors="replace") or None


def _check_running(task: Task) -> None:
    if not is_running(task.records, task.token):
        raise StopSweepError(
            f"{gethostname()} cannot find the sweep in {task.records.parent}: it has ended, or "
            "the folder is not shared with this machine."
        )


def _described(code: int) -> str:
    if code >= 0:
        return f"ended itself with exit code {code}"
    name = signal.Signals(-code).name
    return f"was ended by {name}" + (
        " (which is what a system does that has run out of memory)" if name == "SIGKILL" else ""
    )


def write_failure(
    task: Task, began: str, seconds: float, kind: str, message: str, output: str | None = None
) -> dict[str, Any]:
    """Write the record for a worker that cannot do it, unless there is a record.

    :param began: from :func:`gpflow_gi.benchmark.records.now`.
    :param seconds: duration of the trial.
    :param kind: as for :func:`gpflow_gi.benchmark.records.failed`, like `message`.
    :param output: the last output of the worker.
    :return: the record.
    :raises StopSweepError: if it cannot be written.
    """
    failed = records.failed(task.trial, began, seconds, kind, message, output, task.notes)
    return recorded(task, lambda: records.encode(failed))


class LocalWorkers:
    """The workers of this machine.

    :param jobs: number of trials that run at a time.
    """

    def __init__(self, jobs: int) -> None:
        self._jobs = jobs
        self._threads = ThreadPoolExecutor(jobs)
        self._idle: deque[Worker] = deque()

    def num_jobs(self) -> int:
        """The number of trials that can run at a time."""
        return self._jobs

    def submit(self, task: Task) -> "Future[dict[str, Any]]":
        """Submit a trial.

        :return: a future with its record, or with a :class:`StopSweepError`.
        """
        return self._threads.submit(self._run, task)

    def outcome(self, future: "Future[dict[str, Any]]", task: Task) -> dict[str, Any]:
        """The record of a trial that has ended.

        :param future: from :meth:`submit`.
        :raises StopSweepError: if the sweep was ended, or if it cannot go on.
        """
        return future.result()

    def close(self) -> None:
        """End all workers as soon as no trial is running."""
        self._threads.shutdown(cancel_futures=True)
        for worker in self._idle:
            worker.end()

    def _idle_worker(self) -> Worker | None:
        while self._idle:
            with suppress(IndexError):  # another thread was faster
                worker = self._idle.pop()
                if worker.is_alive():
                    return worker
                worker.end()
        return None

    def _run(self, task: Task) -> dict[str, Any]:
        worker = self._idle_worker() or Worker()
        fit = False
        try:
            record = worker.run(task)
            fit = record["status"] == records.DONE and worker.trials < TRIALS_EACH
            return record
        finally:
            if fit:
                self._idle.append(worker)
            else:
                worker.end()

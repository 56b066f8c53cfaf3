"""The peak memory of a process during a part of its run."""

import threading
from typing import Any

import psutil

INTERVAL = 0.05
"""Seconds between measurements."""


class PeakMemory:
    """A context that measures the process's resident memory repeatedly.

    The operating system's own peak is that of the process's whole life, and a process may run
    several trials.
    """

    def __init__(self) -> None:
        self.peak = 0
        """Peak memory in bytes."""
        self._process = psutil.Process()
        self._ended = threading.Event()
        self._watcher = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "PeakMemory":
        self._look()
        self._watcher.start()
        return self

    def __exit__(self, *error: Any) -> None:
        self._ended.set()
        self._watcher.join()
        self._look()

    def _watch(self) -> None:
        while not self._ended.wait(INTERVAL):
            self._look()

    def _look(self) -> None:
        self.peak = max(self.peak, self._process.memory_info().rss)

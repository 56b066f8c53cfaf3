"""The parts of an experiment, counted as they are announced, with the time left."""

from __future__ import annotations

import time
from collections.abc import Callable

from gpflow_gi.benchmark.progress import duration


class Parts:
    """Announce parts with their number and, after the first, the time left.

    The time left is that of the mean of the parts so far; parts may differ much. It needs one.

    :param announce: called with one line for each part.
    :param total: number of parts.
    :param apart: number of parts at the beginning that are unlike the others, and tell nothing of
        their time.
    :param after: True if parts are announced at their ends, False at their beginnings.
    :param clock: seconds of a clock.
    """

    def __init__(
        self,
        announce: Callable[[str], None],
        total: int,
        *,
        apart: int = 0,
        after: bool = False,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._announce = announce
        self._total = total
        self._apart = apart
        self._after = after
        self._clock = clock
        self._started = clock()
        self._number = 0

    def __call__(self, name: str) -> None:
        """Announce a part by its name."""
        self._number += 1
        done = self._number if self._after else self._number - 1
        left = self._total - done
        said = f"{self._number} of {self._total}"
        now = self._clock()
        if done <= self._apart:
            self._started = now
        elif left:
            mean = (now - self._started) / (done - self._apart)
            said += f", about {duration(mean * left)} left"
        self._announce(f"{name} ({said})")

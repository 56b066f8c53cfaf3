"""The most memory that a process had while something ran."""

import time

import numpy as np

from gpflow_gi.benchmark.peak_memory import INTERVAL, PeakMemory


def test_memory_that_came_and_went_is_seen():
    with PeakMemory() as before:
        pass
    with PeakMemory() as during:
        numbers = np.ones(30_000_000)
        time.sleep(4 * INTERVAL)
        del numbers
    with PeakMemory() as after:
        pass
    assert during.peak - before.peak > 200e6
    assert after.peak < during.peak - 100e6

"""Programs that run in a process of their own, for their time and memory.

A process's own record of its peak is of no use here: a child starts with that of its parent.
"""

import json
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from gpflow_gi.benchmark.peak_memory import PeakMemory


def in_fresh_process(module: str, *arguments: str) -> dict[str, Any]:
    """Run one of the programs here, and read the last line that it prints as JSON.

    :param module: its name.
    :raises RuntimeError: if it fails, with what it said.
    """
    command = [sys.executable, "-m", f"tests.benchmarks.{module}", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{run.stderr[-2000:]}")
    return dict(json.loads(run.stdout.splitlines()[-1]))


def print_time_and_memory(function: Callable[[], object], **more: Any) -> None:
    """Call the function once, and print what :func:`in_fresh_process` reads.

    :param more: to be printed too.
    """
    with PeakMemory() as before:
        pass
    with PeakMemory() as during:
        started = time.perf_counter()
        function()
        seconds = time.perf_counter() - started
    megabytes = {"peak_mb": during.peak / 2**20, "before_mb": before.peak / 2**20}
    print(json.dumps({"seconds": seconds, **megabytes, **more}))

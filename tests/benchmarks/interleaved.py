"""Times of several programs that take turns, so that what slows the machine slows them all."""

import platform
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np


@dataclass(frozen=True)
class Times:
    """Seconds per step, one number per round.

    :param wall: by the clock.
    :param cpu: of this process, all its threads; other programs on the machine disturb it less.
    """

    wall: np.ndarray
    cpu: np.ndarray


def measure(
    programs: dict[str, Callable[[], object]], *, rounds: int, steps: int
) -> dict[str, Times]:
    """Let every program take `steps` steps in every round.

    The order within a round is shuffled, so that no program always follows the same other.

    :param programs: functions that take one step and return when it is done. They must have been
        called before, or the first round holds their compilation.
    """
    order = np.random.default_rng(0)
    wall = {name: np.zeros(rounds) for name in programs}
    cpu = {name: np.zeros(rounds) for name in programs}
    for i in range(rounds):
        for name in order.permutation(list(programs)):
            step = programs[name]
            start, cpu_start = time.perf_counter(), time.process_time()
            for _ in range(steps):
                step()
            wall[name][i] = (time.perf_counter() - start) / steps
            cpu[name][i] = (time.process_time() - cpu_start) / steps
    return {name: Times(wall[name], cpu[name]) for name in programs}


def machine(*packages: str) -> str:
    """The processor and the versions of some packages, in a line."""
    cpu_info = Path("/proc/cpuinfo")
    models = [line.split(":")[1] for line in _lines(cpu_info) if line.startswith("model name")]
    cpu = models[0].strip() if models else platform.processor() or platform.machine()
    cores = f"{len(models)} cores" if models else "number of cores unknown"
    versions = [f"Python {platform.python_version()}", *(f"{p} {version(p)}" for p in packages)]
    return f"{cpu}, {cores}; {platform.system()}; {', '.join(versions)}"


def _lines(file: Path) -> list[str]:
    return file.read_text().splitlines() if file.is_file() else []

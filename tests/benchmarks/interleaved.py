"""Times of several programs that take turns, so that what slows the machine slows them all."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Program: TypeAlias = Callable[[int], float | None]
"""Takes that many steps, and returns when they are done: the seconds of CPU that another process
spent on them, or None."""

NOTES = (
    "Medians, with quartiles over rounds in which all competitors took turns. Ratios are taken "
    "within each round, then the median. The cpu ratio is that of the process's CPU time, which "
    "other programs on the machine disturb less."
)


@dataclass(frozen=True)
class Times:
    """Seconds per step, one number per round.

    :param wall: by the clock.
    :param cpu: of this process, all its threads; other programs on the machine disturb it less.
    """

    wall: np.ndarray
    cpu: np.ndarray

    def __mul__(self, factor: float) -> "Times":
        return Times(factor * self.wall, factor * self.cpu)

    def __add__(self, other: "Times") -> "Times":
        return Times(self.wall + other.wall, self.cpu + other.cpu)

    def to_dict(self) -> dict[str, list[float]]:
        return {"wall": self.wall.tolist(), "cpu": self.cpu.tolist()}


def measure(programs: Mapping[str, Program], *, rounds: int, seconds: float) -> dict[str, Times]:
    """Let every program take steps for about `seconds` in every round.

    The order within a round is shuffled, so that no program always follows the same other.

    :param programs: they must have been called before, or compilation is part of how many steps
        are thought to fit.
    """
    order = np.random.default_rng(0)
    steps = {name: _fitting(program, seconds) for name, program in programs.items()}
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name in order.permutation(list(programs)):
            taken[name].append(_per_step(programs[name], steps[name]))
    return {name: times_of(pairs) for name, pairs in taken.items()}


def times_of(pairs: list[tuple[float, float]]) -> Times:
    """:param pairs: of wall and CPU time."""
    wall, cpu = np.array(pairs).T
    return Times(wall, cpu)


def _fitting(program: Program, seconds: float) -> int:
    """The number of steps that take about this many seconds."""
    steps = 1
    while True:
        took = max(_per_step(program, steps)[0], 1e-9)
        if steps * took > seconds / 4:
            return max(1, round(seconds / took))
        steps *= 4


def _per_step(program: Program, steps: int) -> tuple[float, float]:
    start, cpu_start = time.perf_counter(), time.process_time()
    elsewhere = program(steps) or 0.0
    cpu = time.process_time() - cpu_start + elsewhere
    return (time.perf_counter() - start) / steps, cpu / steps


def repeated(function: Callable[[], Any]) -> Program:
    """A program each step of which is a call of the function; it is called once now."""
    function()

    def run(steps: int) -> None:
        for _ in range(steps):
            function()

    return run


def milliseconds(times: Times) -> list[str]:
    """The median, and the quartiles."""
    low, median, high = np.percentile(1e3 * times.wall, [25, 50, 75])
    return [f"{median:.3g}", f"{low:.3g} to {high:.3g}"]


def ratios(over: Times, under: Times) -> list[str]:
    """Medians of the ratios of wall times and of CPU times, round by round."""
    return [f"{np.median(over.wall / under.wall):.2f}", f"{np.median(over.cpu / under.cpu):.2f}"]


def rows(
    times: Mapping[str, Times],
    ratio: Callable[[str, Times], list[str]],
    goals: Mapping[str, str],
) -> Iterator[list[str]]:
    """One row for each program: name, median, quartiles, ratios and goal."""
    for name, own in times.items():
        yield [name, *milliseconds(own), *ratio(name, own), goals.get(name, "")]

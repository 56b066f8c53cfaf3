"""The progress display of a sweep."""

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tqdm import tqdm

from gpflow_gi.core.printable import printable

from .records import FAILED, Trial

_MOST_SHOWN = 2
"""Largest number of running trials that are named; there may be hundreds."""


class Progress:
    """A display of finished, failed and running trials and the time left, on standard error.

    A terminal gets a bar, and a line for each failed trial. Anything else, such as a log file, gets
    a line for each trial.

    :param trials: the trials of the sweep.
    :param found: earlier records, by their keys.
    """

    def __init__(self, trials: Sequence[Trial], found: Mapping[str, Mapping[str, Any]]) -> None:
        self._trials = trials
        self._records = dict(found)
        self._bar = tqdm(
            total=len(trials),
            initial=len(found),
            bar_format="{n_fmt}/{total_fmt} |{bar:20}| {desc}",
            dynamic_ncols=True,
            disable=not sys.stderr.isatty(),
        )

    def show(self, running: Sequence[Trial], num_jobs: int) -> None:
        """Show the state of the sweep.

        :param running: the running trials.
        :param num_jobs: number of trials that can run at a time.
        """
        names = [trial.title for trial in running[:_MOST_SHOWN]]
        if len(running) > len(names):
            names.append(f"{len(running) - len(names)} more")
        doing = [f"running {', '.join(names)}"] if names else []
        self._bar.set_description_str("; ".join([*self._standing(num_jobs), *doing]))

    def finished(self, trial: Trial, record: Mapping[str, Any], num_jobs: int) -> None:
        """Count a trial."""
        self._records[trial.key] = record
        self._bar.update()
        if self._bar.disable:
            count = f"{len(self._records)}/{len(self._trials)}"
            line = f"{count} {trial.title}: {outcome(record)}"
            announce("; ".join([line, *self._standing(num_jobs)]))
        elif record["status"] == FAILED:
            announce(f"{trial.title}: {outcome(record)}")

    def close(self) -> None:
        """Close the bar and leave it visible."""
        self._bar.close()

    def _standing(self, num_jobs: int) -> list[str]:
        """The number of failures and the time left, if known."""
        failures = sum(record["status"] == FAILED for record in self._records.values())
        standing = [f"{failures} failed"] if failures else []
        left = [trial for trial in self._trials if trial.key not in self._records]
        seconds = seconds_left(left, self._records.values(), num_jobs)
        return [*standing, f"about {duration(seconds)} left"] if seconds else standing


def announce(line: str) -> None:
    """Print a lasting line on standard error, above a bar if there is one."""
    tqdm.write(line, file=sys.stderr)


def outcome(record: Mapping[str, Any]) -> str:
    """The result of a trial, and its duration."""
    took = duration(record["seconds"])
    if record["status"] == FAILED:
        error = printable(f"{record['error']['type']}: {record['error']['message']}")
        return f"failed after {took} ({error})"
    log_density = record["metrics"].get("log_density")
    return took if log_density is None else f"log density {log_density:.2f}, {took}"


def seconds_left(
    left: Sequence[Trial], records: Iterable[Mapping[str, Any]], num_jobs: int
) -> float | None:
    """An estimate of the time left for a sweep.

    A trial is assumed to take the mean time of the trials of the same method on the same data; if
    there are none, that of the method, or that of all trials.

    :param left: trials without a record.
    :param records: the existing records.
    :param num_jobs: number of trials that run at a time.
    :return: seconds; None without any information.
    """
    times: dict[tuple[str, ...], list[float]] = {}
    for record in records:
        dataset, method = (record["trial"][name] for name in ("dataset", "method"))
        if not isinstance(record.get("seconds"), int | float):  # a record from another program
            continue
        for group in ((dataset, method), (method,), ()):
            times.setdefault(group, []).append(record["seconds"])
    if not times:
        return None
    means = {group: sum(seconds) / len(seconds) for group, seconds in times.items()}
    total = sum(
        means.get((trial.data["name"], trial.method)) or means.get((trial.method,)) or means[()]
        for trial in left
    )
    return total / num_jobs


def duration(seconds: float) -> str:
    """Seconds, minutes or hours, to about two digits."""
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 99.5:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 100 else f"{minutes // 60} h {minutes % 60} min"

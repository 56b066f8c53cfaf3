"""Runs of the catalogue's experiments, and their results.

The module of an experiment has three functions::

    run(*, fast, seed, announce, progress) -> dict    also full, data, checkpoints and workers, if
                                                      in the catalogue
    plot(results) -> matplotlib Figure
    summary(results) -> str

`run` returns all results, ready for JSON. The other two need nothing else, so a figure and a table
can be made again from a file of results.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpflow_gi._version import __version__
from gpflow_gi.core.json_file import versions, with_none_for_non_finite, write_json
from gpflow_gi.experiments.catalogue import EXPERIMENTS, FILES, Experiment

if TYPE_CHECKING:  # the module needs the file locks of Linux or macOS
    from gpflow_gi.benchmark.sweep import Workers

RESOLUTION = 150
"""Resolution of figures, in dots per inch."""


def run(
    name: str,
    *,
    fast: bool = False,
    full: bool = False,
    data: str | None = None,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
    checkpoints: Path | None = None,
    workers: Workers | None = None,
) -> dict[str, Any]:
    """Run an experiment.

    :param name: one of :data:`~gpflow_gi.experiments.catalogue.EXPERIMENTS`.
    :param fast: True for a short version of about a minute.
    :param full: True for the longer version, if there is one.
    :param data: name of the data, if the catalogue gives a choice; None for the default.
    :param seed: seed of the data, of the models' start and of training.
    :param announce: called with one line before each part of the work.
    :param progress: True to show progress bars.
    :param checkpoints: folder for unfinished work of an experiment that can be resumed, in which
        every choice of data, seed and length has a folder of its own; others do not use it.
    :param workers: of an experiment whose parts may run at the same time, closed at its end; None
        for one process of this machine; other experiments do not use them.
    :return: the results as they are after reading from JSON, preceded by the experiment's name, the
        options, the versions of the software and the duration.
    :raises ValueError: if there is no such experiment, if it has no `full` version or no such
        `data`, or if both versions are requested.
    :raises DataError: if data are not available.
    :raises StopSweepError: if workers cannot go on, or a part failed.
    :raises SweepRunningError: if the same run is going on elsewhere.
    :raises FolderError: if the folder for unfinished work cannot be used.
    """
    if name not in EXPERIMENTS:
        raise ValueError(f"name must be one of {', '.join(EXPERIMENTS)}, but is {name!r}.")
    experiment = EXPERIMENTS[name]
    if full and not experiment.has_full:
        raise ValueError(f"{name} has no full version.")
    if fast and full:
        raise ValueError("Give fast or full, not both.")
    if data is not None and data not in experiment.data:
        raise ValueError(
            f"{name} runs on {', '.join(experiment.data) or 'its own data'}, not on {data!r}."
        )
    options: dict[str, Any] = {"fast": fast, "seed": seed}
    if experiment.data:
        options["data"] = data or experiment.data[0]
    if experiment.has_full:
        options["full"] = full
    means: dict[str, Any] = {"workers": workers} if experiment.runs_trials else {}
    if experiment.is_resumable:
        name_of_run = folder_of_run(experiment, fast=fast, full=full, data=data, seed=seed)
        means["checkpoints"] = None if checkpoints is None else checkpoints / name_of_run
    started = time.perf_counter()
    results = import_module(experiment.module).run(
        **experiment.arguments, **options, **means, announce=announce, progress=progress
    )
    everything = {
        "command": "experiment",
        "experiment": name,
        "options": options,
        "versions": versions(),
        "seconds": time.perf_counter() - started,
        **with_none_for_non_finite(results),
    }
    # So the table and the figure now are the same as those from the file.
    return dict(json.loads(json.dumps(everything, allow_nan=False)))


def folder_of_run(
    experiment: Experiment, *, fast: bool, full: bool, data: str | None, seed: int
) -> str:
    """The name of the folder of a run's unfinished work: other choices and versions have others.

    :param experiment: one of the catalogue's; the other parameters are those of :func:`run`.
    """
    length = "fast" if fast else "full" if full else None
    chosen = data or next(iter(experiment.data), None)
    return "-".join(filter(None, (chosen, length, f"seed{seed}", f"v{__version__}")))


def summary(results: Mapping[str, Any]) -> str:
    """A short table, at most 80 columns wide.

    :param results: from :func:`run`, or read from JSON.
    """
    return str(import_module(EXPERIMENTS[results["experiment"]].module).summary(results))


def write(results: Mapping[str, Any], folder: Path) -> None:
    """Write the numbers and the figure: :data:`~gpflow_gi.experiments.catalogue.FILES`.

    :param results: from :func:`run`, or read from JSON.
    :param folder: an existing folder.
    """
    numbers, figure = (folder / name for name in FILES)
    write_json(results, numbers)
    module = import_module(EXPERIMENTS[results["experiment"]].module)
    module.plot(results).savefig(figure, dpi=RESOLUTION)

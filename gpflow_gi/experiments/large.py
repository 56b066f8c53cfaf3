"""Measures on held-out rows against CPU time, on hundreds of thousands or millions of rows.

Rodriguez Santana et al. (2022), section 5.3: 10,000 rows are held out, and every method takes
minibatches of the others for the same CPU time. Each method is a trial, run as those of a
benchmark: by processes of this machine or of a cluster, and none twice.
"""

from __future__ import annotations

import hashlib
import textwrap
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.benchmark import records
from gpflow_gi.benchmark.methods import METHODS, Method, settings_of
from gpflow_gi.datasets import Table, airline, flights
from gpflow_gi.plotting import COLOURS

if TYPE_CHECKING:
    from gpflow_gi.benchmark.sweep import Workers

TABLES: dict[str, Callable[[], Table]] = {"airline": airline, "flights": flights}
MEASURES = {"rmse": "RMSE", "log_density": "log density", "crps": "CRPS"}

SVGP = Method("svgp", "Sparse GP", "deep-gp", "", {"inference": "local", "num_layers": 1})
"""The model of GPflow's SVGP, with the draws that all others here have."""

COMPARED = {
    "svgp": SVGP,
    **{
        name: METHODS[name]
        for name in (
            *("dgp-local-2", "dgp-local-3", "dgp-global-2", "dgp-global-3"),
            *("bnn-factorised", "bnn-global", "vip", "sip-bnn", "sip-ns", "aadm-0.5"),
        )
    },
}
"""The compared methods by name."""

COST_OF_STEPS = "cost-of-steps"
"""The name of the trial that measures the cost of a step by the number of rows."""

TRIAL_FUNCTION = "gpflow_gi.experiments.curve:run"
"""The trial function by name, because it imports TensorFlow."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param name: of these settings.
    :param cpu_seconds: CPU time of each training, without measuring.
    :param first_seconds: CPU time before the first measurement; each later one is at `factor`
        times the time of the one before it.
    :param factor: see `first_seconds`.
    :param most_rows: largest number of rows to train on; None for all.
    :param num_test: number of held-out rows.
    :param num_start: number of training rows from which a model's start is made.
    :param batch_size: rows of each step.
    :param num_inducing: inducing points of each layer.
    :param learning_rate: learning rate, constant.
    :param num_test_samples: samples of predictions.
    :param rows_of_steps: numbers of rows for which the cost of a step is measured.
    :param steps_of_cost: number of steps of each of these measurements.
    """

    name: str = "usual"
    cpu_seconds: float = 1800.0
    first_seconds: float = 10.0
    factor: float = 1.5
    most_rows: int | None = None
    num_test: int = 10_000
    num_start: int = 10_000
    batch_size: int = 500
    num_inducing: int = 100
    learning_rate: float = 0.01
    num_test_samples: int = 50
    rows_of_steps: tuple[int, ...] = (10_000, 100_000, 1_000_000, 2_000_000)
    steps_of_cost: int = 500


USUAL = Settings()
FAST = Settings(
    name="fast",
    cpu_seconds=4.0,
    first_seconds=1.0,
    most_rows=20_000,
    num_test=1000,
    num_start=1000,
    batch_size=100,
    num_inducing=20,
    num_test_samples=10,
    rows_of_steps=(2000, 20_000),
    steps_of_cost=100,
)
FAST_METHODS = ("svgp", "dgp-global-2", "vip")


def run(
    *,
    data: str = "airline",
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
    checkpoints: Path | None = None,
    workers: Workers | None = None,
) -> dict[str, Any]:
    """Train and measure everything; see :mod:`gpflow_gi.experiments.study`.

    :param checkpoints: folder for unfinished work; None for none.
    :param workers: run the methods, and are closed at the end; None for one process of this
        machine.
    :return: "settings", "num_train", "peak_memory_mb" of the largest process, "cost_of_steps"
        (milliseconds of a step, by number of rows), and "curves": for each method a list of points
        with "step", "cpu_seconds" and the measures, and "failed", a sentence or None.
    :raises DataError: if the data are not available.
    :raises StopSweepError: if a method's process failed, or none can be started; what is done is
        kept.
    :raises SweepRunningError: if the same experiment is running in the folder.
    :raises FolderError: if the folder cannot be used.
    """
    # Here, since they need the file locks of Linux or macOS, and the table and the figure do not.
    from gpflow_gi.benchmark import sweep
    from gpflow_gi.benchmark.worker import StopSweepError
    from gpflow_gi.benchmark.workers import LocalWorkers

    settings, names = (FAST, FAST_METHODS) if fast else (USUAL, tuple(COMPARED))
    workers = workers or LocalWorkers(1)
    with closing(workers), TemporaryDirectory() as temporary:
        table = TABLES[data]()
        announce(f"{data}: {len(table.X)} rows, {settings.num_test} of them held out")
        described = {"name": data, "sha256": hash_of(table), "num_splits": None}
        del table  # every trial reads it anew
        folder = Path(temporary) if checkpoints is None else checkpoints.resolve()
        trials = [
            records.Trial(
                {**described, "folder": str(folder / name)},
                0,
                name,
                asdict(settings),
                seed,
                {} if name == COST_OF_STEPS else settings_of(COMPARED[name]),
            )
            for name in (*names, COST_OF_STEPS)
        ]
        *curves, costs = sweep.run(
            trials,
            folder / "trials",
            workers,
            function=TRIAL_FUNCTION,
            retry_failed=True,
        )
    failures = [
        f"{one['trial']['method']} ({one['error']['type']}: {one['error']['message']})"
        for one in (*curves, costs)
        if one["status"] == records.FAILED
    ]
    if failures:
        raise StopSweepError(
            f"There are no results, since {len(failures)} of {len(trials)} parts failed: "
            f"{'; '.join(failures)}. What is done is kept; the same command tries the others again."
        )
    for one in curves:
        if one["failed"]:
            announce(f"{one['trial']['method']} ended early: {one['failed']}")
    return {
        "settings": asdict(settings),
        "num_train": curves[0]["data"]["num_train"],
        "peak_memory_mb": max(one["cost"]["peak_memory_mb"] for one in (*curves, costs)),
        "cost_of_steps": costs["metrics"],
        "curves": {
            one["trial"]["method"]: {"points": one["points"], "failed": one["failed"]}
            for one in curves
        },
    }


def hash_of(table: Table) -> str:
    """The SHA-256 of a table's numbers."""
    found = hashlib.sha256()
    for values in (table.X, table.Y):
        found.update(np.ravel(values).data)
    return found.hexdigest()


def summary(results: Mapping[str, Any]) -> str:
    """The last measures of all methods; see :mod:`gpflow_gi.experiments.study`."""
    lines = []
    for name, curve in results["curves"].items():
        last = curve["points"][-1] if curve["points"] else None
        if last is None:
            lines.append((name, "failed", "", *("-" for _ in MEASURES)))
            continue
        values = (f"{last[measure]:.4g}" for measure in MEASURES)
        lines.append((name, f"{last['cpu_seconds']:.0f}", f"{last['step']}", *values))
    headers = ("", "CPU seconds", "steps", *MEASURES.values())
    table = tabulate(lines, headers, disable_numparse=True, colalign=("left", *5 * ("right",)))
    early = "".join(
        f" {name} ended early: {curve['failed']}"
        for name, curve in results["curves"].items()
        if curve["failed"]
    )
    costs = ", ".join(f"{cost:.2f} at {N}" for N, cost in results["cost_of_steps"].items())
    note = (
        f"{results['num_train']} rows to train on. Measures on held-out rows, minutes of delay and "
        f"nats. Milliseconds of a step of dgp-global-2 by number of rows: {costs}. "
        f"Peak memory of a process {results['peak_memory_mb']:.0f} MB.{early}"
    )
    return f"{table}\n\n{textwrap.fill(note, 80)}"


def plot(results: Mapping[str, Any]) -> Figure:
    """Measures against CPU time; see :mod:`gpflow_gi.experiments.study`."""
    figure = Figure(figsize=(11, 3.8), layout="constrained")
    panels = figure.subplots(1, len(MEASURES))
    for ax, (measure, title) in zip(panels, MEASURES.items(), strict=True):
        for i, (name, curve) in enumerate(results["curves"].items()):
            points = curve["points"]
            ax.plot(
                [point["cpu_seconds"] for point in points],
                [point[measure] for point in points],
                marker=".",
                color=COLOURS[i % len(COLOURS)],
                linestyle="-" if i < len(COLOURS) else "--",
                label=name,
            )
        better = "higher" if measure == "log_density" else "lower"
        ax.set_title(f"{title} ({better} is better)", fontsize="medium")
        ax.set_xscale("log")
        ax.set_xlabel("CPU seconds")
        ax.spines[["top", "right"]].set_visible(False)
    handles, _ = panels[0].get_legend_handles_labels()
    figure.legend(handles=handles, loc="outside right upper", fontsize="small")
    return figure

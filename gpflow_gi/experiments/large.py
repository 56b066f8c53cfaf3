"""Measures on held-out rows against CPU time, on hundreds of thousands or millions of rows.

Rodriguez Santana et al. (2022), section 5.3: 10,000 rows are held out, and every method takes
minibatches of the others for the same CPU time. Predictions are measured in between, in time that
does not count. The start of a model is made from 10,000 training rows.

A run can be resumed: training is saved every minute, and a method that is done is not trained
again.
"""

from __future__ import annotations

import json
import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.benchmark.methods import METHODS, Method
from gpflow_gi.benchmark.peak_memory import PeakMemory
from gpflow_gi.benchmark.train import build, objective_from
from gpflow_gi.core.json_file import write_json
from gpflow_gi.datasets import Standardiser, Table, airline, flights
from gpflow_gi.metrics.held_out import HeldOut, predictive_components
from gpflow_gi.plotting import COLOURS
from gpflow_gi.training import NarrowRows, NonFiniteError, Report, fit
from gpflow_gi.training.record import notes_not_warnings

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


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param methods: names of :data:`COMPARED`.
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

    methods: tuple[str, ...] = tuple(COMPARED)
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
    methods=("svgp", "dgp-global-2", "vip"),
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


def run(
    *,
    data: str = "airline",
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
    checkpoints: Path | None = None,
) -> dict[str, Any]:
    """Train and measure everything; see :mod:`gpflow_gi.experiments.study`.

    :param checkpoints: folder for unfinished work; None for none.
    :return: "settings", "num_train", "peak_memory_mb", "cost_of_steps" (milliseconds of a step, by
        number of rows), and "curves": for each method a list of points with "step", "cpu_seconds"
        and the measures, and "failed", a sentence or None.
    """
    settings = FAST if fast else USUAL
    with PeakMemory() as memory:
        rows = _rows(TABLES[data](), settings, seed)
        announce(f"{data}: {len(rows.train)} rows to train on, {len(rows.X_test)} held out")
        curves = {}
        for name in settings.methods:
            curves[name] = _curve(COMPARED[name], rows, settings, seed, checkpoints)
            announce(f"{name}: {_said(curves[name])}")
        costs = _cost_of_steps(rows, settings)
    return {
        "settings": asdict(settings),
        "num_train": len(rows.train),
        "peak_memory_mb": memory.peak / 1e6,
        "cost_of_steps": costs,
        "curves": curves,
    }


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows to train on, as narrow as they are, and rows to test on.

    :param train: N training rows.
    :param X_test: [n, D], standardised as the training rows.
    :param Y_test: [n, 1], in the target's own unit.
    :param targets: the standardisation of the target.
    """

    train: NarrowRows
    X_test: np.ndarray
    Y_test: np.ndarray
    targets: Standardiser


def _rows(table: Table, settings: Settings, seed: int) -> Rows:
    order = np.random.default_rng(seed).permutation(len(table.X))
    test, train = np.split(order, [settings.num_test])
    train = train[: settings.most_rows]
    rows = NarrowRows(*(values[train].astype(np.float32) for values in (table.X, table.Y)))
    inputs, targets = (Standardiser(*scales) for scales in rows.scales)
    return Rows(rows, inputs.transform(table.X[test]), table.Y[test], targets)


def _model(method: Method, rows: NarrowRows, settings: Settings, seed: int) -> Any:
    X, Y = rows.standardised(slice(settings.num_start))
    model = build(method, X, Y, settings.num_inducing, seed)
    getattr(model, "network", model).num_data = len(rows)
    return model


def _curve(
    method: Method, rows: Rows, settings: Settings, seed: int, checkpoints: Path | None
) -> dict[str, Any]:
    """Train one method, and measure it on the way."""
    folder = None if checkpoints is None else checkpoints / method.name
    curve = _Curve(rows, settings, seed, None if folder is None else folder / "curve.json")
    if curve.is_done:
        return curve.values
    curve.model = _model(method, rows.train, settings, seed)
    try:
        with notes_not_warnings():
            fit(
                curve.model,
                rows.train,
                steps=_ENDLESS,
                batch_size=settings.batch_size,
                learning_rate=method.settings.get("train", {}).get(
                    "learning_rate", settings.learning_rate
                ),
                num_samples=method.settings.get("train", {}).get("num_samples"),
                objective=objective_from(method.settings.get("objective")),
                callbacks=[curve.report],
                checkpoint_dir=folder,
                progress=False,
                seed=seed,
            )
    except NonFiniteError as error:
        curve.end(str(error))
    return curve.values


_ENDLESS = 10**9
"""A number of steps that no run reaches: the CPU time ends it."""


class _Curve:
    """The points of one method, which a file keeps.

    :param file: the file; None for none.
    """

    def __init__(self, rows: Rows, settings: Settings, seed: int, file: Path | None) -> None:
        self._rows, self._settings, self._seed, self._file = rows, settings, seed, file
        self.model: Any = None
        self.values: dict[str, Any] = {"points": [], "failed": None, "done": False}
        if file is not None and file.exists():
            self.values = json.loads(file.read_text("utf-8"))
        self._started: float | None = None

    @property
    def is_done(self) -> bool:
        return bool(self.values["done"])

    def report(self, report: Report) -> bool:
        """Measure, if it is time for it. Return True at the end."""
        points, now = self.values["points"], time.process_time()
        if self._started is None:  # a resumed run has used what its steps cost before
            known = points[-1]["cpu_seconds"] / points[-1]["step"] if points else 0.0
            self._started = now - known * report.step
        cpu_seconds = now - self._started
        last = points[-1]["cpu_seconds"] if points else 0.0
        due = max(self._settings.first_seconds, self._settings.factor * last)
        is_last = cpu_seconds >= self._settings.cpu_seconds
        if cpu_seconds >= due or is_last:
            points.append({"step": report.step, "cpu_seconds": cpu_seconds, **self._measured()})
            self._started += time.process_time() - now
            self._write()
        if is_last:
            self.end(None)
        return is_last

    def end(self, failed: str | None) -> None:
        self.values.update(done=True, failed=failed)
        self._write()

    def _measured(self) -> dict[str, float]:
        rows = self._rows
        components = predictive_components(
            self.model, rows.X_test, self._settings.num_test_samples, seed=self._seed
        )
        held_out = HeldOut(rows.Y_test, *components, rows.targets)
        return {
            "rmse": held_out.rmse,
            "log_density": float(np.mean(held_out.log_density)),
            "crps": float(np.mean(held_out.crps)),
        }

    def _write(self) -> None:
        if self._file is not None:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            write_json(self.values, self._file)


def _cost_of_steps(rows: Rows, settings: Settings) -> dict[str, float]:
    """Milliseconds of a step, by the number of rows."""
    costs = {}
    for wanted in settings.rows_of_steps:
        some = NarrowRows(*(part.numpy()[:wanted] for part in rows.train.tensors))
        model = _model(COMPARED["dgp-global-2"], some, settings, 0)
        options: Any = {"batch_size": settings.batch_size, "progress": False}
        with notes_not_warnings():
            record = fit(model, some, steps=settings.steps_of_cost, **options)
        costs[str(len(some))] = 1e3 * record.seconds_per_step
    return costs


def _said(curve: Mapping[str, Any]) -> str:
    if curve["failed"] or not curve["points"]:
        return curve["failed"] or "no measurement"
    last = curve["points"][-1]
    return ", ".join(f"{title} {last[name]:.4g}" for name, title in MEASURES.items())


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
    costs = ", ".join(f"{cost:.2f} at {N}" for N, cost in results["cost_of_steps"].items())
    note = (
        f"{results['num_train']} rows to train on. Measures on held-out rows, minutes of delay and "
        f"nats. Milliseconds of a step of dgp-global-2 by number of rows: {costs}. "
        f"Peak memory {results['peak_memory_mb']:.0f} MB."
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

"""One method of the experiment on many rows: its measures on held-out rows against CPU time.

Predictions are measured in between, in time that does not count. The start of a model is made from
some training rows.

A run can be resumed: training is saved every minute, and a method that is done is not trained
again.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from socket import gethostname
from typing import Any

import numpy as np

from gpflow_gi.benchmark.methods import Method
from gpflow_gi.benchmark.peak_memory import PeakMemory
from gpflow_gi.benchmark.train import build, objective_from
from gpflow_gi.core.json_file import write_json
from gpflow_gi.datasets import DataError, Standardiser, Table
from gpflow_gi.metrics.held_out import HeldOut, predictive_components
from gpflow_gi.training import NarrowRows, NonFiniteError, Report, fit
from gpflow_gi.training.record import notes_not_warnings

from .large import COMPARED, COST_OF_STEPS, MEASURES, TABLES, Settings, hash_of


def run(
    data: Mapping[str, Any], split: int, method: str, budget: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Train and measure one method, or measure the cost of steps.

    :param data: "name", of :data:`~gpflow_gi.experiments.large.TABLES`, and "folder", for
        unfinished work.
    :param split: not used: the seed decides which rows are held out.
    :param method: its name.
    :param budget: the :class:`~gpflow_gi.experiments.large.Settings`.
    :param seed: seed of the held-out rows, of the model's start and of training.
    :return: the rest of a trial's record: "metrics", the last ones, or milliseconds by numbers of
        rows; "data" with "num_train"; "cost" with "peak_memory_mb"; of a method also "points" and
        "failed".
    :raises DataError: if the data are not available here, or others than those of the plan.
    """
    settings = Settings(**budget)
    with PeakMemory() as memory:
        table = TABLES[data["name"]]()
        if hash_of(table) != data["sha256"]:
            raise DataError(f"{gethostname()} has another version of the data {data['name']!r}.")
        rows = _rows(table, settings, seed)
        if method == COST_OF_STEPS:
            found: dict[str, Any] = {"metrics": _cost_of_steps(rows, settings)}
        else:
            curve = _curve(COMPARED[method], rows, settings, seed, Path(data["folder"]))
            last = curve["points"][-1] if curve["points"] else {}
            found = {
                "metrics": {name: last[name] for name in MEASURES if name in last},
                "points": curve["points"],
                "failed": curve["failed"],
                "notes": [curve["failed"]] if curve["failed"] else [],
            }
    return {
        **found,
        "data": {"num_train": len(rows.train)},
        "cost": {"peak_memory_mb": memory.peak / 1e6},
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
    rows = NarrowRows(*(_narrow(values, train) for values in (table.X, table.Y)))
    inputs, targets = (Standardiser(*scales) for scales in rows.scales)
    return Rows(rows, inputs.transform(table.X[test]), table.Y[test], targets)


def _narrow(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Some rows as float32, without a copy of all of them as float64."""
    found = np.empty((len(rows), values.shape[1]), np.float32)
    for start in range(0, len(rows), _ROWS_AT_ONCE):
        part = slice(start, start + _ROWS_AT_ONCE)
        found[part] = values[rows[part]]
    return found


_ROWS_AT_ONCE = 100_000


def _model(method: Method, rows: NarrowRows, settings: Settings, seed: int) -> Any:
    X, Y = rows.standardised(slice(settings.num_start))
    model = build(method, X, Y, settings.num_inducing, seed)
    model.num_data = len(rows)
    return model


def _curve(
    method: Method, rows: Rows, settings: Settings, seed: int, folder: Path
) -> Mapping[str, Any]:
    """Train one method, and measure it on the way."""
    curve = _Curve(rows, settings, seed, folder / "curve.json")
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

    :param file: the file.
    """

    def __init__(self, rows: Rows, settings: Settings, seed: int, file: Path) -> None:
        self._rows, self._settings, self._seed, self._file = rows, settings, seed, file
        self.model: Any = None
        self.values: dict[str, Any] = {"points": [], "failed": None, "done": False}
        if file.exists():
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
            measures = self._measured()
            if measures is None:
                self.end(f"Predictions of held-out rows are not finite after step {report.step}.")
                return True
            points.append({"step": report.step, "cpu_seconds": cpu_seconds, **measures})
            self._started += time.process_time() - now
            self._write()
        if is_last:
            self.end(None)
        return is_last

    def end(self, failed: str | None) -> None:
        self.values.update(done=True, failed=failed)
        self._write()

    def _measured(self) -> dict[str, float] | None:
        """The measures now; None if the predictions are not finite."""
        rows = self._rows
        try:
            components = predictive_components(
                self.model, rows.X_test, self._settings.num_test_samples, seed=self._seed
            )
        except ValueError:  # the rows are checked: only NaN and infinity are left to be refused
            return None
        held_out = HeldOut(rows.Y_test, *components, rows.targets)
        measures = {
            "rmse": held_out.rmse,
            "log_density": float(np.mean(held_out.log_density)),
            "crps": float(np.mean(held_out.crps)),
        }
        return measures if np.all(np.isfinite([*measures.values()])) else None

    def _write(self) -> None:
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

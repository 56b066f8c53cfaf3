"""From a folder of records to a frame with a row for each trial."""

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

METRICS = (
    "elbo",
    "log_density",
    "rmse",
    "crps",
    "pit_error",
    "coverage_50",
    "coverage_90",
    "coverage_95",
)
"""What is measured in a trial that is done."""

_IDENTITY = ["budget", "dataset", "split", "method", "seed"]


class RecordsError(OSError):
    """There is nothing to report on. The message is one line and says why."""


class _DamagedError(ValueError):
    """A file is not a record. The message says why."""


@dataclass(frozen=True)
class Records:
    """What was found in a folder.

    :param trials: a row for each record. "budget" is its budget's name, with the numbers in which
        it differs where two budgets have one name; "budget_numbers" and "settings" are JSON. The
        metrics and "seconds" are NaN where they are missing or not finite. "used" is false for a
        record that is superseded: there is a newer one of the same trial.
    :param damaged: files that are no records, and why not.
    """

    trials: pd.DataFrame
    damaged: dict[str, str]


def read(folder: Path) -> Records:
    """Read all records of a sweep.

    :param folder: of the sweep; the records are the files ``records/*.json`` in it.
    :raises RecordsError: if the folder or its records are missing, or if no record can be read.
    """
    if not folder.is_dir():
        raise RecordsError(f"{folder}: there is no such folder.")
    records = folder / "records"
    # Hidden files are records that are just being written.
    paths = sorted(path for path in records.glob("*.json") if not path.name.startswith("."))
    if not paths:
        raise RecordsError(f"{folder} holds no records of trials (records/*.json).")
    rows, damaged = [], {}
    for path in paths:
        try:
            rows.append(_row(path))
        except _DamagedError as error:
            damaged[path.name] = str(error)
    if not rows:
        name, why = next(iter(damaged.items()))
        raise RecordsError(
            f"{records}: none of {len(damaged)} files is a record of a trial; {name} {why}."
        )
    trials = pd.DataFrame(rows)
    labels = _labels([json.loads(numbers) for numbers in trials["budget_numbers"].unique()])
    trials["budget"] = trials["budget_numbers"].map(
        dict(zip(trials["budget_numbers"].unique(), labels, strict=True))
    )
    time = pd.to_datetime(trials["started"], utc=True, errors="coerce", format="ISO8601")
    trials = trials.assign(time=time).sort_values(
        ["time", "file"], na_position="first", ignore_index=True
    )
    trials["used"] = ~trials.duplicated(_IDENTITY, keep="last")
    return Records(trials.sort_values([*_IDENTITY, "time"], ignore_index=True), damaged)


def _row(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_bytes())
    except OSError as error:
        raise _DamagedError(f"cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError):
        raise _DamagedError("is not a whole file of JSON") from None
    trial = _get(record, "trial", dict)
    budget = _get(trial, "budget", dict)
    _get(budget, "name", str)
    done = {"done": True, "failed": False}.get(_get(record, "status", str))
    if done is None:
        raise _DamagedError("has a 'status' that is neither 'done' nor 'failed'")
    data = record.get("data") if isinstance(record.get("data"), dict) else {}
    metrics = _get(record, "metrics", dict) if done else {}
    cost = record.get("cost") if isinstance(record.get("cost"), dict) else {}
    failure = record.get("error") if isinstance(record.get("error"), dict) else {}
    return {
        "dataset": _get(trial, "dataset", str),
        "split": _get(trial, "split", int),
        "method": _get(trial, "method", str),
        "seed": _get(trial, "seed", int),
        "done": done,
        **{name: _number(metrics.get(name)) for name in METRICS},
        "seconds": _number((cost if done else record).get("seconds")),
        "peak_memory_mb": _number(cost.get("peak_memory_mb")),
        "num_parameters": _number(cost.get("num_parameters")),
        "error_type": "" if done else _line(failure.get("type", "unknown")),
        "error_message": "" if done else _line(failure.get("message", "")),
        "version": str(record.get("version", "unknown")),
        "started": str(record.get("started", "")),
        "host": str(record.get("host", "")),
        "key": str(record.get("key", "")),
        **{name: _number(data.get(name)) for name in ("num_train", "num_test", "num_inputs")},
        "data_sha256": str(data.get("sha256", "")),
        "settings": json.dumps(trial.get("settings"), sort_keys=True),
        "budget_numbers": json.dumps(budget, sort_keys=True),
        "file": path.name,
    }


def _get(where: Any, name: str, kind: type) -> Any:
    value = where.get(name) if isinstance(where, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _DamagedError(f"has no {name!r} as a record has it")
    return value


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value) if math.isfinite(value) else math.nan
    except OverflowError:  # JSON may hold a whole number of any size.
        return math.nan


def _line(value: Any) -> str:
    return " ".join(str(value).split())


def _labels(budgets: Sequence[dict[str, Any]]) -> list[str]:
    """The budgets' names, each with what tells it apart from others of the same name."""
    labels = []
    for budget in budgets:
        namesakes = [other for other in budgets if other["name"] == budget["name"]]
        differs = sorted(
            name
            for name in set().union(*namesakes)
            if any(other.get(name) != budget.get(name) for other in namesakes)
        )
        apart = ", ".join(f"{name}={budget.get(name)}" for name in differs)
        labels.append(budget["name"] + (f" ({apart})" if apart else ""))
    return labels

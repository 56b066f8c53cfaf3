"""A frame with a row for each trial, from a folder of records."""

import json
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from gpflow_gi.benchmark.best_rates import CHOSEN, TRIED_ON, best_rate, is_of_best_rates
from gpflow_gi.benchmark.methods import BOUND, objective_of
from gpflow_gi.benchmark.records import DONE, FOLDER, SET_ASIDE, DamagedRecordError, is_verified
from gpflow_gi.benchmark.records import read as read_record
from gpflow_gi.core.printable import labels, printable
from gpflow_gi.datasets import UCI_SETS

from .statistics import METRICS

_IDENTITY = ["budget", "dataset", "split", "method", "seed", "learning_rate"]
"""Columns that identify a trial. Budgets and data sets are labels, unique even if names repeat."""

SOFTWARE = {
    "python": "Python",
    "gpflow": "GPflow",
    "tensorflow": "TensorFlow",
    "processor": "processor",
}
"""Software whose versions are shown besides ours, and the processor: names in records, and for
people."""

_LONGEST_BUDGET = 200
"""Largest number of characters of a budget's name, which is a heading."""

_HASH_LENGTH = 8
"""Hexadecimal digits that distinguish data sets of the same name."""


class RecordsError(OSError):
    """Error: there is nothing to report on. The message is one line with the reason."""


class _DamagedError(ValueError):
    """Error: a file is not a record that can be reported. The message gives the reason."""


@dataclass(frozen=True)
class Records:
    """The records and other files in a folder.

    :param trials: a row for each record. All its texts can be shown unchanged: see
        :mod:`gpflow_gi.core.printable`. "budget" is the budget's name, with the numbers that differ
        if two budgets have the same name; "budget_numbers" and "settings" are JSON. "dataset" is
        its "data_name", with the target and the first digits of its SHA-256 if other data have the
        same name; UCI's keeps the plain name. "uci" is true if it is UCI's. The metrics are NaN if
        they are missing or not finite. The versions of :data:`SOFTWARE` are empty if unknown.
        "used" is false for a superseded record: there is a newer one of the same trial. It is also
        false if "at_best_rate" is: a learning rate that was tried, and is not the best. "verified"
        is false for an older record without a checksum. "notes" has a line on anything unusual in
        the run, and is empty otherwise.
    :param damaged: files that are not records, with the reasons.
    :param set_aside: damaged files that a sweep has renamed.
    :param left_out: data sets that cannot be reported, with the reasons; none of their trials are
        `trials`.
    """

    trials: pd.DataFrame
    damaged: dict[str, str]
    set_aside: list[str] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)


def read(folder: Path) -> Records:
    """Read all records of a sweep.

    :param folder: folder of the sweep; the records are the files ``records/*.json`` in it.
    :raises RecordsError: if the folder or its records are missing, or if no record can be read.
    """
    if not folder.is_dir():
        raise RecordsError(f"{folder}: there is no such folder.")
    records = folder / FOLDER
    paths = sorted(records.glob("*.json"))
    if not paths:
        raise RecordsError(f"{folder} holds no records of trials (records/*.json).")
    rows, damaged = [], {}
    for path in paths:
        try:
            rows.append(_row(path))
        except _DamagedError as error:
            damaged[printable(path.name)] = str(error)
    if not rows:
        name, why = next(iter(damaged.items()))
        raise RecordsError(
            f"{records}: none of {len(damaged)} files is a record of a trial; {name} {why}."
        )
    for column in ("data_name", "method", "target"):
        # Before they are put in a table: columns of texts may refuse text that is not UTF-8.
        shown = labels(row[column] for row in rows)
        for row in rows:
            row[column] = shown[row[column]]
    trials = pd.DataFrame(rows)
    trials["budget"] = trials["budget_numbers"].map(_budget_labels(trials["budget_numbers"]))
    trials["dataset"] = _dataset_labels(trials)
    time = pd.to_datetime(trials["started"], utc=True, errors="coerce", format="ISO8601")
    trials = trials.assign(time=time).sort_values(
        ["time", "file"], na_position="first", ignore_index=True
    )
    newest = ~trials.duplicated(_IDENTITY, keep="last")
    trials["at_best_rate"] = _at_best_rate(trials[newest]).reindex(trials.index, fill_value=True)
    trials["used"] = newest & trials["at_best_rate"]
    return Records(
        trials.sort_values([*_IDENTITY, "time"], ignore_index=True),
        damaged,
        [printable(path.name) for path in sorted(records.glob(f"*.json{SET_ASIDE}*"))],
    )


def _row(path: Path) -> dict[str, Any]:
    try:
        record = read_record(path)
    except OSError as error:
        raise _DamagedError(f"cannot be read: {error.strerror}") from None
    except DamagedRecordError as error:
        raise _DamagedError(error.reason) from None
    trial = _get(record, "trial", dict)
    budget = _get(trial, "budget", dict)
    _get(budget, "name", str)
    done = record["status"] == DONE
    data, cost, failure, versions = (
        record[name] if isinstance(record.get(name), dict) else {}
        for name in ("data", "cost", "error", "versions")
    )
    measured = record["metrics"] if done else {}
    seconds = (cost if done else record).get("seconds")
    sha256, notes = _get(data, "sha256", str), record.get("notes", [])
    return {
        "data_name": (name := _get(trial, "dataset", str)),
        "split": _number_of(trial, "split"),
        "method": _get(trial, "method", str),
        "seed": _number_of(trial, "seed"),
        "done": done,
        "verified": is_verified(record),
        **{name: _number({**measured, "seconds": seconds}.get(name)) for name in METRICS},
        "peak_memory_mb": _number(cost.get("peak_memory_mb")),
        "num_parameters": _number(cost.get("num_parameters")),
        "error_type": "" if done else _line(failure.get("type", "unknown")),
        "error_message": "" if done else _line(failure.get("message", "")),
        "notes": " ".join(map(_line, notes if isinstance(notes, list) else [notes])),
        "version": _line(record["version"]),
        **{name: _line(versions.get(name, "")) for name in SOFTWARE},
        "started": _line(record.get("started", "")),
        "host": _line(record.get("host", "")),
        "key": record["key"],
        **{name: _number(data.get(name)) for name in ("num_train", "num_test", "num_inputs")},
        "data_sha256": printable(sha256),
        "target": str(data.get("target", "")),
        "uci": name in UCI_SETS and sha256 == UCI_SETS[name].sha256,
        "learning_rate": _number(budget.get("learning_rate")),
        "settings": json.dumps(trial.get("settings"), sort_keys=True),
        "budget_name": budget["name"],
        "budget_numbers": json.dumps(budget, sort_keys=True),
        "file": printable(path.name),
    }


def _get(where: Any, name: str, kind: type) -> Any:
    value = where.get(name) if isinstance(where, dict) else None
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _DamagedError(f"has no {name!r} of the type that a record has")
    return value


def _number_of(trial: Any, name: str) -> int:
    """An integer that columns of a table can hold."""
    number = _get(trial, name, int)
    if not 0 <= number < 2**63:
        raise _DamagedError(f"has no {name!r} of the type that a record has")
    return int(number)


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return math.nan
    try:
        return float(value) if math.isfinite(value) else math.nan
    except OverflowError:  # JSON may hold an integer of any size
        return math.nan


def _line(value: Any) -> str:
    return printable(" ".join(str(value).split()))


def _dataset_labels(trials: pd.DataFrame) -> "pd.Series[str]":
    """The data sets' names, with target and digits of the hash if others have the same name."""
    name, digits = trials["data_name"], trials["data_sha256"].str[:_HASH_LENGTH]
    several = trials.groupby("data_name")["data_sha256"].transform("nunique") > 1
    # Records of failed trials do not name the target; others of the same data may.
    target = trials.groupby("data_sha256")["target"].transform("max")
    target = target.where(target == "", target + ", ")
    return name.where(~several | trials["uci"], name + " (" + target + digits + ")")


def _at_best_rate(trials: pd.DataFrame) -> "pd.Series[bool]":
    """False where a sweep at best rates has tried a rate, and another one is better.

    Each seed is a sweep of its own, which has chosen its own rates.
    """
    found = pd.Series(True, trials.index)
    of_best = trials[trials["budget_name"].map(is_of_best_rates)]
    for _, rows in of_best.groupby(["budget", "dataset", "method", "seed"]):
        rate = _kept_rate(rows)
        if rate is not None:
            found[rows.index] = rows["learning_rate"] == rate
    return found


def _kept_rate(rows: pd.DataFrame) -> float | None:
    """The rate that a sweep at best rates has kept for a method, None if it tried none."""
    splits = rows.groupby("learning_rate")["split"].nunique()
    objective = objective_of(json.loads(rows["settings"].iloc[0]) or {})
    if objective != BOUND and splits.max() > 1:
        # Bounds do not choose the rate of such methods, but did in an earlier version.
        return float(splits.index.to_numpy(float)[splits.to_numpy().argmax()])
    tried = rows[rows["split"] == TRIED_ON].groupby("learning_rate")["elbo"].mean()
    return best_rate(tried.to_dict())


def _budget_labels(budgets: "pd.Series[str]") -> dict[str, str]:
    """The budgets' names, each with its differences from others of the same name.

    :param budgets: their numbers and names, as JSON.
    """
    found = {text: json.loads(text) for text in budgets.unique()}
    names = {}
    for text, budget in found.items():
        namesakes = [other for other in found.values() if other["name"] == budget["name"]]
        same = CHOSEN if is_of_best_rates(budget["name"]) else ()
        differs = sorted(
            name
            for name in set().union(*namesakes).difference(same)
            if any(other.get(name) != budget.get(name) for other in namesakes)
        )
        apart = ", ".join(f"{name}={json.dumps(budget.get(name))}" for name in differs)
        names[text] = budget["name"] + (f" ({apart})" if apart else "")
    shown = labels(names.values(), most=_LONGEST_BUDGET)
    return {text: shown[name] for text, name in names.items()}

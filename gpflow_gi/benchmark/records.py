"""Trials, and the records of them: one JSON file for each.

A record's file is named by its trial, so that a sweep that starts again knows what is done by
looking. It appears whole or not at all, and only whoever has claimed the trial may write it; see
:mod:`gpflow_gi.benchmark.claims`.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from pathlib import Path
from socket import gethostname
from typing import Any

from gpflow_gi._version import __version__
from gpflow_gi.json_file import with_none_for_non_finite

FOLDER = "records"
"""Where they are, in the folder of a sweep."""

DONE, FAILED = "done", "failed"
"""What the status of a record can be."""

KEY_LENGTH = 16
"""Hexadecimal digits: two of a million trials agree in them with probability 3e-8."""


class DamagedRecordError(ValueError):
    """A file that is not a trial's record. The message is one line and says what is wrong."""


@dataclass(frozen=True)
class Trial:
    """One method on one split of one set of data.

    :param data: what :func:`gpflow_gi.benchmark.data.describe` says: at least "name" and "sha256".
    :param split: the number of the split.
    :param method: the method's name.
    :param budget: every number of the budget, and its name.
    :param seed: of the method's start and training.
    :param settings: every setting of the method.
    """

    data: Mapping[str, Any]
    split: int
    method: str
    budget: Mapping[str, Any]
    seed: int
    settings: Mapping[str, Any]

    def identity(self) -> dict[str, Any]:
        """What the result depends on: the parts of the record that its key is made from."""
        return {
            "trial": {
                "dataset": self.data["name"],
                "split": self.split,
                "method": self.method,
                "budget": dict(self.budget),
                "seed": self.seed,
                "settings": dict(self.settings),
            },
            "data": {"name": self.data["name"], "sha256": self.data["sha256"]},
            "version": __version__,
        }

    @cached_property
    def key(self) -> str:
        """What tells this trial from all others."""
        return key_of(self.identity())

    @property
    def name(self) -> str:
        """The record's file without its ending: for people, with the key at its end."""
        words = f"{self.data['name'][:60]}-{self.split}-{self.method}"
        return f"{re.sub(r'[^A-Za-z0-9_.+-]', '_', words)}-{self.key}"

    @property
    def title(self) -> str:
        """The trial in a message."""
        return f"{self.data['name']} split {self.split} {self.method}"

    def path(self, records: Path) -> Path:
        """The record's file.

        :param records: the folder of records.
        """
        return records / f"{self.name}.json"


def key_of(identity: Mapping[str, Any]) -> str:
    """The first digits of the SHA-256 of what makes a trial: its "trial", "data" and "version".

    :param identity: from :meth:`Trial.identity`, or a whole record.
    """
    data = {name: identity["data"][name] for name in ("name", "sha256")}
    parts = {"trial": identity["trial"], "data": data, "version": identity["version"]}
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()[:KEY_LENGTH]


def now() -> str:
    """The date and the time, in UTC."""
    return datetime.now(timezone.utc).isoformat()


def done(trial: Trial, started: str, seconds: float, result: Mapping[str, Any]) -> dict[str, Any]:
    """The record of a trial that came to its end.

    :param started: from :func:`now`.
    :param seconds: that the whole of it took.
    :param result: what the trial function returned. It may say more of the data.
    """
    ours = _of(trial, DONE, started, seconds)
    return {**ours, **result, **ours, "data": {**result.get("data", {}), **ours["data"]}}


def failed(
    trial: Trial,
    started: str,
    seconds: float,
    kind: str,
    message: str,
    traceback: str | None = None,
) -> dict[str, Any]:
    """The record of a trial that did not.

    :param kind: "TimeLimit", "MemoryLimit", "WorkerDied", or the class of the exception.
    :param message: becomes one line.
    :param traceback: where it happened, or the last that the worker said.
    """
    error = {"type": kind, "message": " ".join(message.split()), "traceback": traceback}
    return {**_of(trial, FAILED, started, seconds), "error": error}


def _of(trial: Trial, status: str, started: str, seconds: float) -> dict[str, Any]:
    return {
        "key": trial.key,
        "status": status,
        **trial.identity(),
        "started": started,
        "host": gethostname(),
        "seconds": seconds,
    }


def encode(record: Mapping[str, Any]) -> bytes:
    """The content of the file. Numbers that are not finite become null.

    :raises TypeError: if there is something in it that JSON does not have.
    """
    return f"{json.dumps(with_none_for_non_finite(record), indent=2, allow_nan=False)}\n".encode()


def read(path: Path) -> dict[str, Any]:
    """The record in a file.

    :raises OSError: if it cannot be read.
    :raises DamagedRecordError: if it was cut short or changed: what is in it does not give the key
        that it has.
    """
    try:
        record = json.loads(path.read_bytes())
        sound = record["key"] == key_of(record) and record["status"] in (DONE, FAILED)
        complete = isinstance(record["metrics" if record["status"] == DONE else "error"], dict)
    except (ValueError, TypeError, KeyError, RecursionError):
        sound = complete = False
    if not (sound and complete and path.stem.endswith(record["key"])):
        raise DamagedRecordError(f"{path} is damaged: it is not the whole record of a trial.")
    return dict(record)

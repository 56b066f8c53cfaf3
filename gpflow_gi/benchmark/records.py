"""Trials and their records: one JSON file for each.

The name of a record's file identifies its trial, so a sweep that starts again finds the finished
trials. A file is written completely or not at all, and only the process that has claimed the trial
may write it; see :mod:`gpflow_gi.benchmark.claims`. It contains a checksum of all its contents.
Older records without checksums are read too: only their trial is checked, not their results.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cached_property
from itertools import count
from pathlib import Path
from socket import gethostname
from typing import Any

from gpflow_gi._version import __version__
from gpflow_gi.core.json_file import with_none_for_non_finite
from gpflow_gi.core.printable import printable

FOLDER = "records"
"""Folder of the records, in the folder of a sweep."""

SET_ASIDE = ".damaged"
"""Ending of the names of damaged files that were renamed."""

DONE, FAILED = "done", "failed"
"""The possible values of a record's status."""

FORMAT = 2
"""Format of records with a checksum. Older records have neither format nor checksum, so that no
single damage turns one kind into the other."""

KEY_LENGTH = 16
"""Hexadecimal digits of a key: two of a million trials share it with probability 3e-8."""


class DamagedRecordError(ValueError):
    """Error: a file is not a trial's record. The message is one line.

    :param path: path of the file.
    :param reason: the error, as the end of a sentence.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is damaged: it {reason}.")
        self.reason = reason


@dataclass(frozen=True)
class Trial:
    """One method on one split of one set of data.

    :param data: a description from :func:`gpflow_gi.benchmark.data.describe`: at least "name" and
        "sha256".
    :param split: the number of the split.
    :param method: the method's name.
    :param budget: every number of the budget, and its name.
    :param seed: seed of the method's start and training.
    :param settings: every setting of the method.
    """

    data: Mapping[str, Any]
    split: int
    method: str
    budget: Mapping[str, Any]
    seed: int
    settings: Mapping[str, Any]

    def identity(self) -> dict[str, Any]:
        """The parts of the record that the result depends on, from which its key is made."""
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
        """The key that identifies this trial."""
        return key_of(self.identity())

    @property
    def name(self) -> str:
        """The record's file name without its ending: readable, with the key at its end."""
        words = f"{self.data['name'][:60]}-{self.split}-{self.method}"
        return f"{re.sub(r'[^A-Za-z0-9_.+-]', '_', words)}-{self.key}"

    @property
    def title(self) -> str:
        """The trial's name in a message."""
        return printable(f"{self.data['name']} split {self.split} {self.method}")

    def path(self, records: Path) -> Path:
        """The record's file.

        :param records: the folder of records.
        """
        return records / f"{self.name}.json"


def key_of(identity: Mapping[str, Any]) -> str:
    """The first digits of the SHA-256 of a trial's "trial", "data" and "version".

    :param identity: from :meth:`Trial.identity`, or a whole record.
    """
    data = {name: identity["data"][name] for name in ("name", "sha256")}
    parts = {"trial": identity["trial"], "data": data, "version": identity["version"]}
    return _sha256(parts)[:KEY_LENGTH]


def _sha256(content: Any) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(canonical.encode()).hexdigest()


def now() -> str:
    """The date and the time, in UTC."""
    return datetime.now(timezone.utc).isoformat()


def done(
    trial: Trial,
    started: str,
    seconds: float,
    result: Mapping[str, Any],
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The record of a trial that ended without an error.

    :param started: from :func:`now`.
    :param seconds: total duration.
    :param result: result of the trial function. It may add to the data, and have "notes".
    :param notes: remarks on the run for readers, one sentence each.
    """
    ours = _of(trial, DONE, started, seconds)
    data = {**result.get("data", {}), **ours["data"]}
    said = [*notes, *result.get("notes", [])]
    return {**ours, **result, **ours, "data": data, **({"notes": said} if said else {})}


def failed(
    trial: Trial,
    started: str,
    seconds: float,
    kind: str,
    message: str,
    traceback: str | None = None,
    notes: Sequence[str] = (),
) -> dict[str, Any]:
    """The record of a trial that failed.

    :param kind: "TimeLimit", "MemoryLimit", "WorkerDied", or the class of the exception.
    :param message: is put on one line.
    :param traceback: the traceback, or the last output of the worker.
    :param notes: as for :func:`done`.
    """
    error = described(kind, message, traceback)
    said = {"notes": [*notes]} if notes else {}
    return {**_of(trial, FAILED, started, seconds), "error": error, **said}


def described(kind: str, message: str, traceback: str | None = None) -> dict[str, str | None]:
    """The "error" of a record, with the parameters of :func:`failed`."""
    return {"type": kind, "message": " ".join(message.split()), "traceback": traceback}


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
    """The content of the file, with a checksum. Non-finite numbers become null.

    :raises TypeError: if a value cannot be written as JSON.
    """
    plain = with_none_for_non_finite({**record, "format": FORMAT})
    # As it will be read: JSON has no tuples, and all keys are texts.
    content = json.loads(json.dumps(plain, allow_nan=False))
    content.pop("checksum", None)
    content["checksum"] = _sha256(content)
    return f"{json.dumps(content, indent=2)}\n".encode()


def is_verified(record: Mapping[str, Any]) -> bool:
    """Return True if a record that was read has a checksum."""
    return "checksum" in record


def read(path: Path) -> dict[str, Any]:
    """The record in a file.

    :raises OSError: if it cannot be read.
    :raises DamagedRecordError: if it was cut short or changed, so that its content does not match
        its checksum or its key. Also if there is a folder in the place of the file.
    """
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "no file"
        raise DamagedRecordError(path, f"is {what}, where the record of a trial should be")
    try:
        record = json.loads(path.read_bytes())
        sound = record["key"] == key_of(record) and record["status"] in (DONE, FAILED)
        complete = isinstance(record["metrics" if record["status"] == DONE else "error"], dict)
        named = path.stem.endswith(record["key"])
        unchanged = _gives_its_checksum(record)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        sound = complete = named = unchanged = False
    if not (sound and complete and named):
        raise DamagedRecordError(path, "is not a complete record of a trial")
    if not unchanged:
        raise DamagedRecordError(path, "does not match its checksum")
    return dict(record)


def _gives_its_checksum(record: Mapping[str, Any]) -> bool:
    if "format" not in record and "checksum" not in record:
        return True
    content = {name: value for name, value in record.items() if name != "checksum"}
    return bool(record["format"] == FORMAT and record["checksum"] == _sha256(content))


def set_aside(path: Path) -> Path:
    """Rename a file that is not a record, so that the trial can be run again. Overwrite nothing.

    :param path: path of the record.
    :return: the new path: the same with :data:`SET_ASIDE`, and a number if necessary.
    :raises OSError: if it cannot be renamed.
    """
    for number in count(1):
        aside = path.with_name(f"{path.name}{SET_ASIDE}{f'-{number}' if number > 1 else ''}")
        if not os.path.lexists(aside):
            break
    path.rename(aside)
    return aside

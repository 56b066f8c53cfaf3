"""Trials, and the records of them: one JSON file for each.

A record's file is named by its trial, so that a sweep that starts again knows what is done by
looking. It appears whole or not at all, and only whoever has claimed the trial may write it; see
:mod:`gpflow_gi.benchmark.claims`. It carries a checksum of everything in it. Records of before
there were checksums are read too: of these only the trial is checked, not its results.
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
"""Where they are, in the folder of a sweep."""

SET_ASIDE = ".damaged"
"""The endings of the names of files that were found where a record should be."""

DONE, FAILED = "done", "failed"
"""What the status of a record can be."""

FORMAT = 2
"""Of records with a checksum. Those of before have neither, so that no single damage makes one of
the other."""

KEY_LENGTH = 16
"""Hexadecimal digits: two of a million trials agree in them with probability 3e-8."""


class DamagedRecordError(ValueError):
    """A file that is not a trial's record. The message is one line.

    :param path: of the file.
    :param reason: what is wrong with it: the sentence's end.
    """

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{path} is damaged: it {reason}.")
        self.reason = reason


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
        return printable(f"{self.data['name']} split {self.split} {self.method}")

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
    """The record of a trial that came to its end.

    :param started: from :func:`now`.
    :param seconds: that the whole of it took.
    :param result: what the trial function returned. It may say more of the data, and have "notes".
    :param notes: what a reader should know of how it was run, a sentence each.
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
    """The record of a trial that did not.

    :param kind: "TimeLimit", "MemoryLimit", "WorkerDied", or the class of the exception.
    :param message: becomes one line.
    :param traceback: where it happened, or the last that the worker said.
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
    """The content of the file, with a checksum. Numbers that are not finite become null.

    :raises TypeError: if there is something in it that JSON does not have.
    """
    plain = with_none_for_non_finite({**record, "format": FORMAT})
    # As it will be read: JSON has no tuples, and no keys but texts.
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
    :raises DamagedRecordError: if it was cut short or changed: what is in it does not give the
        checksum or the key that it has. Also if there is a folder in the place of the file.
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
        raise DamagedRecordError(path, "is not the whole record of a trial")
    if not unchanged:
        raise DamagedRecordError(path, "does not give its checksum")
    return dict(record)


def _gives_its_checksum(record: Mapping[str, Any]) -> bool:
    if "format" not in record and "checksum" not in record:
        return True
    content = {name: value for name, value in record.items() if name != "checksum"}
    return bool(record["format"] == FORMAT and record["checksum"] == _sha256(content))


def set_aside(path: Path) -> Path:
    """Rename what is no record, so that the trial can be run again. Nothing is written over.

    :param path: of the record that should be.
    :return: what it is called now: the same with :data:`SET_ASIDE`, and a number if need be.
    :raises OSError: if it cannot be renamed.
    """
    for number in count(1):
        aside = path.with_name(f"{path.name}{SET_ASIDE}{f'-{number}' if number > 1 else ''}")
        if not os.path.lexists(aside):
            break
    path.rename(aside)
    return aside

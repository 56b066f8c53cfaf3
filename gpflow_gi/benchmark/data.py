"""The data of a benchmark: what there is, and what tells it from other data of the same name."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from gpflow_gi.datasets import DataError, Table, read_csv, uci_set, uci_table


def describe(name: str) -> dict[str, Any]:
    """A UCI regression set, which is downloaded if need be, so that the workers need not.

    :param name: of :data:`gpflow_gi.datasets.UCI_SETS`.
    :return: "name", "sha256" and "num_splits".
    :raises DataError: as :func:`gpflow_gi.datasets.uci_table`.
    """
    described = uci_set(name)
    uci_table(name)
    return {"name": name, "sha256": described.sha256, "num_splits": described.num_splits}


def describe_csv(path: str | Path, target: str, drop: Sequence[str] = ()) -> dict[str, Any]:
    """A table of the user's own, which is named by its file without its ending.

    :param path: as for :func:`gpflow_gi.datasets.read_csv`, like `target` and `drop`.
    :return: "name", "sha256" (of the file's bytes and of which columns are what), "num_splits"
        (None: there is no last one), "path", "target" and "drop".
    :raises DataError: as :func:`gpflow_gi.datasets.read_csv`.
    """
    path = Path(path)
    read_csv(path, target, drop)
    columns = {"target": target, "drop": sorted(set(drop))}
    return {
        "name": path.stem,
        "sha256": _sha256(path, columns),
        "num_splits": None,
        "path": str(path.resolve()),
        **columns,
    }


def check(data: Mapping[str, Any]) -> None:
    """Find out, before a trial, whether a user's file is still what the sweep began with.

    :param data: from :func:`describe_csv`; or :func:`describe`, whose data are checked when they
        are read.
    :raises DataError: if the file is gone or has changed.
    """
    if "path" not in data:
        return
    path = Path(data["path"])
    if _sha256(path, {name: data[name] for name in ("target", "drop")}) != data["sha256"]:
        raise DataError(f"{path} has changed since the sweep was started: start it again.")


def table_of(data: Mapping[str, Any]) -> Table:
    """The rows of what is described.

    :param data: from :func:`describe` or :func:`describe_csv`.
    :raises DataError: if they cannot be had.
    """
    if "path" not in data:
        return uci_table(data["name"])
    return replace(read_csv(data["path"], data["target"], data["drop"]), name=data["name"])


def _sha256(path: Path, columns: Mapping[str, Any]) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    return hashlib.sha256(content + json.dumps(columns, sort_keys=True).encode()).hexdigest()

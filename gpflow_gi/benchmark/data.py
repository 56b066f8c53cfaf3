"""The data sets of a benchmark, and their identification."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gpflow_gi.datasets import DataError, Table, read_csv, uci_set, uci_table
from gpflow_gi.datasets.csv import named
from gpflow_gi.datasets.table_files import TableFile, table_name


def describe(name: str) -> dict[str, Any]:
    """Describe a UCI regression set; it is downloaded if necessary, so that workers need not do it.

    :param name: one of :data:`gpflow_gi.datasets.UCI_SETS`.
    :return: "name", "sha256" and "num_splits".
    :raises DataError: as :func:`gpflow_gi.datasets.uci_table`.
    """
    described = uci_set(name)
    uci_table(name)
    return {"name": name, "sha256": described.sha256, "num_splits": described.num_splits}


def describe_csv(
    path: str | Path,
    target: str,
    drop: Sequence[str] = (),
    *,
    say: Callable[[str], Any] = lambda note: None,
    **reading: Any,
) -> dict[str, Any]:
    """Describe a user's own table, named by its file without the ending.

    Columns that are constant are left out, as if they had been named in `drop`; but they are read,
    since they can tell the decimal mark of the others.

    :param path: as for :func:`gpflow_gi.datasets.read_csv`, like `target` and `drop`.
    :param say: called with remarks on the reading of the file.
    :param reading: other arguments of :func:`gpflow_gi.datasets.read_csv`, if they are not the
        defaults.
    :return: "name", "sha256" (of the file's bytes, of the roles of the columns and of `reading`),
        "num_splits" (None: no limit), "path", "target", "drop" and, if there are any, "reading"
        and "constant": columns of `drop` that are constant, if the others are read otherwise
        without them.
    :raises DataError: as :func:`gpflow_gi.datasets.read_csv`.
    """
    path = Path(path)
    table = read_csv(path, target, drop, drop_constant=True, **reading)
    for note in (*table.notes, *_two_values(table)):
        say(note)
    file = TableFile.open(path)
    used = {column.name for column in table.preprocessing.columns}
    unused = {*file.names} - used - {target}
    columns: dict[str, Any] = {"target": target, "drop": sorted(unused)}
    if "categories" in reading:
        reading["categories"] = sorted(set(named(file, "categories", reading["categories"])))
    if reading:
        columns["reading"] = reading
    constant = sorted(unused - {*named(file, "drop", drop)})
    if constant and not _is_read_alike(table, read_csv(path, target, sorted(unused), **reading)):
        columns["constant"] = constant
    return {
        "name": table_name(path),
        "sha256": _sha256(path, columns),
        "num_splits": None,
        "path": str(path.resolve()),
        **columns,
    }


def _two_values(table: Table) -> tuple[str, ...]:
    """A remark on a target that may be meant as a class."""
    values = np.unique(table.Y)
    if len(values) != 2:
        return ()
    return (
        f"The target {table.target_name!r} has two values, taken as the numbers {values[0]:g} and "
        f"{values[1]:g}: a benchmark is a regression. For classes: gpflow-gi compare --task "
        "classification.",
    )


def _is_read_alike(one: Table, other: Table) -> bool:
    """True if two tables hold the same numbers."""
    return np.array_equal(one.X, other.X) and np.array_equal(one.Y, other.Y)


def check(data: Mapping[str, Any]) -> None:
    """Check, before a trial, that a user's file has not changed since the sweep began.

    :param data: from :func:`describe_csv`; or from :func:`describe`: those data are checked when
        they are read.
    :raises DataError: if the file is gone or has changed.
    """
    if "path" not in data:
        return
    path = Path(data["path"])
    hashed = ("target", "drop", "reading", "constant")
    columns = {name: data[name] for name in hashed if name in data}
    if _sha256(path, columns) != data["sha256"]:
        raise DataError(f"{path} has changed since the sweep was started: start it again.")


def table_of(data: Mapping[str, Any]) -> Table:
    """The table of a description.

    :param data: from :func:`describe` or :func:`describe_csv`.
    :raises DataError: if the data are not available.
    """
    if "path" not in data:
        return uci_table(data["name"])
    constant = data.get("constant", [])
    table = read_csv(
        data["path"],
        data["target"],
        [name for name in data["drop"] if name not in constant],
        drop_constant=bool(constant),
        **data.get("reading", {}),
    )
    return replace(table, name=data["name"])


def _sha256(path: Path, columns: Mapping[str, Any]) -> str:
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror}.") from None
    return hashlib.sha256(content + json.dumps(columns, sort_keys=True).encode()).hexdigest()

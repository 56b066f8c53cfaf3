"""Everything that is wrong with a table, in one message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..core.validation import shown
from .errors import DataError

_MOST = 20
"""Largest number of problems in a message."""

IMPUTE = "replace missing values by the median (--impute median)"


@dataclass(frozen=True, eq=False)
class Problem:
    """Something wrong with a column.

    :param column: its name.
    :param rows: [N], True in the rows where it is wrong; None if it is the column.
    :param text: what is wrong with the column; with cells, the cells say it.
    :param remedies: what to do about it.
    """

    column: str
    rows: NDArray[np.bool_] | None = None
    text: str = ""
    remedies: tuple[str, ...] = ()


class Place(Protocol):
    """A file, or another place of cells."""

    @property
    def path(self) -> Any: ...
    @property
    def separator(self) -> str | None: ...
    @property
    def missing(self) -> Sequence[str]:
        """Texts of cells that stand for missing values."""

    def cells(self) -> tuple[Any, NDArray[np.intp]]:
        """The cells as texts, and the numbers of their lines or rows."""


def refuse(file: Place, problems: Sequence[Problem], target: str) -> None:
    """Raise an error about all problems, if there are any.

    :param file: the file, which is read once more for the lines and the texts of wrong cells.
    :param target: the column to predict: it cannot be dropped.
    :raises DataError: if there is a problem.
    """
    if not problems:
        return
    cells, lines = file.cells() if any(p.rows is not None for p in problems) else (None, None)
    where = "line" if file.separator is not None else "row"
    remove = f"remove the {where}"
    said, remedies = [], []
    for problem in problems:
        if problem.rows is None or cells is None or lines is None:
            said.append(f"column {shown(problem.column)}: {problem.text}")
            remedies += [*problem.remedies]
            continue
        first, count = int(np.argmax(problem.rows)), int(problem.rows.sum())
        text = str(cells[problem.column].iloc[first]).strip()
        what, remedy = _wrong(text, problem.text, file.missing)
        if count > 1:
            what += f", and so are {count - 1} more of {len(problem.rows)}"
        said.append(f"{where} {lines[first]}, column {shown(problem.column)}: {what}")
        is_target = problem.column == target
        remedies += [remedy, remove if is_target else f"{remove}, drop the column"]
        remedies += problem.remedies
    different = list(dict.fromkeys(remedies))
    if f"{remove}, drop the column" in different and remove in different:
        different.remove(remove)
    advice = f"{', '.join(different[:-1])} or {different[-1]}" if different[1:] else different[0]
    if len(said) == 1:
        raise DataError(f"{file.path}, {said[0]}; {advice}.")
    more = f"; and {len(said) - _MOST} more" if len(said) > _MOST else ""
    raise DataError(
        f"{file.path} has {len(said)} columns that cannot be used: {'; '.join(said[:_MOST])}"
        f"{more}. What helps: {advice}."
    )


def _wrong(text: str, otherwise: str, missing: Sequence[str]) -> tuple[str, str]:
    """The fault of a cell, and its remedy."""
    if text in missing:
        return "the value is missing" + (f" ({text!r})" if text else ""), "fill it in"
    if _is_infinite(text):
        return f"the value {text!r} is infinite", "correct it"
    cut = text if len(text) <= 40 else f"{text[:37]}..."
    return f"{cut!r} is not {otherwise or 'a number'}", f"write it as {otherwise or 'a number'}"


def _is_infinite(text: str) -> bool:
    # Some versions of pandas do not report a number that is too large.
    try:
        return bool(np.isinf(float(text)))
    except ValueError:
        return False

"""Rows of another file, read as those of the file that a model was trained on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.real_array import kind_of, shown
from . import cells
from .column import CATEGORY, DATE, NUMBER, TRUTH, Column
from .errors import DataError
from .near import near_names
from .preprocessing import Preprocessing
from .problems import Problem, refuse
from .table_files import TableFile

if TYPE_CHECKING:
    import pandas as pd

ROWS = 10_000
"""Rows that are read at a time."""


@dataclass(frozen=True)
class NewRows:
    """A file whose columns are those of a preprocessing, in any order, and maybe others.

    :param file: the file.
    :param preprocessing: of the training rows.
    :param num_rows: the number of rows.
    """

    file: TableFile
    preprocessing: Preprocessing
    num_rows: int

    @classmethod
    def open(
        cls, path: Path, preprocessing: Preprocessing, *, allow_unknown: bool = False
    ) -> NewRows:
        """Read the file once, to find everything that is wrong before anything is predicted.

        :param allow_unknown: True for categories that the training rows do not have: they are
            then of none.
        :raises DataError: if the file is no table, lacks columns, or has no rows; if it has
            another decimal mark than in training; or if values are missing that nothing replaces,
            infinite, or of another kind than in training.
        """
        file = TableFile.open(path)
        _check_columns(path, file.names, preprocessing)
        rows = cls(file, preprocessing, 0)
        wrong: dict[str, list[Any]] = {one.name: [] for one in preprocessing.columns}
        has_marks = False
        for raw, typed in rows._parts(()):
            has_marks = has_marks or _has_marks(raw, preprocessing)
            for one in preprocessing.columns:
                wrong[one.name].append(
                    wrong_cells(
                        one, raw[one.name], typed[one.name], preprocessing.impute, allow_unknown
                    )
                )
        masks = {name: np.concatenate(found) for name, found in wrong.items() if found}
        if not masks or not len(next(iter(masks.values()))):
            raise DataError(f"{path} has no rows.")
        if has_marks:
            _check_decimal_marks(file, preprocessing)
        problems = [
            Problem(one.name, masks[one.name], expected(one))
            for one in preprocessing.columns
            if masks[one.name].any()
        ]
        problems.sort(key=lambda problem: file.names.index(problem.column))
        refuse(file, problems, problems[0].column if problems else "")
        return cls(file, preprocessing, len(next(iter(masks.values()))))

    def parts(self, kept: tuple[str, ...] = ()) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        """The rows, :data:`ROWS` at a time.

        :param kept: columns to hand on as texts.
        :return: pairs of the columns `kept`, and the typed columns.
        """
        for raw, typed in self._parts(kept):
            if len(raw):
                yield raw[list(kept)], typed

    def _parts(self, kept: tuple[str, ...]) -> Iterator[tuple[pd.DataFrame, pd.DataFrame]]:
        text = {one.name for one in self.preprocessing.columns if one.read_as_text()}
        for raw in self.file.chunks(ROWS, text | set(kept)):
            raw = raw.reset_index(drop=True)
            yield raw, self.preprocessing.typed(raw)


@dataclass(frozen=True, eq=False)
class FrameCells:
    """A data frame as a place of cells, as a file is one."""

    frame: pd.DataFrame
    path: str = "X"
    separator: None = None
    missing: tuple[str, ...] = ("",)

    def cells(self) -> tuple[pd.DataFrame, NDArray[np.intp]]:
        """Texts of the cells, and the numbers of rows, counted from 0 as by X.iloc."""
        frame = self.frame.astype(object)
        return frame.where(frame.notna(), "").astype(str), np.arange(len(frame))


def typed_rows(X: Any, preprocessing: Preprocessing) -> pd.DataFrame:
    """Rows of a data frame, read as the training rows.

    :param X: a data frame with the columns of the training rows, in any order.
    :return: as :meth:`Preprocessing.typed`.
    :raises ValueError: if it is no data frame, if a column is missing, or if a cell is of another
        kind than in training.
    """
    if not hasattr(X, "columns") or not hasattr(X, "iloc"):
        raise ValueError(
            "X must be a data frame with the columns that the training rows had, but is "
            f"{kind_of(X)}."
        )
    _check_columns("X", tuple(X.columns), preprocessing)
    typed = preprocessing.typed(X)
    wrong = problems_of(preprocessing, X, typed)
    columns = {one.name: one for one in preprocessing.columns}
    problems = [Problem(name, mask, expected(columns[name])) for name, mask in wrong.items()]
    refuse(FrameCells(X), problems, "")
    return typed


def _check_columns(place: Any, names: tuple[Any, ...], preprocessing: Preprocessing) -> None:
    absent = [one.name for one in preprocessing.columns if one.name not in names]
    if not absent:
        return
    said = []
    for name in absent:
        near = near_names(name, [other for other in names if isinstance(other, str)])
        said.append(shown(name) + (f" (near it: {', '.join(map(repr, near))})" if near else ""))
    plural = "s" * (len(absent) > 1)
    raise DataError(f"{place} lacks the column{plural} {', '.join(said)} of the training rows.")


def _has_marks(raw: pd.DataFrame, preprocessing: Preprocessing) -> bool:
    """True if texts hold commas, or points where training had decimal commas."""
    points = {one.name for one in preprocessing.columns if one.decimal == ","}
    return any(
        cells.hold(raw[name], ",") or (name in points and cells.hold(raw[name], "."))
        for name in raw.columns
        if cells.are_texts(raw[name])
    )


def _check_decimal_marks(file: TableFile, preprocessing: Preprocessing) -> None:
    """Refuse numbers like 1,234 in a file whose decimal mark is another one than in training.

    :raises DataError: if all columns that show their mark have the same, and one of them, which
        had another in training or was not there, says that it is another one.
    """
    marks: dict[str, tuple[str, ...]] = dict.fromkeys(file.names, cells.MARKS)
    marked: dict[str, str] = {}
    decisive: dict[str, str] = {}
    for raw in file.chunks(ROWS, file.names):
        for name in [name for name in file.names if marks[name] and cells.are_texts(raw[name])]:
            column = raw[name]
            marks[name] = tuple(mark for mark in marks[name] if cells.fit(column, mark))
            with_mark = column[column.map(str).str.contains("[.,]").to_numpy(dtype=bool)]
            if len(with_mark):
                marked.setdefault(name, str(with_mark.iloc[0]))
            if len(marks[name]) == 1 and name not in decisive:
                (other,) = {*cells.MARKS} - {*marks[name]}
                only = with_mark[np.isnan(cells.numbers(with_mark, other))]
                if len(only):
                    decisive[name] = str(only.iloc[0])
    sure = {name: marks[name][0] for name in decisive if marks[name]}
    if len(set(sure.values())) != 1:
        return
    # Training may have had both marks: a column with its own says nothing of others.
    had = {one.name: one.decimal for one in preprocessing.columns if one.kind == NUMBER}
    sure = {name: mark for name, mark in sure.items() if had.get(name) != mark}
    if not sure:
        return
    other, mark = next(iter(sure.items()))
    for one in preprocessing.columns:
        unsure = one.name in marked and len(marks[one.name]) == 2
        if one.kind == NUMBER and unsure and one.decimal != mark:
            kinds = {".": "decimal points", ",": "decimal commas"}
            raise DataError(
                f"{file.path}, column {shown(one.name)}: {marked[one.name]!r} may have a decimal "
                f"mark or a separator of thousands. Column {shown(other)} has {kinds[mark]}, as "
                f"{decisive[other]!r}, but {shown(one.name)} had {kinds[one.decimal]} in training: "
                f"write the numbers with {kinds[one.decimal]}, without separators of thousands."
            )


def problems_of(
    preprocessing: Preprocessing,
    raw: pd.DataFrame,
    typed: pd.DataFrame,
    *,
    allow_unknown: bool = False,
) -> dict[str, Any]:
    """Columns with cells that cannot be used, with [n], True where they are."""
    masks = {
        one.name: wrong_cells(
            one, raw[one.name], typed[one.name], preprocessing.impute, allow_unknown
        )
        for one in preprocessing.columns
    }
    return {name: mask for name, mask in masks.items() if mask.any()}


def wrong_cells(
    column: Column, raw: pd.Series, values: pd.Series, impute: bool, allow_unknown: bool
) -> Any:
    """[n], True for cells that cannot be used."""
    if column.kind == CATEGORY:
        missing = column.is_missing(values.to_numpy())  # blank texts are, too
        unknown = ~values.isin([*column.categories, ""]).to_numpy()
        found = unknown & (not allow_unknown)
    else:
        missing = raw.isna().to_numpy()
        found = ~np.isfinite(values.to_numpy()) & ~missing
    return found | (missing & (not impute))


def expected(column: Column) -> str:
    """The kind of a column's cells, for a message."""
    if column.kind == CATEGORY:
        names = ", ".join(map(repr, (text for text in column.categories[:8] if text)))
        more = ", ..." if len(column.categories) > 8 else ""
        return f"one of the categories in training ({names}{more})"
    return {
        NUMBER: "a number",
        TRUTH: "a truth value, as true or false",
        DATE: "a date as in training",
    }[column.kind]

"""Kinds of columns, found from their cells: numbers, truth values, dates, categories."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from . import cells
from .column import CATEGORY, DATE, NUMBER, TRUTH, Column
from .problems import Problem

if TYPE_CHECKING:
    import pandas as pd

MOST_CATEGORIES = 20
"""Largest number of categories that become inputs by default."""


@dataclass(frozen=True)
class Found:
    """The kinds of columns.

    :param columns: one for each column of the frame that can be used.
    :param problems: what is wrong with the others.
    """

    columns: tuple[Column, ...]
    problems: tuple[Problem, ...] = ()


def find_kinds(
    frame: pd.DataFrame,
    *,
    categories: Collection[str] = (),
    max_categories: int = MOST_CATEGORIES,
    calendar: bool = False,
    marks: dict[str, str] | None = None,
) -> Found:
    """Find the kind of every column from its cells.

    A column is of the first kind to which all of its cells belong: numbers, truth values, dates.
    Other texts are categories, unless some cells are numbers.

    :param frame: rows with texts, numbers, truth values and dates; missing ones are NaN.
    :param categories: columns that are categories whatever they hold.
    :param max_categories: largest number of categories of a column.
    :param calendar: True if days of the week and months become inputs.
    :param marks: decimal marks of columns, from :func:`decimal_marks`.
    """
    marks = marks or {}
    columns: list[Column] = []
    problems: list[Problem] = []
    for name in frame.columns:
        raw = frame[name]
        if cells.are_nested(raw):
            text = "lists or records, from which no inputs are made"
            found: Any = Problem(name, text=text, remedies=("drop the column",))
        elif name in categories or raw.dtype == "category":
            found = _category(name, raw, max_categories)
        elif raw.dtype.kind in "mc":
            text, remedies = _NO_NUMBERS[raw.dtype.kind]
            found = Problem(name, text=text, remedies=remedies)
        elif cells.is_numeric(raw):
            found = Column(name)
        elif raw.dtype.kind == "M":
            found = Column(name, DATE, calendar=calendar)
        else:
            found = _of_texts(name, raw, marks.get(name, "."), max_categories, calendar)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            columns.append(found)
    return Found(tuple(columns), tuple(problems))


_NO_NUMBERS = {
    "m": ("durations", ("convert them to numbers, such as column / pandas.Timedelta(days=1)",)),
    "c": ("complex numbers", ("give their real and imaginary parts as two columns",)),
}
"""Kinds of NumPy's types that are refused, in words, and what to do."""


def decimal_marks(
    frame: pd.DataFrame, texts: pd.DataFrame | None, separator: str | None, decimal: str | None
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Decimal marks of the columns that are not plain numbers.

    A column tells its mark unless all of its numbers read like 1,234. Then the other columns of
    the file decide; if none does, a comma is a decimal mark in files with semicolons, and stands
    between thousands in all others.

    :param frame: the rows.
    :param texts: the cells of plain numbers with a decimal point as texts, for the case that the
        file has decimal commas: then 1.234 may be 1234; None if they are not texts.
    :param separator: what separates the cells.
    :param decimal: the mark of all columns, if it is known.
    :return: the marks by column, and notes on those that were guessed.
    """
    marks: dict[str, str] = {}
    unsure: list[str] = []
    for name in frame.columns:
        raw = frame[name]
        if not cells.are_texts(raw) or not cells.hold(raw, ","):
            continue
        fits = [mark for mark in cells.MARKS if cells.fit(raw, mark)]
        if len(fits) == 1:
            marks[name] = fits[0]
        elif fits:
            unsure.append(name)
    points = "." in marks.values()
    by_others = "," if "," in marks.values() and not points else "." if points else None
    if decimal is not None:
        marks.update(dict.fromkeys(unsure, decimal))
        by_others = decimal
    elif unsure:
        by_habit = by_others or ("," if separator == ";" else ".")
        marks.update(dict.fromkeys(unsure, by_habit))
        by_others = by_others or by_habit
    notes = []
    if unsure and decimal is None:
        means = "decimal marks" if marks[unsure[0]] == "," else "separators of thousands"
        other = "." if marks[unsure[0]] == "," else ","
        notes.append(
            f"Commas in {', '.join(map(repr, unsure))} are read as {means}; "
            f"--decimal '{other}' reads them otherwise."
        )
    if by_others == "," and texts is not None:
        for name in texts.columns:
            if cells.hold(texts[name], ".") and cells.fit(texts[name], ","):
                marks[name] = ","
                notes.append(
                    f"Points in {name!r} are read as separators of thousands, as other columns "
                    "have decimal commas; --decimal '.' reads them otherwise."
                )
    return marks, tuple(notes)


def _of_texts(
    name: str, raw: pd.Series, mark: str, max_categories: int, calendar: bool
) -> Column | Problem:
    if not raw.notna().any():
        return Column(name)
    if cells.fit(raw, mark):
        return Column(name, NUMBER, decimal=mark)
    different = raw.dropna().unique()
    texts = [str(cell) for cell in different]
    if cells.are_truths(texts):
        return Column(name, TRUTH)
    found = _date(name, raw, calendar)
    if found is not None:
        return found
    known = raw.notna().to_numpy()
    are_numbers = known & ~np.isnan(cells.numbers(raw, mark))
    if are_numbers.any():
        remedies = ("name it in --categories",)
        return Problem(name, known & ~are_numbers, "a number", remedies)
    return _category(name, raw, max_categories)


def _all(raw: pd.Series, values: Any) -> bool:
    return not (np.isnan(values) & raw.notna().to_numpy()).any()


def _date(name: str, raw: pd.Series, calendar: bool) -> Column | Problem | None:
    import pandas as pd

    present = raw.dropna()
    first = present.iloc[:1]
    forms = [form for form in cells.DATES if _all(first, cells.days(first, form))]
    if not forms and "/" not in str(first.iloc[0]):
        return None
    different = pd.Series(present.unique())
    fits = [form for form in cells.DATES if _all(different, cells.days(different, form))]
    if len(fits) > 1:
        days = [tuple(cells.days(different, form)) for form in fits]
        if len(set(days)) > 1:
            return Problem(
                name,
                text=f"dates such as {str(different.iloc[0])!r} may begin with the day or the "
                "month",
                remedies=("write them as 2024-12-31",),
            )
    return Column(name, DATE, form=fits[0], calendar=calendar) if fits else None


def _category(name: str, raw: pd.Series, max_categories: int) -> Column | Problem:
    from .column import texts

    found: Sequence[str] = sorted(set(texts(raw.drop_duplicates())) - {""})
    if len(found) > max_categories:
        return Problem(
            name,
            text=f"{len(found)} different texts, such as {found[0][:40]!r}, would be as many "
            f"inputs, and at most {max_categories} are made",
            remedies=("drop the column", "allow more (--max-categories)"),
        )
    return Column(name, CATEGORY, categories=tuple(found))

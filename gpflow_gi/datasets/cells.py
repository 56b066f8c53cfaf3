"""Cells that are texts, as numbers: with thousands separators, decimal commas, truth, dates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]

MARKS = (".", ",")
"""The decimal marks."""

_SPACES = "\\s\u00a0\u2007\u2009\u202f"
"""Spaces, with those that do not break, which are not in the \\s of Arrow's expressions."""

_GROUPS = {".": rf"[,{_SPACES}'’]", ",": rf"[.{_SPACES}'’]"}
"""Separators of thousands, by the decimal mark."""

_FIRST = 1000
"""Number of cells that are read first: most columns of another kind end there."""

_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0, "t": 1.0, "y": 1.0, "f": 0.0, "n": 0.0}
_PAIRS = ({"true", "false"}, {"yes", "no"}, {"t", "f"}, {"y", "n"})

ISO = "ISO8601"

DATES = (
    ISO,
    "%Y/%m/%d",
    "%d.%m.%Y",
    "%d/%m/%Y",
    "%m/%d/%Y",
    *("%Y/%m/%d %H:%M", "%d.%m.%Y %H:%M", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M"),
    *("%Y/%m/%d %H:%M:%S", "%d.%m.%Y %H:%M:%S", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S"),
)
"""The forms of dates."""

_MICROSECONDS = 86400e6
"""In a day."""


def numbers(cells: pd.Series, decimal: str = ".") -> Array:
    """Numbers with or without separators between thousands.

    :param cells: [n], texts or numbers; missing ones are NaN.
    :param decimal: the decimal mark, "." or ",".
    :return: [n]; NaN for what is missing or is not a number.
    """
    import pandas as pd

    if is_numeric(cells):
        return cells.to_numpy(dtype=float, na_value=np.nan)
    places, different = pd.factorize(cells.astype(object))  # few texts are read often
    texts = [str(one) if isinstance(one, bool | np.bool_) else one for one in different]
    values = np.append(_of_texts(pd.Series(texts, dtype=object), decimal), np.nan)
    return values[places]


def fit(cells: pd.Series, decimal: str = ".") -> bool:
    """True if all cells that are not missing are numbers with this decimal mark."""
    return all(
        not (np.isnan(numbers(some, decimal)) & some.notna().to_numpy()).any()
        for some in (cells[:_FIRST], cells[_FIRST:])
    )


def _of_texts(texts: pd.Series, decimal: str) -> Array:
    import pandas as pd

    if decimal != ".":
        return _grouped(texts, decimal)
    values = pd.to_numeric(texts, errors="coerce").to_numpy(dtype=float, copy=True)
    left = np.isnan(values)
    if left.any():
        values[left] = _grouped(texts[left], decimal)
    return values


def _grouped(texts: pd.Series, decimal: str) -> Array:
    import pandas as pd

    group, mark = _GROUPS[decimal], "\\" + decimal
    # 0,123 has no thousands.
    pattern = rf"[+-]?([1-9]\d{{0,2}}({group}\d{{3}})+|\d+)?({mark}\d*)?([eE][+-]?\d+)?"
    # Typeset tables have another sign for minus.
    texts = texts.map(str).str.strip().str.replace("−", "-", regex=False)
    fits = texts.str.fullmatch(pattern).to_numpy(dtype=bool)
    plain = texts.where(fits, "nan").str.replace(group, "", regex=True)
    values = pd.to_numeric(plain.str.replace(decimal, ".", regex=False), errors="coerce")
    return values.to_numpy(dtype=float, na_value=np.nan)


def is_numeric(cells: pd.Series) -> bool:
    """True for a column of numbers; truth values are none."""
    from pandas.api.types import is_bool_dtype, is_numeric_dtype

    return bool(is_numeric_dtype(cells.dtype) and not is_bool_dtype(cells.dtype))


def are_texts(cells: pd.Series) -> bool:
    """True for a column of texts, among which other objects may be, but no lists."""
    return not is_numeric(cells) and cells.dtype.kind not in "Mb" and not are_nested(cells)


def are_nested(cells: pd.Series) -> bool:
    """True if some cells are lists or records, as files of Parquet have them."""
    if cells.dtype != object:  # cells of a type that Arrow gives are alike
        cells = cells.dropna().iloc[:1]
    return any(isinstance(cell, list | tuple | dict | set | np.ndarray) for cell in cells)


def hold(cells: pd.Series, character: str) -> bool:
    """True if a character is in one of the cells."""
    return any(character in str(cell) for cell in cells.dropna().unique())


def truths(cells: pd.Series) -> Array:
    """Truth values as 1 and 0: true and false, yes and no, or their first letters.

    :param cells: [n], texts or truth values; missing ones are NaN.
    :return: [n]; NaN for what is missing or is neither.
    """
    import pandas as pd

    places, different = pd.factorize(cells.astype(object))
    values = [_TRUTH.get(str(cell).strip().lower(), np.nan) for cell in different]
    return np.array([*values, np.nan])[places]


def are_truths(cells: Sequence[str]) -> bool:
    """True if different texts are one pair of truth values.

    :param cells: different texts.
    """
    found = {cell.strip().lower() for cell in cells}
    return any(found <= pair for pair in _PAIRS)


def days(cells: pd.Series, form: str) -> Array:
    """Dates as days since the beginning of 1970, with a time as a part of a day.

    :param cells: [n], texts or dates; missing ones are NaN.
    :param form: one of :data:`DATES`.
    :return: [n]; NaN for what is missing or is not a date of this form. Times of a zone are
        those of UTC.
    """
    import pandas as pd

    places, different = pd.factorize(cells)
    texts = pd.Series(different)
    if texts.dtype.kind != "M":
        texts = texts.map(str).str.strip()
    dates = pd.to_datetime(texts, format=form, errors="coerce", utc=True)
    known = dates.notna().to_numpy()
    values = np.full(len(different) + 1, np.nan)
    # Nanoseconds end in 2262; some tables have 9999-12-31 where there is no date.
    exact = dates[known].dt.as_unit("us").astype("int64").to_numpy()
    values[:-1][known] = exact / _MICROSECONDS
    return values[places]


def calendar(days_: Array) -> Array:
    """Day of the week and month as points on circles, so that Sunday is beside Monday.

    :param days_: [n, C], days since the beginning of 1970, which was a Thursday.
    :return: [n, 4 C]: the sine and cosine of the day of the week, then of the month, date by date.
    """
    days_ = np.asarray(days_, dtype=float)
    dates = np.floor(days_).astype("datetime64[D]")
    week = 2 * np.pi * ((np.floor(days_) + 3) % 7) / 7  # 0 for Monday
    months = dates.astype("datetime64[M]").astype(int) % 12
    year = 2 * np.pi * months / 12
    parts = [np.sin(week), np.cos(week), np.sin(year), np.cos(year)]
    return np.stack(parts, axis=-1).reshape(len(days_), -1)

"""One column of a table: its kind, and what was learned about it from the training rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any

import numpy as np

from . import cells
from .cells import Array

if TYPE_CHECKING:
    import pandas as pd

NUMBER, TRUTH, DATE, CATEGORY = KINDS = ("number", "truth", "date", "category")


@dataclass(frozen=True)
class Column:
    """A column of inputs, all in plain values that JSON can hold.

    :param name: its name in the file.
    :param kind: "number", "truth" (true or false), "date" or "category".
    :param decimal: the decimal mark of numbers that are texts.
    :param form: the form of dates, one of `gpflow_gi.datasets.cells.DATES`.
    :param calendar: True if the day of the week and the month of a date are inputs too.
    :param fill: what replaces missing values; None if they are refused.
    :param missing: True if a value is missing among the training rows: an input says where.
    :param categories: the texts of a category among the training rows, in order; the empty text
        stands for missing ones.
    """

    name: str
    kind: str = NUMBER
    decimal: str = "."
    form: str = cells.ISO
    calendar: bool = False
    fill: float | None = None
    missing: bool = False
    categories: tuple[str, ...] = ()

    def values(self, raw: pd.Series) -> Array | Any:
        """The cells as what they mean.

        :param raw: [n], texts, numbers or dates; missing ones are NaN.
        :return: [n]: for a category objects that are texts, empty where missing; else floats, NaN
            where missing and where a cell is of another kind.
        """
        if self.kind == CATEGORY:
            return texts(raw)
        if self.kind == TRUTH:
            return cells.truths(raw)
        if self.kind == DATE:
            return cells.days(raw, self.form)
        return cells.numbers(raw, self.decimal)

    def read_as_text(self) -> bool:
        """True if the cells must be read as texts, although some may look like other numbers."""
        return self.kind == CATEGORY or self.decimal != "."

    def is_missing(self, values: Any) -> Any:
        """[n], True where a value of :meth:`values` is missing."""
        return values == "" if self.kind == CATEGORY else np.isnan(values.astype(float))

    def learned(self, values: Any, impute: bool, weights: Any = None) -> Column:
        """The same column with what training rows tell.

        :param values: [n], from :meth:`values`, of the training rows.
        :param impute: True if missing values are replaced by the median.
        :param weights: [n], of the rows, positive, for the median; None for equal ones.
        """
        absent = self.is_missing(values)
        settings = {f.name: getattr(self, f.name) for f in fields(self)}
        if self.kind == CATEGORY:
            found = sorted(set(values if impute else values[~absent]))
            return Column(**{**settings, "categories": tuple(found)})
        if not impute:
            return self
        present = values[~absent]
        weights = None if weights is None else weights[~absent]
        fill = _median(present, weights) if len(present) else 0.0
        return Column(**{**settings, "fill": fill, "missing": bool(absent.any())})

    def input_names(self) -> list[str]:
        """Names of the inputs that are made of the column, without those that mark the missing."""
        if self.kind == CATEGORY:
            return [f"{self.name} = {text or '(missing)'}" for text in self.categories]
        return [self.name]

    def as_dict(self) -> dict[str, Any]:
        """The settings that differ from the defaults."""
        plain = {**asdict(self), "categories": list(self.categories)}
        default: dict[str, Any] = {**asdict(Column("")), "categories": []}
        return {name: one for name, one in plain.items() if one != default[name]}

    @classmethod
    def from_dict(cls, plain: Any) -> Column:
        """The inverse of :meth:`as_dict`, for values of any origin.

        :raises ValueError: if they do not describe a column.
        """
        types: dict[str, Any] = {
            **dict.fromkeys(("name", "kind", "decimal", "form"), str),
            **dict.fromkeys(("calendar", "missing"), bool),
            "fill": float,
            "categories": list,
        }
        if not isinstance(plain, Mapping) or not {"name"} <= plain.keys() <= types.keys():
            raise ValueError("a column must have a name and only known settings")
        for name, one in plain.items():
            if type(one) is not types[name]:
                raise ValueError(f"the setting {name} of a column is of the wrong type")
        categories = plain.get("categories", [])
        column = cls(**{**plain, "categories": tuple(categories)})
        sound = (
            column.kind in KINDS
            and column.decimal in cells.MARKS
            and column.form in cells.DATES
            and all(isinstance(text, str) for text in categories)
            and list(categories) == sorted(set(categories))
            and (column.fill is None or math.isfinite(column.fill))
            and (column.fill is not None or not column.missing)
            and (bool(categories) == (column.kind == CATEGORY))
        )
        if not sound:
            raise ValueError("the settings of a column contradict each other")
        return column


def texts(raw: pd.Series) -> Any:
    """Cells as texts without spaces at their ends: [n], objects; empty where they are missing."""
    import pandas as pd

    places, different = pd.factorize(raw.astype(object))
    return np.array([*(str(cell).strip() for cell in different), ""], dtype=object)[places]


def _median(values: Any, weights: Any) -> float:
    """The median, in which a value of weight 2 counts as two.

    :param values: [n].
    :param weights: [n], or None for equal ones.
    """
    if weights is None or np.ptp(weights) == 0:
        return float(np.median(values))
    order = np.argsort(values)
    values, below = values[order], np.cumsum(weights[order])
    half = below[-1] / 2
    # Half of the weight may end between two values, up to rounding.
    middle = [values[np.searchsorted(below, half + by)] for by in np.array([-1, 1]) * 1e-9 * half]
    return float(np.mean(middle))

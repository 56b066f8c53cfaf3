"""From the columns of a file to inputs that are numbers, as the training rows say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from .cells import Array, calendar
from .column import CATEGORY, DATE, Column
from .errors import DataError

if TYPE_CHECKING:
    import pandas as pd

CALENDAR = (
    "day of week, sine",
    "day of week, cosine",
    "month, sine",
    "month, cosine",
)
"""The inputs of `gpflow_gi.datasets.cells.calendar`."""


@dataclass(frozen=True)
class Preprocessing:
    """A map of columns to inputs, by scikit-learn's ColumnTransformer.

    Numbers stay as they are, truth values become 1 and 0, and dates days since the beginning of
    1970. Every category becomes one input, which is 1 in its rows: a text that the training rows
    do not have is 0 in all. Missing values are refused, or replaced by the median of the training
    rows; if values of a column are missing there, an input says so.

    What is kept are plain settings of the columns, from which the transformer is made again: it is
    fitted to a few rows that give it the same medians and categories as the training rows.

    :param columns: the columns of inputs, with what was learned of them.
    :param impute: True if missing values are replaced.
    """

    columns: tuple[Column, ...]
    impute: bool = False

    @classmethod
    def fit(
        cls,
        frame: pd.DataFrame,
        columns: Sequence[Column],
        impute: bool,
        weights: Array | None = None,
    ) -> Preprocessing:
        """Learn medians and categories.

        :param frame: the training rows, from :meth:`typed`.
        :param columns: columns of `frame`, in the order of the inputs.
        :param impute: True to replace missing values.
        :param weights: [N], of the rows, for medians; None for equal ones.
        """
        learned = [one.learned(frame[one.name].to_numpy(), impute, weights) for one in columns]
        return cls(tuple(learned), impute)

    @classmethod
    def of_numbers(cls, names: Sequence[str]) -> Preprocessing:
        """The map for columns that are numbers already."""
        return cls(tuple(Column(name) for name in names))

    def typed(self, raw: pd.DataFrame) -> pd.DataFrame:
        """Cells as what they mean, see :meth:`.Column.values`.

        :param raw: rows with all columns, in any order.
        """
        return _frame({one.name: one.values(raw[one.name]) for one in self.columns})

    def transform(self, frame: pd.DataFrame) -> Array:
        """Make the inputs.

        :param frame: n rows, from :meth:`typed`.
        :return: [n, D].
        :raises DataError: if a value is missing that is not replaced.
        """
        self.check(frame)
        if not len(frame):
            return np.zeros((0, len(self.input_names)))
        return np.asarray(self._transformer.transform(frame), dtype=float)

    def check(self, frame: pd.DataFrame) -> None:
        """Refuse rows with missing values, if these are not replaced.

        :param frame: from :meth:`typed`.
        :raises DataError: with all columns and counts.
        """
        if self.impute:
            return
        counts = {c.name: int(c.is_missing(frame[c.name].to_numpy()).sum()) for c in self.columns}
        absent = [f"{count} of {name!r}" for name, count in counts.items() if count]
        if absent:
            raise DataError(
                f"values are missing: {', '.join(absent)}. The training rows had all, so there is "
                "nothing to replace them by."
            )

    def unknown(self, frame: pd.DataFrame) -> dict[str, dict[str, int]]:
        """Texts of categories that the training rows do not have, with their counts, by column.

        :param frame: from :meth:`typed`.
        """
        found = {}
        for one in self.columns:
            if one.kind == CATEGORY:
                values = frame[one.name]
                strange = values[~values.isin(one.categories) & (values != "")]
                if len(strange):
                    found[one.name] = {str(k): int(n) for k, n in strange.value_counts().items()}
        return found

    def notes_on_unknown(self, frame: pd.DataFrame) -> tuple[str, ...]:
        """A sentence for each column with texts that :meth:`unknown` finds in held-out rows.

        :param frame: from :meth:`typed`.
        """
        return tuple(
            f"{sum(counts.values())} of {len(frame)} held-out rows have a text in {name!r} that no "
            f"training row has, such as {next(iter(counts))[:40]!r}: it is 0 in all inputs."
            for name, counts in self.unknown(frame).items()
        )

    @cached_property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs, [D]."""
        names: list[str] = []
        for _, columns in self._groups():
            names += [name for one in columns for name in one.input_names()]
            names += [f"{one.name} is missing" for one in columns if one.missing]
            names += [f"{c.name}, {part}" for c in columns if c.calendar for part in CALENDAR]
        return tuple(names)

    def as_dict(self) -> dict[str, Any]:
        """The settings, ready for JSON."""
        return {"impute": self.impute, "columns": [one.as_dict() for one in self.columns]}

    @classmethod
    def from_dict(cls, plain: Any) -> Preprocessing:
        """The inverse of :meth:`as_dict`, for values of any origin.

        :raises ValueError: if they do not describe the preprocessing of a table.
        """
        if (
            not isinstance(plain, Mapping)
            or plain.keys() != {"impute", "columns"}
            or not isinstance(plain["impute"], bool)
            or not isinstance(plain["columns"], list)
            or not plain["columns"]
        ):
            raise ValueError("the preprocessing must have the settings impute and columns")
        columns = tuple(Column.from_dict(one) for one in plain["columns"])
        if len({one.name for one in columns}) < len(columns):
            raise ValueError("two columns have the same name")
        for one in columns:
            if one.kind != CATEGORY and (one.fill is not None) != plain["impute"]:
                raise ValueError(
                    "the value that replaces missing values in a column is missing, or not needed"
                )
        return cls(columns, plain["impute"])

    def _groups(self) -> Iterator[tuple[str, list[Column]]]:
        """Neighbours that are treated alike, so that inputs keep the order of the file."""

        def treatment(column: Column) -> str:
            if column.kind == CATEGORY:
                return "categories"
            return "dates" if column.kind == DATE and column.calendar else "numbers"

        for kind, columns in groupby(self.columns, treatment):
            yield kind, list(columns)

    @cached_property
    def _transformer(self) -> Any:
        from sklearn.compose import ColumnTransformer
        from sklearn.impute import SimpleImputer
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

        def imputer(indicator: bool) -> Any:
            if not self.impute:
                return "passthrough"
            return SimpleImputer(strategy="median", add_indicator=indicator)

        parts: list[tuple[str, Any, list[str]]] = []
        for kind, columns in self._groups():
            names, place = [one.name for one in columns], str(len(parts))
            if kind == "categories":
                encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
                parts.append((place, encoder, names))
                continue
            parts.append((place, imputer(True), names))
            if kind == "dates":
                parts.append(
                    (f"{place}c", make_pipeline(imputer(False), FunctionTransformer(calendar)),
                     names)
                )  # fmt: skip
        return ColumnTransformer(parts).fit(self._example())

    def _example(self) -> pd.DataFrame:
        """Rows from which the transformer learns what the training rows taught."""
        rows = max([2, *(len(one.categories) for one in self.columns)])
        example = {}
        for one in self.columns:
            if one.kind == CATEGORY:
                example[one.name] = np.resize(np.array(one.categories, dtype=object), rows)
            else:
                example[one.name] = np.full(rows, 0.0 if one.fill is None else one.fill)
                example[one.name][0] = np.nan if one.missing else example[one.name][1]
        return _frame(example)


def _frame(values: Mapping[str, Any]) -> pd.DataFrame:
    """A frame of columns that keep their types: texts stay objects."""
    import pandas as pd

    series = {name: pd.Series(one, dtype=one.dtype) for name, one in values.items()}
    return pd.DataFrame(series)

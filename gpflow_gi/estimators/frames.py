"""Data frames with columns that are not numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation import shown
from ..datasets import DataError
from ..datasets.cells import is_numeric
from ..datasets.kinds import find_kinds
from ..datasets.new_rows import expected, problems_of
from ..datasets.preprocessing import Preprocessing
from ..datasets.problems import Problem, refuse
from ..datasets.table import Array

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class _Cells:
    """A data frame as a place of problems, as a file is one."""

    frame: pd.DataFrame
    path: str = "X"
    separator: None = None

    def cells(self) -> tuple[pd.DataFrame, NDArray[np.intp]]:
        """Texts of the cells, and numbers of the rows, counted from 0 as in X.iloc."""
        frame = self.frame.astype(object)
        return frame.where(frame.notna(), "").astype(str), np.arange(len(frame))


def needs_preprocessing(X: Any, preprocess: str) -> bool:
    """True for a data frame with columns that are neither numbers nor objects that are numbers."""
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return False
    if not all(isinstance(name, str) for name in X.columns) or not X.columns.is_unique:
        return False  # scikit-learn says what is wrong with them
    return preprocess == "median" or any(not _is_plain(X[name]) for name in X.columns)


def _is_plain(column: pd.Series) -> bool:
    """True for numbers, and for objects among which there is no text and no date."""
    if column.dtype == object:
        known = column.dropna()
        return not len(known) or not isinstance(known.iloc[0], str | bool)
    return is_numeric(column)


def learn(X: pd.DataFrame, impute: bool) -> tuple[Array, Preprocessing]:
    """Inputs of training rows, and how others are made.

    :return: [N, D] and the preprocessing.
    :raises ValueError: with everything that is wrong with the columns.
    """
    found = find_kinds(X)
    problems = list(found.problems)
    raw = Preprocessing(found.columns, impute)
    frame = raw.typed(X)
    for name, mask in problems_of(raw, X, frame, allow_unknown=True).items():
        problems.append(Problem(name, mask))
    refuse(_Cells(X), problems, "")
    fitted = Preprocessing.fit(frame, found.columns, impute)
    return fitted.transform(frame), fitted


def numbers(X: Any, preprocessing: Preprocessing) -> Array:
    """Inputs of other rows.

    :param X: a data frame with the columns of the training rows, in any order.
    :return: [N, D].
    :raises ValueError: if it is no data frame, if a column is missing, or if a cell is of another
        kind than in training.
    """
    if not hasattr(X, "columns"):
        raise ValueError(
            "X must be a data frame with the columns that the training rows had, but is "
            f"{shown(type(X).__name__)}."
        )
    absent = [one.name for one in preprocessing.columns if one.name not in X.columns]
    if absent:
        raise DataError(f"X lacks the columns {', '.join(map(repr, absent))} of the training rows.")
    typed = preprocessing.typed(X)
    wrong = problems_of(preprocessing, X, typed)
    columns = {one.name: one for one in preprocessing.columns}
    problems = [Problem(name, mask, expected(columns[name])) for name, mask in wrong.items()]
    refuse(_Cells(X), problems, "")
    return preprocessing.transform(typed)

"""Data frames with columns that are not numbers."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from ..datasets.cells import is_numeric
from ..datasets.kinds import find_kinds
from ..datasets.new_rows import FrameCells, problems_of
from ..datasets.preprocessing import Preprocessing
from ..datasets.problems import Problem, refuse
from ..datasets.table import Array

if TYPE_CHECKING:
    import pandas as pd


def needs_preprocessing(X: Any, preprocess: str) -> bool:
    """True for a data frame with columns that are neither numbers nor objects that are numbers.

    :raises ValueError: if its columns have no names by which they could be preprocessed, or if it
        is not of pandas.
    """
    if not hasattr(X, "dtypes") or not hasattr(X, "columns"):
        return False
    if not hasattr(X.columns, "is_unique"):  # of polars, whose columns are a list
        if preprocess != "median" and np.asarray(X).dtype.kind in "biuf":
            return False  # scikit-learn takes it as an array, with names
        raise ValueError(
            "X has columns to be preprocessed, which takes a data frame of pandas: X.to_pandas()."
        )
    are_texts = [isinstance(name, str) for name in X.columns]
    if any(are_texts) and not (all(are_texts) and X.columns.is_unique):
        return False  # scikit-learn says what is wrong with them
    if not all(are_texts):
        # Without names, scikit-learn takes a frame of numbers as an array.
        numbers = [X.iloc[:, i] for i in range(X.shape[1])]
        if all(map(_is_plain, numbers)) and not (
            preprocess == "median" and X.isna().any(axis=None)
        ):
            return False
        raise ValueError(
            "X has columns to be preprocessed, which takes names that are texts: "
            "X.columns = [str(name) for name in X.columns]."
        )
    return preprocess == "median" or any(not _is_plain(X[name]) for name in X.columns)


def _is_plain(column: pd.Series) -> bool:
    """True for numbers, and for objects among which there is no text and no date."""
    if column.dtype == object:
        known = column.dropna()
        if len(known) and isinstance(known.iloc[0], bool):
            return False
        return not any(isinstance(cell, str | datetime.date) for cell in known)
    return is_numeric(column)


def learn(
    X: pd.DataFrame, impute: bool, weights: Array | None = None
) -> tuple[Array, Preprocessing]:
    """Inputs of training rows, and how others are made.

    :param weights: [N], of the rows; None for equal ones.
    :return: [N, D] and the preprocessing.
    :raises ValueError: with everything that is wrong with the columns.
    """
    found = find_kinds(X)
    problems = list(found.problems)
    raw = Preprocessing(found.columns, impute)
    frame = raw.typed(X)
    for name, mask in problems_of(raw, X, frame, allow_unknown=True).items():
        problems.append(Problem(name, mask))
    refuse(FrameCells(X), problems, "")
    fitted = Preprocessing.fit(frame, found.columns, impute, weights)
    return fitted.transform(frame), fitted

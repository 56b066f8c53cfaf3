"""Rows of numbers with one target."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation import check_rank, check_same_rows, finite_floats, real_array, shown
from .cells import Array
from .preprocessing import Preprocessing
from .source import Source

MIN_ROWS = 3
"""Least number of rows: two to train on, for a standard deviation, and one to test on."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers with one target.

    :param name: name of the table in reports: "diabetes", or the name of a file.
    :param X: [N, D], the inputs.
    :param Y: [N, 1], the target.
    :param input_names: D names, one for each column of `X`.
    :param target_name: the name of the column `Y`.
    :param task: "regression", "classification" or "counts".
    :param classes: the names of the classes that `Y` counts; none otherwise.
    :param source: the columns of the file from which `X` is made; None if they are `X`.
    :raises ValueError: if X and Y are not tables of finite numbers with the same number of rows,
        or if there is not one name for each input.
    """

    name: str
    X: Array
    Y: Array
    input_names: tuple[str, ...]
    target_name: str
    source: Source | None = None
    task: str = "regression"
    classes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("X", "Y"):
            rows = finite_floats(name, getattr(self, name), empty=True)
            check_rank(name, rows)
            object.__setattr__(self, name, rows)
        check_same_rows(self.X, self.Y)
        if self.Y.shape[1] != 1:
            raise ValueError(f"Y must have one column, but has shape {list(self.Y.shape)}.")
        if not isinstance(self.input_names, list | tuple) or (
            len(self.input_names) != self.X.shape[1]
        ):
            raise ValueError(
                f"input_names must name the {self.X.shape[1]} columns of X, but is "
                f"{shown(self.input_names)}."
            )

    def rows(self, index: NDArray[np.intp]) -> "Table":
        """The rows numbered `index`, in that order.

        :param index: [n], integers in [0, N), or n of N rows marked as True.
        :return: n rows.
        :raises IndexError: if a row does not exist.
        :raises ValueError: if `index` does not hold integers.
        """
        index = row_numbers(index)
        source = None if self.source is None else self.source.rows(index)
        return replace(self, X=self.X[index], Y=self.Y[index], source=source)

    def split(self, train: NDArray[np.intp], test: NDArray[np.intp]) -> tuple["Table", "Table"]:
        """Rows to train on and rows to test on.

        Medians and categories of columns that are not numbers are those of the training rows.

        :param train: as `index` of :meth:`rows`.
        :param test: the same.
        :return: both with the same inputs.
        """
        one, other = self.rows(train), self.rows(test)
        if one.source is None or other.source is None:
            return one, other
        source = one.source.learned()
        notes = source.notes + source.preprocessing.notes_on_unknown(other.source.frame)

        def of(part: Table, frame: Any) -> Table:
            return replace(
                part,
                X=source.preprocessing.transform(frame),
                input_names=source.preprocessing.input_names,
                source=Source(frame, source.preprocessing, notes),
            )

        return of(one, one.source.frame), of(other, other.source.frame)

    @property
    def notes(self) -> tuple[str, ...]:
        """Remarks on the reading of the file, for its user; a sentence each."""
        return () if self.source is None else self.source.notes

    @property
    def preprocessing(self) -> Preprocessing:
        """The map from the columns of a file to `X`."""
        if self.source is None:
            return Preprocessing.of_numbers(self.input_names)
        return self.source.preprocessing


def check_table(name: str, value: Any) -> None:
    """Refuse a value that is not a table.

    :raises TypeError: if it is not.
    """
    if not isinstance(value, Table):
        raise TypeError(f"{name} must be a gpflow_gi.datasets.Table, but is {shown(value)}.")


def row_numbers(index: Any) -> NDArray[Any]:
    """The indices of rows as integers or booleans, [n].

    :raises ValueError: if they are neither.
    """
    numbers = real_array("index", index)
    if numbers.ndim != 1 or (numbers.size and numbers.dtype.kind == "f"):
        raise ValueError(f"index must hold the numbers of rows, [n], but is {shown(index)}.")
    return numbers if numbers.size else numbers.astype(np.intp)

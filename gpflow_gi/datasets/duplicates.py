"""Test rows that are also training rows."""

import numpy as np
from numpy.typing import NDArray

from ..core.validation import true_or_false
from .table import Array, Table, check_table


def rows_in_both(train: Table, test: Table, *, inputs_only: bool = False) -> NDArray[np.bool_]:
    """Mark the test rows that also occur among the training rows, number by number.

    :param train: the rows to train on.
    :param test: n rows to test on.
    :param inputs_only: True to compare inputs alone, whatever the targets.
    :return: [n].
    :raises TypeError: if an argument is not a table, or if `inputs_only` is not True or False.
    """
    check_table("train", train)
    check_table("test", test)
    inputs_only = true_or_false("inputs_only", inputs_only)

    def rows(table: Table) -> list[tuple[float, ...]]:
        columns: Array = table.X if inputs_only else np.hstack([table.X, table.Y])
        return [tuple(row) for row in columns.tolist()]

    known = set(rows(train))
    return np.array([row in known for row in rows(test)], dtype=bool)

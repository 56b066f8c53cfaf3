"""Rows of numbers with one target."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

MIN_ROWS = 3
"""Two rows to train on, so that a standard deviation exists, and one to test on."""


@dataclass(frozen=True, eq=False)
class Table:
    """Rows of numbers with one target.

    :param name: what the table is called in reports: "diabetes", or the name of a file.
    :param X: [N, D], the inputs.
    :param Y: [N, 1], the target.
    :param input_names: D names, one for each column of `X`.
    :param target_name: the name of the column `Y`.
    """

    name: str
    X: Array
    Y: Array
    input_names: tuple[str, ...]
    target_name: str

    def rows(self, index: NDArray[np.intp]) -> "Table":
        """The rows numbered `index`, in that order.

        :param index: [n], integers in [0, N).
        :return: n rows.
        :raises IndexError: if there is no such row.
        """
        return Table(self.name, self.X[index], self.Y[index], self.input_names, self.target_name)

"""Splits of rows into training and test rows."""

from typing import Any

import numpy as np

from ..core.validation import numpy_seed, probability, shown
from .errors import DataError
from .table import MIN_ROWS, Table, check_table


def train_test_split(
    table: Table, test_fraction: float = 0.1, seed: int = 0
) -> tuple[Table, Table]:
    """Split the rows at random.

    :param table: N rows, at least 3.
    :param test_fraction: in (0, 1), the share of test rows, rounded so that there are at least one
        test row and two training rows.
    :param seed: of the permutation; the same seed gives the same split.
    :return: the training rows and the test rows.
    :raises TypeError: if `table` is not a table.
    :raises ValueError: if `test_fraction` is not in (0, 1), or `seed` not in 0 to 2^32 - 1.
    :raises DataError: if there are fewer than 3 rows.
    """
    test_fraction = probability("test_fraction", test_fraction)
    _check_enough_rows(table)
    seed = numpy_seed("seed", seed)
    num_rows = len(table.X)
    num_test = min(max(1, round(test_fraction * num_rows)), num_rows - 2)
    order = np.random.default_rng(seed).permutation(num_rows)
    return table.split(order[num_test:], order[:num_test])


def standard_split(table: Table, split: int) -> tuple[Table, Table]:
    """Split number `split` of the standard sequence: nine tenths for training, one for testing.

    The sequence is that of the published splits of the UCI regression sets: numpy's legacy
    generator with seed 1 permutes the rows once for every split. The first round(0.9 N) rows of
    the permutation are the training rows, the others the test rows, in the permutation's order.
    Tables with equal numbers of rows have the same splits, whatever the rows hold.

    Hernandez-Lobato & Adams, "Probabilistic backpropagation for scalable learning of Bayesian
    neural networks", ICML 2015, arXiv:1502.05336; Gal & Ghahramani, "Dropout as a Bayesian
    approximation", ICML 2016, arXiv:1506.02142.

    :param table: N rows, at least 3.
    :param split: 0, 1, ..., without an upper limit.
    :return: the training rows and the test rows. Of 3 or 4 rows, where round(0.9 N) is N, one is
        still a test row.
    :raises TypeError: if `table` is not a table.
    :raises DataError: if there is no such split, if there are fewer than 3 rows, or if the target
        is constant in the training rows.
    """
    _check_enough_rows(table)
    if not isinstance(split, int | np.integer) or not 0 <= split < _MOST_SPLITS:
        raise DataError(
            f"{table.name} has no split {shown(split)}: splits have the numbers 0, 1, 2 and so on."
        )
    num_rows = len(table.X)
    num_train = min(round(0.9 * num_rows), num_rows - 1)
    generator = np.random.RandomState(1)
    for _ in range(split + 1):
        order = generator.permutation(num_rows)
    train, test = table.split(order[:num_train], order[num_train:])
    if np.ptp(train.Y) == 0:
        raise DataError(
            f"{table.name}, split {split}: the target {table.target_name!r} is "
            f"{train.Y[0, 0]:g} in all {num_train} rows to train on; leave this split out."
        )
    return train, test


_MOST_SPLITS = 10**6
"""Largest number of a split: each split takes the permutations of all splits before it."""


def _check_enough_rows(table: Any) -> None:
    check_table("table", table)
    if len(table.X) < MIN_ROWS:
        raise DataError(f"{table.name} has {len(table.X)} rows: at least {MIN_ROWS} are needed.")

"""Which rows to train on and which to test on."""

import numpy as np

from .errors import DataError
from .table import MIN_ROWS, Table


def train_test_split(
    table: Table, test_fraction: float = 0.1, seed: int = 0
) -> tuple[Table, Table]:
    """Split the rows at random.

    :param table: N rows, at least 3.
    :param test_fraction: in (0, 1), the share of rows to test on, rounded so that at least one row
        is left to test on and two to train on.
    :param seed: of the permutation; the same seed gives the same split.
    :return: the rows to train on and the rows to test on.
    :raises ValueError: if `test_fraction` is not in (0, 1).
    :raises DataError: if there are fewer than 3 rows.
    """
    if not 0 < test_fraction < 1:
        raise ValueError(f"test_fraction must lie in (0, 1), but is {test_fraction}.")
    _check_enough_rows(table)
    num_rows = len(table.X)
    num_test = min(max(1, round(test_fraction * num_rows)), num_rows - 2)
    order = np.random.default_rng(seed).permutation(num_rows)
    return table.rows(order[num_test:]), table.rows(order[:num_test])


def standard_split(table: Table, split: int) -> tuple[Table, Table]:
    """Split number `split` of the standard sequence: nine tenths to train on, one to test on.

    The sequence is that of the published splits of the UCI regression sets: numpy's legacy
    generator with seed 1 permutes the rows once for every split. The first round(0.9 N) rows of
    the permutation are to train on, the others to test on, both in its order. Tables with equal
    numbers of rows are split alike, whatever is in the rows.

    Hernandez-Lobato & Adams, "Probabilistic backpropagation for scalable learning of Bayesian
    neural networks", ICML 2015, arXiv:1502.05336; Gal & Ghahramani, "Dropout as a Bayesian
    approximation", ICML 2016, arXiv:1506.02142.

    :param table: N rows, at least 3.
    :param split: 0, 1, ...; there is no last one.
    :return: the rows to train on and the rows to test on. Of 3 or 4 rows, where round(0.9 N) is N,
        one is to test on all the same.
    :raises DataError: if there is no such split, if there are fewer than 3 rows, or if the target
        is constant in the rows to train on.
    """
    if not isinstance(split, int | np.integer) or split < 0:
        raise DataError(f"{table.name} has the splits 0, 1, 2 and so on, and no split {split!r}.")
    _check_enough_rows(table)
    num_rows = len(table.X)
    num_train = min(round(0.9 * num_rows), num_rows - 1)
    generator = np.random.RandomState(1)
    for _ in range(split + 1):
        order = generator.permutation(num_rows)
    train, test = table.rows(order[:num_train]), table.rows(order[num_train:])
    if np.ptp(train.Y) == 0:
        raise DataError(
            f"{table.name}, split {split}: the target {table.target_name!r} is "
            f"{train.Y[0, 0]:g} in all {num_train} rows to train on; leave this split out."
        )
    return train, test


def _check_enough_rows(table: Table) -> None:
    if len(table.X) < MIN_ROWS:
        raise DataError(f"{table.name} has {len(table.X)} rows: at least {MIN_ROWS} are needed.")

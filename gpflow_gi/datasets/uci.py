"""The UCI regression sets: their tables and their published splits."""

from io import BytesIO

import numpy as np

from ..core.validation import shown
from .errors import DataError
from .published_file import published_file
from .splits import standard_split
from .table import Array, Table
from .uci_sets import uci_set


def uci(name: str, split: int) -> tuple[Table, Table]:
    """One of the published splits of a UCI regression set.

    :param name: "boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine" or
        "yacht".
    :param split: from 0 up to, but not including, :func:`num_splits`.
    :return: the training rows and the test rows, in the published order; not standardised.
    :raises DataError: if there is no such set or split; also as for :func:`uci_table`.
    """
    last = num_splits(name) - 1
    if not isinstance(split, int | np.integer) or not 0 <= split <= last:
        raise DataError(
            f"{name} has no split {shown(split)}: its splits have the numbers 0 to {last}."
        )
    return standard_split(uci_table(name), split)


def uci_table(name: str) -> Table:
    """A UCI regression set as a whole.

    It is downloaded on first use into the user's cache for "gpflow-gi"; see
    ``gpflow_gi.datasets.published_file`` for another cache, or for a folder of your own instead of
    the network. The bytes must have the SHA-256 of the files that this version was written for, so
    that a name always means the same numbers.

    :param name: as for :func:`uci`.
    :return: X [N, D] and Y [N, 1], the rows in the order of the file and in its units.
    :raises DataError: if there is no such set, or if its files are not available or differ from
        the published ones.
    """
    described = uci_set(name)
    folder = f"{described.folder}/data"
    values = _numbers(f"{folder}/data.txt", described.sha256)
    inputs = _numbers(f"{folder}/index_features.txt", described.inputs_sha256).astype(int)
    target = _numbers(f"{folder}/index_target.txt", described.target_sha256).astype(int)
    return Table(
        name,
        values[:, inputs.ravel()],
        values[:, target.ravel()],
        described.input_names,
        described.target_name,
    )


def num_splits(name: str) -> int:
    """The number of published splits of a UCI regression set: 20, or 5 for "protein".

    :param name: as for :func:`uci`.
    :return: the number of splits.
    :raises DataError: if there is no such set.
    """
    return uci_set(name).num_splits


def _numbers(file: str, sha256: str) -> Array:
    """Read a file of numbers, [rows, columns]."""
    return np.loadtxt(BytesIO(published_file(file, sha256)), ndmin=2)

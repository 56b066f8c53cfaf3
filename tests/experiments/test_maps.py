"""Maps of a comparison: what they draw, where."""

import numpy as np
import pytest

from gpflow_gi.experiments.maps import _grid

RNG = np.random.default_rng(0)


def test_a_grid_is_found_in_any_order():
    first, second = np.array([0.0, 1.0, 5.0]), np.array([-2.0, 7.0])
    X = np.array([(a, b) for a in first for b in second])[RNG.permutation(6)]
    found_first, found_second, order = _grid(X)
    np.testing.assert_array_equal(found_first, first)
    np.testing.assert_array_equal(found_second, second)
    # Of values that are a function of the place, the image has those of its rows and columns.
    image = (10 * X[:, 0] + X[:, 1])[order].reshape(2, 3)
    np.testing.assert_array_equal(image, 10 * first + second[:, None])


@pytest.mark.parametrize(
    "X",
    [
        RNG.normal(size=(12, 2)),
        np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]),  # as many, but not all
        np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]),  # a line
    ],
)
def test_other_places_are_no_grid(X):
    assert _grid(X) is None

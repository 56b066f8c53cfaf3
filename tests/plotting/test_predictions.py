import numpy as np
import pytest

from gpflow_gi import plotting


def test_predictions_tell_hits_from_misses_on_equal_axes(ax):
    y = np.array([0.0, 5.0, 2.0])
    mean = np.array([0.5, 1.0, 2.0])
    assert plotting.predictions_with_intervals(y, mean, mean - 1, mean + 1, ax) is ax
    inside, outside = (line for line in ax.lines if line.get_linestyle() == "None")
    np.testing.assert_array_equal(inside.get_xydata(), [[0.5, 0.0], [2.0, 2.0]])
    np.testing.assert_array_equal(outside.get_xydata(), [[1.0, 5.0]])
    (bars,) = ax.collections
    np.testing.assert_allclose(bars.get_segments()[1], [[1, 0], [1, 2]])
    assert ax.get_xlim() == ax.get_ylim()
    assert ax.get_xlim()[0] < -0.5 and ax.get_xlim()[1] > 5
    assert ax.get_aspect() == 1


def test_predictions_are_of_one_column(ax):
    y = np.array([[0.0], [5.0]])
    plotting.predictions_with_intervals(y, y, y - 1, y + 1, ax)
    inside = ax.lines[0]
    np.testing.assert_array_equal(inside.get_xydata(), [[0.0, 0.0], [5.0, 5.0]])
    with pytest.raises(ValueError, match="y has 2 rows, but upper has 1"):
        plotting.predictions_with_intervals(y, y, y - 1, y[:1], ax)
    with pytest.raises(ValueError, match=r"lower must have shape \[N\] or \[N, 1\]"):
        plotting.predictions_with_intervals(y, y, np.zeros((2, 2)), y, ax)


@pytest.mark.parametrize("n", [0, 1])
def test_predictions_of_hardly_any_rows(ax, n):
    row = np.zeros(n)
    plotting.predictions_with_intervals(row, row, row, row, ax)
    ax.figure.canvas.draw()


def test_residuals_are_standardised(ax):
    y = np.array([[1.0], [3.0], [-6.0]])
    mean, variance = np.array([0.5, 3.0, 0.0]), np.array([0.25, 1.0, 4.0])
    assert plotting.residuals(y, mean, variance, ax) is ax
    inside, outside = (line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_allclose(inside.get_xydata(), [[0.5, 1.0], [3.0, 0.0]])
    np.testing.assert_allclose(outside.get_xydata(), [[0.0, -3.0]])
    assert inside.get_color() != outside.get_color()
    levels = sorted(line.get_ydata()[0] for line in ax.lines if line.get_marker() != "o")
    assert levels == [-2, 0, 2]


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ((np.zeros(3), np.zeros(2), np.ones(2)), "y has 3 rows, but mean has 2"),
        ((np.zeros((3, 2)), np.zeros(3), np.ones(3)), r"y must have shape \[N\] or \[N, 1\]"),
        ((np.zeros(2), np.zeros(2), np.zeros(2)), "variance must be positive"),
    ],
)
def test_residuals_of_what_does_not_fit(ax, arrays, message):
    with pytest.raises(ValueError, match=message):
        plotting.residuals(*arrays, ax)

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.figure import Figure

from gpflow_gi import plotting


@pytest.fixture
def ax():
    return Figure().subplots()


def record(steps, bounds):
    reports = [SimpleNamespace(step=s, bound=b) for s, b in zip(steps, bounds, strict=True)]
    return SimpleNamespace(reports=reports)


def test_training_curves_show_bounds_per_row_where_they_were_measured(ax):
    """A report is the mean over the steps since the one before: 1, 2..11, 12..111."""
    records = {"one": record([1, 11, 111], [-40.0, -20.0, -10.0]), "two": record([3], [-5.0])}
    assert plotting.training_curves(records, ax, num_data=10) is ax
    first, second = ax.lines
    np.testing.assert_allclose(first.get_xdata(), [1, 6.5, 61.5])
    np.testing.assert_allclose(first.get_ydata(), [-4.0, -2.0, -1.0])
    np.testing.assert_allclose(second.get_xdata(), [2])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["one", "two"]
    assert ax.get_ylabel() == "Bound per row (nats)"
    assert first.get_color() != second.get_color()


def test_a_bad_start_does_not_flatten_the_curve(ax):
    steps = np.arange(1, 101)
    bounds = np.where(steps <= 3, -1e6, -1.0 - 1.0 / steps)
    plotting.training_curves({"run": record(steps, bounds)}, ax)
    low, high = ax.get_ylim()
    assert -1.5 < low < -1.05 and -1.01 < high < -0.9


@pytest.mark.parametrize("bounds", [[], [-3.0], [-3.0, -3.0], [-3.0, np.nan]])
def test_training_curves_of_hardly_any_reports(ax, bounds):
    plotting.training_curves({"run": record(range(1, len(bounds) + 1), bounds)}, ax)
    plotting.training_curves({}, ax)
    ax.figure.canvas.draw()


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


@pytest.mark.parametrize("n", [0, 1])
def test_predictions_of_hardly_any_rows(ax, n):
    row = np.zeros(n)
    plotting.predictions_with_intervals(row, row, row, row, ax)
    ax.figure.canvas.draw()


def test_the_current_axes_are_the_default(monkeypatch, ax):
    from matplotlib import pyplot

    monkeypatch.setattr(pyplot, "gca", lambda: ax)
    assert plotting.training_curves({"run": record([1], [0.0])}) is ax
    one = np.ones(1)
    assert plotting.predictions_with_intervals(one, one, one, one) is ax


def test_a_reliability_diagram_has_a_bar_for_each_bin_that_is_not_empty(ax):
    edges, nan = np.linspace(0, 1, 5), np.nan
    confidence, accuracy = np.array([nan, 0.4, nan, 0.9]), np.array([nan, 0.3, nan, 1.0])
    assert plotting.reliability_diagram(edges, confidence, accuracy, ax) is ax
    bars = [(bar.get_x(), bar.get_width(), bar.get_height()) for bar in ax.patches]
    np.testing.assert_allclose(bars, [(0.25, 0.25, 0.3), (0.75, 0.25, 1.0)])
    (gaps,) = ax.collections
    expected = [[[0.4, 0.3], [0.4, 0.4]], [[0.9, 1.0], [0.9, 0.9]]]
    np.testing.assert_allclose(gaps.get_segments(), expected)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("Confidence", "Accuracy")

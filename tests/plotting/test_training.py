from types import SimpleNamespace

import numpy as np
import pytest

from gpflow_gi import plotting
from gpflow_gi.training import FitRecord, Report


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


def test_a_record_without_a_name_is_refused(ax):
    with pytest.raises(TypeError, match=r'\{"global": record\}.* but is a FitRecord'):
        plotting.training_curves(fitted(), ax)


def fitted():
    """Expected log likelihoods and KL divergences of the steps 1, 2..11 and 12..31, of 10 rows."""
    terms = [(1, -50.0, 0.0), (11, -30.0, 5.0), (31, -10.0, 10.0)]
    return FitRecord(reports=[Report(step, 0.0, first, kl, 1.0, 0.1) for step, first, kl in terms])


def test_the_terms_of_the_bound_enclose_the_kl_divergence(ax):
    assert plotting.bound_terms(fitted(), ax, num_data=10) is ax
    lines = {line.get_label(): line for line in ax.lines}
    first, bound = lines["expected log likelihood"], lines["bound"]
    for line in (first, bound):
        np.testing.assert_allclose(line.get_xdata(), [1, 6.5, 21.5])
    np.testing.assert_allclose(first.get_ydata(), [-5.0, -3.0, -1.0])
    np.testing.assert_allclose(bound.get_ydata(), [-5.0, -3.5, -2.0])
    (between,) = ax.collections
    corners = between.get_paths()[0].vertices
    at_the_end = corners[corners[:, 0] == 21.5][:, 1]
    np.testing.assert_allclose([at_the_end.min(), at_the_end.max()], [-2.0, -1.0])
    texts = [text.get_text() for text in ax.get_legend().get_texts()]
    assert texts == ["expected log likelihood", "KL divergence", "bound"]
    assert ax.get_ylabel() == "Nats per row"


def test_the_terms_of_no_run_at_all(ax):
    plotting.bound_terms(FitRecord(), ax)
    ax.figure.canvas.draw()

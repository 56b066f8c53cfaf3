import numpy as np
import pytest
from scipy.stats import binom

from gpflow_gi import plotting


def test_bars_count_values_against_what_is_expected(ax):
    pit = [0.05, 0.1, 0.3, 0.45, 0.6, 0.65, 0.7, 1.0]
    assert plotting.pit_histogram(pit, ax, bins=4) is ax
    bars = ax.patches[:4]
    np.testing.assert_allclose([bar.get_height() for bar in bars], [1.0, 1.0, 1.5, 0.5])
    np.testing.assert_allclose([bar.get_x() for bar in bars], [0, 0.25, 0.5, 0.75])
    np.testing.assert_allclose([bar.get_width() for bar in bars], 0.25)
    assert sum(bar.get_width() * bar.get_height() for bar in bars) == pytest.approx(1)


def test_bars_of_a_calibrated_prediction_lie_in_the_band(ax, rng):
    plotting.pit_histogram(rng.uniform(size=2000), ax, bins=20)
    *bars, band = ax.patches
    low, high = band.get_y(), band.get_y() + band.get_height()
    assert low < 1 < high
    inside = np.array([low <= bar.get_height() <= high for bar in bars])
    assert inside.sum() >= binom.ppf(1e-3, 20, 0.95)
    assert high - low == pytest.approx(2 * 1.96 * np.sqrt(0.95 / 100), rel=0.1)


def test_the_curve_is_the_coverage_of_central_intervals(ax, rng):
    pit = rng.uniform(size=30) ** 2
    assert plotting.coverage_curve(pit, ax, label="model") is ax
    diagonal, curve = ax.lines
    np.testing.assert_array_equal(diagonal.get_xydata(), [[0, 0], [1, 1]])
    assert curve.get_label() == "model" and curve.get_drawstyle() == "steps-post"
    nominal, share = curve.get_xdata(), curve.get_ydata()
    for probability in (0.1, 0.5, 0.9):
        inside = np.mean((pit >= 0.5 - probability / 2) & (pit <= 0.5 + probability / 2))
        assert share[np.searchsorted(nominal, probability, "right") - 1] == pytest.approx(inside)
    assert share[0] == 0 and share[-1] == 1


def test_the_band_is_that_of_a_binomial(ax):
    plotting.coverage_curve(np.linspace(0, 1, 50), ax)
    corners = ax.collections[0].get_paths()[0].vertices
    at_half = corners[np.isclose(corners[:, 0], 0.5), 1]
    expected = np.array(binom.ppf([0.025, 0.975], 50, 0.5)) / 50
    np.testing.assert_allclose([at_half.min(), at_half.max()], expected)


@pytest.mark.parametrize(
    ("pit", "message"),
    [
        ([], "pit must not be empty"),
        ([0.5, 1.1], r"numbers in \[0, 1\]"),
        ([-0.1], r"numbers in \[0, 1\]"),
        ([np.nan], r"pit\[0\] is nan"),
    ],
)
def test_what_is_no_probability_is_refused(ax, pit, message):
    for figure in (plotting.pit_histogram, plotting.coverage_curve):
        with pytest.raises(ValueError, match=message):
            figure(pit, ax)


def test_a_histogram_without_bars_is_refused(ax):
    for bins in (0, 2.5):
        with pytest.raises(ValueError, match="bins must be an integer of at least 1"):
            plotting.pit_histogram([0.5], ax, bins=bins)


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
    assert ax.get_legend_handles_labels()[1] == ["gap to confidence", "accuracy"]


@pytest.mark.parametrize("edges", [[0, 0, 1], [1, 2, 3], [1, 0.5, 0]])
def test_edges_of_bins_rise_within_zero_and_one(ax, edges):
    with pytest.raises(ValueError, match="edges must rise"):
        plotting.reliability_diagram(edges, [0.2, 0.7], [0.1, 0.8], ax)

import numpy as np
import pytest
from scipy.stats import norm

from gpflow_gi import plotting


def edges_of(band):
    """Lower and upper edge of a band of fill_between, by x."""
    corners = band.get_paths()[0].vertices
    at = np.unique(corners[:, 0])
    values = [corners[corners[:, 0] == x, 1] for x in at]
    return at, np.array([v.min() for v in values]), np.array([v.max() for v in values])


def test_bands_of_moments_are_gaussian(ax):
    X = np.array([[2.0], [0.0], [1.0]])
    mean, variance = np.array([[5.0], [1.0], [3.0]]), np.array([[4.0], [1.0], [0.25]])
    drawn = plotting.predictive_bands(X, mean, variance, ax, probabilities=(0.5, 0.9), label="f")
    assert drawn is ax
    (line,) = ax.lines
    np.testing.assert_allclose(line.get_xydata(), [[0, 1], [1, 3], [2, 5]])
    assert line.get_label() == "f"
    deviation = np.array([1.0, 0.5, 2.0])
    for probability, band in zip([0.9, 0.5], ax.collections, strict=True):
        at, lower, upper = edges_of(band)
        half = norm.ppf(0.5 + probability / 2) * deviation
        np.testing.assert_array_equal(at, [0, 1, 2])
        np.testing.assert_allclose(lower, np.array([1, 3, 5]) - half)
        np.testing.assert_allclose(upper, np.array([1, 3, 5]) + half)


def test_bands_of_components_are_quantiles_of_their_mixture(ax, rng):
    mean, deviation = rng.normal(size=(4, 6, 1)), np.exp(rng.normal(size=(4, 6, 1)))
    X = np.arange(6.0)
    plotting.predictive_bands(X, mean, deviation**2, ax, probabilities=[0.8])
    _, lower, upper = edges_of(ax.collections[0])
    for probability, edge in [(0.1, lower), (0.9, upper)]:
        below = norm.cdf(edge, mean[..., 0], deviation[..., 0]).mean(axis=0)
        np.testing.assert_allclose(below, probability, atol=1e-10)
    np.testing.assert_allclose(ax.lines[0].get_ydata(), mean[..., 0].mean(axis=0))


def test_every_draw_is_a_line(ax, rng):
    X, draws = rng.normal(size=(6, 1)), rng.normal(size=(3, 6, 1))
    assert plotting.function_draws(X, draws, ax, label="prior", colour="C3") is ax
    order = np.argsort(X[:, 0])
    for line, draw in zip(ax.lines, draws, strict=True):
        np.testing.assert_array_equal(line.get_xydata(), np.hstack([X, draw])[order])
        assert line.get_color() == "C3"
    assert [line.get_label() for line in ax.lines].count("prior") == 1


@pytest.mark.parametrize(
    ("X", "mean", "message"),
    [
        (np.zeros((3, 2)), np.zeros((3, 1)), r"X must have shape .* \[3, 2\]"),
        (np.zeros(3), np.zeros((2, 3, 2)), r"must have shape \[S, N, 1\]"),
        (np.zeros(3), np.zeros(4), "X has 3 rows, but .* has 4"),
    ],
)
def test_what_does_not_fit_is_refused(ax, X, mean, message):
    with pytest.raises(ValueError, match=message):
        plotting.predictive_bands(X, mean, np.ones_like(mean), ax)
    with pytest.raises(ValueError, match=message):
        plotting.function_draws(X, mean, ax)


@pytest.mark.parametrize("probability", [0.0, 1.0, 95])
def test_probabilities_that_are_none_are_refused(ax, probability):
    with pytest.raises(ValueError, match=rf"probabilities\[0\] must lie .* but is {probability}"):
        plotting.predictive_bands(
            np.zeros(3), np.zeros(3), np.ones(3), ax, probabilities=[probability]
        )

"""Measures of predicted classes and counts."""

import numpy as np
import pytest
from scipy.stats import poisson

from gpflow_gi.metrics.held_out_labels import HeldOutClasses, HeldOutCounts


def test_classes():
    held_out = HeldOutClasses(np.array([[0.0], [1.0], [1.0]]), np.array([[0.8, 0.2]] * 3))
    np.testing.assert_allclose(held_out.log_density, np.log([0.8, 0.2, 0.2]))
    np.testing.assert_array_equal(held_out.is_right, [1, 0, 0])
    np.testing.assert_allclose(held_out.brier, [0.08, 1.28, 1.28])
    assert held_out.ece == pytest.approx(0.8 - 1 / 3)


def test_crps_of_counts():
    """The sum over k of (P(Y' <= k) - [y <= k])^2, within the error of draws."""
    rates, T = np.array([2.0, 7.0]), 4000
    y = np.array([[1.0], [12.0]])
    draws = np.random.default_rng(0).poisson(rates, size=(T, 2)).astype(float)
    held_out = HeldOutCounts(y, rates, poisson.logpmf(y[:, 0], rates), draws)
    k = np.arange(60)[:, None]
    exact = np.sum((poisson.cdf(k, rates) - (y[:, 0] <= k)) ** 2, axis=0)
    # Each term is a mean over draws whose deviation is below that of the count.
    np.testing.assert_allclose(held_out.crps, exact, atol=4 * np.sqrt(rates.max() / T))
    low, high = held_out.interval(0.6)  # no probability is near 0.2 or 0.8
    np.testing.assert_array_equal(low, poisson.ppf(0.2, rates))
    np.testing.assert_array_equal(high, poisson.ppf(0.8, rates))
    assert held_out.rmse == pytest.approx(np.sqrt((1 + 25) / 2))

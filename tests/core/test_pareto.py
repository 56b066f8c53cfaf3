"""The shape of a tail."""

import numpy as np
import pytest

from gpflow_gi.core.pareto import generalised_pareto_shape, k_hat, smoothed


@pytest.mark.parametrize("k", [-0.3, 0.2, 0.5, 0.8, 1.2])
def test_the_shape_of_a_sample_is_found(k):
    rng = np.random.default_rng(0)
    n = 4000
    found = []
    for _ in range(20):
        sample = np.sort(((1 - rng.uniform(size=n)) ** -k - 1) / k)
        found.append(generalised_pareto_shape(sample))
        assert found[-1] == pytest.approx(generalised_pareto_shape(1e-5 * sample), abs=1e-9)
    # The estimator's standard deviation is about (1 + k) / sqrt(n) (Zhang & Stephens 2009), and ten
    # observations of 0.5 pull it.
    pull = 10 * abs(0.5 - k) / n
    assert abs(np.mean(found) - k) < 5 * (1 + k) / np.sqrt(20 * n) + pull


def test_weights_of_a_known_tail():
    rng = np.random.default_rng(0)
    log_weights = 0.6 * rng.exponential(size=100_000)  # P(w > x) = x^(-1/0.6)
    tail = 3 * np.sqrt(100_000)
    assert abs(k_hat(log_weights) - 0.6) < 5 * 1.6 / np.sqrt(tail)
    assert k_hat(log_weights + 1e4) == pytest.approx(k_hat(log_weights))


def test_equal_weights_have_no_tail():
    assert k_hat(np.full(100, -20.0) + 1e-11 * np.arange(100)) == 0.0


def test_exact_tails():
    """Of N(0, s^2) as a proposal for N(0, 1): k = 1 - s^2; of Exp(l) for Exp(1): 1 - 1 / l."""
    rng = np.random.default_rng(0)
    S, s, rate = 200_000, 0.6, 2.0
    x = s * rng.normal(size=S)
    # The tails approach their limits slowly.
    assert k_hat(-0.5 * x**2 + 0.5 * (x / s) ** 2) == pytest.approx(1 - s**2, abs=0.12)
    x = rng.exponential(size=S) / rate
    assert k_hat(-x + rate * x) == pytest.approx(1 - 1 / rate, abs=0.1)


@pytest.mark.parametrize("scale", [0.1, 0.5, 0.9])
def test_smoothed_weights_are_those_of_arviz(scale):
    """ArviZ takes the negative of the logarithms."""
    arviz = pytest.importorskip("arviz_stats.base")  # for Python 3.11 and later
    log_weights = scale * np.random.default_rng(0).exponential(size=1000)
    values, k = smoothed(log_weights)
    expected, expected_k = arviz.array_stats.psislw(-log_weights)
    assert k == pytest.approx(float(expected_k), abs=1e-9)
    np.testing.assert_allclose(
        values - np.logaddexp.reduce(values), np.asarray(expected), atol=1e-9
    )


def test_smoothing_keeps_the_order_and_the_rest():
    rng = np.random.default_rng(1)
    log_weights = 0.7 * rng.exponential(size=500) - 2000.0
    values, _ = smoothed(log_weights)
    np.testing.assert_array_equal(np.argsort(values), np.argsort(log_weights))
    order = np.argsort(log_weights)
    tail = int(np.ceil(3 * np.sqrt(500)))
    np.testing.assert_allclose(values[order[:-tail]], log_weights[order[:-tail]])
    assert values.max() <= log_weights.max()
    equal = np.full(100, -3.0)
    np.testing.assert_array_equal(smoothed(equal)[0], equal)


@pytest.mark.parametrize("weights", [np.zeros(24), np.full(30, np.nan)])
def test_errors(weights):
    with pytest.raises(ValueError, match=r"at least 25|NaN"):
        k_hat(weights)


def test_rounding_is_that_of_the_type():
    """Equal weights in single precision differ by more than double precision tells apart."""
    rng = np.random.default_rng(0)
    for level in (-20.0, -2e4):
        rounded = (level + 0.2 * np.finfo(np.float32).eps * level * rng.normal(size=500)).astype(
            np.float32
        )
        assert len(np.unique(rounded)) > 1
        assert k_hat(rounded) == 0.0 and smoothed(rounded)[1] == 0.0
    log_weights = 0.6 * rng.exponential(size=1000)
    assert k_hat(log_weights.astype(np.float32)) == pytest.approx(k_hat(log_weights), abs=1e-4)

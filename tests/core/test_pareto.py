"""The shape of a tail."""

import numpy as np
import pytest

from gpflow_gi.core.pareto import generalised_pareto_shape, k_hat


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


@pytest.mark.parametrize("weights", [np.zeros(24), np.full(30, np.nan)])
def test_errors(weights):
    with pytest.raises(ValueError, match=r"at least 25|NaN"):
        k_hat(weights)

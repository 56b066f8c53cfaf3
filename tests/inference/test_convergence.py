"""R-hat and effective sample sizes of chains about which everything is known."""

import numpy as np
import pytest

from gpflow_gi.inference.convergence import Convergence

C, T = 4, 2000


def autoregressive(rng, correlation, size):
    """Chains of variance one: x_t = correlation x_{t-1} + noise."""
    chains = np.empty((C, T, size))
    chains[:, 0] = rng.normal(size=(C, size))
    noise = np.sqrt(1 - correlation**2) * rng.normal(size=(C, T, size))
    for t in range(1, T):
        chains[:, t] = correlation * chains[:, t - 1] + noise[:, t]
    return chains


@pytest.mark.parametrize("correlation", [-0.5, 0.0, 0.5, 0.9])
def test_autocorrelated_draws_are_worth_fewer(correlation, rng):
    chains = autoregressive(rng, correlation, 20)
    convergence = Convergence.of({"x": chains.reshape(C * T, 20)}, C)
    expected = C * T * (1 - correlation) / (1 + correlation)
    sizes = convergence.effective_sample_size["x"]
    np.testing.assert_allclose(np.mean(sizes), expected, rtol=0.1)
    np.testing.assert_allclose(sizes, expected, rtol=0.4)
    # The means of 2 C halves, each worth expected / 2 C draws, make it 1 + C / expected or so.
    assert np.max(convergence.r_hat["x"]) < 1 + 4 * C / expected


def test_chains_that_disagree_show(rng):
    chains = rng.normal(size=(C, T, 2))
    chains[:, :, 1] += np.arange(C)[:, None]
    convergence = Convergence.of({"x": chains.reshape(C * T, 2), "y": np.arange(8.0 * C)}, C)
    # The means of 2 C halves have the variance of 0, 0, 1, 1, 2, 2, 3, 3; Brooks & Gelman (1998),
    # eq. 1.1, correct for how few they are.
    between = np.var(np.repeat(np.arange(C), 2), ddof=1)
    expected = [1.0, np.sqrt((1 + 1 / (2 * C)) * (1 + between) - 1 / (2 * C))]
    np.testing.assert_allclose(convergence.r_hat["x"], expected, rtol=0.02)
    assert convergence.effective_sample_size["x"][1] < 2 * C
    assert convergence.worst_r_hat()[1] == "y"


def test_a_trend_shows(rng):
    chains = rng.normal(size=(C, T)) + np.linspace(0, 3, T)
    assert Convergence.of({"x": chains.ravel()}, C).r_hat["x"] > 1.2


def test_what_never_moves(rng):
    constant = Convergence.of({"x": np.ones((C * T, 3))}, C)
    np.testing.assert_array_equal(constant.r_hat["x"], np.ones(3))
    np.testing.assert_array_equal(constant.effective_sample_size["x"], np.full(3, C * T))
    stuck = Convergence.of({"x": np.repeat(rng.normal(size=C), T)}, C)
    assert stuck.worst_r_hat()[0] > 1e6
    assert stuck.worst_effective_sample_size()[0] < 2 * C

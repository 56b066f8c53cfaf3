"""The experiment on the movement of inducing inputs: its data, its measures, and a short run."""

import numpy as np
import pytest

from gpflow_gi.experiments import inducing_inputs, study
from gpflow_gi.experiments.inducing_inputs import PROBLEMS, Settings, parts, piecewise, widest_gap


def test_the_piecewise_function_is_continuous_with_a_kink_at_zero():
    at = np.array([-3.0, -1e-9, 0.0, 1e-3, np.pi / 2])
    np.testing.assert_allclose(piecewise(at), [10, 10, 10, 10 * (1 + np.sin(1e-3)), 20])


@pytest.mark.parametrize("name", PROBLEMS)
def test_data_have_the_stated_range_and_noise(name):
    problem = PROBLEMS[name]
    x, y = problem.draw(np.random.default_rng(0))
    low, high = problem.range
    assert x.shape == y.shape == (problem.num_rows, 1)
    assert low <= x.min() and x.max() <= high
    residual = (y - problem.mean(x)) / problem.deviation
    assert abs(residual.std() - 1) < 5 / np.sqrt(2 * problem.num_rows)
    assert abs(residual.mean()) < 5 / np.sqrt(problem.num_rows)


def test_starts():
    rng = np.random.default_rng(0)
    together = PROBLEMS["together"].start(rng)
    assert together.shape == (15, 1) and np.ptp(together) < 0.01
    assert len(np.unique(together)) == 15
    apart = PROBLEMS["piecewise"].start(rng)
    assert apart.shape == (50, 1) and np.ptp(apart) > 7


def test_the_widest_gap_counts_the_ends_of_the_range():
    assert widest_gap([3.0], (0.0, 6.0)) == pytest.approx(0.5)
    assert widest_gap([1.0, 5.0, 4.0], (0.0, 6.0)) == pytest.approx(0.5)
    assert widest_gap([2.0, 4.0], (0.0, 6.0)) == pytest.approx(1 / 3)
    assert widest_gap([-5.0, 1.0, 9.0], (0.0, 6.0)) == pytest.approx(5 / 6)


def test_parts_are_shares_of_all_inducing_inputs():
    shares = parts([-5.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.9, 6.0], (-4.0, 5.0))
    assert shares == [1 / 8, 3 / 8, 2 / 8, 2 / 8]
    assert sum(shares) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_short_run(name, monkeypatch):
    few = Settings(steps=100, num_draws=5, num_samples=4, num_predictive=8, num_inputs=9)
    monkeypatch.setattr(inducing_inputs, "FAST", few)
    results = study.run(
        "inducing-inputs", fast=True, data=name, announce=lambda line: None, progress=False
    )
    M = PROBLEMS[name].num_inducing
    assert results["steps"][0] == 0 and results["steps"][-1] == 100
    assert np.shape(results["places"]) == (len(results["steps"]), M)
    assert np.ptp(results["places"][0]) == pytest.approx(
        np.ptp(PROBLEMS[name].start(_after_data(name)))
    )
    moved = np.abs(np.subtract(results["places"][-1], results["places"][0]))
    assert 0 < moved.max() < 100 * 0.005 * 5
    assert np.shape(results["prediction"]) == (8, 9) and len(results["mean"]) == 9
    text = study.summary(results)
    assert f"{results['log_density']:.3f}" in text
    assert max(map(len, text.splitlines())) <= 80
    assert len(inducing_inputs.plot(results).axes) == 2


def _after_data(name: str) -> np.random.Generator:
    rng = np.random.default_rng(0)
    for _ in range(2):
        PROBLEMS[name].draw(rng)
    return rng

"""The experiment on implicit processes: its data, its measure of modes, and a short run."""

import gpflow
import numpy as np
import pytest

from gpflow_gi.experiments import implicit
from gpflow_gi.experiments.mixture_data import PROBLEMS, Rows, branches, draw, log_density


def test_the_densities_of_the_data_are_those_they_are_drawn_from():
    rng = np.random.default_rng(0)
    x, y = draw("bimodal", 4000, rng)
    nearer = np.minimum(*(np.abs(y - mean) for mean in branches(x)))
    assert np.mean(nearer < 2.6) > 0.98
    grid = np.linspace(-30, 50, 8001)
    for problem in PROBLEMS:
        density = np.exp(log_density(problem, np.full_like(grid, 1.2), grid))
        np.testing.assert_allclose(np.sum(density) * 0.01, 1.0, rtol=1e-6)
    x, y = draw("heteroscedastic", 4000, rng)
    standardised = (y - 7 * np.sin(x) - 10) / (2 * np.abs(np.sin(x)))
    assert abs(standardised.std() - 1) < 5 / np.sqrt(2 * 4000)


def test_modes_are_found_where_they_are():
    rows = Rows.draw("bimodal", 200, 0)
    x = np.array([[-1.0], [1.3], [2.9]])
    assert implicit.separate(x).tolist() == [True, False, True]
    both = np.stack([rows.targets.transform(mean) for mean in branches(x)])
    narrow, wide = np.full_like(both, 0.02), np.full_like(both, 2.0)
    assert implicit.has_both_modes(both, narrow, x, rows)[[0, 2]].all()
    assert not implicit.has_both_modes(both, wide, x, rows)[[0, 2]].any()
    assert not implicit.has_both_modes(both[:1], narrow[:1], x, rows).any()


@pytest.mark.slow
def test_the_gp_prior_is_the_one_with_the_largest_evidence():
    X, Y = Rows.draw("bimodal", 60, 0).standardised
    process = implicit.trained_gp(X, Y, seed=0)
    kernel = process.kernel

    def evidence(variance: float, lengthscale: float) -> float:
        other = gpflow.kernels.SquaredExponential(variance, lengthscale)
        gp = gpflow.models.GPR((X, Y), other, noise_variance=0.1)
        gpflow.set_trainable(other, False)
        gpflow.optimizers.Scipy().minimize(gp.training_loss, gp.trainable_variables)
        return float(gp.log_marginal_likelihood())

    variance, lengthscale = float(kernel.variance.numpy()), float(kernel.lengthscales.numpy())
    best = evidence(variance, lengthscale)
    for a, b in ((0.5, 1.0), (2.0, 1.0), (1.0, 0.7), (1.0, 1.4)):
        assert evidence(a * variance, b * lengthscale) < best
    drawn = implicit.prior_draws(process, X, 0)
    assert drawn.shape == (20, 60)
    errors = 5 * variance * np.sqrt(2 / 20)  # of the variance of 20 independent draws at a row
    np.testing.assert_allclose(np.mean(drawn**2, 0), variance, atol=errors)


@pytest.mark.longest
@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_short_run(problem, monkeypatch):
    fast = implicit.FAST
    nuts = {"num_chains": 2, "num_draws": 4, "num_adaptation_steps": 4, "max_tree_depth": 2}
    few = type(fast)(
        num_rows=40, steps=3, num_samples=3, num_inducing=5, num_draws=5, num_predictive=8,
        num_inputs=9, batch_size=10, nuts=nuts,
    )  # fmt: skip
    monkeypatch.setattr(implicit, "FAST", few)
    said = []
    results = implicit.run(fast=True, data=problem, announce=said.append, progress=False)
    names = [one["name"] for one in results["methods"]]
    assert names == said and len(names) == 11
    for one in results["methods"]:
        assert np.isfinite(one["log_density"]) and one["crps"] > 0
        assert np.shape(one["prior"]) == (20, 9) and np.shape(one["prediction"]) == (8, 9)
        assert ("both_modes" in one) == (problem == "bimodal")
    assert results["r_hat"] >= 0.9
    text = implicit.summary(results)
    assert f"R-hat of its functions {results['r_hat']:.3g}" in text
    assert all(name in text for name in names)
    assert max(map(len, text.splitlines())) <= 80
    assert len(implicit.plot(results).axes) == 24

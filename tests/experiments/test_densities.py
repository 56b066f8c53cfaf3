"""The experiment on conditional densities: its data, its densities, and a short run."""

import numpy as np
import pytest

from gpflow_gi.experiments import densities as experiment


@pytest.mark.parametrize("problem", experiment.PROBLEMS)
def test_rows_are_standardised_by_those_for_training(problem):
    rows = experiment.rows_of(problem, 50, seed=1)
    assert [part.shape for part in (*rows.train, *rows.test)] == [(50, 1)] * 4
    for part in rows.standardised:
        np.testing.assert_allclose([part.mean(), part.std()], [0.0, 1.0], atol=1e-12)
    again, other = (experiment.rows_of(problem, 50, seed) for seed in (1, 2))
    np.testing.assert_array_equal(again.train[1], rows.train[1])
    assert not np.array_equal(other.train[1], rows.train[1])
    assert not np.array_equal(rows.test[1], rows.train[1])


def test_the_step_has_noise_of_two_widths():
    x, y = experiment.step(4000, np.random.default_rng(0))
    for side, deviation in ((x < 0, 0.05), (x >= 0, 0.5)):
        residual = (y - np.sign(x))[side]
        assert abs(residual.std() / deviation - 1.0) < 5.0 / np.sqrt(2 * len(residual))


@pytest.mark.slow
@pytest.mark.longest
def test_a_short_run(monkeypatch):
    few = experiment.Settings(
        num_rows=20, num_layers=1, steps=3, num_inducing=4, num_predictive=5, num_inputs=9,
        batch_size=10,
    )  # fmt: skip
    monkeypatch.setattr(experiment, "FAST", few)
    monkeypatch.setattr(experiment, "PROBLEMS", ("moons",))
    said = []
    results = experiment.run(fast=True, announce=said.append, progress=False)
    assert len(said) == len(experiment.METHODS)
    for problem in results["problems"]:
        assert [one["name"] for one in problem["methods"]] == list(experiment.METHODS)
        for one in problem["methods"]:
            assert np.isfinite(one["log_density"]) and np.isfinite(one["bound"])
            density = np.array(one["density"])
            assert density.shape == (9, 9)
            np.testing.assert_allclose(density.max(axis=0), 1.0)
    text = experiment.summary(results)
    assert all(name in text for name in experiment.METHODS)
    assert max(map(len, text.splitlines())) <= 80
    assert len(experiment.plot(results).axes) == len(experiment.METHODS)

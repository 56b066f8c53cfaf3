"""The toy experiment, and the distance that it measures."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from gpflow_gi.experiments import cubic_network, study, toy
from gpflow_gi.experiments.cubic import Cubic
from gpflow_gi.experiments.cubic_network import Training
from gpflow_gi.experiments.wasserstein import wasserstein_1

TINY = replace(
    toy.USUAL,
    num_rows=12,
    num_inducing=15,
    training=Training(steps=5),
    num_runs=2,
    num_predictive=20,
    num_elbo=10,
    num_inputs=21,
    nuts={"num_chains": 3, "num_draws": 8},
)


def no_nuts(model, data, *, num_chains, num_draws, inputs, seed):
    """The network as it is, in the place of one that holds draws: XLA compiles for long."""
    assert inputs.shape == (21, 1) and data[0].shape == (12, 1)
    ones = {"f": np.ones((33, 1)), "log density": np.ones([])}
    return SimpleNamespace(
        model=model,
        num_chains=num_chains,
        num_draws=num_draws,
        r_hat=ones,
        effective_sample_size=ones,
        divergences=0,
        acceptance=0.8,
        leapfrog_steps=7.0,
        seconds=0.1,
    )


def test_distances_of_gaussians(rng):
    draws = rng.normal(size=(40_000, 3))
    other = np.array([0.5, 0.0, 2.0]) + np.array([1.0, 3.0, 1.0]) * rng.normal(size=(30_000, 3))
    # Moved by 0.5; stretched by 2, of which the mean over |z| is 2 sqrt(2 / pi); moved by 2.
    expected = [0.5, 2 * np.sqrt(2 / np.pi), 2.0]
    np.testing.assert_allclose(wasserstein_1(draws, other), expected, atol=0.03)
    np.testing.assert_allclose(wasserstein_1(other, draws), wasserstein_1(draws, other))
    np.testing.assert_array_equal(wasserstein_1(draws, draws[::-1]), 0.0)
    # Two samples of one distribution, as far apart as the docstring says.
    few = [wasserstein_1(*rng.normal(size=(2, 400, 50))).mean() for _ in range(4)]
    assert np.mean(few) == pytest.approx(1.25 * np.sqrt(2 / 400), rel=0.1)


def test_a_method_is_compared_where_it_should_be(rng):
    """Draws that differ from NUTS by 1 in the gap and by 3 elsewhere in the inputs' range."""
    data = Cubic.draw(40, seed=0)
    inputs = data.evenly(101, -5, 5)
    places = toy.Places.of(data, inputs)
    x = np.linspace(-5, 5, 101)
    np.testing.assert_array_equal(places.gap, np.abs(x) < 2 - 1e-9)
    assert places.range.sum() in (79, 80, 81)

    chains = [rng.normal(size=(3000, 101)) for _ in range(3)]
    shift = np.where(places.gap, 1.0, np.where(places.range, 3.0, 100.0))
    runs = [shift + rng.normal(size=(4000, 101)) for _ in range(2)]
    compared = toy.comparison(runs, chains, places)
    assert compared["distance_in_gap"]["mean"] == pytest.approx(1.0, abs=0.01)
    share = places.gap.sum() / places.range.sum()
    assert compared["distance"]["mean"] == pytest.approx(share + 3 * (1 - share), abs=0.01)
    assert compared["deviation_in_gap"]["mean"] == pytest.approx(1.0, abs=0.01)
    of_y = np.sqrt(1 + data.noise_deviation**2)
    assert compared["deviation_of_y_in_gap"]["mean"] == pytest.approx(of_y, abs=0.01)
    assert 0 < compared["distance_in_gap"]["standard_error"] < 0.02
    np.testing.assert_allclose(compared["mean"], shift, atol=0.1)

    # Chains are not compared with themselves, or a third of each would be at distance zero.
    itself = toy.comparison(chains, chains, places)["distance"]["mean"]
    assert itself == pytest.approx(1.25 * np.sqrt(1 / 3000 + 1 / 6000), rel=0.1)


@pytest.mark.slow
def test_a_tiny_run(monkeypatch):
    monkeypatch.setattr(toy, "USUAL", TINY)
    monkeypatch.setattr(toy, "nuts", no_nuts)
    monkeypatch.setattr(cubic_network, "WIDTHS", (5,))
    # Networks are measured at their start: test_cubic_network.py trains one.
    monkeypatch.setattr(cubic_network, "train_by", lambda *_, **__: None)
    said = []
    results = study.run("toy", seed=1, announce=said.append, progress=False)
    assert said[0] == "NUTS (1 of 7)" and len(said) == 7
    assert said[-1].startswith("global inducing, run 2 of 2 (7 of 7, about ")
    assert [method["name"] for method in results["methods"]] == ["NUTS", *toy.METHODS]
    for method in results["methods"]:
        assert len(method["mean"]) == len(method["deviation"]) == 21
        for name in ("deviation_in_gap", "distance_in_gap", "distance"):
            assert method[name]["mean"] > 0 and method[name]["standard_error"] > 0
        assert ("elbo" in method) == (method["name"] != "NUTS")
    assert results["settings"]["training"]["steps"] == 5
    text = study.summary(results)
    assert all(len(line) <= 80 for line in text.splitlines())
    figure = toy.plot(json.loads(json.dumps(results)))
    titles = [ax.get_title().splitlines()[0] for ax in figure.axes]
    assert titles == ["factorised", "local inducing", "global inducing", "NUTS"]
    figure.canvas.draw()


@pytest.mark.longest
@pytest.mark.compiled
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_the_fast_run_shows_that_global_is_nearest_to_nuts():
    results = study.run("toy", fast=True, announce=lambda line: None, progress=False)
    exact, *others = results["methods"]
    for name in ("distance", "distance_in_gap"):
        distances = {method["name"]: method[name]["mean"] for method in others}
        assert min(distances, key=distances.get) == "global"
    deviations = {method["name"]: method["deviation_in_gap"]["mean"] for method in others}
    assert deviations["factorised"] < 0.8 * exact["deviation_in_gap"]["mean"]
    assert deviations["local"] < 0.8 * exact["deviation_in_gap"]["mean"]
    assert deviations["global"] > 0.8 * exact["deviation_in_gap"]["mean"]

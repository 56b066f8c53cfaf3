"""The experiments that measure bounds of the global posterior on the cubic data."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gpflow_gi.experiments import num_inducing, prior_scale, study, sweep, toy_iwbo
from gpflow_gi.experiments.cubic_network import Evaluation, Training

LESS = {
    "training": Training(steps=5),
    "num_rows": 12,
    "evaluation": Evaluation(elbo_samples=10, iwbo_samples=10, iwbo_repeats=2),
}


def run(name, **options):
    results = study.run(name, announce=lambda line: None, progress=False, **options)
    text = study.summary(results)
    assert all(len(line) <= 80 for line in text.splitlines())
    return results, text


def draw(module, results):
    figure = module.plot(json.loads(json.dumps(results)))
    figure.canvas.draw()
    return figure.axes


@pytest.mark.compiled
def test_tightness_on_several_draws(monkeypatch):
    settings = replace(toy_iwbo.USUAL, num_data_sets=2, num_inducing=6, **LESS)
    monkeypatch.setattr(toy_iwbo, "USUAL", settings)
    results, text = run("toy-iwbo", seed=4)
    first, second = results["data_sets"]
    assert (first["seed"], second["seed"]) == (4, 5)
    assert first["noise_deviation"] != second["noise_deviation"]
    for one in (first, second):
        assert one["gap"] == pytest.approx(one["iwbo"]["mean"] - one["elbo"]["mean"])
        assert one["log_weight_deviation"] > 0
    half = np.abs(first["elbo"]["mean"] - second["elbo"]["mean"]) / 2
    assert results["elbo"]["standard_error"] == pytest.approx(half)
    assert results["noise"] == "known"
    assert "61.2 ± 3.9" in text and "66.2 ± 0.2" in text
    assert len(draw(toy_iwbo, results)) == 1


@pytest.mark.compiled
@pytest.mark.parametrize("num_runs", [1, 2])
def test_sweep_over_the_prior(monkeypatch, num_runs):
    settings = sweep.Settings((0.5, 2.0), {"num_inducing": 6}, num_runs=num_runs, **LESS)
    monkeypatch.setattr(prior_scale, "USUAL", settings)
    results, text = run("prior-scale")
    assert [point["value"] for point in results["points"]] == [0.5, 2.0]
    for point in results["points"]:
        assert len(point["runs"]) == num_runs
        runs = [one["elbo"]["mean"] for one in point["runs"]]
        assert point["elbo"]["mean"] == pytest.approx(np.mean(runs))
        if num_runs == 2:
            error = np.abs(runs[0] - runs[1]) / 2
            assert point["elbo"]["standard_error"] == pytest.approx(error)
        else:
            assert point["elbo"] == point["runs"][0]["elbo"]
    assert ("samples" if num_runs == 1 else "runs from different starts") in text
    everything, best = draw(prior_scale, results)
    assert everything.get_ylim()[0] < min(point["elbo"]["mean"] for point in results["points"])
    assert best.get_xlabel() == prior_scale.NAME


@pytest.mark.compiled
def test_sweep_over_the_inducing_points(monkeypatch):
    settings = sweep.Settings((1, 4), {"prior_scale": 2.0}, num_runs=1, **LESS)
    monkeypatch.setattr(num_inducing, "USUAL", settings)
    results, text = run("num-inducing")
    one, four = (point["elbo"]["mean"] for point in results["points"])
    assert one < four
    assert "1" in text.split() and "4" in text.split()
    draw(num_inducing, results)


@pytest.mark.slow
@pytest.mark.compiled
def test_fast_runs_show_the_effects():
    scales, _ = run("prior-scale", fast=True)
    bounds = [point["elbo"]["mean"] for point in scales["points"]]
    assert bounds[0] < bounds[1] < bounds[2] - 50
    numbers, _ = run("num-inducing", fast=True)
    bounds = [point["elbo"]["mean"] for point in numbers["points"]]
    assert bounds == sorted(bounds) and bounds[0] < bounds[-1] - 200
    tightness, _ = run("toy-iwbo", fast=True)
    assert 0 < tightness["gap"]["mean"] < 10

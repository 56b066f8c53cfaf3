"""The experiments that measure bounds of the global posterior on the cubic data."""

import json
from dataclasses import replace

import numpy as np
import pytest

from gpflow_gi.experiments import cubic_network, study, sweep, toy_iwbo
from gpflow_gi.experiments.cubic_network import Evaluation, Training

LESS = {
    "training": Training(steps=5),
    "num_rows": 12,
    "evaluation": Evaluation(elbo_samples=10, iwbo_samples=10, iwbo_repeats=2),
}


@pytest.fixture(autouse=True)
def _small_network(request, monkeypatch):
    """At their start, but for the slow tests: test_cubic_network.py trains one."""
    if not {"slow", "longest"} & set(request.keywords):
        monkeypatch.setattr(cubic_network, "WIDTHS", (5,))
        monkeypatch.setattr(cubic_network, "train_by", lambda *_, **__: None)


@pytest.fixture
def made_up(monkeypatch):
    """Bounds that are known, from networks that are none; what these were asked for."""
    calls = []

    def trained_network(data, training, *, seed, progress, **arguments):
        calls.append((data, seed, arguments))
        return arguments

    def bounds(model, data, evaluation, seed):
        elbo = -10.0 + model["prior_scale"] + seed**2
        return {
            "elbo": {"mean": elbo, "standard_error": 0.5},
            "iwbo": {"mean": elbo + 1 + seed, "standard_error": 0.25},
        }

    monkeypatch.setattr(sweep, "trained_network", trained_network)
    monkeypatch.setattr(sweep, "bounds", bounds)
    return calls


def run(name, **options):
    results = study.run(name, announce=lambda line: None, progress=False, **options)
    text = study.summary(results)
    assert all(len(line) <= 80 for line in text.splitlines())
    return results, text


def draw(module, results):
    figure = module.plot(json.loads(json.dumps(results)))
    figure.canvas.draw()
    return figure.axes


@pytest.mark.slow
@pytest.mark.longest
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
    (ax,) = draw(toy_iwbo, results)
    assert [label.get_text() for label in ax.get_xticklabels()] == [
        "data set 4",
        "data set 5",
        "published",
    ]


def asked(monkeypatch, parameter, settings):
    monkeypatch.setitem(sweep.SWEPT, parameter, replace(sweep.SWEPT[parameter], usual=settings))


def test_points_of_a_sweep_are_means_over_runs(made_up, monkeypatch):
    asked(monkeypatch, "prior_scale", sweep.Settings((0.5, 2.0), {"num_inducing": 6}, num_runs=3))
    results, text = run("prior-scale", seed=1)
    assert [call[1] for call in made_up] == [1, 2, 3, 1, 2, 3]
    assert all(call[0] is made_up[0][0] for call in made_up)  # one draw of the data
    assert made_up[0][2] == {"num_inducing": 6, "prior_scale": 0.5}
    # ELBO -10 + scale + (1, 4, 9), IWBO 2, 3 and 4 above it.
    for point in results["points"]:
        scale = point["value"]
        assert point["elbo"]["mean"] == pytest.approx(scale - 10 + 14 / 3)
        assert point["elbo"]["standard_error"] == pytest.approx(np.std([1, 4, 9], ddof=1) / 3**0.5)
        assert point["iwbo"]["mean"] == pytest.approx(scale - 10 + 14 / 3 + 3)
        assert [run["iwbo"]["mean"] - run["elbo"]["mean"] for run in point["runs"]] == [2, 3, 4]
    assert "runs from different starts" in text

    everything, best = draw(sweep, results)
    elbo = next(line for line in everything.lines if line.get_label() == "ELBO")
    np.testing.assert_allclose(elbo.get_xydata(), [[0.5, -9.5 + 14 / 3], [2.0, -8 + 14 / 3]])
    assert best.get_ylim()[0] == pytest.approx(-8 + 14 / 3 + 3 - 30)


def test_the_error_of_a_single_run_is_that_of_its_samples(made_up, monkeypatch):
    asked(monkeypatch, "prior_scale", sweep.Settings((0.5,), {}, num_runs=1))
    results, text = run("prior-scale")
    assert results["points"][0]["elbo"] == {"mean": -9.5, "standard_error": 0.5}
    assert "over samples" in text


@pytest.mark.parametrize("fast", [False, True])
def test_what_is_swept_over(made_up, fast):
    results, _ = run("prior-scale", fast=fast)
    scales = [point["value"] for point in results["points"]]
    if not fast:
        np.testing.assert_allclose(np.log10(scales), np.linspace(-0.5, 0.5, 11), atol=1e-12)
        assert {call[1] for call in made_up} == {0, 1, 2}
    assert all(call[2]["num_inducing"] == 100 for call in made_up)

    made_up.clear()
    results, _ = run("num-inducing", fast=fast)
    numbers = [point["value"] for point in results["points"]]
    if not fast:
        assert numbers == [1, 2, 5, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100]
    assert all(call[2]["prior_scale"] == 2.0 for call in made_up)
    assert all(len(call[0].X) == 100 for call in made_up)


@pytest.mark.longest
@pytest.mark.parametrize(
    "parameter, values", [("prior_scale", (0.5, 2.0)), ("num_inducing", (1, 4))]
)
def test_a_tiny_sweep(monkeypatch, parameter, values):
    settings = replace(sweep.SWEPT[parameter].usual, values=values, num_runs=1, **LESS)
    if parameter == "prior_scale":
        settings = replace(settings, arguments={"num_inducing": 6})
    asked(monkeypatch, parameter, settings)
    results, text = run(parameter.replace("_", "-"))
    assert [point["value"] for point in results["points"]] == list(values)
    lower, higher = (point["elbo"]["mean"] for point in results["points"])
    assert lower < higher
    assert f"{values[1]:g}" in text.split()
    assert len(draw(sweep, results)) == 2


@pytest.mark.longest
@pytest.mark.compiled
def test_the_fast_run_shows_the_effect_of_the_priors_scale():
    scales, _ = run("prior-scale", fast=True)
    bounds = [point["elbo"]["mean"] for point in scales["points"]]
    assert bounds[0] < bounds[1] < bounds[2] - 50


@pytest.mark.longest
@pytest.mark.compiled
def test_the_other_fast_runs_show_theirs():
    numbers, _ = run("num-inducing", fast=True)
    bounds = [point["elbo"]["mean"] for point in numbers["points"]]
    assert bounds == sorted(bounds) and bounds[0] < bounds[-1] - 200
    tightness, _ = run("toy-iwbo", fast=True)
    assert 0 < tightness["gap"]["mean"] < 10

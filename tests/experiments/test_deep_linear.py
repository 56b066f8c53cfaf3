"""Deep linear networks: the evidence, and bounds below it."""

import json
from dataclasses import replace

import gpflow
import numpy as np
import pytest
from scipy.stats import multivariate_normal

from gpflow_gi.bounds import estimate_elbo
from gpflow_gi.experiments import deep_linear, study
from gpflow_gi.training import FitRecord

TINY = deep_linear.Settings(
    widths=(3,), depths=(1, 2), num_inducing=10, steps=20, num_test_samples=20
)


@pytest.mark.slow
def test_data_and_evidence():
    X, Y = deep_linear.draw_data(3)
    assert X.shape == (1000, 5) and Y.shape == (1000, 1)
    residual = Y - X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    assert np.mean(residual**2) == pytest.approx(0.1, rel=5 * np.sqrt(2 / 1000))
    evidence = multivariate_normal(cov=X @ X.T / 5 + 0.1 * np.eye(1000)).logpdf(Y[:, 0])
    assert deep_linear.log_evidence(X, Y) == pytest.approx(evidence, rel=1e-9)


def test_one_layer_is_the_true_model():
    data = deep_linear.draw_data(0)
    X, Y = (array[:80] for array in data)
    model = deep_linear.untrained_network((X, Y), 7, 1, "global", 80, seed=0)
    # The rows are the inducing points and the targets their pseudo-outputs.
    assert estimate_elbo(model, (X, Y), None).value == pytest.approx(
        deep_linear.log_evidence(X, Y), abs=1e-6
    )


@pytest.mark.slow
def test_bounds_lie_below_the_evidence(monkeypatch, tmp_path):
    """At their start: slower tests train them."""
    monkeypatch.setattr(deep_linear, "FAST", TINY)
    methods = ("factorised", "prior -> global", "global")
    monkeypatch.setattr(deep_linear, "METHODS", methods)
    monkeypatch.setattr(deep_linear, "fit", lambda *_, **__: FitRecord())
    results = study.run("deep-linear", fast=True, announce=lambda _: None, progress=False)
    assert gpflow.default_float() == np.float64  # as it was before
    found = [(one["width"], one["depth"], one["method"]) for one in results["networks"]]
    assert found == [(3, depth, method) for depth in (1, 2) for method in methods]
    for one in results["networks"]:
        # float32 rounds a sum of a thousand rows by about a hundredth.
        assert one["elbo"] < results["evidence"] + 0.1 + 5 * one["standard_error"]
    study.write(results, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"results.json", "figure.png"}
    read = json.loads((tmp_path / "results.json").read_text())
    assert read["networks"] == results["networks"]
    assert f"{results['evidence']:.1f}" in study.summary(read)
    assert all(len(line) <= 80 for line in study.summary(read).splitlines())


@pytest.mark.longest
def test_global_at_depth_ten_is_near_the_evidence_and_factorised_is_not(monkeypatch):
    usual = replace(deep_linear.USUAL, widths=(50,), depths=(10,))
    monkeypatch.setattr(deep_linear, "USUAL", usual)
    monkeypatch.setattr(deep_linear, "METHODS", ("factorised", "global"))
    results = study.run("deep-linear", announce=lambda _: None, progress=False)
    factorised, glob = (one["elbo"] for one in results["networks"])
    evidence = results["evidence"]
    assert evidence > glob > evidence - 0.03 * abs(evidence)
    assert factorised < 3 * evidence


@pytest.mark.longest
def test_the_fast_run_shows_that_global_does_not_fall_with_depth():
    results = study.run("deep-linear", fast=True, announce=lambda _: None, progress=False)
    elbos = {(o["width"], o["depth"], o["method"]): o["elbo"] for o in results["networks"]}
    evidence = results["evidence"]
    deepest = max(deep_linear.FAST.depths)
    for method in ("global", "factorised -> global", "prior -> global"):
        assert elbos[50, deepest, method] > evidence - 0.1 * abs(evidence)
    for method in ("factorised", "local"):
        assert elbos[50, deepest, method] < 2 * evidence
        assert elbos[50, deepest, method] < elbos[50, 1, method] - 200

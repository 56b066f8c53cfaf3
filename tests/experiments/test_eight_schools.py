"""The eight schools: the evidence, the two coordinates, and a tiny run."""

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.experiments import eight_schools, study
from gpflow_gi.experiments.eight_schools import Settings, exact, target
from gpflow_gi.inference import variational


def test_exact_values():
    """Of an independent quadrature, in theta = mu + tau eta space by another rule: -31.3113."""
    known = exact()
    assert known["log_evidence"] == pytest.approx(-31.3113, abs=1e-3)
    assert known["tau"] == pytest.approx(3.598, abs=2e-3)
    assert known["log_tau"] == pytest.approx(0.802, abs=2e-3)


def test_both_coordinates_have_the_same_density(rng):
    x = rng.normal(size=(5, 10))
    theta = x.copy()
    theta[:, 2:] = x[:, :1] + np.exp(x[:, 1:2]) * x[:, 2:]
    log_det = 8 * x[:, 1]
    np.testing.assert_allclose(
        target(False).log_prob(tf.constant(x)), target(True).log_prob(tf.constant(theta)) + log_det
    )
    np.testing.assert_allclose(
        target(False).log_likelihood(tf.constant(x)),
        target(True).log_likelihood(tf.constant(theta)),
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    ("family", "centred", "expected"),
    [
        ("mean-field", True, -33.404),
        ("full-rank", True, -32.594),
        ("mean-field", False, -31.596),
        ("full-rank", False, -31.533),
    ],
)
def test_bounds_of_gaussians_are_the_known_ones(family, centred, expected):
    found = variational(target(centred), family=family, steps=3000, num_samples=50)
    log_w = found.model.log_importance_weights(None, 40_000, seed=1).numpy()
    error = log_w.std() / 200
    assert abs(log_w.mean() - expected) < 0.01 + 4 * error


def test_every_published_family_is_run():
    """All rows of table 5.1: two Gaussians, and three flows of four lengths."""
    names = {name for name, *_ in eight_schools._families(eight_schools.FULL)}
    assert set(eight_schools.PUBLISHED) <= names
    flows = [name for name in eight_schools.PUBLISHED if name[-1].isdigit()]
    assert len(flows) == 3 * 4
    usual = {name for name, *_ in eight_schools._families(eight_schools.USUAL)}
    assert names - usual == {f"neural-autoregressive-{K}" for K in (8, 16, 32)}


@pytest.mark.longest
def test_a_tiny_run(monkeypatch):
    tiny = Settings(
        flow_steps=(2,), steps=5, num_samples=4, num_test_samples=100, repeats=2, num_draws=10
    )
    monkeypatch.setattr(eight_schools, "FAST", tiny)
    results = study.run("eight-schools", fast=True, announce=lambda line: None, progress=False)
    assert {"mean-field", "planar-2", "neural-autoregressive-4-non-centred"} <= set(
        results["methods"]
    )
    one = results["methods"]["planar-2"]
    assert set(one["elbo"]) == {"mean", "standard_error"} and one["num_samples"] == 100
    assert one["elbo"]["mean"] < results["exact"]["log_evidence"]
    lines = study.summary(results).splitlines()
    assert max(map(len, lines)) <= 80 and "-33.41" in lines[2]
    eight_schools.plot(results)

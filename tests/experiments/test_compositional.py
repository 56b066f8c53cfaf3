"""The measures of a composition, its exact posterior, and what is written."""

import math
from dataclasses import replace

import numpy as np
import pytest
import tensorflow as tf
from matplotlib.figure import Figure

from gpflow_gi.experiments import compositional, study
from gpflow_gi.experiments.composition import (
    JITTER,
    Layers,
    components,
    draw_exact,
    mutual_information,
    shapes,
    spread,
)
from gpflow_gi.inference import Target

x, h = np.linspace(-1.0, 1.0, 7), np.linspace(-2.0, 2.0, 9)


def test_signs_are_aligned_and_the_whole_is_kept(rng):
    slopes = rng.uniform(0.5, 2.0, size=(40, 1)) * rng.choice([-1.0, 1.0], size=(40, 1))
    hidden, outer = slopes * x, np.sin(h / slopes)
    aligned = Layers(hidden, outer, np.sin(np.tile(x, (40, 1)))).aligned(x, h)
    np.testing.assert_allclose(aligned.hidden, np.abs(slopes) * x)
    np.testing.assert_allclose(aligned.outer, np.sin(h / np.abs(slopes)), atol=1e-12)
    assert spread(aligned.whole) == pytest.approx(0.0, abs=1e-12)
    # Lines differ by their scales alone.
    assert spread(shapes(aligned.hidden)) == pytest.approx(0.0, abs=1e-12)
    assert spread(aligned.hidden) > 0.1


def test_mutual_information_is_that_of_gaussians(rng):
    S, rho = 4000, 0.8
    a = rng.normal(size=(S, 3))
    b = rho * a + math.sqrt(1 - rho**2) * rng.normal(size=(S, 3))
    one, other = a @ rng.normal(size=(3, 7)), b @ rng.normal(size=(3, 9))
    expected = -1.5 * math.log(1 - rho**2)
    found, noise = mutual_information(one, other, rng)
    # The error of log(1 - rho^2) is 2 rho / sqrt(S) for each of three.
    assert abs(found - expected) < 4 * math.sqrt(3) * rho / math.sqrt(S)
    independent, _ = mutual_information(one, rng.permutation(other), rng)
    assert abs(independent) < 4 * noise
    np.testing.assert_allclose(components(one).T @ components(one) / S, np.eye(3), atol=1e-10)


def test_exact_draws_have_the_moments_of_the_prior(rng):
    """Without data near x, and with z from the prior, f1 has variance 1 and so has f2."""
    X, Y, S = np.array([[-1.0], [1.0]]), np.zeros((2, 1)), 2000
    far = 1e6  # noise: nothing was observed
    layers = draw_exact(rng.normal(size=(S, 2)), X, Y, (1.0, 1.0), far, x, h, rng)
    error = 4 * math.sqrt(2 / S)
    for part in (layers.hidden, layers.outer, layers.whole):
        assert np.all(np.abs(part.var(axis=0) - 1.0) < error + 1e-3)
    # Neighbours in f1 have the kernel's covariance.
    covariance = np.mean(layers.hidden[:, 0] * layers.hidden[:, 3])
    assert abs(covariance - math.exp(-0.5 * (x[0] - x[3]) ** 2)) < 4 / math.sqrt(S) * 1.3


def test_exact_density_is_that_of_a_gaussian(rng, monkeypatch):
    from scipy.stats import multivariate_normal

    from gpflow_gi.experiments import composition

    X, Y, z = rng.normal(size=(4, 1)), rng.normal(size=(4, 1)), rng.normal(size=(3, 4))
    caught: list[Target] = []
    monkeypatch.setattr(composition, "nuts", lambda target, **_: caught.append(target))
    composition.exact_posterior(X, Y, (0.7, 1.3), 0.2, {}, 0)
    L1 = np.linalg.cholesky(np.exp(-0.5 * ((X - X.T) / 0.7) ** 2) + JITTER * np.eye(4))
    f1 = z @ L1.T
    expected = [
        multivariate_normal.logpdf(
            Y[:, 0], cov=np.exp(-0.5 * ((f[:, None] - f) / 1.3) ** 2) + 0.2 * np.eye(4)
        )
        + 2.0 * math.log(2.0 * math.pi)
        - 0.5 * one @ one
        for f, one in zip(f1, z, strict=True)
    ]
    np.testing.assert_allclose(caught[0].log_prob(tf.constant(z)), expected, rtol=1e-8)


@pytest.mark.longest
@pytest.mark.slow
def test_what_is_written(monkeypatch):
    tiny = replace(
        compositional.FAST,
        num_rows=8, num_inducing=4, steps=20, num_draws=30,
        sghmc={"num_chains": 4, "num_draws": 10, "burn_in": 10, "steps": 20},
        nuts={"num_chains": 2, "num_draws": 20, "num_adaptation_steps": 20, "max_tree_depth": 3},
    )  # fmt: skip
    monkeypatch.setattr(compositional, "FAST", tiny)
    results = study.run("compositional", fast=True, announce=lambda _: None, progress=False)
    assert [one["name"] for one in results["methods"]] == list(compositional.METHODS)
    assert [one["elbo"] is None for one in results["methods"]] == [False, False, True, True]
    assert max(len(line) for line in study.summary(results).splitlines()) <= 80
    assert isinstance(compositional.plot(results), Figure)


@pytest.mark.longest
@pytest.mark.slow
def test_only_layers_that_depend_on_each_other_are_uncertain():
    """The claims of the page on experiments."""
    results = study.run("compositional", fast=True, announce=lambda _: None, progress=False)
    found = {one["name"]: one for one in results["methods"]}
    local, exact = found["local"], found["NUTS"]
    assert abs(local["information"]) < 4 * local["information_of_independent"]
    for name in ("global", "SGHMC", "NUTS"):
        assert found[name]["information"] > 0.2
        assert found[name]["hidden"] > local["hidden"]
    assert found["global"]["elbo"] > local["elbo"]
    assert exact["hidden"] > found["SGHMC"]["hidden"]

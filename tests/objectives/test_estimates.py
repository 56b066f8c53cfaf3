"""Estimates of bounds and of their standard errors."""

import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.architectures import build_bnn, build_deep_gp, build_sparse_gp
from gpflow_gi.objectives import estimates as bounds

from ..builders import random_data

X, Y = random_data(np.random.default_rng(5), N=23)


def test_elbo_of_a_model_without_samples_is_exact(monkeypatch):
    svgp = build_sparse_gp(X, Y, 7)
    monkeypatch.setattr(bounds, "_ROWS_AT_ONCE", 5)  # 4 chunks of 5 rows and one of 3
    elbo, standard_error = bounds.estimate_elbo(svgp, (X, Y), None)
    assert elbo == pytest.approx(float(svgp.elbo((X, Y))))
    assert standard_error == 0


@pytest.mark.compiled
@pytest.mark.slow
def test_elbo_is_a_mean_over_samples_with_its_standard_error(monkeypatch):
    model = build_deep_gp(X, Y, inference="global", num_inducing=5)
    compiled = tf.function(
        lambda seed: model.elbo((X, Y), num_samples=50, seed=seed), autograph=False
    )
    reference = np.array([compiled(tf.constant([7, s])) for s in range(40)])
    reference_error = reference.std(ddof=1) / np.sqrt(10)
    monkeypatch.setattr(bounds, "_ROWS_AT_ONCE", 9)
    elbo, standard_error = bounds.estimate_elbo(model, (X, Y), 500)
    # 2000 samples and 500; `reference_error` is that of 500, and known to about a ninth.
    assert abs(elbo - reference.mean()) < 4 * reference_error * np.sqrt(1 + 1 / 4)
    assert standard_error == pytest.approx(reference_error, rel=0.6)


@pytest.mark.slow
def test_many_estimates_make_tensorflow_say_nothing(caplog):
    svgp = build_sparse_gp(X, Y, 7)
    for _ in range(6):  # TensorFlow warns at the fifth
        bounds.estimate_elbo(svgp, (X, Y), None)
    assert not caplog.records


@pytest.mark.slow
@pytest.mark.compiled
def test_iwbo_is_a_mean_over_repetitions_with_its_standard_error():
    model = build_bnn(X, Y, widths=[4], num_inducing=5)
    runs = [bounds.estimate_iwbo(model, (X, Y), 20, num_repeats=25, seed=s) for s in range(8)]
    values = np.array([run.value for run in runs])
    claimed = np.mean([run.standard_error for run in runs])
    assert values.std(ddof=1) == pytest.approx(claimed, rel=0.8)
    elbo = bounds.estimate_elbo(model, (X, Y), 2000)
    assert elbo.value < values.mean()
    assert np.isnan(bounds.estimate_iwbo(model, (X, Y), 20, num_repeats=1).standard_error)
    with pytest.raises(ValueError, match="num_repeats"):
        bounds.estimate_iwbo(model, (X, Y), 20, num_repeats=0)


def test_what_has_no_such_bound_is_refused():
    model = build_bnn(X, Y, widths=[4], num_inducing=5)
    with pytest.raises(ValueError, match="num_samples is None, but the model's bound is sampled"):
        bounds.estimate_elbo(model, (X, Y), None)
    with pytest.raises(ValueError, match="num_samples must be"):
        bounds.estimate_elbo(model, (X, Y), 0)
    with pytest.raises(ValueError, match=r"same number of rows, but X has .* and Y has 3"):
        bounds.estimate_elbo(model, (X, Y[:3]))
    with pytest.raises(ValueError, match="X must not be empty"):
        bounds.estimate_elbo(model, (X[:0], Y[:0]))
    with pytest.raises(TypeError, match="is a SVGP, which has no importance weights"):
        bounds.estimate_iwbo(build_sparse_gp(X, Y, 5), (X, Y))


@pytest.mark.parametrize(
    "objective",
    [
        gi.objectives.AlphaEnergy(0.5),
        gi.objectives.DensityRatioKL(),
        gi.objectives.FunctionalKL(),
    ],
)
@pytest.mark.parametrize(
    "bound", [gi.bounds.estimate_elbo, gi.bounds.estimate_iwbo, gi.bounds.pareto_smoothed]
)
def test_an_objective_is_refused_as_a_bound(bound, objective):
    name = type(objective).__name__
    with pytest.raises(TypeError, match=f"{name} is an objective of training, which need not be a"):
        bound(objective, (np.zeros((3, 1)), np.zeros((3, 1))))

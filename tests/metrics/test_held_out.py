"""Measures of predictions for rows held out."""

import gpflow
import numpy as np
import pytest

from gpflow_gi import metrics
from gpflow_gi.architectures import build_deep_gp, build_sparse_gp
from gpflow_gi.datasets import Standardiser
from gpflow_gi.metrics.held_out import HeldOut, predictive_components

N = 12


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, 2))
    return X, np.sin(X[:, :1]) + 0.1 * rng.normal(size=(N, 1))


@pytest.mark.parametrize("scale", [50.0, 1e250])
def test_measures_on_the_original_scale_are_those_of_the_model(scale, data):
    X, Y = data
    Y_original = scale * (20 + Y)
    targets = Standardiser.fit(Y_original)
    y = targets.transform(Y_original)
    for model in (
        build_sparse_gp(X, y, 7),
        build_deep_gp(X, y, inference="global", num_inducing=7),
    ):
        num_samples = None if isinstance(model, gpflow.models.SVGP) else 30
        sampled = {} if num_samples is None else {"num_samples": num_samples, "seed": 4}
        components = predictive_components(model, X, num_samples, seed=4)
        assert components[0].shape == components[1].shape == (num_samples or 1, N, 1)
        held_out = HeldOut(Y_original, *components, targets)

        log_density = np.ravel(model.predict_log_density((X, y), **sampled))
        np.testing.assert_allclose(
            held_out.log_density, log_density - np.log(targets.scale[0]), rtol=1e-6
        )
        predicted = targets.inverse(model.predict_y(X, **sampled)[0].numpy())[:, 0]
        error = (predicted - Y_original[:, 0]) / scale
        np.testing.assert_allclose(held_out.mean, predicted)
        assert held_out.rmse == pytest.approx(scale * np.sqrt(np.mean(error**2)))
        unit = targets.scale / scale
        in_units_of_scale = targets.inverse(components[0]) / scale, components[1] * unit**2
        crps = metrics.mixture_crps(20 + Y, *in_units_of_scale)
        np.testing.assert_allclose(held_out.crps, scale * crps[:, 0])
        lower, upper = held_out.interval(0.95)
        assert (lower < predicted).all() and (predicted < upper).all()
        # A row is in its central interval if its PIT value is.
        inside = (lower < Y_original[:, 0]) & (Y_original[:, 0] < upper)
        np.testing.assert_array_equal(inside, abs(held_out.pit - 0.5) < 0.475)

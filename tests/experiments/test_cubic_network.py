import numpy as np
import pytest

from gpflow_gi.architectures import build_bnn
from gpflow_gi.experiments import cubic_network
from gpflow_gi.experiments.cubic import Cubic
from gpflow_gi.experiments.cubic_network import (
    Evaluation,
    Training,
    bounds,
    trained_network,
    untrained_network,
)

DATA = Cubic.draw(12, seed=0)


@pytest.mark.parametrize("inference", ["factorised", "local", "global"])
def test_the_network_is_the_papers(inference):
    model = untrained_network(DATA, inference=inference, num_inducing=30, prior_scale=2.0)
    layers = model.layers[::2]
    assert [layer.output_dim for layer in layers] == [50, 50, 1]
    for layer in layers:
        weights = layer.prior.draw(layer.num_weights, None, np.array([0, 0], np.int32))
        deviation = float(weights.standard_deviation)
        assert deviation == pytest.approx(2 / np.sqrt(layer.input_dim + 1))
    assert model.likelihood.variance.numpy() == pytest.approx(DATA.noise_deviation**2)
    assert not model.likelihood.trainable_variables


def test_inducing_points_can_be_more_than_rows_and_lie_in_the_gap():
    model = untrained_network(DATA, num_inducing=30)
    np.testing.assert_allclose(model.inducing_inputs, DATA.evenly(30))
    local = untrained_network(DATA, inference="local", num_inducing=30)
    np.testing.assert_allclose(local.layers[0].posterior.inducing_inputs, DATA.evenly(30))
    assert np.isfinite(model.elbo((DATA.X, DATA.Y), seed=0))
    assert np.isfinite(local.elbo((DATA.X, DATA.Y), seed=0))


@pytest.mark.parametrize("inducing_inputs", [np.zeros((3, 2)), np.zeros(3), [[np.nan]]])
def test_inducing_inputs_that_do_not_fit_are_refused(inducing_inputs):
    with pytest.raises(ValueError, match="inducing_inputs"):
        build_bnn(DATA.X, DATA.Y, inducing_inputs=inducing_inputs)


@pytest.mark.slow
@pytest.mark.compiled
def test_training_raises_the_bound_and_both_bounds_are_measured(monkeypatch):
    monkeypatch.setattr(cubic_network, "WIDTHS", (5,))
    evaluation = Evaluation(elbo_samples=40, iwbo_samples=20, iwbo_repeats=4)
    before = bounds(untrained_network(DATA, num_inducing=10), DATA, evaluation, seed=0)
    model = trained_network(DATA, Training(steps=60), num_inducing=10)
    after = bounds(model, DATA, evaluation, seed=0)
    for values in (before, after):
        assert values["elbo"]["standard_error"] > 0 and values["iwbo"]["standard_error"] > 0
        assert values["iwbo"]["mean"] > values["elbo"]["mean"]
    assert after["elbo"]["mean"] > before["elbo"]["mean"] + 5

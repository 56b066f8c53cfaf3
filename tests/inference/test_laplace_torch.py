"""Laplace approximations of a small network, as laplace-torch has them: see laplace_torch.py."""

import json
from pathlib import Path

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.inference import WeightSpace
from gpflow_gi.inference.laplace import _curvature, _Mode, _result
from gpflow_gi.inference.log_joint import LogJoint
from gpflow_gi.inference.marginal_likelihood import best_factors
from gpflow_gi.layers import DenseLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.posteriors import Prior
from gpflow_gi.priors import StandardPrior

RECORDED = json.loads(Path(__file__).with_name("laplace_torch.json").read_text())
NAMES = {"full": "full", "kron": "kron", "diagonal": "diag"}


@pytest.mark.slow
@pytest.mark.parametrize("structure", NAMES)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_numbers_of_laplace_torch(task, structure):
    """The evidence, the linearised predictive, and the precisions and noise that are chosen."""
    recorded = RECORDED[task]
    expected = recorded["structures"][NAMES[structure]]
    X, Y, grid = (np.array(recorded[name], float) for name in ("X", "Y", "grid"))
    precisions, is_regression = RECORDED["prior_precision"], task == "regression"
    likelihood = (
        gpflow.likelihoods.Gaussian(RECORDED["noise"] ** 2)
        if is_regression
        else gpflow.likelihoods.Softmax(3)
    )
    scales = [precision**-0.5 for precision in precisions]
    first, last = (
        DenseLayer(*np.shape(weights), Prior(), prior=StandardPrior(scale), bias=False)
        for weights, scale in zip(recorded["weights"], scales, strict=True)
    )
    network = DeepGP([first, tf.tanh, last], likelihood, num_data=len(X))
    whitened = [np.ravel(w) / s for w, s in zip(recorded["weights"], scales, strict=True)]
    theta = tf.constant(np.concatenate(whitened))
    log_joint = LogJoint(WeightSpace(network), likelihood, *network.check_data((X, Y)))
    assert log_joint.with_gradient_norm(theta)[1] < 1e-4  # both are at the same maximum
    curvature = _curvature(network, log_joint, theta, structure, "ggn")

    found = _result(network, _Mode(log_joint, theta, curvature), "linearised", 1, slice(None))
    np.testing.assert_allclose(found.log_evidence, expected["log_evidence"], rtol=1e-10)
    mean, variance = found.model.predict_f(grid)
    np.testing.assert_allclose(mean, expected["mean"], rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(variance, expected["variance"], rtol=1e-10)

    tau, rho = best_factors(log_joint, theta, curvature, prior=True, noise=is_regression)
    chosen = [factor * one for factor, one in zip(tau.values(), precisions, strict=True)]
    np.testing.assert_allclose(chosen, expected["chosen"]["prior_precision"], rtol=1e-4)
    if is_regression:
        variance = rho * RECORDED["noise"] ** 2
        np.testing.assert_allclose(variance, expected["chosen"]["noise_variance"], rtol=1e-4)

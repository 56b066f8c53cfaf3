"""The empirical Gaussian process has the mean and covariance of the draws."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.implicit import NetworkProcess, empirical_gp
from gpflow_gi.kernels import EmpiricalKernel

X = np.linspace(-2.0, 2.0, 9)[:, None]


def test_moments_are_those_of_the_draws():
    process = NetworkProcess(1, seed=2)
    kernel, mean = empirical_gp(process, 6)
    values = process.draw(6)(X).numpy()[..., 0]
    np.testing.assert_allclose(mean(X)[:, 0], values.mean(axis=0))
    covariance = np.cov(values.T, bias=True)  # divided by S, as in eq. (6)
    np.testing.assert_allclose(kernel(X), covariance, rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(kernel(X, X[:3]), covariance[:, :3], rtol=1e-10, atol=1e-14)
    np.testing.assert_allclose(kernel(X, full_cov=False), np.diag(covariance))
    assert np.linalg.matrix_rank(kernel(X).numpy()) == 5


def test_leading_axes_are_those_of_gpflow_s_kernels():
    kernel, mean = empirical_gp(NetworkProcess(1), 4)
    stacked = tf.constant(np.stack([X[:3], X[3:6]]))
    assert kernel(stacked).shape == (2, 3, 3)
    assert kernel(stacked, stacked).shape == (2, 3, 2, 3)
    assert mean(stacked).shape == (2, 3, 1)
    np.testing.assert_allclose(kernel(stacked)[1], kernel(X[3:6]))


def test_every_output_of_a_process_has_a_kernel():
    process = NetworkProcess(1, 2)
    kernel, mean = empirical_gp(process, 8)
    values = process.draw(8)(X).numpy()
    np.testing.assert_allclose(mean(X), values.mean(axis=0))
    for p, one in enumerate(kernel.kernels):
        expected = np.cov(values[..., p].T, bias=True)
        np.testing.assert_allclose(one(X), expected, rtol=1e-10, atol=1e-14)


def test_the_model_s_functions_have_the_kernel_s_features():
    kernel, mean = empirical_gp(NetworkProcess(1), 5)
    layer = gi.layers.GPLayer(kernel, 1, gi.posteriors.LocalInducing(X[:3], 1), mean_function=mean)
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=9)
    functions = model.sample_functions(7, seed=0)
    assert functions.is_pathwise
    centred = functions(X).numpy()[..., 0] - mean(X).numpy()[:, 0]
    assert np.linalg.matrix_rank(centred, tol=1e-6) == 4


def test_wrong_arguments_are_refused_in_words():
    process = NetworkProcess(1)
    with pytest.raises(TypeError, match="process must be one of"):
        empirical_gp(gpflow.kernels.Matern52(), 5)
    with pytest.raises(ValueError, match="num_draws must be an integer of at least 2"):
        empirical_gp(process, 1)
    with pytest.raises(ValueError, match="outputs 0 to 0"):
        EmpiricalKernel(process, 5, output=1)
    with pytest.raises(ValueError, match="X has 2 columns"):
        EmpiricalKernel(process, 5)(np.zeros((3, 2)))

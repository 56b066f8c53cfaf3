"""Functions drawn by features have the kernel's moments."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow import kernels as gk

from gpflow_gi.core.random import as_seed
from gpflow_gi.kernels import BNNKernel
from gpflow_gi.kernels.features import draw_function, has_features

from .test_every_kernel import TESTED

S = 40_000

KERNELS = {
    "squared exponential": lambda: gk.SquaredExponential(1.3, [0.5, 2.0]),
    "matern 1/2": lambda: gk.Matern12(0.6, 0.8),
    "matern 3/2": lambda: gk.Matern32(1.3, [0.5, 2.0]),
    "matern 5/2": lambda: gk.Matern52(lengthscales=0.7),
    "exponential": lambda: gk.Exponential(1.2, [0.5, 2.0]),
    "rational quadratic": lambda: gk.RationalQuadratic(1.2, 0.6, alpha=0.4),
    "constant": lambda: gk.Constant(0.4),
    "linear": lambda: gk.Linear([0.5, 2.0]),
    "one column": lambda: gk.Matern32(lengthscales=0.5, active_dims=[1]),
    "a slice": lambda: gk.Linear(0.5, active_dims=slice(1, 2)),
    "columns turned": lambda: gk.SquaredExponential(lengthscales=[0.3, 3.0], active_dims=[1, 0]),
    "network": lambda: BNNKernel(2, "relu", 1.7),
    "network on one column": lambda: BNNKernel(1, "tanh", bias=False, active_dims=[1]),
    "sum": lambda: gk.Matern32(active_dims=[0]) + gk.Linear(active_dims=[1]) + gk.Constant(0.3),
    "product": lambda: gk.Matern12(0.7) * gk.RationalQuadratic(1.5, active_dims=[1]),
    "scaled": lambda: gk.Constant(0.4) * gk.SquaredExponential(),
    "sum of products": lambda: gk.Constant(0.4) * gk.Exponential() + gk.Matern52() * gk.Matern52(),
}
HAVE_FEATURES = {
    gk.SquaredExponential,
    gk.Matern12,
    gk.Matern32,
    gk.Matern52,
    gk.Exponential,
    gk.RationalQuadratic,
    gk.Constant,
    gk.Linear,
}


def draws(kernel, X, seed=0, num_features=3, num_outputs=1):
    function = draw_function(kernel, X.shape[-1], [S], num_outputs, num_features, as_seed(seed))
    return function(tf.constant(X)).numpy()


@pytest.mark.parametrize("name", KERNELS)
def test_moments_are_the_kernels_with_however_few_features(name, rng):
    kernel = KERNELS[name]()
    X = rng.normal(size=(4, 2))
    g = draws(kernel, X)[..., 0]
    assert has_features(kernel)
    products = np.einsum("sn,sm->snm", g, g)
    error = products.std(0) / np.sqrt(S)
    assert np.all(np.abs(products.mean(0) - kernel(X)) < 5 * error)
    assert np.all(np.abs(g.mean(0)) < 5 * g.std(0) / np.sqrt(S))
    fourth = g**4
    error = fourth.std(0) / np.sqrt(S)
    expected = 3 * np.diag(kernel(X)) ** 2  # at one input a draw is Gaussian
    assert np.all(np.abs(fourth.mean(0) - expected) < 5 * error)


@pytest.mark.parametrize("name", ["matern 3/2", "rational quadratic", "network", "product"])
def test_outputs_are_independent(name, rng):
    g = draws(KERNELS[name](), rng.normal(size=(2, 2)), num_outputs=2)
    products = g[:, :, None, 0] * g[:, None, :, 1]
    assert np.all(np.abs(products.mean(0)) < 5 * products.std(0) / np.sqrt(S))


@pytest.mark.parametrize("name", KERNELS)
def test_a_sample_axis_of_the_inputs(name, rng):
    kernel = KERNELS[name]()
    X = tf.constant(rng.normal(size=(3, 4, 2)))
    function = draw_function(kernel, 2, [3], 2, 5, as_seed(0))
    for s in range(3):
        np.testing.assert_allclose(function(X)[s], function(X[s])[s], rtol=1e-9, atol=1e-9)
    assert draw_function(kernel, 2, [], 2, 5, as_seed(0))(X[0]).shape == (4, 2)


@pytest.mark.parametrize("name", ["matern 1/2", "rational quadratic", "network"])
def test_float32(name, rng):
    gpflow.config.set_default_float(np.float32)
    X = rng.normal(size=(4, 2)).astype(np.float32)
    kernel = KERNELS[name]()
    g = draws(kernel, X)[..., 0]
    assert g.dtype == np.float32
    products = np.einsum("sn,sm->snm", g, g)
    assert np.all(np.abs(products.mean(0) - kernel(X)) < 5 * products.std(0) / np.sqrt(S))


def test_which_kernels_have_features():
    for kernel_class, cases in TESTED.items():
        if kernel_class not in (gk.Sum, gk.Product) and not issubclass(
            kernel_class, gk.MultioutputKernel
        ):
            for case in cases:
                assert has_features(case.make()) == (kernel_class in HAVE_FEATURES), kernel_class
    assert not has_features(gk.Matern32() + gk.White())
    assert not has_features(gk.Matern32() * gk.Linear())
    assert not has_features(gk.Matern32() * (gk.Matern32() + gk.Constant()))


def test_a_subclass_may_be_another_kernel():
    class Other(gk.SquaredExponential):
        def K_r2(self, r2):
            return self.variance / (1.0 + r2)

    assert not has_features(Other())
    assert not has_features(gk.Matern12() + Other())


@pytest.mark.parametrize("kernel_class", [gk.SquaredExponential, gk.Matern12, gk.Matern52])
def test_gpflux_approximates_the_same_kernel(kernel_class, rng):
    fourier = pytest.importorskip("gpflux.layers.basis_functions.fourier_features")
    kernel = kernel_class(1.3, [0.5, 2.0])
    X = rng.normal(size=(4, 2))
    g = draws(kernel, X)[..., 0]
    products = np.einsum("sn,sm->snm", g, g)
    tf.random.set_seed(0)
    phi = fourier.RandomFourierFeatures(kernel, S, dtype=np.float64)(X).numpy()
    terms = (phi.reshape(4, 1, 2, S) * phi.reshape(1, 4, 2, S)).sum(2)  # one for each frequency
    error = np.hypot(products.std(0) / np.sqrt(S), terms.std(-1) * np.sqrt(S))
    assert np.all(np.abs(products.mean(0) - terms.sum(-1)) < 5 * error)

"""Functions of all of GPflow's kernels have the kernels' moments."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow import kernels as gk
from gpflow.kernels.categorical import Categorical

from gpflow_gi.core.random import as_seed
from gpflow_gi.implicit import KernelProcess
from gpflow_gi.kernels import features, functions

from .test_every_kernel import TESTED

S = 40_000

KERNELS = {
    "arc-cosine 0": lambda: gk.ArcCosine(0, 1.3, [0.5, 2.0], 0.7),
    "arc-cosine 1": lambda: gk.ArcCosine(1, 0.7, 0.5, 0.3, active_dims=[1]),
    "arc-cosine 2": lambda: gk.ArcCosine(2, 0.5, [0.5, 1.0]),
    "cosine": lambda: gk.Cosine(1.3, [3.0, 4.0]),
    "polynomial": lambda: gk.Polynomial(3.0, [0.3, 0.6], 0.8),
    "change points": lambda: gk.ChangePoints(
        [gk.Matern32(0.5), gk.Linear(), gk.SquaredExponential(2.0)], [0.4, -0.4], [3.0, 5.0]
    ),
    "periodic": lambda: gk.Periodic(gk.SquaredExponential(1.3, [0.5, 0.8]), [1.5, 2.0]),
    "periodic rational quadratic": lambda: gk.Periodic(gk.RationalQuadratic(0.7, 0.6, 0.9), 1.7),
    "periodic matern": lambda: gk.Periodic(gk.Matern32(1.2, 0.7, active_dims=[1]), 1.3),
    "locally periodic": lambda: (
        gk.Periodic(gk.SquaredExponential(active_dims=[0])) * gk.Matern52(0.8) * gk.Constant(1.5)
    ),
    "linear times stationary": lambda: gk.Linear([0.5, 2.0]) * gk.Matern32(0.7, 0.8),
    "product of finite ones": lambda: gk.Linear(0.5) * gk.Polynomial(2.0) * gk.Constant(0.7),
    "linear times arc-cosine": lambda: gk.Linear(active_dims=[0]) * gk.ArcCosine(1),
    "sum times stationary": lambda: (gk.Linear() + gk.Constant(0.4)) * gk.SquaredExponential(),
    "sum with periodic": lambda: gk.Matern12() + gk.Periodic(gk.SquaredExponential()),
    "squared sum": lambda: (gk.Linear(0.3) + gk.Matern12()) * (gk.Matern12() + gk.Constant(0.3)),
    "coregion": lambda: coregion(active_dims=[1]),
    "coregionalised": lambda: coregion(active_dims=[1]) * gk.Matern32(active_dims=[0]),
}


def coregion(**where):
    kernel = gk.Coregion(3, 2, **where)
    kernel.W.assign([[0.5, 0.1], [-0.7, 0.2], [0.3, 0.9]])
    kernel.kappa.assign([0.2, 0.5, 0.1])
    return kernel


def draws(kernel, X, num_outputs=1, num_features=3, input_dim=None):
    function = functions.draw_function(
        kernel, input_dim or X.shape[-1], [S], num_outputs, num_features, as_seed(0)
    )
    return function(tf.constant(X)).numpy()


def assert_covariance(g, expected):
    """Of draws [S, K]: mean zero and this covariance."""
    products = np.einsum("sn,sm->snm", g, g)
    error = products.std(0) / np.sqrt(S)
    assert np.all(np.abs(products.mean(0) - expected) < 5 * error + 1e-12)
    assert np.all(np.abs(g.mean(0)) < 5 * g.std(0) / np.sqrt(S) + 1e-12)


def inputs(kernel, rng):
    X = rng.normal(size=(4, 1 if isinstance(kernel, gk.ChangePoints) else 2))
    if any(isinstance(part, gk.Coregion) for part in (kernel, *kernel.submodules)):
        X[:, 1] = [0, 1, 2, 1]
    return X


@pytest.mark.parametrize("name", KERNELS)
def test_moments_are_the_kernels(name, rng):
    kernel = KERNELS[name]()
    X = inputs(kernel, rng)
    assert not features.has_features(kernel)
    g = draws(kernel, X, 2)
    for output in range(2):
        assert_covariance(g[..., output], kernel(X).numpy())
    across = g[:, :, None, 0] * g[:, None, :, 1]
    assert np.all(np.abs(across.mean(0)) < 5 * across.std(0) / np.sqrt(S) + 1e-12)


@pytest.mark.parametrize("name", ["cosine", "polynomial", "product of finite ones", "coregion"])
def test_finitely_many_features_are_exact(name, rng):
    kernel = KERNELS[name]()
    X = inputs(kernel, rng)
    phi = functions._finite_features(kernel)(tf.constant(X)).numpy()
    np.testing.assert_allclose(phi @ phi.T, kernel(X), rtol=1e-10)


@pytest.mark.parametrize("name", KERNELS)
def test_a_sample_axis_of_the_inputs(name, rng):
    kernel = KERNELS[name]()
    X = np.stack([inputs(kernel, rng) for _ in range(3)])
    function = functions.draw_function(kernel, X.shape[-1], [3], 2, 5, as_seed(0))
    for s in range(3):
        np.testing.assert_allclose(
            function(tf.constant(X))[s], function(tf.constant(X[s]))[s], rtol=1e-9, atol=1e-9
        )


def test_patches_of_images(rng):
    kernel = gk.Convolutional(gk.SquaredExponential(1.3, 2.0), [3, 3], [2, 2])
    kernel.weights.assign([1.0, -0.5, 0.3, 2.0])
    X = rng.normal(size=(3, 9))
    assert_covariance(draws(kernel, X)[..., 0], kernel(X).numpy())


def test_several_outputs(rng):
    X = rng.normal(size=(3, 2))
    parts = [gk.Matern32(1.3), gk.Polynomial(2.0, 0.4)]
    W = np.array([[1.0, 0.3], [-0.5, 2.0], [0.0, 0.7]])
    for kernel, P in (
        (gk.SharedIndependent(gk.Cosine(0.7), 2), 2),
        (gk.SeparateIndependent(parts), 2),
        (gk.LinearCoregionalization(parts, W=W), 3),
    ):
        g = draws(kernel, X, P).reshape(S, -1)  # [S, N P]
        expected = kernel(X, full_cov=True, full_output_cov=True).numpy()  # [N, P, N, P]
        assert_covariance(g, expected.reshape(g.shape[1], -1))
        with pytest.raises(ValueError, match=f"it has {P} outputs, but 4 are asked for"):
            KernelProcess(kernel, 2, 4)


@pytest.mark.slow
def test_kernels_of_gpflow_that_cannot_be_drawn():
    refused = set()
    rng = np.random.default_rng(0)
    for kernel_class, cases in TESTED.items():
        for case in cases:
            kernel = case.make()
            P = getattr(kernel, "num_latent_gps", 1)
            try:
                X = rng.uniform(size=(3, case.input_dim))
                if case.last_is_category:
                    X[:, -1] = [0, 1, 1]
                if P == 1:
                    assert_covariance(draws(kernel, X)[..., 0], kernel(X).numpy())
                else:
                    assert draws(kernel, X, P).shape == (S, 3, P)
            except functions.NoFunctionError:
                refused.add(kernel_class)
    # A sum with white noise; and the only one whose parts ignore their own active dimensions.
    assert refused == {gk.White, gk.Sum, Categorical}


@pytest.mark.parametrize(
    ("kernel", "why"),
    [
        (gk.White(), "noise is a part of the likelihood"),
        (gk.Matern32() + gk.White(), "noise is a part of the likelihood"),
        (gk.Periodic(gk.Matern32()), "a periodic Matern32|not known how .* of a Periodic"),
        (gk.ArcCosine() * gk.ArcCosine(), "product of ArcCosine and ArcCosine"),
        (gk.Polynomial(1.5), "of a Polynomial"),
        (gk.Polynomial(20.0), "has 3486784401 features for these inputs, and 10000 is the most"),
    ],
)
def test_others_are_refused_in_words(kernel, why):
    if isinstance(kernel, gk.Periodic):
        kernel.period = gpflow.Parameter([1.0, 2.0])
    with pytest.raises(ValueError, match=f"cannot be drawn as functions: .*({why})"):
        KernelProcess(kernel, 2)


def test_a_subclass_may_be_another_kernel():
    class Other(gk.Cosine):
        def K_d(self, d):
            return self.variance

    with pytest.raises(ValueError, match="functions of a Other"):
        KernelProcess(Other(), 2)


def test_parameters_have_gradients(rng):
    for name in ("periodic", "arc-cosine 1", "polynomial", "change points", "coregionalised"):
        kernel = KERNELS[name]()
        X = inputs(kernel, rng)
        with tf.GradientTape() as tape:
            function = functions.draw_function(kernel, X.shape[-1], [4], 1, 20, as_seed(0))
            loss = tf.reduce_sum(function(tf.constant(X)) ** 2)
        gradients = tape.gradient(loss, kernel.trainable_variables)
        for gradient in map(np.asarray, map(tf.convert_to_tensor, gradients)):
            assert np.all(np.isfinite(gradient)) and np.any(gradient != 0.0), name


@pytest.mark.parametrize(
    "kernel",
    [
        gpflow.kernels.Cosine(),
        gpflow.kernels.Polynomial(),
        gpflow.kernels.SquaredExponential() * gpflow.kernels.Linear(),
        gpflow.kernels.SquaredExponential() * gpflow.kernels.Cosine(),
    ],
    ids=["Cosine", "Polynomial", "SE x Linear", "SE x Cosine"],
)
@pytest.mark.compiled
def test_functions_can_be_drawn_in_a_graph(kernel, rng):
    process = KernelProcess(kernel, 2)
    X = tf.constant(rng.normal(size=(4, 2)))
    seed = as_seed(0)
    eager = process.functions(3, seed)(X)
    compiled = tf.function(lambda X: process.functions(3, seed)(X), autograph=False)(X)
    np.testing.assert_allclose(compiled, eager, rtol=1e-9)

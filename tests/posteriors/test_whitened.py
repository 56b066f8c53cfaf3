"""Global inducing points with whitened pseudo-outputs: the same q in other coordinates."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.kernels import KernelBasis
from gpflow_gi.posteriors import GlobalInducing

M, P = 6, 3


def pseudo_data(rng, precision, shared):
    V = rng.normal(size=(M, P))
    Lambda = rng.gamma(2.0, size=() if shared else (P, 1)) * rng.gamma(2.0, size=M)
    if precision == "full":
        A = rng.normal(size=(*Lambda.shape[:-1], M, M))
        Lambda = A @ np.swapaxes(A, -1, -2) + np.eye(M)
    return V, {"pseudo_precision": Lambda, "precision": precision, "shared": shared}


@pytest.mark.parametrize("precision", ["diagonal", "full"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("num_samples", [None, 2])
def test_it_is_the_same_posterior_in_other_coordinates(precision, shared, num_samples, rng):
    """V = L v, at inputs that are the same for all samples or not."""
    shape = (M, 2) if num_samples is None else (num_samples, M, 2)
    Z, X = rng.normal(size=shape), rng.normal(size=(5, 2))
    basis = KernelBasis(gpflow.kernels.Matern52(), tf.constant(Z))
    V, settings = pseudo_data(rng, precision, shared)
    v = np.linalg.solve(basis.L, np.broadcast_to(V, (*shape[:-1], P)))
    whole = slice(0, P)
    whitened = GlobalInducing(M, P, whiten=True, **settings)
    for s in [None] if num_samples is None else range(num_samples):
        own = basis if s is None else KernelBasis(basis.kernel, tf.constant(Z[s]))
        plain = GlobalInducing(M, P, pseudo_outputs=V, **settings).q(own, whole)
        whitened.pseudo_outputs.assign(v if s is None else v[s])
        q = whitened.q(basis, whole)
        mean, variance = q.predict(basis, tf.constant(X))
        kl = q.kl()
        if s is not None:
            mean, variance, kl = mean[s], variance[s], kl[s]
        expected, expected_variance = plain.predict(own, tf.constant(X))
        np.testing.assert_allclose(mean, expected, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(variance, expected_variance, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(kl, plain.kl(), rtol=1e-6)


def test_layers_of_several_kernels_have_one_factor_each(rng):
    kernels = [gpflow.kernels.Matern52(), gpflow.kernels.Matern12(lengthscales=0.3)]
    U, X = rng.normal(size=(M, 1)), tf.constant(rng.normal(size=(5, 1)))
    v = rng.normal(size=(M, 2))
    L = [np.linalg.cholesky(k(U) + gpflow.default_jitter() * np.eye(M)) for k in kernels]
    V = np.stack([L[p] @ v[:, p] for p in range(2)], axis=1)
    moments = [
        gi.layers.GPLayer(kernels, 2, GlobalInducing(M, 2, pseudo_outputs=start, whiten=whiten))
        .condition(tf.constant(U))
        .predict(X)
        for start, whiten in ((v, True), (V, False))
    ]
    for one, other in zip(*moments, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def test_the_divergence_is_as_steep_in_every_direction():
    """Within a factor of 20, by the Hessian in v; in V it is that of the kernel matrix."""
    U = np.linspace(-1, 1, M)[:, None]
    basis = KernelBasis(gpflow.kernels.SquaredExponential(), tf.constant(U))
    conditions = []
    for whiten in (True, False):
        posterior = GlobalInducing(M, 1, pseudo_precision=1e6, whiten=whiten)
        hessian = np.zeros((M, M))
        for i in range(M):
            posterior.pseudo_outputs.assign(np.eye(M)[:, i : i + 1])
            with tf.GradientTape() as tape:
                kl = posterior.q(basis, slice(0, 1)).kl()
            slope = tape.gradient(kl, posterior.pseudo_outputs.unconstrained_variable)
            hessian[i] = tf.convert_to_tensor(slope)[:, 0]
        values = np.linalg.eigvalsh((hessian + hessian.T) / 2)
        conditions.append(values[-1] / values[0])
    whitened, plain = conditions
    assert whitened < 20 and plain > 1e4


@pytest.mark.parametrize("start", ["linear", "inputs", "targets"])
def test_all_hidden_layers_start_as_without_it(start, rng):
    X = rng.normal(size=(60, 2))
    Y = np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(60, 1))
    settings = {} if start == "linear" else {"mean_function": "zero", "hidden_start": start}
    plain, whitened = (
        gi.architectures.build_deep_gp(
            X, Y, num_layers=4, num_inducing=12, whiten=whiten, **settings
        )
        for whiten in (False, True)
    )
    assert [layer.posterior.whiten for layer in whitened.layers] == [True, True, True, False]
    Z = tf.convert_to_tensor(plain.inducing_inputs)
    for one, other in zip(plain.layers, whitened.layers, strict=True):
        # The pseudo-inputs of the start, at which V = L v.
        basis = KernelBasis(one.kernel, Z)
        v = tf.convert_to_tensor(other.posterior.pseudo_outputs)
        V = tf.matmul(basis.L, v) if other.posterior.whiten else v
        np.testing.assert_allclose(V, one.posterior.pseudo_outputs, rtol=1e-5, atol=1e-6)
        if start == "linear":
            Z = Z if one is plain.layers[-1] else one.mean_function(Z)
        elif start == "inputs":
            Z = V
        elif one is plain.layers[0]:  # the layers above start as the identity
            Z = one.posterior.q(basis, slice(0, 1)).predict(basis, Z)[0]


def test_files_keep_it(rng, tmp_path):
    X = rng.normal(size=(20, 2))
    model = gi.architectures.build_deep_gp(X, X[:, :1], num_inducing=5, whiten=True)
    assert [layer.posterior.whiten for layer in model.layers] == [True, False]
    gi.save(model, tmp_path / "model.gi")
    loaded = gi.load(tmp_path / "model.gi")
    assert [layer.posterior.whiten for layer in loaded.layers] == [True, False]
    np.testing.assert_array_equal(*(m.predict_f(X, 5, seed=0)[0] for m in (model, loaded)))


def test_what_cannot_be_whitened_is_refused(rng):
    with pytest.raises(TypeError, match="whiten must be True or False"):
        GlobalInducing(M, P, whiten="yes")
    with pytest.raises(ValueError, match="whiten=True is for Gaussian process layers"):
        gi.layers.DenseLayer(2, P, GlobalInducing(M, P, whiten=True))
    X = rng.normal(size=(20, 2))
    model = gi.architectures.build_deep_gp(X, X[:, :1], num_inducing=5, whiten=True)
    with pytest.raises(ValueError, match=r"those of layer 1 are\. Build .* whiten=False"):
        model.update((X, X[:, :1]))
    model = gi.architectures.build_deep_gp(X, X[:, :1], num_inducing=5, shared_precision=False)
    with pytest.raises(ValueError, match=r"one precision .* layer 1 has one for each"):
        model.update((X, X[:, :1]))

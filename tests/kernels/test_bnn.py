"""The kernel of a layer of a Bayesian neural network, against its weights."""

import copy

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy import special

import gpflow_gi as gi
from gpflow_gi.kernels import BNNKernel, KernelBasis, batched

from ..builders import random_data

PHI = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "erf": special.erf,
    "identity": lambda x: x,
}
D = 3


def weight_features(X, nonlinearity, bias):
    """phi(x) with the bias last, [..., N]."""
    phi = PHI[nonlinearity](X)
    return np.concatenate([phi, np.ones((*X.shape[:-1], 1))], axis=-1) if bias else phi


every_case = pytest.mark.parametrize(
    ("nonlinearity", "bias"), [(name, bias) for name in PHI for bias in (True, False)]
)


@every_case
def test_covariance_of_explicit_weights(nonlinearity, bias, rng):
    kernel = BNNKernel(D, nonlinearity, variance=1.7, bias=bias)
    X, X2 = rng.normal(size=(5, D)), rng.normal(size=(4, D))
    phi, phi2 = weight_features(X, nonlinearity, bias), weight_features(X2, nonlinearity, bias)
    N = kernel.num_features
    assert phi.shape == (5, N)
    np.testing.assert_allclose(kernel.features(X), phi, rtol=1e-14)
    np.testing.assert_allclose(kernel(X, X2), 1.7 / N * phi @ phi2.T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X), 1.7 / N * phi @ phi.T, rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(kernel(X, full_cov=False), 1.7 / N * np.sum(phi**2, 1), rtol=1e-12)


@every_case
def test_regression_is_bayesian_linear_regression(nonlinearity, bias, rng):
    variance, noise = 1.7, 0.3
    X, Y = random_data(rng, N=8, D=D, P=2)
    kernel = BNNKernel(D, nonlinearity, variance, bias)
    model = gpflow.models.GPR((X, Y), kernel, noise_variance=noise)

    phi = weight_features(X, nonlinearity, bias)
    (num_rows, N), P = phi.shape, Y.shape[1]
    # q(w) = N(mean, precision^-1); log p(Y) by completing the square in w
    precision = N / variance * np.eye(N) + phi.T @ phi / noise
    mean = np.linalg.solve(precision, phi.T @ Y / noise)
    log_determinant = np.linalg.slogdet(precision)[1]
    evidence = 0.5 * (
        P * (N * np.log(N / variance) - log_determinant - num_rows * np.log(2 * np.pi * noise))
        - np.sum((Y - phi @ mean) ** 2) / noise
        - np.sum(mean**2) * N / variance
    )
    np.testing.assert_allclose(model.log_marginal_likelihood(), evidence, atol=1e-9)

    Xnew = rng.normal(size=(4, D))
    phi_new = weight_features(Xnew, nonlinearity, bias)
    predicted_mean, predicted_variance = model.predict_f(Xnew)
    np.testing.assert_allclose(predicted_mean, phi_new @ mean, atol=1e-9)
    expected = np.sum(phi_new * np.linalg.solve(precision, phi_new.T).T, axis=1)
    np.testing.assert_allclose(predicted_variance[:, 0], expected, atol=1e-9)


@pytest.mark.parametrize("batch", [(), (2,), (2, 3)])
@pytest.mark.parametrize("batch2", [(), (4,)])
def test_batches_are_those_of_gpflow(batch, batch2, rng):
    X, X2 = rng.normal(size=(*batch, 5, D)), rng.normal(size=(*batch2, 6, D))
    # With phi(x) = x it is GPflow's linear kernel.
    ours, linear = BNNKernel(D, "identity", 0.7 * D, bias=False), gpflow.kernels.Linear(0.7)
    np.testing.assert_allclose(ours(X, X2), linear(X, X2), atol=1e-13)
    np.testing.assert_allclose(ours(X), linear(X), atol=1e-13)
    np.testing.assert_allclose(ours(X, full_cov=False), linear(X, full_cov=False), atol=1e-13)

    kernel = BNNKernel(D, "tanh")
    K, symmetric, diagonal = kernel(X, X2), kernel(X), kernel(X, full_cov=False)
    assert K.shape == (*batch, 5, *batch2, 6)
    for i in np.ndindex(batch):
        np.testing.assert_allclose(symmetric[i], kernel(X[i]), atol=1e-14)
        np.testing.assert_allclose(diagonal[i], kernel(X[i], full_cov=False), atol=1e-14)
        for j in np.ndindex(batch2):
            one = K.numpy()[(*i, slice(None), *j)]
            np.testing.assert_allclose(one, kernel(X[i], X2[j]), atol=1e-14)


@pytest.mark.parametrize(
    "num_samples", [4, pytest.param(12, marks=pytest.mark.compiled)], ids=["few", "many"]
)
def test_samples_of_a_layer(num_samples, rng):
    kernel = BNNKernel(D, variance=1.7)
    U, X = (tf.constant(rng.normal(size=(num_samples, rows, D))) for rows in (5, 6))
    K, cross = batched.covariance(kernel, U), batched.cross_covariance(kernel, U, X)
    shared, diagonal = batched.cross_covariance(kernel, U[0], X), batched.variance(kernel, X)
    for s in range(num_samples):
        np.testing.assert_allclose(K[s], kernel(U[s]), atol=1e-14)
        np.testing.assert_allclose(cross[s], kernel(U[s], X[s]), atol=1e-14)
        np.testing.assert_allclose(shared[s], kernel(U[0], X[s]), atol=1e-14)
        np.testing.assert_allclose(diagonal[s], kernel(X[s], full_cov=False), atol=1e-14)


@every_case
def test_many_rows_make_a_singular_matrix(nonlinearity, bias, rng):
    kernel = BNNKernel(D, nonlinearity, bias=bias)
    X = 3 * rng.normal(size=(20, D))
    eigenvalues = np.linalg.eigvalsh(kernel(X))
    assert np.all(eigenvalues > -1e-12 * eigenvalues.max())
    assert np.sum(eigenvalues > 1e-8 * eigenvalues.max()) == kernel.num_features
    assert np.all(np.isfinite(KernelBasis(kernel, tf.constant(X)).L))  # the jitter suffices


def test_gpflows_sparse_regression(rng):
    X, Y = random_data(rng, N=30, D=D)
    kernel = BNNKernel(D, "relu")
    svgp = gpflow.models.SVGP(kernel, gpflow.likelihoods.Gaussian(0.3), X[:10], num_data=30)
    exact = gpflow.models.GPR((X, Y), kernel, noise_variance=0.3)
    with tf.GradientTape() as tape:
        elbo = svgp.elbo((X, Y))
    assert elbo < exact.log_marginal_likelihood()
    gradients = tape.gradient(elbo, svgp.trainable_variables)
    assert all(gradient is not None and np.all(np.isfinite(gradient)) for gradient in gradients)
    assert any(v is kernel.variance.unconstrained_variable for v in svgp.trainable_variables)
    # More inducing points than weights span the whole space: with the best q it is exact.
    natural_gradient = gpflow.optimizers.NaturalGradient(1.0)
    loss = svgp.training_loss_closure((X, Y), compile=False)
    natural_gradient.minimize(loss, [(svgp.q_mu, svgp.q_sqrt)])
    np.testing.assert_allclose(svgp.elbo((X, Y)), exact.log_marginal_likelihood(), atol=1e-3)


@pytest.mark.parametrize("kind", ["global", "local", "prior"])
def test_in_a_layer(kind, rng):
    M, P = 6, 2
    X, Y = random_data(rng, N=9, D=D, P=P)
    U = rng.normal(size=(M, D))
    posterior = {
        "global": lambda: gi.posteriors.GlobalInducing(M, P),
        "local": lambda: gi.posteriors.LocalInducing(U, P),
        "prior": gi.posteriors.Prior,
    }[kind]()
    top = gi.posteriors.GlobalInducing(M, P, pseudo_outputs=rng.normal(size=(M, P)))
    model = gi.models.DeepGP(
        [
            gi.layers.GPLayer(BNNKernel(D, "identity"), P, posterior),
            gi.layers.GPLayer(BNNKernel(P, "relu"), P, top),
        ],
        gpflow.likelihoods.Gaussian(0.3),
        num_data=9,
        inducing_inputs=U,
        num_samples=4,
    )
    assert np.isfinite(model.elbo((X, Y), seed=0))
    with pytest.raises(ValueError, match=r"input_dim=4 columns, but the inputs have 3"):
        gi.models.DeepGP(
            [gi.layers.GPLayer(BNNKernel(D + 1), P, top)],
            gpflow.likelihoods.Gaussian(0.3),
            num_data=9,
            inducing_inputs=U,
        )


@pytest.mark.parametrize("nonlinearity", PHI)
def test_gradient_with_respect_to_inputs(nonlinearity, rng):
    kernel = BNNKernel(D, nonlinearity)
    X, X2 = tf.constant(rng.normal(size=(4, D))), tf.constant(rng.normal(size=(5, D)))
    weights = rng.normal(size=(4, 5))

    def value(X):
        return tf.reduce_sum(weights * kernel(X, X2)) + tf.reduce_sum(kernel(X, full_cov=False))

    with tf.GradientTape() as tape:
        tape.watch(X)
        total = value(X)
    gradient = tape.gradient(total, X).numpy()
    step = 1e-6
    for i in np.ndindex(4, D):
        shift = np.zeros((4, D))
        shift[i] = step
        difference = (value(X + shift) - value(X - shift)) / (2 * step)
        np.testing.assert_allclose(gradient[i], difference, rtol=1e-6, atol=1e-8)


def test_parameters_and_copies(rng):
    X = rng.normal(size=(4, D))
    kernel = BNNKernel(D, "erf", variance=2.0, bias=False, name="top")
    assert kernel.name == "top" and kernel.trainable_parameters == (kernel.variance,)
    for copied in (copy.deepcopy(kernel), gpflow.utilities.deepcopy(kernel)):
        assert copied.nonlinearity is kernel.nonlinearity
        np.testing.assert_array_equal(copied(X), kernel(X))
        copied.variance.assign(4.0)
        np.testing.assert_allclose(copied(X), 2 * kernel(X), rtol=1e-12)
    with pytest.raises(tf.errors.InvalidArgumentError):
        kernel.variance.assign(-1.0)


def test_nonlinearities_with_parameters_are_trained(rng):
    class Leaky(gpflow.Module):
        def __init__(self):
            super().__init__()
            self.slope = gpflow.Parameter(0.1)

        def __call__(self, x):
            return tf.maximum(x, self.slope * x)

    kernel = BNNKernel(D, Leaky())
    assert len(kernel.trainable_parameters) == 2
    X = rng.normal(size=(4, D))
    phi = np.column_stack([np.maximum(X, 0.1 * X), np.ones(4)])
    np.testing.assert_allclose(kernel(X), phi @ phi.T / (D + 1), rtol=1e-12)


@pytest.mark.parametrize("active_dims", [[2, 0], slice(1, 3)], ids=["list", "slice"])
def test_active_dims(active_dims, rng):
    X = rng.normal(size=(4, D))
    kernel = BNNKernel(2, "tanh", active_dims=active_dims)
    expected = BNNKernel(2, "tanh")(X[:, active_dims])
    np.testing.assert_allclose(kernel(X), expected, atol=1e-14)
    total = kernel + gpflow.kernels.White(0.1)
    np.testing.assert_allclose(total(X), expected + 0.1 * np.eye(4), atol=1e-14)


def test_float32(rng):
    X = rng.normal(size=(4, D))
    expected = BNNKernel(D, "gelu", 1.7)(X)
    gpflow.config.set_default_float(np.float32)
    K = BNNKernel(D, "gelu", 1.7)(tf.constant(X, tf.float32))
    assert K.dtype == tf.float32
    np.testing.assert_allclose(K, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"input_dim": 0}, "input_dim must be an integer of at least 1, but is 0"),
        ({"input_dim": 2.0}, "input_dim must be an integer"),
        ({"variance": 0.0}, "variance must be positive, but is 0.0"),
        ({"variance": -1.0}, "variance must be positive, but is -1.0"),
        ({"variance": np.nan}, "variance must be finite"),
        ({"variance": [1.0, 2.0]}, "variance must have shape"),
        ({"nonlinearity": "softmax"}, "nonlinearity must be one of"),
        ({"nonlinearity": tf.nn.softmax}, "nonlinearity must treat each entry by itself"),
        ({"active_dims": [0, 1]}, "input_dim=3 columns, but active_dims names 2"),
    ],
)
def test_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        BNNKernel(**{"input_dim": D, **arguments})


@pytest.mark.parametrize("active_dims", [None, slice(0, 2)])
def test_wrong_number_of_columns(active_dims, rng):
    X = rng.normal(size=(4, 2))
    kernel = BNNKernel(D, active_dims=active_dims)
    for evaluate in (kernel, lambda X: kernel(X, full_cov=False), lambda X: kernel(X, X)):
        with pytest.raises(ValueError, match=r"input_dim=3 columns, but the inputs have 2"):
            evaluate(X)

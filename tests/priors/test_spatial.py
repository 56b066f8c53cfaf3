"""The inverse-Wishart prior over the spatial covariance of filters."""

import copy

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import stats

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.priors import NealPrior, SpatialIWPrior

from ..builders import mean_and_standard_error

SIZE = (2, 3)
K, CHANNELS = 6, 4
N = K * CHANNELS


def random_psi(size=K, scale=1.0):
    root = np.random.default_rng(5).normal(size=(size, size + 2))
    return scale * root @ root.T


CONSTANTS = [
    {},
    {"nu": 40.0, "psi": random_psi(scale=7.0)},
    {"degrees_of_freedom": K + 0.3, "nu": 1.2, "psi": random_psi(scale=0.4), "scale": 0.6},
]
every_prior = pytest.mark.parametrize("constants", CONSTANTS, ids=["default", "far", "few"])


def degrees_of_freedom(prior):
    """d, and d + nu."""
    d = float(prior.degrees_of_freedom or N + 1)
    return d, d + prior.nu.numpy()


def wisharts(prior):
    """q and p of the spatial covariance L^-1, as TFP has them."""
    d, df = degrees_of_freedom(prior)
    return [
        tfp.distributions.WishartTriL(np.float64(count), np.linalg.cholesky(np.linalg.inv(matrix)))
        for count, matrix in ((df, d * np.eye(K) + prior.psi), (d, d * np.eye(K)))
    ]


def covariances(drawn):
    """L^-1 of every draw."""
    T = drawn.spatial_sqrt
    return tf.matmul(T, T, transpose_b=True)


@every_prior
def test_the_densities_are_those_of_wisharts(constants):
    prior = SpatialIWPrior(SIZE, **constants)
    q, p = wisharts(prior)
    for num_samples in (None, 5):
        drawn = prior.draw(N, num_samples, as_seed(0))
        W = covariances(drawn)
        expected = p.log_prob(W) - q.log_prob(W)
        np.testing.assert_allclose(drawn.log_p_minus_log_q, expected, rtol=1e-10, atol=1e-10)


@every_prior
def test_the_densities_are_those_of_inverse_wisharts(constants):
    """The paper's: of L, of which a draw gives the inverse; the Jacobian is the same in both."""
    prior = SpatialIWPrior(SIZE, **constants)
    d, df = degrees_of_freedom(prior)
    drawn = prior.draw(N, 3, as_seed(1))
    for ratio, W in zip(drawn.log_p_minus_log_q, covariances(drawn), strict=True):
        L = np.linalg.inv(W)
        log_p = stats.invwishart.logpdf(L, d, d * np.eye(K))
        log_q = stats.invwishart.logpdf(L, df, d * np.eye(K) + prior.psi)
        np.testing.assert_allclose(ratio, log_p - log_q, rtol=1e-9, atol=1e-9)
        # Each by itself: the Jacobian of the inverse is |L|^(K + 1).
        jacobian = (K + 1) * np.linalg.slogdet(L)[1]
        wishart_q, wishart_p = wisharts(prior)
        np.testing.assert_allclose(wishart_p.log_prob(W) - jacobian, log_p, rtol=1e-9)
        np.testing.assert_allclose(wishart_q.log_prob(W) - jacobian, log_q, rtol=1e-9)


def test_a_single_place_has_a_gamma_distribution():
    prior = SpatialIWPrior(1, nu=3.7, psi=2.2)
    d, nu, psi = N + 1, 3.7, 2.2
    q = tfp.distributions.Gamma(np.float64((d + nu) / 2), (d + psi) / 2)
    p = tfp.distributions.Gamma(np.float64(d / 2), d / 2)
    np.testing.assert_allclose(prior.kl(N), tfp.distributions.kl_divergence(q, p), rtol=1e-10)
    drawn = prior.draw(N, 20_000, as_seed(2))
    s = np.ravel(covariances(drawn))
    np.testing.assert_allclose(
        drawn.log_p_minus_log_q, p.log_prob(s) - q.log_prob(s), rtol=1e-9, atol=1e-10
    )
    assert stats.kstest(s, stats.gamma((d + nu) / 2, scale=2 / (d + psi)).cdf).pvalue > 1e-3


@every_prior
def test_the_divergence_is_the_mean_over_draws(constants):
    drawn = SpatialIWPrior(SIZE, **constants).draw(N, 100_000, as_seed(3))
    mean, error = mean_and_standard_error(-drawn.log_p_minus_log_q)
    assert np.abs(mean - drawn.kl) < 4 * error
    assert error < 0.1 * drawn.kl


@pytest.mark.parametrize(
    "constants",
    [{}, {"degrees_of_freedom": 2.5 * K, "nu": 0.7, "psi": random_psi(scale=0.4)}],
    ids=["default", "few"],
)
def test_importance_weights_have_mean_one(constants):
    """So that draws come from the density that they are said to have."""
    drawn = SpatialIWPrior(SIZE, **constants).draw(N, 100_000, as_seed(4))
    mean, error = mean_and_standard_error(np.exp(drawn.log_p_minus_log_q))
    assert np.abs(mean - 1) < 4 * error
    assert error < 0.02


@every_prior
def test_moments_of_draws(constants):
    prior = SpatialIWPrior(SIZE, **constants)
    d, df = degrees_of_freedom(prior)
    V = np.linalg.inv(d * np.eye(K) + prior.psi)
    W = covariances(prior.draw(N, 50_000, as_seed(5))).numpy()
    mean, error = mean_and_standard_error(W)
    assert np.all(np.abs(mean - df * V) < 5 * error)
    # Cov(W_ij, W_kl) = df (V_ik V_jl + V_il V_jk)
    covariance = df * (np.einsum("ik,jl->ijkl", V, V) + np.einsum("il,jk->ijkl", V, V))
    centred = W - df * V
    mean, error = mean_and_standard_error(centred[:, 0, 1, None, None] * centred)
    assert np.all(np.abs(mean - covariance[0, 1]) < 5 * error)
    mean, error = mean_and_standard_error(centred[:, K - 1, K - 1, None, None] * centred)
    assert np.all(np.abs(mean - covariance[K - 1, K - 1]) < 5 * error)


def test_the_prior_has_mean_identity_and_d_degrees_of_freedom():
    for d, expected in ((None, N + 1), (9.0, 9.0)):
        prior = SpatialIWPrior(SIZE, degrees_of_freedom=d, nu=50.0)
        assert prior.kl(N) > 1
        prior.follow_prior()
        assert not prior.trainable_variables
        np.testing.assert_allclose(prior.kl(N), 0.0, atol=1e-12)
        drawn = prior.draw(N, 20_000, as_seed(6))
        np.testing.assert_allclose(drawn.log_p_minus_log_q, 0.0, atol=1e-6)
        W = covariances(drawn)
        mean, error = mean_and_standard_error(W)
        assert np.all(np.abs(mean - np.eye(K)) < 5 * error)
        variance, error = mean_and_standard_error((W[:, 0, 0] - 1) ** 2)
        assert np.abs(variance - 2 / expected) < 5 * error


def test_the_start_has_the_priors_mean_and_is_close_to_it():
    prior = SpatialIWPrior(3)
    np.testing.assert_allclose(prior.nu, 1.0)
    np.testing.assert_allclose(prior.psi, np.eye(9))
    assert 0 < prior.kl(9 * CHANNELS) < 0.1


def test_weights_have_the_covariance_of_the_paper():
    """Eq. 2 with S = scale^2 L^-1 (x) I, in the order of TensorFlow's filters."""
    prior = SpatialIWPrior(SIZE, scale=0.7)
    drawn = prior.draw(N, None, as_seed(7))
    assert drawn.standard_deviation.shape == []
    spatial = covariances(drawn).numpy().reshape(*SIZE, *SIZE)
    # A filter w = R z in the shape [height, width, channels]
    R = drawn.standard_deviation.numpy() * np.kron(drawn.spatial_sqrt, np.eye(CHANNELS))
    covariance = (R @ R.T).reshape(*SIZE, CHANNELS, *SIZE, CHANNELS)
    expected = 0.7**2 / N * np.einsum("ijkl,ab->ijaklb", spatial, np.eye(CHANNELS))
    np.testing.assert_allclose(covariance, expected, atol=1e-14)


def test_shapes_and_seeds_of_draws():
    prior = SpatialIWPrior(SIZE)
    for num_samples, shape in ((None, []), (1, [1]), (4, [4])):
        drawn = prior.draw(N, num_samples, as_seed(0))
        assert drawn.spatial_sqrt.shape == [*shape, K, K]
        assert drawn.log_p_minus_log_q.shape == shape
        assert drawn.kl.shape == []
    draws = [prior.draw(N, 4, as_seed(seed)).spatial_sqrt.numpy() for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert np.unique(np.linalg.norm([draws[0], draws[2]], axis=(2, 3))).size == 8


def test_the_entries_of_bartletts_factor_are_independent():
    """The root of a chi square on the diagonal, standard normals below it."""
    prior, num = SpatialIWPrior(SIZE), 20_000
    d, df = degrees_of_freedom(prior)
    A = np.sqrt(d + 1) * prior.draw(N, num, as_seed(14)).spatial_sqrt.numpy()  # Psi = I
    np.testing.assert_array_equal(A, np.tril(A))
    squares = np.diagonal(A, axis1=1, axis2=2) ** 2
    for i in range(K):
        assert stats.kstest(squares[:, i], stats.chi2(df - i).cdf).pvalue > 1e-4
    below = A[(slice(None), *np.tril_indices(K, -1))]
    assert stats.kstest(np.ravel(below), stats.norm.cdf).pvalue > 1e-4
    for of_below in (below, below**2):
        entries = np.concatenate([squares, of_below], axis=1)
        correlation = np.corrcoef(entries, rowvar=False) - np.eye(entries.shape[1])
        assert np.abs(correlation).max() < 5.5 / np.sqrt(num)


def loss_of(drawn):
    """A number that depends on everything that is drawn."""
    weights = np.random.default_rng(8).normal(size=drawn.spatial_sqrt.shape)
    return (
        tf.reduce_sum(weights * covariances(drawn))
        + tf.reduce_sum(drawn.log_p_minus_log_q)
        + drawn.kl
    )


@pytest.mark.slow
@every_prior
def test_gradients_with_respect_to_psi(constants):
    prior = SpatialIWPrior(SIZE, **constants)
    variable = prior.psi.unconstrained_variable
    with tf.GradientTape() as tape:
        loss = loss_of(prior.draw(N, 3, as_seed(9)))
    gradient = tape.gradient(loss, variable)
    start, step = variable.numpy(), 1e-5
    for i in range(len(start)):
        values = []
        for sign in (1, -1):
            variable.assign(start + sign * step * np.eye(len(start))[i])
            values.append(loss_of(prior.draw(N, 3, as_seed(9))))
        difference = (values[0] - values[1]) / (2 * step)
        np.testing.assert_allclose(gradient[i], difference, rtol=1e-6, atol=1e-6)


@every_prior
def test_gradients_with_respect_to_nu(constants):
    """A draw moves with nu so that each of its chi squares keeps its quantile."""
    prior = SpatialIWPrior(SIZE, **constants)
    d, df = degrees_of_freedom(prior)
    C = np.linalg.cholesky(d * np.eye(K) + prior.psi)
    G = np.random.default_rng(8).normal(size=(K, K))
    with tf.GradientTape() as tape:
        drawn = prior.draw(N, None, as_seed(10))
        loss = tf.reduce_sum(G * drawn.spatial_sqrt)
    # With respect to nu itself, not to its logarithm
    gradient = tape.gradient(loss, prior.nu.unconstrained_variable) / prior.nu
    A = C.T @ drawn.spatial_sqrt
    np.testing.assert_allclose(A, np.tril(A), atol=1e-12)
    counts = df - np.arange(K)
    quantiles = stats.chi2.cdf(np.diag(A) ** 2, counts)

    def moved(step):
        A_there = A - np.diag(np.diag(A))
        A_there += np.diag(np.sqrt(stats.chi2.ppf(quantiles, counts + step)))
        return np.sum(G * np.linalg.solve(C.T, A_there))

    step = 1e-4
    difference = (moved(step) - moved(-step)) / (2 * step)
    np.testing.assert_allclose(gradient, difference, rtol=1e-5)


@every_prior
def test_gradients_of_means_of_draws(constants):
    """The gradients of E tr(G W) = (d + nu) tr(G (d I + Psi)^-1), which is linear in nu."""
    prior = SpatialIWPrior(SIZE, **constants)
    G = np.diag(np.arange(1.0, K + 1))
    gradients = []
    for i in range(20):
        with tf.GradientTape() as tape:
            W = covariances(prior.draw(N, 500, fold_in(as_seed(11), i)))
            mean = tf.reduce_mean(tf.linalg.trace(G @ W))
        gradients.append(tape.gradient(mean, prior.nu.unconstrained_variable) / prior.nu)
    gradient, error = mean_and_standard_error(gradients)
    d, _ = degrees_of_freedom(prior)
    expected = np.trace(G @ np.linalg.inv(d * np.eye(K) + prior.psi))
    assert np.abs(gradient - expected) < 4 * error
    assert error < 0.05 * expected


@every_prior
def test_gradient_of_the_divergence(constants):
    prior = SpatialIWPrior(SIZE, **constants)
    with tf.GradientTape() as tape:
        kl = prior.kl(N)
    variable = prior.nu.unconstrained_variable
    gradient = tape.gradient(kl, variable)
    values = []
    for step in (1e-5, -2e-5):
        variable.assign_add(step)
        values.append(prior.kl(N))
    np.testing.assert_allclose(gradient, (values[0] - values[1]) / 2e-5, rtol=1e-6, atol=1e-9)


def test_float32():
    expected = SpatialIWPrior(3, nu=3.0, psi=5.0).kl(9 * 32)
    gpflow.config.set_default_float(np.float32)
    prior = SpatialIWPrior(3, nu=3.0, psi=5.0)
    with tf.GradientTape() as tape:
        drawn = prior.draw(9 * 32, 3, as_seed(0))
        total = tf.reduce_sum(drawn.spatial_sqrt) + tf.reduce_sum(drawn.log_p_minus_log_q)
    np.testing.assert_allclose(drawn.kl, expected, rtol=1e-5)
    for field in ("standard_deviation", "kl", "log_p_minus_log_q", "spatial_sqrt"):
        assert getattr(drawn, field).dtype == tf.float32
    for gradient in tape.gradient(total, prior.trainable_variables):
        assert gradient.dtype == tf.float32 and np.all(np.isfinite(gradient))


def test_compiled():
    prior = SpatialIWPrior(SIZE)
    eager = prior.draw(N, 3, as_seed(0)).spatial_sqrt
    compiled = tf.function(lambda: prior.draw(N, 3, as_seed(0)).spatial_sqrt)()
    np.testing.assert_allclose(eager, compiled, rtol=1e-12)


def test_copies_and_what_is_trained():
    prior = SpatialIWPrior((3, 3), nu=3.0)
    assert not prior.is_type_ii and prior.kernel_size == (3, 3)
    assert set(prior.trainable_parameters) == {prior.nu, prior.psi} == set(prior.parameters)
    for copied in (copy.deepcopy(prior), gpflow.utilities.deepcopy(prior)):
        np.testing.assert_array_equal(copied.kl(36), prior.kl(36))
        copied.nu.assign(4.0)
    np.testing.assert_allclose(prior.nu, 3.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"kernel_size": (1, 2, 3)}, r"kernel_size must be one integer or two, but is \(1, 2, 3\)"),
        ({"kernel_size": 0}, "kernel_size must be an integer of at least 1"),
        ({"kernel_size": (3, 2.5)}, "kernel_size must be an integer of at least 1, but is 2.5"),
        ({"scale": -1.0}, "scale must be positive"),
        ({"nu": 0.0}, "nu must be positive"),
        ({"nu": np.nan}, "nu must be finite"),
        ({"degrees_of_freedom": 5.0}, "degrees_of_freedom must exceed 5, one less than the places"),
        ({"degrees_of_freedom": "many"}, "degrees_of_freedom must be a number"),
        ({"psi": -1.0}, "psi must be positive"),
        ({"psi": np.eye(3)}, r"psi must have shape \[6, 6\], but has shape \[3, 3\]"),
        ({"psi": -np.eye(6)}, "psi must be symmetric and positive definite"),
        ({"psi": np.triu(np.ones((6, 6)))}, "psi must be symmetric and positive definite"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        SpatialIWPrior(**{"kernel_size": SIZE, **arguments})


def test_dense_layers_refuse_it():
    with pytest.raises(ValueError, match="SpatialIWPrior, which is for convolutions"):
        gi.layers.DenseLayer(6, 2, gi.posteriors.Prior(), prior=SpatialIWPrior(SIZE))
    assert NealPrior().kernel_size is None

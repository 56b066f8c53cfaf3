"""Coordinates of what is random in a prior's covariance, for posteriors over all weights."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import integrate, stats

from gpflow_gi.core.random import as_seed, fold_in, standard_normal
from gpflow_gi.layers import Conv2DLayer, DenseLayer
from gpflow_gi.posteriors import Prior
from gpflow_gi.priors import NealPrior, ScalePrior, SpatialIWPrior, StandardPrior, WeightPrior
from gpflow_gi.priors.base import WeightScale

from ..builders import mean_and_standard_error

N, S = 12, 20_000
FIXED = [NealPrior(0.7), StandardPrior(0.7)]
SCALES = [ScalePrior(), ScalePrior(scale=0.6, shape=0.8, rate=3.0)]
SPATIAL = [
    SpatialIWPrior(1),
    SpatialIWPrior((1, 2), scale=0.6, degrees_of_freedom=2.5),
    SpatialIWPrior((2, 2)),
]


def ids(priors):
    return [f"{type(prior).__name__}{i}" for i, prior in enumerate(priors)]


every_prior = pytest.mark.parametrize(
    "prior", [*FIXED, *SCALES, *SPATIAL], ids=ids([*FIXED, *SCALES, *SPATIAL])
)


def eta_of(prior, num_samples=S, seed=0):
    return prior.draw_coordinates(num_samples, N, as_seed(seed))


@pytest.mark.parametrize("prior", FIXED, ids=ids(FIXED))
def test_a_number_has_no_coordinates(prior):
    eta = eta_of(prior, 3)
    assert prior.num_coordinates == 0 and eta.shape == [3, 0]
    np.testing.assert_array_equal(prior.log_density_of_coordinates(eta, N), np.zeros(3))
    root = prior.root_of(eta, N)
    assert root.scale.shape == [] and root.is_diagonal
    expected = prior.draw(N, None, as_seed(0)).standard_deviation
    np.testing.assert_array_equal(root.scale, expected)


@pytest.mark.parametrize("prior", SCALES, ids=ids(SCALES))
def test_the_coordinate_of_a_scale_is_its_logarithm(prior):
    assert prior.num_coordinates == 1
    s = np.array([0.2, 1.3, 4.0])
    root = prior.root_of(np.log(s)[:, None], N)
    expected = prior.given(s, N).standard_deviation[:, None, None]
    np.testing.assert_allclose(root.scale, expected, rtol=1e-14)
    # p(log s) = s p(s)
    density = prior.log_density_of_coordinates(np.log(s)[:, None], N)
    np.testing.assert_allclose(density, prior.log_prior(s) + np.log(s), rtol=1e-12)


@pytest.mark.parametrize("prior", [*SCALES, SPATIAL[0]], ids=ids([*SCALES, SPATIAL[0]]))
def test_the_density_of_one_coordinate_is_normalised(prior):
    eta = np.linspace(-60.0, 20.0, 400_001)[:, None]
    density = np.exp(prior.log_density_of_coordinates(eta, N))
    np.testing.assert_allclose(integrate.simpson(density, x=eta[:, 0]), 1.0, rtol=1e-9)


@pytest.mark.parametrize("prior", SPATIAL, ids=ids(SPATIAL))
def test_the_density_of_spatial_coordinates_is_that_of_a_wishart(prior):
    """By change of variables from the paper's L^-1, with a Jacobian by differences."""
    K, E = prior.num_places, prior.num_coordinates
    assert E == K * (K + 1) // 2
    d = float(prior.degrees_of_freedom or N + 1)
    wishart = tfp.distributions.WishartTriL(np.float64(d), np.eye(K) / np.sqrt(d))
    rows, columns = np.tril_indices(K)

    def covariance(eta):
        T = prior.root_of(eta, N).spatial
        return tf.matmul(T, T, transpose_b=True).numpy()

    eta = np.random.default_rng(1).normal(size=(4, E))
    step = 1e-5
    jacobian = np.empty((4, E, E))
    for i in range(E):
        move = step * np.eye(E)[i]
        moved = (covariance(eta + move) - covariance(eta - move)) / (2 * step)
        jacobian[..., i] = moved[:, rows, columns]
    expected = wishart.log_prob(covariance(eta)) + np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(prior.log_density_of_coordinates(eta, N), expected, rtol=1e-7)


@pytest.mark.parametrize("prior", [*SCALES, *SPATIAL], ids=ids([*SCALES, *SPATIAL]))
def test_draws_have_the_density_that_they_are_said_to_have(prior):
    """E q(eta) / p(eta) = 1 under p, for any density q: here a Gaussian narrower than p."""
    eta = eta_of(prior).numpy()
    q = stats.multivariate_normal(eta.mean(0), 0.5 * np.cov(eta, rowvar=False))
    ratio = np.exp(q.logpdf(eta) - prior.log_density_of_coordinates(eta, N).numpy())
    mean, error = mean_and_standard_error(ratio)
    assert np.abs(mean - 1) < 4 * error
    assert error < 0.05


@every_prior
def test_draws_are_those_of_the_prior(prior):
    """Covariances of weights from coordinates, and from the prior's own draws."""
    prior = gpflow.utilities.deepcopy(prior)
    prior.follow_prior()  # so that draw() draws from p
    roots = [prior.root_of(eta_of(prior), N), prior.draw(N, S, as_seed(1)).root]
    K = getattr(prior, "num_places", 1)
    functions = (lambda C: C, tf.math.square, lambda C: tf.math.log(tf.linalg.diag_part(C)))
    for function in functions:
        moments = []
        for root in roots:
            R = root.times(tf.eye(K, dtype=tf.float64))
            R = tf.broadcast_to(R, [S, K, K])
            values = function(tf.matmul(R, R, transpose_b=True))
            moments.append(mean_and_standard_error(values))
        (mean, error), (other, other_error) = moments
        bound = 4.5 * np.hypot(error, other_error) + 1e-12  # nothing is random in some
        assert np.all(np.abs(mean - other) < bound)


def test_spatial_coordinates_become_standard_normal_with_many_degrees_of_freedom():
    eta = eta_of(SpatialIWPrior(2, degrees_of_freedom=4000.0)).numpy()
    mean, error = mean_and_standard_error(eta)
    assert np.all(np.abs(mean) < 4 * error + 3 / np.sqrt(4000.0))  # log chi square is skew
    np.testing.assert_allclose(np.cov(eta, rowvar=False), np.eye(10), atol=4 * np.sqrt(2 / S))


@every_prior
def test_seeds_and_types(prior):
    one, same, other = (eta_of(prior, 3, seed) for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert prior.num_coordinates == 0 or np.all(one != other)
    gpflow.config.set_default_float(np.float32)
    prior = gpflow.utilities.deepcopy(prior)
    assert prior.log_density_of_coordinates(tf.cast(one, tf.float32), N).dtype == tf.float32


@pytest.mark.parametrize("prior", [*SCALES, *SPATIAL], ids=ids([*SCALES, *SPATIAL]))
def test_gradients_of_the_density(prior):
    start = tf.constant(np.random.default_rng(2).normal(size=(2, prior.num_coordinates)))
    with tf.GradientTape() as tape:
        tape.watch(start)
        density = prior.log_density_of_coordinates(start, N)
    gradient = tape.gradient(density, start).numpy()
    step = 1e-5
    for i in range(prior.num_coordinates):
        move = step * np.eye(prior.num_coordinates)[i]
        up, down = (prior.log_density_of_coordinates(start + sign * move, N) for sign in (1, -1))
        np.testing.assert_allclose(gradient[:, i], (up - down) / (2 * step), rtol=1e-6, atol=1e-8)


class DrawnPrior(WeightPrior):
    """A user's own, with a random scale, that says nothing of coordinates."""

    is_type_ii = False

    def draw(self, num_weights, num_samples, seed):
        size = [] if num_samples is None else [num_samples]
        zero = tf.zeros([], tf.float64)
        return WeightScale(tf.exp(standard_normal(size, seed, tf.float64)), zero, zero)


def test_a_prior_that_does_not_say_its_coordinates_is_found():
    with pytest.raises(NotImplementedError, match=r"draws the scale .* no coordinates"):
        DrawnPrior().root_of(np.zeros((3, 0)), N)


@every_prior
def test_errors(prior):
    E = prior.num_coordinates
    for wrong in (np.zeros((2, E + 1)), np.zeros(E), np.zeros((1, 2, E))):
        for function in (prior.log_density_of_coordinates, prior.root_of):
            with pytest.raises(ValueError, match=rf"^eta must have shape \[S, {E}\]"):
                function(wrong, N)
    with pytest.raises(ValueError, match=r"^num_weights must be an integer of at least 1"):
        prior.root_of(np.zeros((2, E)), 0)


def test_layers_make_functions_of_given_weights(rng):
    dense = DenseLayer(3, 2, Prior())
    w = rng.normal(size=(5, dense.num_weights, 2))
    X = rng.normal(size=(7, 3))
    drawn = dense.draw_of(tf.constant(w))
    np.testing.assert_allclose(drawn(X), X @ w[:, :-1] + w[:, -1:], rtol=1e-12)
    assert drawn.log_p_minus_log_q.shape == [] and drawn.log_p_minus_log_q == 0

    conv = Conv2DLayer((4, 3, 2), 5, 2, Prior(), prior=SPATIAL[2])
    eta = conv.prior.draw_coordinates(6, conv.num_weights, as_seed(0))
    z = standard_normal([6, conv.num_weights, 5], fold_in(as_seed(0), 1), tf.float64)
    w = conv.prior.root_of(eta, conv.num_weights).times(z)
    images = tf.constant(rng.normal(size=(2, 4, 3, 2)))
    drawn = conv.draw_of(w)
    values = drawn(tf.reshape(images, [2, -1]))
    for weights, value in zip(w, values, strict=True):
        expected = tf.nn.conv2d(images, tf.reshape(weights, [2, 2, 2, 5]), 1, "SAME")
        np.testing.assert_allclose(tf.reshape(value, expected.shape), expected, atol=1e-12)
    assert drawn.log_p_minus_log_q == 0

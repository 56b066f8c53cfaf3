"""Convolutions whose prior correlates the places of a kernel, against explicit matrices."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import multivariate_normal

import gpflow_gi as gi
from gpflow_gi.core.gaussians import integrate
from gpflow_gi.core.random import as_seed
from gpflow_gi.core.regression import WeightSpaceRegression
from gpflow_gi.core.weight_root import WeightRoot
from gpflow_gi.layers.conv import PatchBasis
from gpflow_gi.layers.dense import DenseBasis

from ..builders import NUM_INDUCING, mean_and_standard_error
from ..core.test_convolution import images

SHAPE, KERNEL, C, P, S = (4, 5, 2), (2, 3), 2, 3, 4
PLACES, K = 6, 12


def random_root(rng, *samples):
    """T, and R = s T (x) I as a matrix."""
    T = np.eye(PLACES) + 0.3 * rng.normal(size=(*samples, PLACES, PLACES))
    scale = 0.7
    R = scale * np.einsum("...ij,cd->...icjd", T, np.eye(C)).reshape(*samples, K, K)
    return tf.constant(scale, tf.float64), tf.constant(T), R


def layer_with(posterior, prior=None):
    return gi.layers.Conv2DLayer(
        SHAPE, P, KERNEL, posterior, prior=prior or gi.priors.SpatialIWPrior(KERNEL)
    )


def posterior_of(kind, rng):
    if kind == "factorised":
        mean, deviation = rng.normal(size=(2, K, P)) / np.sqrt(K)
        return gi.posteriors.Factorised(mean=mean, standard_deviation=0.1 + np.abs(deviation))
    if kind == "prior":
        return gi.posteriors.Prior()
    arguments = {
        "pseudo_outputs": rng.normal(size=(NUM_INDUCING, 4, 5, P)),
        "pseudo_precision": np.exp(rng.normal(size=NUM_INDUCING)),
    }
    if kind == "global":
        return gi.posteriors.GlobalInducing(NUM_INDUCING, (4, 5, P), **arguments)
    return gi.posteriors.LocalInducing(
        rng.normal(size=(NUM_INDUCING, *SHAPE)), (4, 5, P), **arguments
    )


@pytest.mark.parametrize("samples", [(), (S,)], ids=["one", "sampled"])
def test_the_root_is_a_kronecker_product(samples, rng):
    scale, T, R = random_root(rng, *samples)
    root = WeightRoot(scale, T)
    transposed = np.swapaxes(R, -1, -2)
    for z in (rng.normal(size=(K, 2)), rng.normal(size=(S, K, 2))):
        np.testing.assert_allclose(root.times(z), R @ z, rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(root.transposed_times(z), transposed @ z, atol=1e-12)
        np.testing.assert_allclose(root.solve(z), np.linalg.inv(R) @ z, rtol=1e-10, atol=1e-10)
        solved = np.linalg.inv(transposed) @ z
        np.testing.assert_allclose(root.transposed_solve(z), solved, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(root.log_determinant(K), np.linalg.slogdet(R)[1], rtol=1e-12)


@pytest.mark.parametrize("samples", [(), (S,)], ids=["one", "sampled"])
def test_it_is_regression_on_patches_times_the_root(samples, rng):
    layer = layer_with(posterior_of("global", rng))
    convolution = layer.convolution
    scale, T, R = random_root(rng, *samples)
    U, X = images(rng, convolution, NUM_INDUCING), images(rng, convolution, 3)
    basis = PatchBasis(U, WeightRoot(scale, T), convolution)
    q = layer.posterior.q(basis, slice(0, P))

    one = WeightRoot(tf.ones([], tf.float64))
    patches = tf.matmul(tf.broadcast_to(convolution.patches(U), (*samples, 120, K)), R)
    Lambda = tf.repeat(layer.posterior.pseudo_precision, convolution.num_locations)
    V = tf.reshape(layer.posterior.pseudo_outputs, [-1, P])
    explicit = WeightSpaceRegression(
        DenseBasis(patches, one, bias=False), tf.sqrt(Lambda), V, shared=True
    )
    np.testing.assert_allclose(q.mean, explicit.mean, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(q.kl(), explicit.kl(), rtol=1e-9)
    mine, other = (each.draw(None, as_seed(1)) for each in (q, explicit))
    np.testing.assert_allclose(mine.z, other.z, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(basis.root.times(mine.z), R @ other.z.numpy(), rtol=1e-8, atol=1e-8)
    rows = tf.matmul(tf.broadcast_to(convolution.patches(X), (*samples, 60, K)), R)
    expected = explicit.predict(DenseBasis(patches, one, bias=False), rows)
    for moment, known in zip(q.predict(basis, convolution.patches(X)), expected, strict=True):
        np.testing.assert_allclose(moment, known, rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("samples", [(), (S,)], ids=["one", "sampled"])
def test_factorised_weights_keep_their_own_coordinates(samples, rng):
    """Independent Gaussians over w against the prior N(0, R R^T), by the textbook's formulas."""
    layer = layer_with(posterior_of("factorised", rng))
    scale, T, R = random_root(rng, *samples)
    U = images(rng, layer.convolution, 2)
    basis = PatchBasis(U, WeightRoot(scale, T), layer.convolution)
    q = layer.posterior.q(basis, slice(0, P))
    mean, deviation = layer.posterior.mean.numpy(), layer.posterior.standard_deviation.numpy()

    draw = q.draw(S, as_seed(0))
    weights = basis.root.times(draw.z).numpy()
    R_of = R if samples else np.broadcast_to(R, (S, K, K))
    kl, ratio = np.zeros(S), np.zeros(S)
    for s in range(S):
        covariance = R_of[s] @ R_of[s].T
        inverse, log_det = np.linalg.inv(covariance), np.linalg.slogdet(covariance)[1]
        for p in range(P):
            m, v, w = mean[:, p], deviation[:, p] ** 2, weights[s, :, p]
            trace = np.sum(np.diag(inverse) * v)
            kl[s] += 0.5 * (trace + m @ inverse @ m - K + log_det - np.log(v).sum())
            ratio[s] += multivariate_normal.logpdf(w, cov=covariance)
            ratio[s] -= multivariate_normal.logpdf(w, m, np.diag(v))
    np.testing.assert_allclose(np.broadcast_to(q.kl(), S), kl, rtol=1e-9)
    np.testing.assert_allclose(draw.log_p_minus_log_q, ratio, rtol=1e-8)

    X = layer.convolution.patches(images(rng, layer.convolution, 3))
    moments = q.predict(basis, X)
    np.testing.assert_allclose(moments[0], np.broadcast_to(X @ mean, moments[0].shape), atol=1e-9)
    variance = np.square(X) @ np.square(deviation)
    np.testing.assert_allclose(moments[1], np.broadcast_to(variance, moments[1].shape), atol=1e-9)
    _, covariance = q.predict_jointly(basis, X)
    on_diagonal = np.einsum("...pnn->...np", covariance)
    np.testing.assert_allclose(on_diagonal, moments[1], atol=1e-9)


@pytest.mark.parametrize("kind", ["global", "local", "factorised", "prior"])
def test_the_divergence_is_the_mean_log_ratio_of_draws(kind, rng):
    """The prior's random covariance included."""
    layer = layer_with(posterior_of(kind, rng), gi.priors.SpatialIWPrior(KERNEL, nu=3.0, psi=4.0))
    U = images(rng, layer.convolution, NUM_INDUCING)
    given = layer.condition(U, 4000, as_seed(2))
    draw = given.draw(4000, as_seed(3))
    mean, error = mean_and_standard_error(-draw.log_p_minus_log_q - given.kl())
    assert error < 0.5
    assert abs(mean) < 5 * error + 1e-9


def test_a_prior_for_another_kernel_is_refused():
    with pytest.raises(ValueError, match=r"for kernels of \(3, 3\).*kernel_size=\(2, 3\)"):
        layer_with(gi.posteriors.Prior(), gi.priors.SpatialIWPrior(3))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["global", "factorised"])
def test_a_network_with_it_trains_and_is_stored(kind, rng, tmp_path):
    X = rng.normal(size=(9, *SHAPE))
    Y = rng.integers(3, size=(9, 1)).astype(float)
    model = gi.models.DeepGP(
        [
            layer_with(posterior_of(kind, rng)),
            gi.nonlinearities.relu,
            gi.layers.DenseLayer(60, 3, gi.posteriors.GlobalInducing(NUM_INDUCING, 3)),
        ],
        gpflow.likelihoods.Softmax(3),
        num_data=9,
        inducing_inputs=rng.normal(size=(NUM_INDUCING, *SHAPE)),
    )
    prior = model.layers[0].prior
    before = prior.nu.numpy(), prior.psi.numpy()
    gi.fit(model, (X, Y), steps=3, progress=False, seed=0)
    assert np.all(prior.nu.numpy() != before[0]) and np.any(prior.psi.numpy() != before[1])
    gi.save(model, tmp_path / "network")
    read = gi.load(tmp_path / "network")
    for mine, its in zip(model.predict_y(X, 3, seed=1), read.predict_y(X, 3, seed=1), strict=True):
        np.testing.assert_array_equal(mine, its)


def test_the_prior_given_a_root_for_every_sample(rng):
    """With images that differ between samples too, sample by sample."""
    layer = layer_with(gi.posteriors.Prior())
    convolution = layer.convolution
    scale, T, _ = random_root(rng, S)  # of which T alone has samples
    U, X = images(rng, convolution, NUM_INDUCING), images(rng, convolution, S, 3)

    def moments(T, X):
        basis = PatchBasis(U, WeightRoot(scale, T), convolution)
        q = layer.posterior.q(basis, slice(0, P))
        return integrate(q, basis, convolution.patches(X), full_cov=False)

    for s, (mean, variance) in enumerate(zip(*moments(T, X), strict=True)):
        for together, alone in zip((mean, variance), moments(T[s], X[s]), strict=True):
            np.testing.assert_allclose(together, alone, rtol=1e-12)

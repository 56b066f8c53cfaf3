"""Laplace approximations with Kronecker factors, and the Gaussian that they give."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.inference import Gaussian, KroneckerGaussian, WeightSpace, curvature, laplace
from gpflow_gi.inference.kronecker import gauss_newton_factors
from gpflow_gi.inference.log_joint import LogJoint
from gpflow_gi.layers import Conv2DLayer, DenseLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.posteriors import Prior
from gpflow_gi.priors import NealPrior, ScalePrior

from .test_laplace import curved
from .test_weight_posteriors import NOISE, D, N, data, exact, network  # noqa: F401


def dense(factors):
    """A (x) G of every layer on the diagonal, [L, L]."""
    blocks = []
    for U, V, eigenvalues in factors.values():
        vectors = np.kron(U, V)
        blocks.append(vectors * np.ravel(eigenvalues) @ vectors.T)
    return tf.linalg.LinearOperatorBlockDiag(
        [tf.linalg.LinearOperatorFullMatrix(block) for block in blocks]
    ).to_dense()


@pytest.mark.slow
def test_for_one_layer_it_is_the_exact_posterior(network, data):  # noqa: F811
    mean, covariance, evidence = exact(data)
    found = laplace(network, data, structure="kron")
    np.testing.assert_allclose(found.log_evidence, evidence, rtol=1e-9)
    q = found.weight_samples
    np.testing.assert_allclose(q.mean, mean, atol=1e-6)
    np.testing.assert_allclose(q.covariance(tf.eye(3, dtype=tf.float64)), covariance, atol=1e-9)
    weights = q.log_importance_weights(data, 5, seed=0)
    np.testing.assert_allclose(weights, np.full(5, evidence), atol=1e-6)


def test_of_one_row_the_blocks_of_layers_are_exact(rng):
    """A mean of one outer product is that product, whatever the nonlinearity."""
    model = curved(rng, gpflow.likelihoods.Softmax(3), P=3)
    rows = model.check_data((rng.normal(size=(1, D)), np.array([[2.0]])))
    log_joint = LogJoint(WeightSpace(model), model.likelihood, *rows)
    theta = tf.constant(rng.normal(size=log_joint.space.size))
    expected = curvature.gauss_newton(log_joint, theta, diagonal=False).numpy()
    split = log_joint.space.coordinates[2].start
    expected[split:, :split] = expected[:split, split:] = 0
    found = dense(gauss_newton_factors(model, log_joint, theta))
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_chunks_of_rows_change_nothing(rng, monkeypatch):
    model = curved(rng, gpflow.likelihoods.Gaussian(NOISE))
    rows = model.check_data((rng.normal(size=(N, D)), rng.normal(size=(N, 1))))
    log_joint = LogJoint(WeightSpace(model), model.likelihood, *rows)
    theta = tf.constant(rng.normal(size=log_joint.space.size))
    expected = dense(gauss_newton_factors(model, log_joint, theta))
    monkeypatch.setattr(curvature, "_CHUNK_SIZE", 3 * log_joint.space.size)
    np.testing.assert_allclose(dense(gauss_newton_factors(model, log_joint, theta)), expected)


@pytest.fixture
def pair(rng):
    """The same Gaussian with factors, and with a matrix of all weights."""
    model = curved(rng, gpflow.likelihoods.Gaussian(NOISE), P=2)
    shapes = [(D + 1, 3), (4, 2)]
    inputs, outputs = ([np.linalg.qr(rng.normal(size=(s[i], s[i])))[0] for s in shapes]
                       for i in (0, 1))  # fmt: skip
    scales = [rng.uniform(0.2, 2.0, shape) for shape in shapes]
    mean = rng.normal(size=WeightSpace(model).size)
    q = KroneckerGaussian(model, mean, inputs, outputs, scales)
    root = np.zeros((len(mean), len(mean)))
    start = 0
    for U, V, scale in zip(inputs, outputs, scales, strict=True):
        stop = start + scale.size
        root[start:stop, start:stop] = np.kron(U, V) * scale.ravel()
        start = stop
    return q, Gaussian(model, mean, np.linalg.cholesky(root @ root.T))


def test_it_is_the_gaussian_of_that_covariance(pair, rng):
    q, same = pair
    L = q.mean.shape[0]
    theta, A = tf.constant(rng.normal(size=(4, L))), tf.constant(rng.normal(size=(3, 2, L)))
    np.testing.assert_allclose(q.log_density(theta), same.log_density(theta))
    np.testing.assert_allclose(q.kl_from_standard_normal(), same.kl_from_standard_normal())
    np.testing.assert_allclose(q.spread(A), same.spread(A))
    np.testing.assert_allclose(q.covariance(A), same.covariance(A))
    S = 20_000
    draws, log_q = q.sample(S, as_seed(1))
    np.testing.assert_allclose(log_q, q.log_density(draws))
    covariance = same.covariance(tf.eye(L, dtype=tf.float64)).numpy()
    sizes = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.all(np.abs(np.cov(draws.numpy().T) - covariance) < 6 * sizes * np.sqrt(2 / S))


def test_files_keep_it(pair, rng, tmp_path):
    q, _ = pair
    X = rng.normal(size=(5, D))
    gi.save(q, tmp_path / "q")
    loaded = gi.load(tmp_path / "q")
    for one, other in zip(loaded.predict_y(X, 7, seed=0), q.predict_y(X, 7, seed=0), strict=True):
        np.testing.assert_array_equal(one, other)
    linearised = gi.inference.Linearised(q)
    gi.save(linearised, tmp_path / "linearised")
    loaded = gi.load(tmp_path / "linearised")
    np.testing.assert_allclose(loaded.predict_y(X)[1], linearised.predict_y(X)[1])


@pytest.mark.slow
def test_many_weights_need_no_matrix_of_all(rng):
    """11,201 weights: in full their covariance would take a gigabyte."""
    layers = [DenseLayer(D, 100, Prior()), tf.nn.tanh, DenseLayer(100, 100, Prior()), tf.nn.tanh,
              DenseLayer(100, 1, Prior())]  # fmt: skip
    model = DeepGP(layers, gpflow.likelihoods.Gaussian(NOISE), num_data=N)
    rows = rng.normal(size=(N, D)), rng.normal(size=(N, 1))
    with pytest.raises(ValueError, match="Use structure='kron' or 'diagonal'"):
        laplace(model, rows, steps=1)
    found = laplace(model, rows, structure="kron", steps=3)
    assert np.all(found.model.predict_f(rows[0])[1] > 0)


@pytest.mark.longest
def test_noise_that_is_chosen_is_that_of_the_data(rng):
    """Of a linear model, where the evidence is exact: no other noise has a larger one."""
    weights = rng.normal(size=(D, 1))
    X = rng.normal(size=(60, D))
    rows = X, X @ weights + 0.3 * rng.normal(size=(60, 1))

    def linear(noise):
        likelihood = gpflow.likelihoods.Gaussian(noise)
        return DeepGP([DenseLayer(D, 1, Prior())], likelihood, num_data=60)

    model = linear(1.0)
    for structure in ("full", "kron"):
        found = laplace(model, rows, structure=structure, noise="marginal likelihood")
        assert found.noise_variance == pytest.approx(0.09, rel=5 * np.sqrt(2 / 60))
        assert set(found.prior_precision.values()) == {1.0}
        assert found.model.likelihood.variance.numpy() == pytest.approx(found.noise_variance)
        nearby = [laplace(linear(found.noise_variance * factor), rows, structure=structure)
                  for factor in (0.9, 1.1)]  # fmt: skip
        assert all(found.log_evidence > one.log_evidence for one in nearby)
    assert model.likelihood.variance.numpy() == pytest.approx(1.0)  # left as it is
    both = laplace(model, rows, noise="marginal likelihood", prior_precision="marginal likelihood")
    assert both.log_evidence >= laplace(model, rows, noise="marginal likelihood").log_evidence


@pytest.mark.slow
def test_what_has_no_factors(rng, network, data):  # noqa: F811
    rows = rng.normal(size=(N, D)), rng.normal(size=(N, 1))
    random = curved(rng, gpflow.likelihoods.Gaussian(NOISE), prior=ScalePrior())
    convolution = Conv2DLayer((2, 2, 1), 1, 2, Prior(), prior=NealPrior(), padding="valid")
    images = DeepGP([convolution], gpflow.likelihoods.Gaussian(NOISE), num_data=N)
    poisson = curved(rng, gpflow.likelihoods.Poisson())
    for call, said in (
        (lambda: laplace(random, rows, structure="kron", steps=5), "priors of a fixed scale"),
        (
            lambda: laplace(images, (rng.normal(size=(N, 2, 2, 1)), rows[1]), structure="kron"),
            "is for dense layers, but layer 1 is a Conv2DLayer",
        ),
        (
            lambda: laplace(network, data, structure="kron", curvature="hessian"),
            "factorises the Gauss-Newton matrix",
        ),
        (
            lambda: laplace(poisson, (rows[0], np.ones((N, 1))), noise="marginal likelihood"),
            "needs a Gaussian likelihood of one variance, but the likelihood is Poisson",
        ),
        (
            lambda: laplace(network, data, noise="marginal likelihood", train_likelihood=True),
            "Leave one of them out",
        ),
        (
            lambda: laplace(network, data, noise="marginal likelihood", structure="last layer"),
            "noise='marginal likelihood' needs the weights of all layers",
        ),
        (lambda: laplace(network, data, noise="large"), "noise must be one of"),
        (
            lambda: KroneckerGaussian(network, np.zeros(3), [], [], []),
            "inputs must be 1 arrays, one for each layer",
        ),
        (
            lambda: KroneckerGaussian(
                network, np.zeros(3), [np.eye(3)], [np.eye(1)], [-np.ones((3, 1))]
            ),
            "scales must have positive entries",
        ),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            call()

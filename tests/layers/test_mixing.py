"""Correlated outputs f = W g, against GPflow's multi-output models."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.inducing_variables import InducingPoints, SharedIndependentInducingVariables
from scipy.stats import multivariate_normal

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from tests.builders import random_posterior, random_q_sqrt

D, L, P, M, N, NOISE = 2, 2, 3, 6, 5, 0.3


@pytest.fixture
def W(rng):
    return rng.normal(size=(P, L))


@pytest.fixture
def data(rng):
    return rng.normal(size=(N, D)), rng.normal(size=(N, P))


def kernels():
    return [gpflow.kernels.SquaredExponential(lengthscales=0.8), gpflow.kernels.Matern52()]


def mixed(rng, W, kind="global", width=P, likelihood=None):
    posterior = random_posterior(rng, kind, L, D)
    layer = gi.layers.GPLayer(kernels(), width, posterior, mixing=W)
    return gi.models.DeepGP(
        [layer],
        likelihood or gpflow.likelihoods.Gaussian(NOISE),
        num_data=N,
        inducing_inputs=rng.normal(size=(M, D)) if kind in ("global", "full", "free") else None,
    )


# ------------------------------------------------------------------------------------ mathematics


@pytest.mark.slow
def test_a_local_layer_is_gpflows_svgp(rng, W, data):
    Z, q_mu, q_sqrt = rng.normal(size=(M, D)), rng.normal(size=(M, L)), random_q_sqrt(rng, L, M)
    kernel = gpflow.kernels.LinearCoregionalization(kernels(), W=W)
    svgp = gpflow.models.SVGP(
        kernel,
        gpflow.likelihoods.Gaussian(NOISE),
        SharedIndependentInducingVariables(InducingPoints(Z)),
        num_latent_gps=L,
        q_mu=q_mu,
        q_sqrt=q_sqrt,
        num_data=N,
    )
    posterior = gi.posteriors.LocalInducing(Z, L, q_mu=q_mu, q_sqrt=q_sqrt)
    layer = gi.layers.GPLayer(kernel, P, posterior)
    assert layer.mixing is kernel.W
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(NOISE), num_data=N)
    np.testing.assert_allclose(model.elbo(data, seed=0), svgp.elbo(data), rtol=1e-10)
    for ours, theirs in zip(
        model.predict_f(data[0], 1, full_output_cov=True),
        svgp.predict_f(data[0], full_output_cov=True),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    for ours, theirs in zip(
        model.predict_f(data[0], 1, full_cov=True),
        svgp.predict_f(data[0], full_cov=True),
        strict=True,
    ):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)


def test_the_exact_posterior_of_mixed_outputs(rng, W, data):
    """With as many outputs as processes, W^-1 y observes g: the evidence is that of a joint GP."""
    X, Y = data[0], data[1][:, :L]
    square = W[:L]
    model = gi.models.DeepGP(
        [gi.layers.GPLayer(kernels(), L, gi.posteriors.Prior(), mixing=square)],
        gpflow.likelihoods.Gaussian(NOISE),
        num_data=N,
    )
    K = [kernel(X).numpy() for kernel in kernels()]
    joint = sum(np.kron(np.outer(w, w), k) for w, k in zip(square.T, K, strict=True))
    evidence = multivariate_normal(np.zeros(N * L), joint + NOISE * np.eye(N * L)).logpdf(
        Y.T.ravel()
    )
    # q = p: the mean of the weights is the evidence.
    log_w = model.log_importance_weights((X, Y), 20000, seed=0).numpy()
    weights = np.exp(log_w - log_w.max())
    found = np.log(weights.mean()) + log_w.max()
    assert abs(found - evidence) < 4 * weights.std() / weights.mean() / np.sqrt(20000)


@pytest.mark.parametrize("kind", ["global", "local"])
def test_a_density_of_all_outputs_is_joint(rng, W, data, kind):
    X, Y = data
    model = mixed(rng, W, kind)
    mean, covariance = model.predict_f(X, 1, full_output_cov=True)
    wanted = [
        multivariate_normal(m, c + NOISE * np.eye(P)).logpdf(y)
        for m, c, y in zip(mean.numpy(), covariance.numpy(), Y, strict=True)
    ]
    np.testing.assert_allclose(model.predict_log_density((X, Y), 1), wanted)
    np.testing.assert_allclose(model.posterior(1).predict_log_density((X, Y)), wanted)


def test_samples_have_the_covariance_of_predictions(rng, W):
    X, S = rng.normal(size=(2, D)), 6000
    model = mixed(rng, W)
    _, covariance = model.predict_f(X, 1, full_output_cov=True)
    for samples in (
        model.predict_f_samples(X, S, full_cov=False, seed=0),
        model.predict_f_samples(X, S, full_cov=True, seed=0),
        model.sample_functions(1000, seed=0)(X),
    ):
        for n in range(2):
            wanted = covariance[n].numpy()
            variances = np.diag(wanted)
            spread = np.sqrt((np.outer(variances, variances) + wanted**2) / len(samples))
            error = np.cov(samples[:, n].numpy().T) - wanted
            assert np.all(np.abs(error) < 5 * spread)


def test_a_mixed_hidden_layer_is_drawn_jointly(rng, W):
    """Its outputs have rank L, which outputs drawn one by one would not."""
    hidden = gi.layers.GPLayer(kernels(), P, random_posterior(rng, "local", L, D), mixing=W)
    last = gi.layers.GPLayer(
        gpflow.kernels.SquaredExponential(), 1, random_posterior(rng, "local", 1, P)
    )
    model = gi.models.DeepGP([hidden, last], gpflow.likelihoods.Gaussian(), num_data=N)
    below = model.propagate(D, 4, as_seed(0))
    F = below.rows(tf.constant(rng.normal(size=(7, D))), as_seed(1)).numpy()
    normal = np.linalg.svd(W)[0][:, -1]
    np.testing.assert_allclose(F @ normal, 0.0, atol=1e-9)
    mixture = model.predict_f(np.zeros((1, D)), 5, full_output_cov=True, seed=0)
    np.testing.assert_allclose(mixture[1][:, 0], model.predict_f(np.zeros((1, D)), 5, seed=0)[1])


def test_the_identity_mixes_nothing(rng, data):
    posterior = random_posterior(rng, "global", P, D)
    U, kernel = rng.normal(size=(M, D)), gpflow.kernels.SquaredExponential()
    models = [
        gi.models.DeepGP(
            [gi.layers.GPLayer(kernel, P, posterior, mixing=mixing)],
            gpflow.likelihoods.Gaussian(),
            num_data=N,
            inducing_inputs=U,
        )
        for mixing in (None, np.eye(P))
    ]
    np.testing.assert_allclose(*(model.elbo(data, seed=0) for model in models))
    np.testing.assert_allclose(*(model.predict_log_density(data, 1) for model in models), rtol=1e-9)


# -------------------------------------------------------------------------------------- interface


@pytest.mark.slow
def test_the_matrix_is_trained(rng, W, data):
    model = mixed(rng, W)
    assert any(
        v is model.layers[0].mixing.unconstrained_variable for v in model.trainable_variables
    )
    gi.fit(model, data, steps=1, progress=False)
    assert np.all(model.layers[0].mixing.numpy() != W)


def test_a_file_has_the_matrix(rng, W, data, tmp_path):
    model = mixed(rng, W)
    gi.save(model, tmp_path / "model")
    read = gi.load(tmp_path / "model")
    np.testing.assert_array_equal(read.elbo(data, seed=0), model.elbo(data, seed=0))
    np.testing.assert_array_equal(read.layers[0].mixing, W)


# --------------------------------------------------------------------------------------- failures


def test_failures(rng, W, data):
    with pytest.raises(ValueError, match="mixing must have shape"):
        mixed(rng, W[:2])
    with pytest.raises(ValueError, match="output_dim=2, but its posterior has output_dim=3"):
        gi.layers.GPLayer(kernels(), P, gi.posteriors.GlobalInducing(M, P), mixing=W)
    with pytest.raises(ValueError, match="leave out mixing"):
        kernel = gpflow.kernels.LinearCoregionalization(kernels(), W=W)
        gi.layers.GPLayer(kernel, P, gi.posteriors.GlobalInducing(M, L), mixing=W)
    with pytest.raises(ValueError, match="take its arguments as independent"):
        mixed(rng, W, likelihood=gpflow.likelihoods.Softmax(P))
    with pytest.raises(ValueError, match="together are not implemented"):
        mixed(rng, W).predict_f(data[0], full_cov=True, full_output_cov=True)
    with pytest.raises(ValueError, match="under a StudentT likelihood has no closed form"):
        mixed(rng, W, likelihood=gpflow.likelihoods.StudentT()).predict_log_density(data)

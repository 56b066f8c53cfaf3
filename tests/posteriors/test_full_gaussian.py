"""A free Gaussian over the coordinates of any layer."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.posteriors import FullGaussian

from ..builders import random_q_sqrt


def test_a_dense_layer_reaches_the_evidence_of_linear_regression(rng):
    X, Y = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    q = FullGaussian()
    layer = gi.layers.DenseLayer(3, 2, q)
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(0.3), num_data=9)
    assert model.bound_terms((X, Y))[1] == 0  # q starts at the prior
    step = gpflow.optimizers.NaturalGradient(1.0)
    step.minimize(model.training_loss_closure((X, Y)), [(q.q_mu, q.q_sqrt)])
    kernel = gi.kernels.BNNKernel(3, "identity")
    gpr = gpflow.models.GPR((X, Y), kernel, noise_variance=0.3)
    np.testing.assert_allclose(model.elbo((X, Y)), gpr.log_marginal_likelihood(), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("M", [12, 5])
def test_a_gp_layer_reaches_the_best_sparse_bound(M, rng):
    """Of GPflow at the same inducing inputs; with all rows it is the evidence of a GP."""
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    kernel = gpflow.kernels.Matern52(lengthscales=0.6)
    q = FullGaussian(M)
    layer = gi.layers.GPLayer(kernel, 2, q, mean_function=gpflow.functions.Constant(0.4))
    likelihood = gpflow.likelihoods.Gaussian(0.3)
    model = gi.models.DeepGP([layer], likelihood, num_data=12, inducing_inputs=X[:M])
    assert model.bound_terms((X, Y))[1] == 0  # q starts at the prior
    step = gpflow.optimizers.NaturalGradient(1.0)
    step.minimize(model.training_loss_closure((X, Y)), [(q.q_mu, q.q_sqrt)])
    sgpr = gpflow.models.SGPR(
        (X, Y), kernel, X[:M], mean_function=layer.mean_function, noise_variance=0.3
    )
    np.testing.assert_allclose(model.elbo((X, Y)), sgpr.elbo(), rtol=1e-5)
    if M == len(X):
        gpr = gpflow.models.GPR((X, Y), kernel, layer.mean_function, 0.3)
        np.testing.assert_allclose(model.elbo((X, Y)), gpr.log_marginal_likelihood(), rtol=1e-4)


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("precision", ["diagonal", "full"])
def test_the_regression_on_pseudo_data_is_a_free_gaussian(precision, whiten, rng):
    """Eq. 12 of the paper in whitened coordinates, at inducing inputs that are not drawn."""
    M, P = 6, 2
    U = tf.constant(rng.normal(size=(M, 3)))
    V, Lambda = rng.normal(size=(M, P)), 0.5 + rng.random((P, M))
    kernel = gpflow.kernels.SquaredExponential(lengthscales=1.3)
    start = Lambda if precision == "diagonal" else Lambda[:, :, None] * np.eye(M)
    regression = gi.posteriors.GlobalInducing(
        M,
        P,
        pseudo_outputs=V,
        pseudo_precision=start,
        precision=precision,
        shared=False,
        whiten=whiten,
    )
    gram = kernel(U).numpy() + gpflow.default_jitter() * np.eye(M)
    L = np.linalg.cholesky(gram)
    # N(z | B^-1 L^T Lambda V, B^-1), B = I + L^T Lambda L
    B = np.eye(M) + np.einsum("mk,pm,ml->pkl", L, Lambda, L)
    values = L @ V if whiten else V
    mean = np.stack([np.linalg.solve(B[p], L.T @ (Lambda[p] * values[:, p])) for p in range(P)], 1)
    q = FullGaussian(M, q_mu=mean, q_sqrt=np.linalg.cholesky(np.linalg.inv(B)))
    ours, theirs = (gi.layers.GPLayer(kernel, P, each).condition(U) for each in (q, regression))
    np.testing.assert_allclose(ours.kl(), theirs.kl(), rtol=1e-6)
    X = tf.constant(rng.normal(size=(4, 3)))
    for one, other in zip(ours.predict(X, True), theirs.predict(X, True), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-7)


def test_it_does_not_depend_on_the_draw_of_the_layer_below(rng):
    """z does not; u = L z does, as the kernel matrix at the drawn inducing inputs does."""
    U = tf.constant(rng.normal(size=(7, 4, 2)))
    q = FullGaussian(4, q_mu=rng.normal(size=(4, 1)), q_sqrt=random_q_sqrt(rng, 1, 4))
    kernel = gpflow.kernels.SquaredExponential()
    layer = gi.layers.GPLayer(kernel, 1, q)
    mean, variance = layer.condition(U).predict(U)
    for s in range(7):
        gram = kernel(U[s]).numpy() + gpflow.default_jitter() * np.eye(4)
        L = np.linalg.cholesky(gram)
        np.testing.assert_allclose(mean[s], L @ q.q_mu.numpy(), atol=1e-5)
        root = L @ q.q_sqrt.numpy()[0]
        np.testing.assert_allclose(variance[s, :, 0], np.sum(root**2, axis=1), atol=1e-5)
        kl = layer.condition(U[s]).kl()
        np.testing.assert_allclose(layer.condition(U).kl(), kl, rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda q: gi.layers.DenseLayer(4, 3, q, prior=gi.priors.StandardPrior(0.7)),
        lambda q: gi.layers.Conv2DLayer((4, 4, 1), 3, 2, q),
        lambda q: gi.layers.Conv2DLayer((4, 4, 1), 3, 2, q, prior=gi.priors.SpatialIWPrior(2)),
    ],
    ids=["dense", "conv", "conv with a spatial prior"],
)
def test_draws_have_the_moments_and_the_divergence_of_q(make, rng):
    K = make(FullGaussian()).num_weights
    layer = make(FullGaussian(q_mu=rng.normal(size=(K, 3)), q_sqrt=random_q_sqrt(rng, 3, K)))
    D = int(np.prod(layer.input_shape))
    # For a scale that is random, one draw of it.
    q = layer.condition(tf.zeros([0, D], tf.float64), None, as_seed(0))
    draw = q.draw(3000, as_seed(1))
    ratio = draw.log_p_minus_log_q.numpy()
    scale = q.scale.kl + np.mean(q.scale.log_p_minus_log_q)  # its own terms
    assert abs(ratio.mean() + q.kl() - scale) < 5 * ratio.std() / 3000**0.5
    X = tf.constant(rng.normal(size=(2, D)))
    f = draw(X).numpy()
    mean, variance = (moment.numpy() for moment in q.predict(X))
    assert np.all(np.abs(f.mean(axis=0) - mean) < 5 * f.std(axis=0) / 3000**0.5)
    squares = (f - mean) ** 2
    assert np.all(np.abs(squares.mean(axis=0) - variance) < 5 * squares.std(axis=0) / 3000**0.5)


def test_parameters_of_another_as_a_start_are_copied(rng):
    layers = [gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, FullGaussian(3))]
    start = layers[0].posterior
    q = FullGaussian(3, q_mu=start.q_mu, q_sqrt=start.q_sqrt)
    layers.append(gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, q))
    assert len(q.trainable_variables) == 2
    start.q_mu.assign(rng.normal(size=(3, 1)))
    np.testing.assert_array_equal(q.q_mu, np.zeros((3, 1)))


def test_wrong_layers_and_starts_are_refused():
    kernel = gpflow.kernels.Matern52()
    with pytest.raises(ValueError, match="without num_inducing, which a GPLayer needs"):
        gi.layers.GPLayer(kernel, 1, FullGaussian())
    with pytest.raises(ValueError, match="with num_inducing, which is for a GPLayer"):
        gi.layers.DenseLayer(2, 1, FullGaussian(3))
    with pytest.raises(ValueError, match="num_inducing must be an integer of at least 1"):
        FullGaussian(0)
    layer = gi.layers.GPLayer(kernel, 1, FullGaussian(3))
    likelihood = gpflow.likelihoods.Gaussian()
    with pytest.raises(ValueError, match="needs the model's inducing_inputs"):
        gi.models.DeepGP([layer], likelihood, num_data=9)
    with pytest.raises(ValueError, match="num_inducing=3, but the model's inducing_inputs have 4"):
        gi.models.DeepGP([layer], likelihood, num_data=9, inducing_inputs=np.ones((4, 2)))
    with pytest.raises(ValueError, match="belongs to another layer"):
        gi.layers.GPLayer(kernel, 1, layer.posterior)
    q = FullGaussian()
    gi.layers.DenseLayer(2, 1, q)
    with pytest.raises(ValueError, match="belongs to another layer"):
        gi.layers.DenseLayer(2, 1, q)
    with pytest.raises(ValueError, match="lower triangular"):
        gi.layers.DenseLayer(1, 1, FullGaussian(q_sqrt=np.ones((1, 2, 2))))
    with pytest.raises(ValueError, match=r"q_sqrt must have shape \[1, 3, 3\]"):
        gi.layers.DenseLayer(2, 1, FullGaussian(q_sqrt=np.ones((3, 3))))

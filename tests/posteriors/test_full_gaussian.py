"""A free Gaussian over the weights of any layer of weights."""

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


def test_wrong_layers_and_starts_are_refused():
    with pytest.raises(ValueError, match="LocalInducing"):
        gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, FullGaussian())
    q = FullGaussian()
    gi.layers.DenseLayer(2, 1, q)
    with pytest.raises(ValueError, match="belongs to another layer"):
        gi.layers.DenseLayer(2, 1, q)
    with pytest.raises(ValueError, match="lower triangular"):
        gi.layers.DenseLayer(1, 1, FullGaussian(q_sqrt=np.ones((1, 2, 2))))
    with pytest.raises(ValueError, match=r"q_sqrt must have shape \[1, 3, 3\]"):
        gi.layers.DenseLayer(2, 1, FullGaussian(q_sqrt=np.ones((3, 3))))

"""Dense layers: as GP layers with the BNN kernel, and their draws against their moments."""

import itertools

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.core.weight_root import WeightRoot
from gpflow_gi.layers.dense import DenseBasis

from ..builders import (
    DENSE_KINDS,
    NUM_INDUCING,
    mean_and_standard_error,
    random_dense_posterior,
    random_prior,
)

D, P, S = 3, 2, 4


def pushed(nonlinearity, X):
    return gi.nonlinearities.as_nonlinearity(nonlinearity)(X)


# The spaces to compute in depend on M and on the precision, and know nothing of nonlinearities.
@pytest.mark.parametrize(
    "M, nonlinearity, precision",
    [  # M: fewer than the 4 units, as many, and far more
        *itertools.product([2, 4, 20], ["relu", "tanh", "erf", "identity"], ["diagonal"]),
        (2, "relu", "full"),
        *(
            pytest.param(M, nonlinearity, "full", marks=pytest.mark.slow)
            for M, nonlinearity in [(4, "tanh"), (20, "erf"), (20, "identity")]
        ),
    ],
)
def test_a_gp_layer_with_the_bnn_kernel_is_a_dense_layer(M, nonlinearity, precision, rng):
    """The paper's eq. 20; with M > 4 the kernel matrix k(U, U) is singular."""
    gpflow.config.set_default_jitter(1e-13)
    T = np.eye(M) + np.tril(0.3 * rng.normal(size=(M, M)))
    pseudo_data = {
        "pseudo_outputs": rng.normal(size=(M, P)),
        "pseudo_precision": T @ T.T if precision == "full" else np.diag(T) ** 2,
        "precision": precision,
    }
    U = tf.constant(rng.normal(size=(S, M, D)))
    X = tf.constant(rng.normal(size=(S, 7, D)))
    for variance, prior in (
        (1.0, gi.priors.NealPrior()),
        (D + 1, gi.priors.StandardPrior()),
        (0.49, gi.priors.NealPrior(0.7)),
    ):
        dense = gi.layers.DenseLayer(
            D, P, gi.posteriors.GlobalInducing(M, P, **pseudo_data), prior=prior
        ).condition(pushed(nonlinearity, U))
        process = gi.layers.GPLayer(
            gi.kernels.BNNKernel(D, nonlinearity, variance=variance),
            P,
            gi.posteriors.GlobalInducing(M, P, **pseudo_data),
        ).condition(U)
        np.testing.assert_allclose(dense.kl(), process.kl(), atol=1e-8)
        for full_cov in (False, True):
            ours = dense.predict(pushed(nonlinearity, X), full_cov)
            theirs = process.predict(X, full_cov)
            for mine, other in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(mine, other, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("kind", DENSE_KINDS)
@pytest.mark.parametrize("prior", ["neal", "standard", "scale"])
@pytest.mark.parametrize("sampled", [False, True])
def test_draws_have_the_moments_and_the_divergence_that_are_claimed(kind, prior, sampled, rng):
    layer = gi.layers.DenseLayer(
        D, P, random_dense_posterior(rng, kind, D, P), prior=random_prior(prior)
    )
    U = tf.constant(rng.normal(size=(NUM_INDUCING, D)))
    X = tf.constant(rng.normal(size=(5, D)))
    num_draws = 40_000

    if prior == "scale":  # moments are those given the scale: average them over scales
        given = layer.condition(U, 40_000, as_seed(1))
        draw = given.draw(num_draws, as_seed(2))
        mean, covariance = given.predict(X, full_cov=True)
        f, _ = draw.extend(X, as_seed(3))
        np.testing.assert_array_equal(f, draw.rows(X, as_seed(4)))
        difference, error = mean_and_standard_error(f - mean)
        assert np.all(np.abs(difference) <= 5 * error)
        centred = f - mean
        products = np.einsum("snp,smp->spnm", centred, centred) - covariance
        difference, error = mean_and_standard_error(products)
        assert np.all(np.abs(difference) <= 5 * error)
        log_ratio, error = mean_and_standard_error(draw.log_p_minus_log_q + given.kl())
        assert abs(log_ratio) <= 5 * error
        return
    if sampled:  # each of the samples from below has its own q
        U = tf.tile(U[None], [2, 1, 1]) + tf.constant(rng.normal(size=(2, NUM_INDUCING, D)))
        given = layer.condition(U)
        draws = [given.draw(2, as_seed(seed)) for seed in range(500)]
        f = np.stack([np.broadcast_to(draw.rows(X, as_seed(0)), (2, 5, P)) for draw in draws])
        log_ratio = np.stack(
            [np.broadcast_to(draw.log_p_minus_log_q, 2) for draw in draws]
        )  # where q does not depend on U, both samples are draws of one q
    else:
        given = layer.condition(U)
        draw = given.draw(num_draws, as_seed(2))
        f, log_ratio = draw.rows(X, as_seed(0)).numpy(), draw.log_p_minus_log_q.numpy()
    mean, variance = given.predict(X)
    estimate, error = mean_and_standard_error(f)
    assert np.all(np.abs(estimate - mean) < 5 * error)
    estimate, error = mean_and_standard_error((f - mean) ** 2)
    assert np.all(np.abs(estimate - variance) < 5 * error)
    estimate, error = mean_and_standard_error(-log_ratio)
    assert np.all(np.abs(estimate - given.kl()) <= 5 * error)
    _, covariance = given.predict(X, full_cov=True)
    np.testing.assert_allclose(np.einsum("...pnn->...np", covariance), variance, atol=1e-10)


@pytest.mark.parametrize("bias", [True, False])
def test_a_draw_is_its_weights(bias, rng):
    K = D + bias
    posterior = gi.posteriors.Factorised(mean=rng.normal(size=(K, P)), standard_deviation=0.1)
    layer = gi.layers.DenseLayer(D, P, posterior, bias=bias)
    assert layer.num_weights == K
    draw = layer.condition(tf.zeros([0, D], tf.float64)).draw(S, as_seed(0))
    X = rng.normal(size=(5, D))
    units = np.hstack([X, np.ones((5, 1))]) if bias else X
    np.testing.assert_allclose(draw.rows(tf.constant(X), as_seed(0)), units @ draw.weights)
    # Weights are those of the posterior, in its units.
    error = 0.1 / np.sqrt(S)
    assert np.all(np.abs(np.mean(draw.weights, axis=0) - posterior.mean) < 5 * error)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("scale", [0.7, [0.7, 1.3]])
def test_the_basis_is_the_scaled_units(bias, scale, rng):
    U, X = (tf.constant(rng.normal(size=(2, rows, D))) for rows in (4, 5))
    root = WeightRoot(tf.constant(np.reshape(scale, [-1, 1, 1] if np.ndim(scale) else [])))
    basis = DenseBasis(U, root, bias)

    def units(X):
        X = np.concatenate([X, np.ones_like(X[..., :1])], -1) if bias else X
        return np.reshape(scale, (-1, 1, 1)) * X

    np.testing.assert_allclose(basis(X), np.swapaxes(units(X), -1, -2))
    np.testing.assert_allclose(basis.design, units(U))
    np.testing.assert_allclose(basis.gram, units(U) @ np.swapaxes(units(U), -1, -2))
    np.testing.assert_allclose(basis.cross_gram(X), units(U) @ np.swapaxes(units(X), -1, -2))
    np.testing.assert_allclose(basis.covariance(X), units(X) @ np.swapaxes(units(X), -1, -2))
    np.testing.assert_allclose(basis.variance(X), np.sum(units(X) ** 2, -1))


@pytest.mark.longest
def test_a_learned_scale_is_flagged_and_trained(rng):
    X, Y = rng.normal(size=(20, D)), rng.normal(size=(20, 1))
    prior = gi.priors.NealPrior(0.5, learn_scale=True)
    model = gi.architectures.build_bnn(X, Y, widths=[4], prior=lambda: prior, num_inducing=5)
    assert prior.is_type_ii and not gi.priors.ScalePrior().is_type_ii
    gi.fit(model, (X, Y), steps=20, progress=False)
    assert prior.scale.numpy() != 0.5
    fixed = gi.priors.NealPrior(0.5)
    model = gi.architectures.build_bnn(X, Y, widths=[4], prior=lambda: fixed, num_inducing=5)
    gi.fit(model, (X, Y), steps=20, progress=False)
    assert fixed.scale.numpy() == 0.5


ONES = np.ones((3, 2))


def dense(*arguments, **keywords):
    return gi.layers.DenseLayer(*arguments, **keywords)


def test_a_local_posterior_has_the_parameters_that_its_layer_decides():
    left = gi.posteriors.LocalInducing(ONES, 2)
    kept = left.parameters
    dense(ONES.shape[1], 2, left)
    assert [one for one in left.parameters if any(one is other for other in kept)] == list(kept)
    assert not hasattr(left, "q_mu") and left.pseudo_outputs.shape == (len(ONES), 2)
    free = gi.posteriors.LocalInducing(ONES, 2)
    gi.layers.GPLayer(gpflow.kernels.Matern32(), 2, free)
    mean = free.q_mu
    gi.layers.GPLayer(gpflow.kernels.Matern32(), 2, free)  # a second layer makes no new ones
    assert free.q_mu is mean
    with pytest.raises(ValueError, match="pseudo_outputs"):
        dense(ONES.shape[1], 2, free)
    asked = gi.posteriors.LocalInducing(ONES, 2)
    asked.q_mu.assign(ONES)
    gi.layers.GPLayer(gpflow.kernels.Matern32(), 2, asked)
    np.testing.assert_array_equal(asked.q_mu, ONES)
    assert list(gpflow.utilities.parameter_dict(asked)) == [".inducing_inputs", ".q_mu", ".q_sqrt"]
    with pytest.raises(AttributeError, match="no pseudo_outputs: a free Gaussian has q_mu"):
        asked.pseudo_outputs  # noqa: B018


@pytest.mark.parametrize(
    "make, error, said",
    [
        (lambda: dense(0, 2, gi.posteriors.Prior()), ValueError, "input_dim must be an integer"),
        (lambda: dense(2, 0, gi.posteriors.Prior()), ValueError, "output_dim must be an integer"),
        (lambda: dense(2, 2, gi.posteriors.Prior(), bias=1), TypeError, "bias must be True"),
        (lambda: dense(2, 2, "global"), TypeError, "posterior must be one of"),
        (lambda: dense(2, 2, gi.posteriors.Prior(), prior="neal"), TypeError, "prior must be one"),
        (
            lambda: dense(2, 2, gi.posteriors.GlobalInducing(5, 3)),
            ValueError,
            "output_dim=2, but its posterior has output_dim=3",
        ),
        (
            lambda: dense(2, 2, gi.posteriors.LocalInducing(ONES, 2, q_mu=ONES)),
            ValueError,
            "pseudo_outputs",
        ),
        (
            lambda: dense(2, 2, gi.posteriors.Factorised(mean=np.ones((2, 2)))),
            ValueError,
            r"mean must have shape \[3, 2\]",
        ),
        (
            lambda: dense(2, 2, gi.posteriors.Factorised(standard_deviation=0.0)),
            ValueError,
            "standard_deviation must be positive",
        ),
        (
            lambda: dense(2, 2, gi.posteriors.Recorded(np.ones((7, 2, 2)))),
            ValueError,
            "draws of 2 weights to each output, but the layer has 3",
        ),
        (
            lambda: gi.layers.GPLayer(
                gpflow.kernels.Matern32(), 2, gi.posteriors.Factorised()
            ),
            ValueError,
            "a GPLayer has none",
        ),
        (
            lambda: gi.layers.GPLayer(
                gpflow.kernels.Matern32(), 2, gi.posteriors.Recorded(np.ones((7, 2, 2)))
            ),
            ValueError,
            "the layer has none",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_said(make, error, said):
    with pytest.raises(error, match=said):
        make()


def test_a_factorised_posterior_belongs_to_one_layer():
    posterior = gi.posteriors.Factorised()
    dense(2, 3, posterior)
    with pytest.raises(ValueError, match="belongs to another layer"):
        dense(2, 3, posterior)


def test_columns_are_checked_behind_a_nonlinearity():
    layers = [tf.nn.relu, dense(3, 1, gi.posteriors.Factorised())]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=5)
    with pytest.raises(ValueError, match=r"X has 5 columns; layer 2 .*input_dim=3, but gets 5"):
        model.predict_f(np.ones((4, 5)))


def test_a_refused_layer_leaves_the_posterior_to_others():
    posterior = gi.posteriors.Factorised()
    with pytest.raises(TypeError, match="prior must be one of"):
        dense(2, 3, posterior, prior="neal")
    dense(2, 3, posterior)


def test_a_model_names_the_dense_layer_that_does_not_fit():
    layers = [
        dense(2, 3, gi.posteriors.Prior()),
        tf.nn.relu,
        dense(4, 1, gi.posteriors.Prior()),
    ]
    with pytest.raises(ValueError, match=r"Layer 3 .*input_dim=4, but gets 3"):
        gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=5)
    model = gi.models.DeepGP(layers[:1], gpflow.likelihoods.Gaussian(), num_data=5)
    with pytest.raises(ValueError, match="X has 5 columns, but the model takes 2"):
        model.predict_f(np.ones((3, 5)))

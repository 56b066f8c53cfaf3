"""Rows that arrive in parts, against exact Gaussian process regression on all of them."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.models.streaming import Memory
from tests.builders import random_deep_gp

NOISE = 0.2


@pytest.fixture
def parts(rng):
    X = np.linspace(-2, 2, 12)[rng.permutation(12), None]
    Y = np.sin(2 * X) + 0.4 * rng.normal(size=X.shape)
    return (X[:7], Y[:7]), (X[7:], Y[7:])


def exact(X, Y, precision="diagonal"):
    kernel = gpflow.kernels.Matern32(lengthscales=0.8)
    posterior = gi.posteriors.GlobalInducing(
        len(X), 1, pseudo_outputs=Y, pseudo_precision=1 / NOISE, precision=precision
    )
    return gi.models.DeepGP(
        [gi.layers.GPLayer(kernel, 1, posterior, mean_function=gpflow.functions.Constant(0.3))],
        gpflow.likelihoods.Gaussian(NOISE),
        num_data=len(X),
        inducing_inputs=X,
    )


def evidence(X, Y):
    gpr = gpflow.models.GPR(
        (X, Y),
        gpflow.kernels.Matern32(lengthscales=0.8),
        gpflow.functions.Constant(0.3),
        noise_variance=NOISE,
    )
    return gpr.log_marginal_likelihood().numpy()


# ------------------------------------------------------------------------------------ mathematics


@pytest.mark.parametrize("precision", ["diagonal", "full"])
def test_the_bound_of_new_rows_is_their_evidence_given_the_old(parts, precision):
    (X1, Y1), (X2, Y2) = parts
    later = exact(X1, Y1 - 0.3, precision).update((X2, Y2), num_inducing=5)
    U = later.inducing_inputs.numpy()
    assert U.shape == (12, 1) and later.num_data == 5
    # The exact posterior of all rows: noise of their own at each.
    X, Y = np.vstack([X1, X2]), np.vstack([Y1, Y2])
    order = [int(np.argmin(np.abs(X[:, 0] - u))) for u in U[:, 0]]
    later.layers[0].posterior.pseudo_outputs.assign(Y[order] - 0.3)
    Lambda = np.full(12, 1 / NOISE) if precision == "diagonal" else np.eye(12) / NOISE
    later.layers[0].posterior.pseudo_precision.assign(Lambda)
    wanted = evidence(X, Y) - evidence(X1, Y1)
    np.testing.assert_allclose(later.elbo((X2, Y2), seed=0), wanted, rtol=1e-4)


def test_an_update_forgets_nothing(parts):
    """Before training, with weakly held points added, predictions are nearly as they were."""
    (X1, Y1), new = parts
    model = exact(X1, Y1 - 0.3)
    later = model.update(new, num_inducing=3)
    before, after = (m.predict_f(X1, 1)[0] for m in (model, later))
    np.testing.assert_allclose(after, before, atol=0.1)


def test_images_are_rows(rng, tmp_path):
    """A model of images learns from new ones what that of their pixels does."""
    images, Y = rng.normal(size=(12, 2, 3, 1)), rng.normal(size=(12, 1))
    bounds = []
    for X in (images, images.reshape(12, 6)):
        posterior = gi.posteriors.GlobalInducing(4, 1, pseudo_outputs=Y[:4], pseudo_precision=9.0)
        layer = gi.layers.GPLayer(gpflow.kernels.Matern32(), 1, posterior)
        model = gi.models.DeepGP(
            [layer], gpflow.likelihoods.Gaussian(NOISE), num_data=8, inducing_inputs=X[:4]
        )
        later = model.update((X[8:], Y[8:]), num_inducing=2)
        assert later.inducing_inputs.shape == (6, *X.shape[1:])
        bounds.append(later.elbo((X[8:], Y[8:])))
        gi.save(later, tmp_path / "later.gi")
        loaded = gi.load(tmp_path / "later.gi")
        np.testing.assert_array_equal(loaded.elbo((X[8:], Y[8:])), bounds[-1])
    np.testing.assert_allclose(*bounds)


@pytest.mark.slow
def test_a_deep_posterior_is_its_own_memory(rng):
    """The ratio's mean under q_old is KL(q_old || p), in every layer."""
    model = random_deep_gp(rng, ["global", "full"])
    memory = Memory(model)

    X, Y = rng.normal(size=(9, 2)), rng.normal(size=(9, 1))

    @tf.function(autograph=False)
    def both(seed):
        ratio = memory.expected_log_ratio(model, 20, seed)
        return ratio, model.bound_terms((X, Y), 20, seed=seed)[1]

    ratios, kls = np.array([both(as_seed(seed)) for seed in range(40)]).T
    error = np.sqrt((np.var(ratios) + np.var(kls)) / 40)
    assert abs(np.mean(ratios) - np.mean(kls)) < 4 * error


# -------------------------------------------------------------------------------------- interface


@pytest.mark.longest
def test_training_after_an_update_and_files(parts, tmp_path):
    (X1, Y1), new = parts
    later = gi.architectures.build_deep_gp(X1, Y1, num_inducing=4).update(new, num_inducing=3)
    remembered = later.memory.inducing_inputs.numpy()
    gi.fit(later, new, steps=3, progress=False)
    np.testing.assert_array_equal(later.memory.inducing_inputs, remembered)
    again = later.update(new, num_inducing=2)
    assert again.memory.inducing_inputs.shape == (7, 1) and again.inducing_inputs.shape == (9, 1)
    gi.save(later, tmp_path / "model")
    read = gi.load(tmp_path / "model")
    np.testing.assert_array_equal(read.elbo(new, seed=0), later.elbo(new, seed=0))


@pytest.mark.longest
def test_a_stream_of_twenty_parts_is_almost_as_good_as_all_at_once(rng):
    X = np.linspace(-3, 3, 200)[rng.permutation(200), None]
    Y = np.sin(3 * X) + 0.3 * rng.normal(size=X.shape)
    test = np.linspace(-2.9, 2.9, 100)[:, None], np.sin(3 * np.linspace(-2.9, 2.9, 100)[:, None])

    def start(X, Y):
        model = gi.architectures.build_deep_gp(X, Y, num_layers=1, num_inducing=len(X) // 2)
        gpflow.set_trainable(model.layers[0].kernel, False)
        gpflow.set_trainable(model.likelihood, False)
        return model

    def train(model, data):
        gi.fit(model, data, steps=300, learning_rate=0.05, progress=False)
        return model

    stream = train(start(X[:10], Y[:10]), (X[:10], Y[:10]))
    for first in range(10, 200, 10):
        new = X[first : first + 10], Y[first : first + 10]
        stream = train(stream.update(new, num_inducing=2, seed=first), new)
    at_once = train(start(X[:80], Y[:80]), (X[:80], Y[:80])).update((X, Y), num_inducing=1)
    at_once.memory = None
    train(at_once, (X, Y))
    errors = [
        gi.metrics.rmse(test[1], model.predict_f(test[0], 1)[0]) for model in (stream, at_once)
    ]
    first_part = gi.metrics.rmse(test[1], start(X[:10], Y[:10]).predict_f(test[0], 1)[0])
    print(errors, first_part)
    assert errors[0] < errors[1] + 0.05 and errors[0] < first_part / 3


def test_failures(parts, rng):
    (X1, Y1), new = parts
    later = exact(X1, Y1).update(new)
    with pytest.raises(ValueError, match="was updated has no importance weights"):
        later.log_importance_weights(new, 3)
    with pytest.raises(ValueError, match="layer 1 is a GPLayer with LocalInducing"):
        random_deep_gp(rng, ["local", "global"]).update((np.zeros((1, 2)), np.zeros((1, 1))))
    with pytest.raises(ValueError, match="layer 1 is a GPLayer with FullGaussian"):
        random_deep_gp(rng, ["free", "global"]).update((np.zeros((1, 2)), np.zeros((1, 1))))
    with pytest.raises(ValueError, match="num_inducing must be an integer of at least 1"):
        exact(X1, Y1).update(new, num_inducing=0)


@pytest.mark.slow
def test_the_memory_is_never_trained(parts):
    first, later = parts
    model = exact(*first)
    model.layers[0].kernel.lengthscales.prior = tfp.distributions.LogNormal(*np.float64([0, 1]))
    updated = model.update(later, num_inducing=4)
    count = len(updated.trainable_variables), len(updated.trainable_parameters)
    prior = updated.log_prior_density()
    gpflow.set_trainable(updated, False)
    assert not updated.trainable_variables and not updated.trainable_parameters
    gpflow.set_trainable(updated, True)
    assert (len(updated.trainable_variables), len(updated.trainable_parameters)) == count
    assert updated.log_prior_density() == prior
    before = [one.numpy() for one in updated.memory.parameters]
    gi.fit(updated, later, steps=2, progress=False)
    for one, value in zip(updated.memory.parameters, before, strict=True):
        np.testing.assert_array_equal(one, value)
    assert updated.prior_model().memory is None


def test_an_update_keeps_what_is_fixed_and_priors(parts):
    first, later = parts
    model = exact(*first)
    posterior = model.layers[0].posterior
    gpflow.set_trainable(model.inducing_inputs, False)
    gpflow.set_trainable(posterior.pseudo_precision, False)
    posterior.pseudo_outputs.prior = tfp.distributions.Normal(*np.float64([0, 1]))
    updated = model.update(later, num_inducing=4)
    new = updated.layers[0].posterior
    assert not updated.inducing_inputs.trainable and not new.pseudo_precision.trainable
    assert new.pseudo_outputs.trainable and new.pseudo_outputs.prior is not None
    assert new.pseudo_outputs.shape == [len(first[0]) + 4, 1]
    of_each = tfp.distributions.Normal(np.zeros((len(first[0]), 1)), np.float64(1))
    posterior.pseudo_outputs.prior = of_each
    with pytest.raises(ValueError, match="prior of pseudo_outputs has a shape of its own"):
        model.update(later, num_inducing=4)

"""Rows of a step that are divided among draws: the bound, with less noise."""

import functools

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.objectives import Elbo

from ..builders import MIXES, random_deep_gp

S, B, NUM_DATA = 4, 9, 20  # B is no multiple of S
ONE, DIVIDED = Elbo(), Elbo(divide_rows=True)


@pytest.fixture
def data(rng):
    return tf.constant(rng.normal(size=(B, 2))), tf.constant(rng.normal(size=(B, 1)))


def totals(objective, model, data, num_samples, number):
    """Estimates of the bound, with seeds of their own."""

    @tf.function(autograph=False)
    def total(seed):
        first, kl = objective.terms(model, data, num_samples, seed)
        return first - kl

    return np.array([total(tf.constant([i, num_samples])) for i in range(number)])


def network(rng, prior="neal", inference="global"):
    X, Y = rng.normal(size=(NUM_DATA, 2)), rng.normal(size=(NUM_DATA, 1))
    return gi.architectures.build_bnn(
        X, Y, widths=[5], inference=inference, prior=prior, num_inducing=6, seed=1
    )


@pytest.mark.compiled
@pytest.mark.parametrize(
    "kinds",
    [MIXES[0], *(pytest.param(kinds, marks=pytest.mark.slow) for kinds in MIXES[1:])],
    ids="-".join,
)
def test_its_mean_is_the_bound(rng, data, kinds):
    model = random_deep_gp(rng, kinds, num_data=NUM_DATA)
    one, divided = (totals(objective, model, data, S, 400) for objective in (ONE, DIVIDED))
    error = np.sqrt((one.var() + divided.var()) / 400)
    assert abs(one.mean() - divided.mean()) < 5.0 * error + 1e-9


@pytest.mark.compiled
@pytest.mark.parametrize("prior", ["neal", pytest.param("scale", marks=pytest.mark.slow)])
def test_its_mean_is_the_bound_of_a_network(rng, data, prior):
    model = network(rng, prior)
    one, divided = (totals(objective, model, data, S, 400) for objective in (ONE, DIVIDED))
    error = np.sqrt((one.var() + divided.var()) / 400)
    assert error > 0 and abs(one.mean() - divided.mean()) < 5.0 * error


@pytest.mark.slow
@pytest.mark.compiled
def test_gradients_have_less_noise(rng, data):
    """Than those of one draw for all rows; the sum of the variances of a layer's means."""
    model = random_deep_gp(rng, ("free", "free"), num_data=NUM_DATA)
    means = model.layers[0].posterior.q_mu.unconstrained_variable

    def noise(objective, num_samples):
        @tf.function(autograph=False)
        def gradient(seed):
            with tf.GradientTape() as tape:
                first, kl = objective.terms(model, data, num_samples, seed)
                loss = kl - first
            return tape.gradient(loss, means)

        return np.var([gradient(tf.constant([i, 0])) for i in range(300)], axis=0).sum()

    assert noise(DIVIDED, S) < 0.6 * noise(ONE, 1)


def test_one_draw_is_the_bound(rng, data):
    model, seed = random_deep_gp(rng, ("global", "global"), num_data=NUM_DATA), as_seed(3)
    for number in (1, None):  # the model's own number is 1
        found, expected = (each.terms(model, data, number, seed) for each in (DIVIDED, ONE))
        np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_without_draws_it_is_the_bound(rng, data):
    model, seed = random_deep_gp(rng, ("local",), num_data=NUM_DATA), as_seed(3)
    found, expected = (each.terms(model, data, S, seed) for each in (DIVIDED, ONE))
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_rows_are_dealt_out_evenly(rng, data):
    model = random_deep_gp(rng, ("free", "local"), num_data=NUM_DATA)
    seen = []

    class Draws:
        kl = tf.constant(0.0, tf.float64)

        def moments(self, X, seed):
            seen.append(X)
            return tf.reduce_sum(X, axis=-1, keepdims=True), tf.ones([*X.shape[:-1], 1], X.dtype)

    model.draw_for = lambda *_: Draws()
    first, _ = DIVIDED.terms(model, data, S, as_seed(0))
    rows = data[0].numpy()
    for s in range(S):
        np.testing.assert_array_equal(seen[0][s][: len(rows[s::S])], rows[s::S])
    mean = tf.reduce_sum(data[0], axis=-1, keepdims=True)
    expected = model.likelihood.variational_expectations(data[0], mean, tf.ones_like(mean), data[1])
    np.testing.assert_allclose(first, NUM_DATA * tf.reduce_mean(expected), rtol=1e-12)


def test_more_draws_than_rows(rng, data):
    model = random_deep_gp(rng, ("global", "global"), num_data=NUM_DATA)
    first, kl = DIVIDED.terms(model, data, 2 * B, as_seed(0))
    assert np.isfinite(first - kl)


def test_observed_outputs_alone_count(rng):
    model = random_deep_gp(rng, ("global", "local"), num_data=NUM_DATA)
    model.missing = "ignore"
    X, Y = tf.constant(rng.normal(size=(B, 2))), rng.normal(size=(B, 1))
    Y[3] = np.nan
    first, _ = DIVIDED.terms(model, (X, tf.constant(Y)), S, as_seed(0))
    assert np.isfinite(first)


def test_a_last_layer_that_depends_on_all_rows(rng, data):
    model = network(rng, inference="global -> optimal")
    first, kl = DIVIDED.terms(model, data, S, as_seed(0))
    assert np.isfinite(first - kl)


@pytest.mark.slow
def test_a_checkpoint_is_of_one_way(tmp_path):
    X = np.linspace(-1.0, 1.0, 20)[:, None]

    def run(objective, steps):
        model = gi.architectures.build_deep_gp(X, X, num_inducing=5)
        settings = {"checkpoint_dir": tmp_path, "num_samples": 2, "progress": False}
        return gi.fit(model, (X, X), steps=steps, objective=objective, **settings)

    assert run(DIVIDED, 2).settings["divide_rows"] is True
    with pytest.raises(ValueError, match="divide_rows"):
        run(ONE, 3)
    assert (
        "divide_rows"
        not in gi.fit(
            gi.architectures.build_deep_gp(X, X, num_inducing=5), (X, X), steps=1, progress=False
        ).settings
    )


@pytest.mark.compiled
@pytest.mark.slow
def test_training():
    X = np.linspace(-1.0, 1.0, 40)[:, None]
    Y = np.sign(X)
    model = gi.architectures.build_deep_gp(X, Y, num_layers=2, inference="global", num_inducing=10)
    before = gi.bounds.estimate_elbo(model, (X, Y), 200, seed=0)
    record = gi.fit(
        model, (X, Y), steps=150, num_samples=4, batch_size=18, learning_rate=0.05,
        objective=DIVIDED, seed=0,
    )  # fmt: skip
    after = gi.bounds.estimate_elbo(model, (X, Y), 200, seed=0)
    assert record.reports[-1].objective_name == "ELBO"
    assert after.value > before.value + 5.0 * (after.standard_error + before.standard_error)


def test_models_that_are_refused(rng, data):
    X, Y = (rows.numpy() for rows in data)
    with pytest.raises(ValueError, match="at least one row of data"):
        model = random_deep_gp(rng, ("global", "global"))
        DIVIDED.terms(model, (data[0][:0], data[1][:0]), S, as_seed(0))
    sampler = functools.partial(tf.random.stateless_normal, dtype=tf.float64)
    implicit = gi.posteriors.ImplicitInducing(X, lambda S, seed: sampler([S, B], seed))
    layer = gi.layers.GPLayer(gpflow.kernels.Matern32(), 1, implicit)
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=B)
    with pytest.raises(gi.models.NoDensityError):
        DIVIDED.terms(model, data, S, as_seed(0))
    sparse = gpflow.models.SVGP(gpflow.kernels.Matern32(), gpflow.likelihoods.Gaussian(), X)
    with pytest.raises(TypeError, match=r"needs a gpflow_gi.models.DeepGP, but got a SVGP"):
        gi.fit(sparse, (X, Y), steps=1, objective=DIVIDED)
    latent = gi.layers.LatentVariableLayer(1, num_data=B)
    layers = [latent, random_deep_gp(rng, ("local",), D=3).layers[0]]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=B)
    with pytest.raises(ValueError, match="latent variables of the rows"):
        gi.fit(model, (X, Y), steps=1, objective=DIVIDED)
    model = random_deep_gp(rng, ("global", "global"), num_data=B, mean_functions=False)
    with pytest.raises(ValueError, match="a model that was updated"):
        gi.fit(model.update((X, Y)), (X, Y), steps=1, objective=DIVIDED)
    with pytest.raises(TypeError, match="divide_rows must be True or False, but is 'yes'"):
        Elbo(divide_rows="yes")

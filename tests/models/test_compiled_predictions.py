"""Predictions that are asked for often are compiled: the same numbers, bit for bit, sooner."""

import functools
import gc
import weakref
from concurrent.futures import ThreadPoolExecutor

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core import compiled

from ..builders import random_bnn, random_data, random_deep_gp

pytestmark = pytest.mark.compiled


@pytest.fixture
def traces(monkeypatch):
    """Functions that were compiled, at their first call."""
    monkeypatch.setattr(compiled, "EAGER_CALLS", 0)
    traced = []
    original = compiled._traced

    def count(*arguments):
        traced.append(original(*arguments))
        return traced[-1]

    monkeypatch.setattr(compiled, "_traced", count)
    return traced


def eagerly(call):
    """A call's values without any compiled function: a tape watches."""
    with tf.GradientTape():
        return call()


def weight_posterior(rng):
    """A Gaussian over all weights."""
    network = random_bnn(rng, ["factorised", "factorised"])
    L = gi.inference.WeightSpace(network).size
    return gi.inference.Gaussian(network, rng.normal(size=L), diagonal=np.full(L, 0.1))


MODELS = {
    "deep GP": lambda rng: random_deep_gp(rng, ["global", "full"]),
    "local then global": lambda rng: random_deep_gp(rng, ["local", "global"]),
    "local": lambda rng: random_deep_gp(rng, ["local", "local"]),
    "network": lambda rng: random_bnn(rng, ["global", "factorised"]),
    "weights": weight_posterior,
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "num_samples"),
    [
        ("deep GP", 3),
        ("weights", 1),
        pytest.param("network", 3, marks=pytest.mark.slow),
        *(
            pytest.param(kind, S, marks=pytest.mark.longest)
            for kind in MODELS
            for S in (1, 3)
            if (kind, S) not in (("deep GP", 3), ("weights", 1), ("network", 3))
        ),
    ],
)
def test_numbers_are_those_of_eager_calls(kind, num_samples, rng, traces):
    model = MODELS[kind](rng)
    X, Y = random_data(rng)
    calls = [
        lambda: model.predict_y(X, num_samples, seed=3),
        lambda: model.predict_log_density((X, Y), num_samples, seed=3),
    ]
    for call in calls:
        before = len(traces)
        np.testing.assert_array_equal(call(), eagerly(call))
        assert len(traces) == before + 1


@pytest.mark.slow
def test_any_number_of_rows_and_any_seed_share_a_function(rng, traces):
    model = random_deep_gp(rng, ["global", "full"])
    X, _ = random_data(rng)
    for rows, seed in ((X, 0), (X[:4], 1), (X[:1], (2, 3)), (X[:0], None)):
        model.predict_y(rows, 2, seed=seed)
    assert len(traces) == 1
    assert not np.array_equal(model.predict_f(X, 2)[0], model.predict_f(X, 2)[0])


@pytest.mark.slow
def test_chunks_are_those_of_eager_calls(rng, traces, monkeypatch):
    monkeypatch.setattr("gpflow_gi.models.chunks.TARGET_SIZE", 100)
    model = random_deep_gp(rng, ["local", "local"])
    X, _ = random_data(rng)
    call = lambda: model.predict_f(X, 3, seed=0)  # noqa: E731
    assert model.numbers_per_row(3) * len(X) > 100
    np.testing.assert_array_equal(call(), eagerly(call))
    assert len(traces) == 1


@pytest.mark.slow
def test_frozen_draws_are_compiled_too(rng, traces):
    model = random_deep_gp(rng, ["global", "full"])
    X, Y = random_data(rng)
    frozen = model.posterior(3, seed=1)
    for call in (lambda: frozen.predict_y(X), lambda: frozen.predict_log_density((X, Y))):
        expected = eagerly(call)  # which also makes the draws
        before = len(traces)
        np.testing.assert_array_equal(call(), expected)
        np.testing.assert_array_equal(call(), expected)
        assert len(traces) == before + 1
    with tf.GradientTape() as tape:
        tape.watch(inputs := tf.constant(X))
        mean = tf.reduce_sum(frozen.predict_f(inputs)[0])
    assert np.all(tape.gradient(mean, inputs).numpy() != 0.0)


def test_gradients_are_there(rng, traces):
    model = random_deep_gp(rng, ["full"])
    X = tf.Variable(random_data(rng)[0])
    model.predict_f(X, 2, seed=0)
    with tf.GradientTape() as tape:
        mean = tf.reduce_sum(model.predict_f(X, 2, seed=0)[0])
    assert np.all(tape.gradient(mean, X).numpy() != 0.0)


def change_variance(model):
    model.layers[-1].kernel.variance.assign(2.0)


def replace_kernel(model):
    model.layers[0].kernel = gpflow.kernels.Matern32()


def replace_mean_function(model):
    model.layers[0].mean_function = gpflow.functions.Constant([0.5, 0.1])


def replace_layer(model):
    model.layers[0] = gi.layers.GPLayer(gpflow.kernels.Matern32(), 2, gi.posteriors.Prior())


def change_an_array(model):
    model.layers[0].kernel.active_dims[0] = 1


def set_jitter(model):
    gpflow.config.set_default_jitter(0.1)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(replace_kernel, marks=pytest.mark.slow),
        *(
            pytest.param(change, marks=pytest.mark.longest)
            for change in (
                set_jitter,
                change_variance,
                replace_mean_function,
                replace_layer,
                change_an_array,
            )
        ),
    ],
)
def test_changes_of_the_model_count(change, rng, traces):
    model = random_deep_gp(rng, ["global", "full"])
    model.layers[0].kernel = gpflow.kernels.SquaredExponential(active_dims=[0])
    X, _ = random_data(rng)
    call = lambda: model.predict_f(X, 2, seed=0)[0].numpy()  # noqa: E731
    before = call()
    change(model)
    assert not np.array_equal(call(), before)
    np.testing.assert_array_equal(call(), eagerly(call))


def test_what_users_define_is_never_compiled(rng, traces):
    """It can change unnoticed: here by a global variable."""
    model = random_deep_gp(rng, ["global", "full"])
    level = [0.0]
    model.layers[0].mean_function = lambda X: X + level[0]
    X, _ = random_data(rng)
    before = model.predict_f(X, 2, seed=0)[0]
    level[0] = 1.0
    assert not np.array_equal(model.predict_f(X, 2, seed=0)[0], before)
    assert not traces


def test_a_wrapped_function_of_users_is_never_compiled(rng, traces):
    """Whatever name it bears."""
    model = random_deep_gp(rng, ["global", "full"])

    @functools.wraps(tf.identity)
    def identity(X):
        return X

    model.layers[0].mean_function = identity
    model.predict_f(random_data(rng)[0], 2)
    assert not traces


@pytest.mark.slow
def test_threads_share_a_function(rng, traces):
    model = random_deep_gp(rng, ["full"])
    X, _ = random_data(rng)
    expected = model.predict_f(X, 2, seed=0)[0]
    traces.clear()
    with ThreadPoolExecutor(4) as pool:
        means = list(pool.map(lambda _: model.predict_f(X, 3, seed=0)[0], range(8)))
    assert len(traces) == 1
    assert all(np.array_equal(mean, means[0]) for mean in means)
    np.testing.assert_array_equal(model.predict_f(X, 2, seed=0)[0], expected)


def test_the_first_calls_are_eager(rng, traces, monkeypatch):
    monkeypatch.setattr(compiled, "EAGER_CALLS", 2)
    model = random_deep_gp(rng, ["full"])
    X, _ = random_data(rng)
    num_traces = []
    for _ in range(4):
        model.predict_y(X, 2, seed=0)
        num_traces.append(len(traces))
    assert num_traces == [0, 0, 1, 1]


@pytest.mark.slow
@pytest.mark.parametrize("is_frozen", [False, True])
def test_compiled_functions_go_with_their_owner(is_frozen, rng, traces):
    model = random_deep_gp(rng, ["full"])
    X, _ = random_data(rng)
    owner = model.posterior(2) if is_frozen else model
    owner.predict_y(X)
    assert len(traces) == 1
    gone = weakref.ref(owner)
    del model, owner
    gc.collect()
    assert gone() is None


@pytest.mark.slow
def test_few_functions_are_kept(rng, traces, monkeypatch):
    monkeypatch.setattr(compiled, "MOST_FUNCTIONS", 2)
    model = random_deep_gp(rng, ["full"])
    X, _ = random_data(rng)
    for S in (1, 2, 3):
        model.predict_y(X, S)
    assert len(compiled._FUNCTIONS[model]._kinds) == 2

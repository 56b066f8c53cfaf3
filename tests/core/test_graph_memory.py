"""Nothing of a run stays in memory but what it returns."""

import gc

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from tensorflow.python.framework import ops
from tensorflow.python.framework.func_graph import FuncGraph

import gpflow_gi as gi
from gpflow_gi.core import compiled
from gpflow_gi.core.graph_memory import forget_graph
from gpflow_gi.models import chunks
from gpflow_gi.training.compiled_loop import forget_loops

from ..training.models import LinearModel, linear_data, svgp, train

pytestmark = pytest.mark.compiled
X, Y = linear_data(12)
BUILD = {
    "linear": lambda: LinearModel(12),
    "svgp": lambda: svgp(12),
    "deep GP": lambda: gi.architectures.build_deep_gp(X, Y, num_inducing=4, num_layers=2),
    "network": lambda: gi.architectures.build_bnn(X, Y, widths=(3,), num_inducing=4),
}


def graphs_and_gradients():
    gc.collect()
    graphs = sum(isinstance(one, FuncGraph) for one in gc.get_objects())
    return graphs, len(ops.gradient_registry._registry)


@pytest.mark.parametrize(
    "kind",
    [
        "linear",
        *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("deep GP", "network")),
        pytest.param("svgp", marks=pytest.mark.longest),
    ],
)
@pytest.mark.slow
def test_a_run_leaves_no_graph(kind):
    settings = {"steps": 2, "batch_size": 5}
    model = BUILD[kind]()  # which may itself have a start that is compiled
    before = graphs_and_gradients()
    for _ in range(2):
        train(model, (X, Y), **settings)
    forget_loops()
    assert graphs_and_gradients() == before


def test_other_graphs_are_left_alone():
    """A function that somebody else has traced can still be differentiated."""

    @tf.custom_gradient
    def triple(x):
        return 3.0 * x, lambda upstream: 30.0 * upstream

    bijector = tfp.bijectors.Softplus()

    @tf.function
    def theirs(x):
        return triple(bijector.forward(x))

    x = tf.Variable(1.0)
    theirs(x)
    bijector.forward(y := tf.constant(2.0))
    remembered = len(tfp.bijectors.Bijector._cache.storage)
    ours = tf.function(lambda x: triple(bijector.forward(x))).get_concrete_function(x.read_value())
    assert len(tfp.bijectors.Bijector._cache.storage) > remembered
    forget_graph(ours)
    assert len(tfp.bijectors.Bijector._cache.storage) == remembered
    with tf.GradientTape() as tape:
        value = theirs(x)
    np.testing.assert_allclose(tape.gradient(value, x), 30.0 * tf.sigmoid(1.0), rtol=1e-6)
    assert bijector.inverse(bijector.forward(y)) is y


def test_functions_of_others_inside_can_still_be_differentiated():
    """A model may call a function of the user's, which keeps its own trace."""

    @tf.custom_gradient
    def triple(x):
        return 3.0 * x, lambda upstream: 30.0 * upstream

    theirs = tf.function(lambda x: triple(x) + 1.0)
    ours = tf.function(lambda x: 2.0 * theirs(x), autograph=False)
    forget_graph(ours.get_concrete_function(tf.TensorSpec([], tf.float64)))
    x = tf.Variable(1.0, dtype=tf.float64)
    with tf.GradientTape() as tape:
        y = theirs(x)
    assert tape.gradient(y, x).numpy() == 30.0


@pytest.mark.longest
@pytest.mark.parametrize("kind", ["posterior", "model"])
def test_predictions_of_many_chunks_leave_no_graph(kind, rng, monkeypatch):
    """Those of the eager calls at first too; only the compiled function stays, with its owner."""
    monkeypatch.setattr("gpflow_gi.models.chunks.TARGET_SIZE", 40)
    monkeypatch.setattr(compiled, "EAGER_CALLS", 3)
    model = BUILD["deep GP"]()
    owner = model.posterior(3, seed=0) if kind == "posterior" else model
    settings = () if kind == "posterior" else (3,)
    rows = rng.normal(size=(80, X.shape[1]))
    assert model.numbers_per_row(3) * len(rows) > 40 * chunks._MANY
    owner.predict_y(rows, *settings)  # kernels have functions of their own, traced once
    before = graphs_and_gradients()
    for _ in range(compiled.EAGER_CALLS - 1):
        owner.predict_y(rows, *settings)
    assert graphs_and_gradients() == before
    for _ in range(3):
        owner.predict_y(rows, *settings)
    compiled._FUNCTIONS.pop(owner)
    assert graphs_and_gradients() == before


def test_a_gradient_through_many_chunks_is_there(monkeypatch):
    monkeypatch.setattr(chunks, "_MANY", 2)

    @tf.custom_gradient
    def triple(x):
        return 3.0 * x, lambda upstream: 30.0 * upstream

    x = tf.Variable(tf.ones([7, 2], tf.float64))
    with tf.GradientTape() as tape:
        (y,) = chunks.in_chunks(lambda i, rows: (triple(rows),), [tf.convert_to_tensor(x)], 2)
    np.testing.assert_array_equal(tape.gradient(y, x), np.full((7, 2), 30.0))

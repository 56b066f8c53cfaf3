"""A loop that was compiled for one run serves others of its kind, and no others."""

import gc
import weakref

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.jitter import jitter_scales
from gpflow_gi.training import compiled_loop
from gpflow_gi.training.adam import Adam
from gpflow_gi.training.compiled_loop import CompiledLoop, forget_loops
from gpflow_gi.training.learning_rate import falling_rate

from .models import LinearModel, linear_data, train

pytestmark = pytest.mark.compiled
X, Y = linear_data(12)


def deep_gp(**settings):
    return gi.architectures.build_deep_gp(
        X, Y, **{"num_inducing": 4, "num_layers": 2, "seed": 0, **settings}
    )


def network(**settings):
    return gi.architectures.build_bnn(
        X, Y, **{"widths": (3,), "num_inducing": 4, "seed": 0, **settings}
    )


@pytest.fixture
def traces(monkeypatch):
    """Number of loops that were traced."""
    traced = []
    original = CompiledLoop.__init__

    def count(self, *arguments, **settings):
        traced.append(self)
        original(self, *arguments, **settings)

    monkeypatch.setattr(CompiledLoop, "__init__", count)
    return traced


def values(model):
    return [variable.numpy() for variable in model.variables]


@pytest.mark.slow
@pytest.mark.parametrize("build", [deep_gp, pytest.param(network, marks=pytest.mark.longest)])
def test_another_model_of_the_same_kind_gives_its_own_numbers(build, traces):
    """Another start, other data, another seed: bit for bit as if its loop were its own."""
    other = X[::-1] + 1.0, 3.0 * Y
    run = {"steps": 5, "batch_size": 5, "kl_warmup": 3}
    alone = build(seed=1)
    train(alone, other, seed=7, **run)
    forget_loops()
    train(build(), (X, Y), **run)
    shared = build(seed=1)
    train(shared, other, seed=7, **run)
    assert len(traces) == 2
    for one, two in zip(values(alone), values(shared), strict=True):
        np.testing.assert_array_equal(one, two)


@pytest.mark.slow
def test_a_second_run_goes_on_with_the_same_loop(traces):
    model = deep_gp()
    first = train(model, (X, Y), steps=4)
    second = train(model, (X, Y), steps=4)
    assert len(traces) == 1
    assert second.reports[-1].bound > first.reports[0].bound


@pytest.mark.slow
def test_a_recovered_jitter_is_that_of_the_model_that_needed_it(traces):
    plain, jittered = deep_gp(), deep_gp()
    for scale in jitter_scales(jittered):
        scale.assign(1e4)
    bounds = [train(model, (X, Y), steps=1).reports[0].bound for model in (plain, jittered)]
    assert len(traces) == 1
    assert bounds[0] != bounds[1]


class KindIsKnownError(Exception):
    """Ends a run before anything is compiled."""


@pytest.fixture
def kind(monkeypatch):
    """The kind of loop that a run asks for."""

    def known(kind, *arguments, **settings):
        raise KindIsKnownError(kind)

    monkeypatch.setattr(CompiledLoop, "of", known)

    def kind_of_run(model, **settings):
        with pytest.raises(KindIsKnownError) as error:
            train(model, (X, Y), **{"steps": 1, "batch_size": 5, **settings})
        return error.value.args[0]

    return kind_of_run


OTHERS = {
    "rows": (deep_gp, {"batch_size": 6}),
    "samples": (deep_gp, {"num_samples": 2}),
    "warm-up": (deep_gp, {"kl_warmup": 3}),
    "temperature": (deep_gp, {"temperature": 0.5}),
    "schedule": (deep_gp, {"learning_rate": falling_rate(0.1, 0.01, 3)}),
    "optimizer": (deep_gp, {"optimizer": Adam(0.01, beta_2=0.9, jit_compile=False)}),
    "layers": (lambda: deep_gp(num_layers=3), {}),
    "kernel": (lambda: deep_gp(kernel=gpflow.kernels.Matern32()), {}),
    "inducing points": (lambda: deep_gp(num_inducing=5), {}),
    "likelihood": (lambda: deep_gp(likelihood=gpflow.likelihoods.StudentT()), {}),
    "inference": (lambda: deep_gp(inference="local"), {}),
    "fixed": (lambda: with_fixed_noise(deep_gp()), {}),
}


def with_fixed_noise(model):
    gpflow.set_trainable(model.likelihood, False)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("what", OTHERS)
def test_a_run_that_differs_has_a_loop_of_its_own(what, kind):
    build, settings = OTHERS[what]
    plain, other = kind(deep_gp()), kind(build(), **settings)
    assert plain == kind(deep_gp(seed=3), seed=4)
    assert None not in (plain, other)
    assert plain != other


def test_settings_of_gpflow_count(kind):
    plain = kind(deep_gp())
    gpflow.config.set_default_jitter(1e-3)
    assert kind(deep_gp()) != plain


def test_the_schedule_of_another_run_is_another(kind):
    first, second, third = (
        kind(deep_gp(), learning_rate=falling_rate(0.1, last, 3)) for last in (0.01, 0.001, 0.01)
    )
    assert first == third != second


def with_own_mean(model):
    model.layers[0].mean_function = lambda X: tf.zeros_like(X)
    return model


def with_note(model):
    model.layers[0].note = object()
    return model


OWN = {
    "optimizer": (deep_gp, {"optimizer": gpflow.keras.tf_keras.optimizers.SGD(0.1)}),
    "weight decay": (deep_gp, {"optimizer": Adam(0.01, weight_decay=0.1, jit_compile=False)}),
    "class": (lambda: LinearModel(12), {}),
    "schedule": (deep_gp, {"learning_rate": lambda step: 0.1}),
    "function": (lambda: with_own_mean(deep_gp()), {}),
    "attribute": (lambda: with_note(deep_gp()), {}),
}


@pytest.mark.parametrize("what", OWN)
def test_what_users_define_is_compiled_anew(what, kind):
    """It can change unnoticed."""
    build, settings = OWN[what]
    assert kind(build(), **settings) is None


def test_what_is_of_no_kind_is_compiled_anew(traces):
    for _ in range(2):
        train(LinearModel(12), (X, Y), steps=1)
    assert len(traces) == 2
    assert not compiled_loop._LOOPS


@pytest.mark.slow
def test_a_loop_keeps_neither_model_nor_variables():
    model = deep_gp()
    train(model, (X, Y), steps=1)
    gone = [weakref.ref(model), *(weakref.ref(variable) for variable in model.variables)]
    del model
    gc.collect()
    assert not any(one() for one in gone)
    assert len(compiled_loop._LOOPS) == 1


def test_few_loops_are_kept(monkeypatch):
    monkeypatch.setattr(compiled_loop, "MOST_LOOPS", 2)
    variable = tf.Variable(1.0)
    for kind in "abacd":
        loop = CompiledLoop.of(kind, variable.assign_add, [tf.ones([])], [variable], jit_compile=0)
        loop(tf.ones([]))
    assert list(compiled_loop._LOOPS) == ["c", "d"]
    assert variable.numpy() == 6.0


@pytest.mark.longest
def test_a_tape_around_fit_does_not_matter(traces):
    alone, watched = deep_gp(), deep_gp()
    train(alone, (X, Y), steps=2)
    with tf.GradientTape():
        train(watched, (X, Y), steps=2)
    for one, two in zip(values(alone), values(watched), strict=True):
        np.testing.assert_array_equal(one, two)

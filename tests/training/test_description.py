"""Two models or functions are described alike just where they compute the same."""

import functools
import json
import os
import subprocess
import sys
from pathlib import Path

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.training.description import describe_function, describe_model

from .models import LinearModel, linear_data, noisy, svgp, train

RATE = 0.5


def deep_gp(
    kernel=gpflow.kernels.SquaredExponential,
    mean_function=None,
    likelihood=None,
    precision="diagonal",
    function=tf.nn.tanh,
    change=lambda model: None,
):
    layers = [
        gi.layers.DenseLayer(2, 3, gi.posteriors.GlobalInducing(4, 3)),
        function,
        gi.layers.GPLayer(
            kernel(lengthscales=np.ones(3)),
            1,
            gi.posteriors.GlobalInducing(4, 1, precision=precision),
            mean_function=mean_function,
        ),
    ]
    likelihood = likelihood or gpflow.likelihoods.Gaussian(0.1)
    model = gi.models.DeepGP(layers, likelihood, num_data=9, inducing_inputs=np.ones((4, 2)))
    change(model)
    return model


def keras(units=3, rate=2.0, **kwargs):
    D = tf_keras.layers.Dense
    net = tf_keras.Sequential(
        [
            D(units, activation=lambda x: rate * x, dtype="float64"),
            tf_keras.layers.Lambda(lambda x: x * x, dtype="float64"),
            D(3, dtype="float64"),
        ]
    )
    return deep_gp(function=net, **kwargs)


def functional(skip):
    x = tf_keras.Input((3,), dtype="float64")
    a = tf_keras.layers.Dense(3, dtype="float64")(x)
    b = tf_keras.layers.Dense(3, dtype="float64")(a)
    net = tf_keras.Model(x, tf_keras.layers.Add(dtype="float64")([b, x if skip else a]))
    return deep_gp(function=net)


def fixed(value):
    def change(model):
        model.likelihood.variance.assign(value)
        gpflow.set_trainable(model.likelihood, False)

    return change


def prior(scale):
    def change(model):
        lengthscales = model.layers[2].kernel.lengthscales
        one = gpflow.utilities.to_default_float(1.0)
        lengthscales.prior = tfp.distributions.LogNormal(0.0 * one, scale * one)

    return change


class Scaled(gpflow.kernels.SquaredExponential):
    """A kernel with a constant, defined in a module."""

    factor = 1.0


def local_kernel(factor):
    class Local(Scaled):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.factor = factor
            self.function = lambda x: factor * x

    return Local


MODELS = {
    "plain": deep_gp,
    "kernel": lambda: deep_gp(gpflow.kernels.Matern52),
    "own kernel": lambda: deep_gp(Scaled),
    "local kernel": lambda: deep_gp(local_kernel(1.0)),
    "local kernel's constant": lambda: deep_gp(local_kernel(2.0)),
    "mean function": lambda: deep_gp(mean_function=gpflow.functions.Constant()),
    "likelihood": lambda: deep_gp(likelihood=gpflow.likelihoods.StudentT()),
    "likelihood's constant": lambda: deep_gp(likelihood=gpflow.likelihoods.StudentT(df=4.0)),
    "precision": lambda: deep_gp(precision="full"),
    "function": lambda: deep_gp(function=tf.nn.relu),
    "lambda": lambda: deep_gp(function=lambda x: 2.0 * x),
    "lambda's constant": lambda: deep_gp(function=lambda x: 3.0 * x),
    "partial": lambda: deep_gp(function=functools.partial(tf.nn.leaky_relu, alpha=0.1)),
    "partial's constant": lambda: deep_gp(function=functools.partial(tf.nn.leaky_relu, alpha=0.3)),
    "fixed": lambda: deep_gp(change=fixed(0.1)),
    "fixed elsewhere": lambda: deep_gp(change=fixed(0.2)),
    "prior": lambda: deep_gp(change=prior(1.0)),
    "prior's constant": lambda: deep_gp(change=prior(2.0)),
    "keras": keras,
    "keras units": lambda: keras(units=4),
    "keras closure": lambda: keras(rate=3.0),
    "keras functional": lambda: functional(skip=True),
    "keras wiring": lambda: functional(skip=False),
    "number of rows": lambda: deep_gp(change=lambda model: setattr(model, "num_data", 8)),
    "svgp": lambda: svgp(9),
    "svgp's rows": lambda: svgp(8),
    "of the user's": lambda: LinearModel(9),
}


@pytest.mark.slow
def test_models_are_told_apart_and_the_same_again_is_the_same():
    described = {name: describe_model(build()) for name, build in MODELS.items()}
    for name in ("plain", "local kernel", "lambda", "keras", "keras functional", "prior"):
        assert describe_model(MODELS[name]()) == described[name], name
    names = list(described)
    same = [(a, b) for i, a in enumerate(names) for b in names[:i] if described[a] == described[b]]
    assert same == []


@pytest.mark.longest
def test_training_leaves_the_description_as_it_is():
    X, Y = linear_data(9)
    for name in ("plain", "keras", "keras functional", "svgp"):
        model = MODELS[name]()
        before = describe_model(model)
        train(model, (X, Y), steps=2)
        assert describe_model(model) == before, name


@pytest.mark.slow
def test_models_that_cannot_be_saved_are_described_and_trained(tmp_path):
    model = deep_gp(function=lambda x: 2.0 * x)
    with pytest.raises(gi.persistence.SaveError):
        gi.save(model, tmp_path / "model")
    data = linear_data(9)
    train(model, data, steps=2, checkpoint_dir=tmp_path / "run")
    assert train(MODELS["lambda"](), data, steps=2, checkpoint_dir=tmp_path / "run").step == 2
    with pytest.raises(ValueError, match=r"model.layers.1.function.code is \w+ there, and \w+ h"):
        train(MODELS["lambda's constant"](), data, steps=2, checkpoint_dir=tmp_path / "run")
    with pytest.raises(
        ValueError, match=r"another run: model\.layers.2.kernel is .*Exponential th"
    ):
        other = deep_gp(gpflow.kernels.Matern52, function=lambda x: 2.0 * x)
        train(other, data, steps=2, checkpoint_dir=tmp_path / "run")


def closure(constant, after=None):
    def rate(step):
        return constant / (1.0 + tf.cast(step, tf.float32)) if after is None else again(step)

    def again(step):
        return after * rate(step)

    return rate


class Method:
    def __init__(self, constant):
        self.constant = constant

    def rate(self, step):
        return self.constant

    __call__ = rate


FUNCTIONS = {
    "named": lambda: noisy,
    "another": lambda: linear_data,
    "lambda": lambda: lambda step: 0.1,
    "lambda's constant": lambda: lambda step: 0.2,
    "lambda's name": lambda: lambda step: tf.sin(step),
    "lambda's other name": lambda: lambda step: tf.cos(step),
    "global": lambda: lambda step: RATE,
    "default": lambda: lambda step, rate=0.1: rate,
    "default's value": lambda: lambda step, rate=0.2: rate,
    "nested": lambda: lambda step: [0.1 for _ in range(3)],
    "nested's constant": lambda: lambda step: [0.2 for _ in range(3)],
    "closure": lambda: closure(0.1),
    "closure's value": lambda: closure(0.2),
    "closure's array": lambda: closure(np.arange(3.0)),
    "closure's other array": lambda: closure(np.arange(3.0) + 1.0),
    "closure's closure": lambda: closure(0.1, after=1.0),
    "closure's set": lambda: closure({"a", "b", "c"}),
    "closure's tensor": lambda: closure(tf.constant(0.1)),
    "partial": lambda: functools.partial(noisy, scale=0.1),
    "partial's value": lambda: functools.partial(noisy, scale=0.2),
    "partial's function": lambda: functools.partial(closure, lambda x: 1),
    "partial's other function": lambda: functools.partial(closure, lambda x: 2),
    "method": lambda: Method(0.1).rate,
    "method's object": lambda: Method(0.2).rate,
    "object": lambda: Method(0.1),
    "tf.function": lambda: tf.function(closure(0.3)),
    "ufunc": lambda: np.sin,
}


def test_functions_are_told_apart_and_the_same_again_is_the_same(monkeypatch):
    described = {name: describe_function("f", make()) for name, make in FUNCTIONS.items()}
    for name, make in FUNCTIONS.items():
        assert describe_function("f", make()) == described[name], name
    names = list(described)
    same = [(a, b) for i, a in enumerate(names) for b in names[:i] if described[a] == described[b]]
    assert same == []
    monkeypatch.setattr(f"{__name__}.RATE", 0.6)
    assert describe_function("f", FUNCTIONS["global"]()) != described["global"]


@pytest.mark.longest
@pytest.mark.slow
def test_descriptions_are_those_of_another_process(tmp_path):
    """Nothing of an address, of the order of a set, or of the counters of Keras is in them."""
    script = (
        "import json, sys; from tests.training.test_description import *; keras();"
        "print(json.dumps([{n: describe_model(m()) for n, m in MODELS.items()},"
        "{n: describe_function('f', f()) for n, f in FUNCTIONS.items()}]))"
    )
    there = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    models, functions = json.loads(there.stdout)
    assert models == {name: describe_model(build()) for name, build in MODELS.items()}
    assert functions == {name: describe_function("f", make()) for name, make in FUNCTIONS.items()}


def test_what_cannot_be_told_apart_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    for held in (rng, iter([1]), object()):
        with pytest.raises(
            ValueError, match=r"refers to f\.constant, of the class .*Define f as a"
        ):
            describe_function("f", closure(held))

    def rate(step):
        return 0.1 + 0.0 * tf.cast(step, tf.float32) * rng.normal()

    with pytest.raises(ValueError, match=r"learning_rate cannot be told .* of the class numpy.ran"):
        train(LinearModel(9), linear_data(9), steps=1, learning_rate=rate, checkpoint_dir=tmp_path)
    assert list(tmp_path.iterdir()) == []
    train(LinearModel(9), linear_data(9), steps=1, learning_rate=rate)


def test_learning_rates_without_a_name_are_compared(tmp_path):
    model, data = LinearModel(9), linear_data(9)
    settings = {"steps": 1, "checkpoint_dir": tmp_path}
    train(model, data, learning_rate=closure(0.1), **settings)
    train(LinearModel(9), data, learning_rate=closure(0.1), **settings)
    with pytest.raises(ValueError, match=r"learning_rate.constant is 0.1 there, and 0.2 here"):
        train(LinearModel(9), data, learning_rate=closure(0.2), **settings)

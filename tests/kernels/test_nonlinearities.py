"""Nonlinearities: what a name means, and which functions are taken."""

import pickle

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras
from scipy import special, stats

from gpflow_gi.kernels import nonlinearities
from gpflow_gi.nonlinearities import as_nonlinearity

EXPECTED = {
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
    "erf": special.erf,
    "identity": lambda x: x,
    "sigmoid": special.expit,
    "softplus": lambda x: np.logaddexp(x, 0),
    "gelu": lambda x: x * stats.norm.cdf(x),
    "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "sin": np.sin,
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", EXPECTED)
def test_names(name, dtype):
    function = as_nonlinearity(name)
    x = tf.reshape(tf.constant(np.linspace(-6, 6, 24), dtype), [2, 3, 4])
    values = function(x)
    assert values.dtype == x.dtype
    np.testing.assert_allclose(
        values, EXPECTED[name](x.numpy()), rtol=100 * np.finfo(dtype).eps, atol=np.finfo(dtype).eps
    )
    # What a name stands for passes the check that other functions must pass.
    gpflow.config.set_default_float(dtype)
    assert as_nonlinearity(function) is function


@pytest.mark.parametrize("name", EXPECTED)
def test_functions_of_a_name_have_one(name):
    function = as_nonlinearity(name)
    assert function.__name__ == name and getattr(nonlinearities, name) is function
    assert pickle.loads(pickle.dumps(function)) is function
    assert name in repr(function)


def swish(x):
    return x * tf.sigmoid(x)


class Leaky(gpflow.Module):
    def __init__(self):
        super().__init__()
        self.slope = gpflow.Parameter(0.1, transform=gpflow.utilities.positive())

    def __call__(self, x):
        return tf.maximum(x, self.slope * x)


@pytest.mark.parametrize(
    "make",
    [
        lambda: tf.nn.relu,
        lambda: swish,
        lambda: tf.function(swish),
        lambda: tf.math.log,  # NaN for negative numbers, but elementwise
        lambda: lambda x: tf.exp(20 * x),
        Leaky,
        lambda: tf_keras.layers.LeakyReLU(dtype=gpflow.default_float()),
    ],
    ids=["relu", "swish", "compiled", "log", "exp", "module", "keras"],
)
def test_elementwise_functions_are_taken(make):
    function = make()
    assert as_nonlinearity(function) is function


MIXES = "must treat each entry by itself, all alike and without randomness, but .* turned"
TYPE = "must keep the type, but .* turned float64 into"


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (tf.nn.softmax, ValueError, MIXES),
        (lambda x: x - tf.reduce_mean(x, axis=-1, keepdims=True), ValueError, MIXES),
        (lambda x: x - tf.reduce_mean(x, axis=0), ValueError, MIXES),
        (lambda x: x - tf.reduce_mean(x, axis=-2, keepdims=True), ValueError, MIXES),
        (lambda x: x / (1 + tf.reduce_max(tf.abs(x))), ValueError, MIXES),
        (tf.math.cumsum, ValueError, MIXES),
        (tf.sort, ValueError, MIXES),
        (lambda x: tf.reverse(x, [-1]), ValueError, MIXES),
        (lambda x: tf.concat([tf.nn.relu(x[..., :1]), x[..., 1:]], -1), ValueError, MIXES),
        (lambda x: tf.nn.dropout(x, 0.02), ValueError, MIXES),
        (lambda x: tf.nn.experimental.stateless_dropout(x, 0.02, [1, 2]), ValueError, MIXES),
        (lambda x: x + 0.1 * tf.random.normal(x.shape, dtype=x.dtype), ValueError, MIXES),
        (tf.reduce_sum, ValueError, "must keep the shape"),
        (lambda x: tf.reduce_sum(x, -1, keepdims=True), ValueError, "must keep the shape"),
        (lambda x: tf.concat([x, -x], -1), ValueError, "must keep the shape"),
        (np.tanh, TypeError, "must return a tensor.*returned a ndarray"),
        (lambda x: None, TypeError, "must return a tensor.*returned a NoneType"),
        (lambda x: tf.cast(x, tf.float32), TypeError, f"{TYPE} float32"),
        (lambda x: x > 0, TypeError, f"{TYPE} bool"),
        (tf_keras.layers.ReLU(dtype="float32"), TypeError, f"{TYPE} float32"),
        (3.0, TypeError, "must be a name.*but is 3.0"),
        (None, TypeError, "must be a name.*but is None"),
        (tf_keras.layers.ReLU, TypeError, "must be a name"),
    ],
)
def test_others_are_refused(function, error, message):
    tf.random.set_seed(0)
    with pytest.raises(error, match=f"^nonlinearity {message}"):
        as_nonlinearity(function)


@pytest.mark.parametrize("name", ["softmax", "ReLU", ""])
def test_unknown_names_are_answered_with_the_known_ones(name):
    with pytest.raises(ValueError, match=f"^nonlinearity must be .*but is '{name}'") as error:
        as_nonlinearity(name)
    assert all(f'"{known}"' in str(error.value) for known in EXPECTED)


def fails(x):
    raise KeyError("first line\nsecond line")


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (fails, "KeyError: .*second line"),
        (lambda: 0.0, "TypeError: .*takes 0 positional arguments"),
        (lambda x: tf.matmul(x, tf.ones([3, 3], x.dtype)), "InvalidArgumentError: .*size"),
        (lambda x: x * tf.constant(2.0, tf.float32), "InvalidArgumentError: .*float"),
    ],
)
def test_failures_are_told_in_one_line(function, reason):
    with pytest.raises(ValueError, match=reason) as error:
        as_nonlinearity(function)
    message = str(error.value)
    assert message.startswith("nonlinearity must") and "\n" not in message
    assert error.value.__cause__ is None and error.value.__suppress_context__

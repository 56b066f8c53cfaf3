"""Errors of fit for wrong arguments."""

import functools

import gpflow
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.core.validation import check_data
from gpflow_gi.training import augmented, fit
from gpflow_gi.training.minibatches import check_num_data

from .models import LinearModel, linear_data, svgp, train

X, Y = linear_data()
schedules = tf_keras.optimizers.schedules


def speechless(*_):
    raise RuntimeError


@pytest.mark.parametrize(
    "kwargs, error, message",
    [
        ({"steps": 0}, ValueError, "steps must be an integer of at least 1"),
        ({"steps": 1.5}, ValueError, "steps must be an integer"),
        ({"steps": True}, ValueError, "steps must be an integer"),
        ({"batch_size": 0}, ValueError, "batch_size must be an integer of at least 1"),
        ({"batch_size": "10"}, ValueError, "batch_size must be an integer"),
        ({"num_samples": 0}, ValueError, "num_samples must be an integer of at least 1"),
        ({"kl_warmup": -1}, ValueError, "kl_warmup must be an integer of at least 0"),
        ({"kl_warmup": 0.5}, ValueError, "kl_warmup must be an integer"),
        ({"temperature": 0.0}, ValueError, "temperature must be positive"),
        ({"temperature": np.inf}, ValueError, "temperature must be finite"),
        (
            {"temperature": "cold"},
            ValueError,
            "temperature must be a number, but is the text 'cold'",
        ),
        ({"augment": "flip"}, TypeError, "augment must be a callable .*, not 'flip'"),
        (
            {"augment": lambda X, seed: X[:-1]},
            ValueError,
            r"augment=.*<lambda> must return rows like .* of shape \[20, 2\] and type float64, but "
            r"returned shape \[19, 2\] and type float64",
        ),
        (
            {"augment": lambda X, seed: tf.cast(X, tf.float32), "batch_size": 7},
            ValueError,
            r"of shape \[7, 2\] and type float64, but returned shape \[7, 2\] and type float32",
        ),
        ({"augment": lambda X, seed: None}, ValueError, "augment=.* failed on rows of shape"),
        ({"augment": speechless}, ValueError, "augment=speechless failed .* says: RuntimeError"),
        ({"learning_rate": speechless}, ValueError, "=speechless failed .* says: RuntimeError"),
        (
            {"augment": lambda X, seed: X if X.numpy().any() else -X},
            ValueError,
            r"augment=.* failed on .*; it must be written in TensorFlow operations. The error says",
        ),
        (
            {"augment": functools.partial(augmented, padding=1)},
            ValueError,
            r"augment=augmented\(padding=1\) failed on rows of shape \[20, 2\].* images must have",
        ),
        ({"seed": 1.5}, ValueError, "seed must be"),
        ({"callbacks": print}, TypeError, "callbacks must be a sequence"),
        ({"callbacks": ["print"]}, TypeError, "callbacks must be callables"),
        ({"learning_rate": 0.0}, ValueError, "learning_rate must be positive"),
        ({"learning_rate": np.nan}, ValueError, "learning_rate must be positive"),
        ({"learning_rate": "fast"}, TypeError, "learning_rate must be a number"),
        ({"learning_rate": True}, TypeError, "learning_rate must be a number"),
        (
            {"learning_rate": lambda step: 0.1 if int(step) < 5 else 0.01},
            ValueError,
            "learning_rate=.* failed on a step",
        ),
        (
            {"learning_rate": lambda step: 0.1 - 0.03 * tf.cast(step, tf.float64), "steps": 5},
            ValueError,
            r"must return .*, not negative, .* but returned -0\.0[12]\d* for step 4",
        ),
        ({"learning_rate": lambda step: step}, ValueError, "must return one finite number"),
        (
            {"learning_rate": lambda step: tf.constant([0.1, 0.1])},
            ValueError,
            "must return one finite number",
        ),
        (
            {
                "learning_rate": 0.1,
                "optimizer": tf_keras.optimizers.Adam(schedules.ExponentialDecay(0.1, 10, 0.9)),
            },
            ValueError,
            "one or the other",
        ),
        ({"optimizer": "adam"}, TypeError, "optimizer must come from gpflow.keras"),
        (
            {"optimizer": gpflow.optimizers.NaturalGradient(0.1)},
            TypeError,
            "optimizer is a NaturalGradient",
        ),
        ({"strategy": "mirrored"}, TypeError, "strategy must be .* but is 'mirrored'"),
        ({"strategy": tf.distribute.MirroredStrategy}, TypeError, "strategy must be .* <class"),
        ({"strategy": tf.distribute.OneDeviceStrategy("CPU:0")}, TypeError, "strategy must be"),
        (
            {"strategy": object.__new__(tf.distribute.ParameterServerStrategy)},
            TypeError,
            "strategy must be .* but is .*ParameterServerStrategy",
        ),
        (
            {"optimizer": gpflow.optimizers.Scipy()},
            TypeError,
            "optimizer must come from gpflow.keras",
        ),
    ],
)
def test_bad_settings(kwargs, error, message):
    model = LinearModel(20)
    with pytest.raises(error, match=message):
        train(model, (X, Y), **{"steps": 1, **kwargs})
    assert model.num_traces == 0


def with_value(array, row, column, value):
    array = array.copy()
    array[row, column] = value
    return array


@pytest.mark.parametrize(
    "data, message",
    [
        (X, "data must be a pair"),
        ((X, Y, Y), "data must be a pair"),
        ((X, Y[:-1]), "X has 20 and Y has 19"),
        ((X, Y[:, 0]), r"Y must have shape \[rows, columns\].*Write Y\[:, None\]"),
        ((X[None], Y), "X must have shape"),
        ((X[:0], Y[:0]), "X must not be empty"),
        ((X, Y[:, :0]), "Y must not be empty"),
        ((X + 1j, Y), "X must be an array of numbers that are real, but holds complex"),
        ((X, [["a"]] * 20), "Y must be an array of numbers, but holds text such as 'a'"),
        ((with_value(X, 3, 1, np.nan), Y), r"X must be finite, but X\[3, 1\] is nan\.$"),
        ((X, with_value(Y, 7, 0, -np.inf)), r"Y must be finite, but Y\[7, 0\] is -inf\.$"),
    ],
)
def test_bad_data(data, message):
    model = LinearModel(20)
    with pytest.raises(ValueError, match=message):
        train(model, data, steps=1)
    assert model.num_traces == 0


def test_data_of_any_kind():
    labels = np.array([[0], [1], [2]])
    frame = pd.DataFrame({"a": [1, 2, 3], "b": [0.5, 0.25, 0.125]})
    for inputs in (frame, frame.to_numpy().tolist(), tf.constant(frame.to_numpy(), tf.float32)):
        for targets in (labels, labels == 1, gpflow.Parameter(labels, dtype=tf.float64)):
            checked = check_data([inputs, targets])
            assert [array.dtype for array in checked] == [tf.float64, tf.float64]
            np.testing.assert_array_equal(checked[0], frame.to_numpy())
            np.testing.assert_array_equal(checked[1], np.asarray(targets))


def test_overflow_in_float32_is_named():
    gpflow.config.set_default_float(np.float32)
    try:
        with pytest.raises(
            ValueError, match=r"finite in float32, but X\[2, 0\] is 1e\+300, which is too"
        ):
            check_data((with_value(X, 2, 0, 1e300), Y))
    finally:
        gpflow.config.set_default_float(np.float64)


def test_num_data():
    with pytest.raises(ValueError, match="num_data=19, but the data has 20 rows"):
        train(LinearModel(19), (X, Y), steps=1)
    with pytest.raises(ValueError, match="num_data=21, but the data has 20 rows"):
        train(svgp(21), (X, Y), steps=1)
    with pytest.raises(ValueError, match=r"num_data is None.*Build the model with num_data=20"):
        train(svgp(None), (X, Y), steps=1, batch_size=5)
    # All rows at once need no scaling.
    check_num_data(svgp(None), 20, False)
    check_num_data(svgp(tf.constant(20)), 20, True)


def test_bad_models():
    with pytest.raises(TypeError, match=r"fit needs a model with bound_terms.*got GPR"):
        train(gpflow.models.GPR((X, Y), gpflow.kernels.RBF()), (X, Y), steps=1)
    with pytest.raises(ValueError, match="num_samples=3 has no meaning for SVGP"):
        train(svgp(20), (X, Y), steps=1, num_samples=3)
    model = LinearModel(20)
    gpflow.set_trainable(model, False)
    with pytest.raises(ValueError, match="no trainable parameters"):
        train(model, (X, Y), steps=1)
    model.unused = gpflow.Parameter(1.0)
    with pytest.raises(ValueError, match="does not depend on any of the trainable"):
        train(model, (X, Y), steps=1)


def test_an_optimizer_of_other_variables():
    optimizer = tf_keras.optimizers.Adam()
    train(LinearModel(20), (X, Y), steps=1, optimizer=optimizer)
    with pytest.raises(ValueError, match="used before for other variables"):
        train(LinearModel(20), (X, Y), steps=1, optimizer=optimizer)


@pytest.mark.slow
def test_averages_of_the_optimizer_are_the_result(tmp_path):
    points = np.linspace(-1.0, 1.0, 8)[:, None]
    data = points, np.sin(points)

    def trained(steps=20, folder=None, **averages):
        model = build_deep_gp(*data, num_inducing=3, num_layers=1)
        optimizer = tf_keras.optimizers.SGD(0.01, **averages)
        options = {"optimizer": optimizer, "checkpoint_dir": folder, "progress": False}
        fit(model, data, steps=steps, **options)
        return model, optimizer

    averaged = {"use_ema": True, "ema_momentum": 0.5}
    model, optimizer = trained(**averaged)
    means = optimizer._model_variables_moving_average
    for variable, mean in zip(model.trainable_variables, means, strict=True):
        np.testing.assert_array_equal(variable, mean)
    assert trained()[0].likelihood.variance != model.likelihood.variance
    # A checkpoint has the parameters, from which training goes on; a third run has nothing to do.
    trained(10, tmp_path, **averaged)
    for _ in range(2):
        again = trained(20, tmp_path, **averaged)[0]
        for one, other in zip(again.variables, model.variables, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", [int, float, np.int32])
def test_labels_of_a_softmax_in_a_sparse_gp(dtype):
    rows = np.random.default_rng(0).normal(size=(12, 2))
    labels = np.arange(12)[:, None] % 3
    model = gpflow.models.SVGP(
        gpflow.kernels.SquaredExponential(),
        gpflow.likelihoods.Softmax(3),
        rows[:4].copy(),
        num_latent_gps=3,
        num_data=12,
    )
    assert fit(model, (rows, labels.astype(dtype)), steps=2, progress=False).step == 2

"""Layers without randomness."""

import gpflow
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

import gpflow_gi as gi


@pytest.mark.parametrize(
    ("layer", "error", "message"),
    [
        (tf_keras.layers.Dropout(0.5), TypeError, "Dropout does something else in training"),
        (tf_keras.layers.BatchNormalization(), TypeError, "BatchNormalization does something"),
        (tf_keras.layers.experimental.SyncBatchNormalization(), TypeError, "SyncBatchNormal"),
        (tf_keras.layers.Dense(2, kernel_regularizer="l2"), ValueError, "kernel_regularizer"),
        (tf_keras.layers.LayerNormalization(gamma_regularizer="l1"), ValueError, "gamma_regul"),
        (
            tf_keras.Sequential([tf_keras.layers.Dense(2), tf_keras.layers.Dropout(0.5)]),
            TypeError,
            "Dropout",
        ),
    ],
)
def test_what_is_no_function_is_refused(layer, error, message):
    with pytest.raises(error, match=message):
        gi.layers.Deterministic(layer)


def test_what_is_a_function_is_taken():
    dense = tf_keras.layers.Dense(3, "relu", dtype=gpflow.default_float())
    assert gi.layers.Deterministic(tf_keras.Sequential([dense])).connect(2) == (3,)


class AddsLoss(tf_keras.layers.Layer):
    def call(self, inputs):
        self.add_loss(tf.reduce_sum(inputs))
        return inputs


def test_a_loss_that_is_added_in_a_call_is_refused():
    with pytest.raises(ValueError, match=r"AddsLoss.* adds a loss of its own"):
        gi.layers.Deterministic(AddsLoss(dtype=gpflow.default_float())).connect(2)


def test_pooling_that_leaves_nothing_is_refused():
    """Pooling that leaves no pixels is refused: a later mean over the image would be NaN."""
    pooling = tf_keras.layers.AveragePooling2D(5, dtype=gpflow.default_float())
    with pytest.raises(ValueError, match=r"AveragePooling2D.*leaves nothing of .*\(4, 6, 2\)"):
        gi.layers.Deterministic(pooling).connect(4, 6, 2)


def test_variables_that_would_not_be_trained_are_refused():
    dense = tf_keras.layers.Dense(3, dtype=gpflow.default_float())
    layer = gi.layers.Deterministic(lambda X: dense(X))
    with pytest.raises(ValueError, match="kernel:0, which the model does not see"):
        layer.connect(2)
    mean_function = gpflow.functions.Linear([[1.0, 2.0]])
    assert gi.layers.Deterministic(mean_function).connect(1) == (2,)

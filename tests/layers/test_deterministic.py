"""Layers without randomness."""

import gpflow
import pytest
from gpflow.keras import tf_keras

import gpflow_gi as gi


@pytest.mark.parametrize(
    ("layer", "error", "message"),
    [
        (tf_keras.layers.Dropout(0.5), TypeError, "Dropout does something else in training"),
        (tf_keras.layers.BatchNormalization(), TypeError, "BatchNormalization does something"),
        (tf_keras.layers.Dense(2, kernel_regularizer="l2"), ValueError, "kernel_regularizer"),
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
    assert gi.layers.Deterministic(tf_keras.Sequential([dense])).output_dim_for(2) == 3

"""Adam in one operation per variable, against Keras' own."""

import numpy as np
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

from gpflow_gi.training.adam import Adam


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("options", [{}, {"clipnorm": 0.5}, {"amsgrad": True}, {"beta_1": 0.5}])
def test_steps_are_those_of_keras(dtype, options, rng):
    start = [rng.normal(size=(3, 2)).astype(dtype), rng.normal(size=4).astype(dtype)]
    gradients = [[rng.normal(size=v.shape).astype(dtype) for v in start] for _ in range(30)]
    ends = []
    for kind in (Adam, tf_keras.optimizers.Adam):
        variables = [tf.Variable(value) for value in start]
        optimizer = kind(0.1, jit_compile=False, **options)
        optimizer.build(variables)
        for i, one in enumerate(gradients):
            optimizer.learning_rate = 0.1 / (1 + i)
            optimizer.apply_gradients(zip(map(tf.constant, one), variables, strict=True))
        ends.append([*variables, *optimizer.variables])
    for mine, theirs in zip(*ends, strict=True):
        # Keras rounds powers of beta to float32 on the way, in float64 too.
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)


def test_sparse_gradients_are_taken_too():
    variable = tf.Variable(np.ones((4, 2)))
    optimizer = Adam(0.1, jit_compile=False)
    optimizer.build([variable])
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(tf.gather(variable, [1, 3]))
    gradient = tape.gradient(loss, variable)
    assert isinstance(gradient, tf.IndexedSlices)
    optimizer.apply_gradients([(gradient, variable)])
    np.testing.assert_allclose(variable, [[1, 1], [0.9, 0.9], [1, 1], [0.9, 0.9]], atol=1e-6)


def test_it_is_known_by_the_name_of_adam():
    # Checkpoints compare runs by it.
    assert Adam.__name__ == "Adam"

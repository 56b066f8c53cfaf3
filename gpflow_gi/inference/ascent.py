"""Stochastic gradient ascent, in a compiled loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf
from gpflow.keras import tf_keras

_STEPS_A_CALL = 100


def ascend(
    objective: Callable[[tf.Tensor], tf.Tensor],
    variables: Sequence[tf.Variable],
    *,
    steps: int,
    learning_rate: float,
) -> tf.Tensor:
    """Maximise by Adam, at a rate that is constant for half of the steps and then falls to zero.

    :param objective: from the step [] int32, counting from 0, to an estimate [] of the objective.
    :param variables: the variables it depends on.
    :param steps: the number of steps.
    :param learning_rate: the rate at first.
    :return: the objective before each step, [steps].
    """
    optimizer = tf_keras.optimizers.Adam(learning_rate, jit_compile=False)
    optimizer.build(variables)

    def take(step: tf.Tensor, values: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        with tf.GradientTape() as tape:
            loss = -objective(step)
        left = 2.0 * (1.0 - tf.cast(step, tf.float32) / steps)
        optimizer.learning_rate.assign(learning_rate * tf.minimum(left, 1.0))
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return step + 1, values.write(step % _STEPS_A_CALL, -loss)

    @tf.function(autograph=False)
    def run(start: tf.Tensor, stop: tf.Tensor) -> tf.Tensor:
        values = tf.TensorArray(variables[0].dtype, _STEPS_A_CALL, element_shape=[])
        return tf.while_loop(lambda step, _: step < stop, take, (start, values))[1].stack()

    # A concrete function: TensorFlow would take those of several searches for retracing, and warn.
    index = tf.TensorSpec([], tf.int32)
    compiled = run.get_concrete_function(index, index)
    parts = [
        compiled(tf.constant(start), tf.constant(min(start + _STEPS_A_CALL, steps)))
        for start in range(0, steps, _STEPS_A_CALL)
    ]
    return tf.concat(parts, axis=0)[:steps]

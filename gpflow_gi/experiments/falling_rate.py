"""The learning rate of experiments on minibatches, whose bound is noisy and its maximum flat."""

from collections.abc import Callable

import tensorflow as tf


def falling_rate(learning_rate: float, steps: int) -> Callable[[tf.Tensor], tf.Tensor]:
    """A rate that stays in the first half of the steps and falls to a hundredth over the second.

    :param learning_rate: in the first half.
    :param steps: how many in all.
    :return: from the step, [], to the rate, [].
    """

    def rate(step: tf.Tensor) -> tf.Tensor:
        done = tf.cast(step, tf.float32) / steps
        return learning_rate * 0.01 ** tf.maximum(2 * done - 1, 0.0)

    return rate

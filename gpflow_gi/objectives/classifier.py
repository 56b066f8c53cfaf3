"""The loss of a classifier that tells draws of two distributions apart, and what it needs."""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from ..core.perceptron import Perceptron

_LEAST_VARIANCE = 1e-12


def new_classifier(size: int, widths: Sequence[int], seed: tf.Tensor) -> Perceptron:
    """A network of `size` inputs and one output."""
    return Perceptron(size, 1, widths, tf.nn.relu, seed)


def classifier_loss(of_q: tf.Tensor, of_other: tf.Tensor) -> tf.Tensor:
    """E_q softplus(-T) + E_p softplus(T), [S] and [S] -> []: (3) of the paper, as a loss."""
    return tf.reduce_mean(tf.nn.softplus(-of_q)) + tf.reduce_mean(tf.nn.softplus(of_other))


def moments(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Means and standard deviations over samples, two of [L], as constants."""
    mean, variance = tf.nn.moments(tf.stop_gradient(x), axes=[0])
    return mean, tf.sqrt(tf.maximum(variance, _LEAST_VARIANCE))

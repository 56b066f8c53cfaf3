"""Networks without randomness: all weights are parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.base import Parameter

from .random import fold_in, standard_normal


class Perceptron(gpflow.Module):
    """A network of dense layers with biases and a nonlinearity between them.

    Weights and biases start at N(0, 1 / fan-in). The unconstrained variables of weights are in
    units of 1 / sqrt(fan-in): a step of Adam moves wide networks no further than narrow ones.
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        widths: Sequence[int],
        nonlinearity: Callable[[tf.Tensor], tf.Tensor],
        seed: tf.Tensor,
    ) -> None:
        """Draw the start.

        :param input_dim: D, the number of inputs.
        :param output_dim: P, the number of outputs.
        :param widths: widths of the hidden layers.
        :param nonlinearity: elementwise, after each hidden layer.
        :param seed: [2].
        """
        super().__init__()
        self.nonlinearity = nonlinearity
        self.weights, self.biases = [], []
        for i, (below, above) in enumerate(pairwise([input_dim, *widths, output_dim])):
            start = standard_normal([below + 1, above], fold_in(seed, i), gpflow.default_float())
            unit = tf.constant(1 / np.sqrt(below), start.dtype)
            scale = tfp.bijectors.Scale(unit)
            self.weights.append(Parameter(unit * start[:-1], transform=scale))
            self.biases.append(Parameter(unit * start[-1]))

    def __call__(self, X: tf.Tensor, factors: Sequence[tf.Tensor] | None = None) -> tf.Tensor:
        """The outputs.

        :param X: [..., D].
        :param factors: by which the units of each hidden layer are multiplied, such as dropout,
            each broadcast to [..., width]; None for 1.
        :return: [..., P].
        """
        F = tf.reshape(X, [-1, X.shape[-1]])  # one large product is faster than many small ones
        for i, (weights, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            if i > 0:
                F = self.nonlinearity(F)
            if i > 0 and factors is not None:
                shape = tf.concat([tf.shape(X)[:-1], [F.shape[-1]]], axis=0)
                F *= tf.reshape(tf.broadcast_to(factors[i - 1], shape), [-1, F.shape[-1]])
            F = tf.matmul(F, weights) + bias
        return tf.reshape(F, tf.concat([tf.shape(X)[:-1], [F.shape[-1]]], axis=0))

"""Autoregressive steps of flows: coordinate i moves by a function of the coordinates before it.

Shapes: S vectors, L coordinates, H units of a hidden layer.
"""

from __future__ import annotations

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.base import Parameter

from ..core.random import fold_in, standard_normal
from .flow_steps import LOG_E_MINUS_1, FlowStep


class MaskedNetwork(gpflow.Module):
    """Numbers for coordinate i that depend on the coordinates before it.

    Germain, Gregor, Murray & Larochelle (2015), "MADE", eqs. (12) and (13), with two hidden layers
    of H units.
    """

    def __init__(self, size: int, width: int, num_outputs: int, seed: tf.Tensor) -> None:
        """Start with outputs close to zero.

        :param size: number of coordinates, L.
        :param width: number of units of a hidden layer, H. With fewer than L - 1, coordinates come
            in H + 1 groups, whose members depend on those before the group.
        :param num_outputs: C, the numbers for each coordinate.
        :param seed: [2].
        """
        super().__init__()
        dtype = gpflow.default_float()
        inputs, outputs = np.arange(size), np.repeat(np.arange(size), num_outputs)
        # Where units are fewer than degrees, they are spread: every coordinate is seen by some.
        degrees = max(size - 1, 1)
        hidden = np.arange(width) % degrees
        if width < degrees:
            hidden = (np.arange(width) + 1) * degrees // width - 1
        # A hidden unit of degree d sees the coordinates up to d, and is seen by those after d.
        seen = [inputs[:, None] <= hidden, hidden[:, None] <= hidden, hidden[:, None] < outputs]
        # Scaled by the root of the number of units seen, so that weights are of size one and a step
        # of Adam moves wide networks no further than narrow ones.
        self._masks = [
            tf.constant(mask / np.sqrt(np.maximum(mask.sum(axis=0), 1)), dtype) for mask in seen
        ]
        self.weights = []
        for i, mask in enumerate(self._masks):
            draw = standard_normal(mask.shape, fold_in(seed, i), dtype)
            self.weights.append(Parameter(0.01 * draw if i == 2 else draw))
        self.biases = [Parameter(tf.zeros([mask.shape[1]], dtype)) for mask in self._masks]
        self._num_outputs = num_outputs

    def __call__(self, z: tf.Tensor) -> tf.Tensor:
        """The outputs, [S, L] -> [S, L, C]."""
        layers = zip(self.weights, self.biases, self._masks, strict=True)
        values = z
        for i, (weights, bias, mask) in enumerate(layers):
            values = tf.matmul(values if i == 0 else tf.nn.elu(values), weights * mask) + bias
        return tf.reshape(values, [-1, z.shape[1], self._num_outputs])


class InverseAutoregressive(FlowStep):
    """exp(tanh s) z + m in the reverse order of coordinates: Kingma et al. (2016), section 4.

    A step changes scales by at most a factor of e: without a limit, training can diverge.
    """

    def __init__(self, size: int, width: int, seed: tf.Tensor) -> None:
        """Start close to the identity.

        :param size: number of coordinates, L.
        :param width: number of units of a hidden layer, H.
        :param seed: [2].
        """
        super().__init__()
        self.network = MaskedNetwork(size, width, 2, seed)

    def __call__(self, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        m, s = tf.unstack(self.network(z), axis=-1)
        s = tf.tanh(s)
        return tf.reverse(tf.exp(s) * z + m, [1]), tf.reduce_sum(s, axis=1)


class NeuralAutoregressive(FlowStep):
    """A monotonic network for each coordinate: Huang, Krueger, Lacoste & Courville (2018).

    Their deep sigmoidal flow, eq. (8): logit(sum_k w_k sigmoid(a_k z + b_k)), in the reverse order
    of coordinates.
    """

    def __init__(self, size: int, width: int, num_units: int, seed: tf.Tensor) -> None:
        """Start close to the identity.

        :param size: number of coordinates, L.
        :param width: number of units of a hidden layer, H.
        :param num_units: sigmoids of each coordinate.
        :param seed: [2].
        """
        super().__init__()
        self.network = MaskedNetwork(size, width, 3 * num_units, seed)
        # Different from each other from the start, or they would stay the same.
        dtype = gpflow.default_float()
        draws = standard_normal([size, num_units], fold_in(seed, 3), dtype)
        self.offsets = Parameter(0.1 * draws)

    def __call__(self, z: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        log_w, a, b = tf.split(self.network(z), 3, axis=-1)
        log_w = tf.nn.log_softmax(log_w)
        a = tf.math.softplus(a + LOG_E_MINUS_1)  # 1 where the network's output is 0
        x = a * z[..., None] + b + self.offsets
        log_p = tf.reduce_logsumexp(log_w + tf.math.log_sigmoid(x), axis=-1)
        log_1_minus_p = tf.reduce_logsumexp(log_w + tf.math.log_sigmoid(-x), axis=-1)
        # dp/dz = sum_k w_k a_k sigmoid(x_k) sigmoid(-x_k), and d logit(p) = dp / (p (1 - p))
        slopes = tf.math.log_sigmoid(x) + tf.math.log_sigmoid(-x)
        log_slope = tf.reduce_logsumexp(log_w + tf.math.log(a) + slopes, axis=-1)
        log_det = tf.reduce_sum(log_slope - log_p - log_1_minus_p, axis=1)
        return tf.reverse(log_p - log_1_minus_p, [1]), log_det

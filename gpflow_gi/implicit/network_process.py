"""Bayesian neural networks as implicit processes."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import gpflow
import tensorflow as tf

from ..core.process import Functions, Process
from ..core.random import standard_normal
from ..core.validation import widths_of_layers
from ..kernels.nonlinearities import Nonlinearity, as_nonlinearity
from ..layers import DenseLayer
from ..posteriors import Factorised


class NetworkProcess(Process):
    """A network whose weights are independent Gaussians with learned means and scales.

    The Bayesian network of Ma, Li & Hernandez-Lobato (2019) and of Rodriguez Santana, Zaldivar &
    Hernandez-Lobato (2022), section 5. Weights start with mean zero and standard deviation
    1 / sqrt(fan-in), with the bias counted in the fan-in, as in NealPrior.

    >>> process = NetworkProcess(2, widths=(20,))
    >>> functions = process.draw(5, seed=1)
    >>> functions([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5]]).shape
    TensorShape([5, 3, 1])
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int = 1,
        widths: Sequence[int] = (50, 50),
        nonlinearity: str | Nonlinearity = "tanh",
        seed: int = 0,
    ) -> None:
        """Set up the weights.

        :param input_dim: D, the number of columns of the inputs.
        :param output_dim: P, the number of outputs.
        :param widths: widths of the hidden layers.
        :param nonlinearity: after each hidden layer: a name, or an elementwise function.
        :param seed: the seed of draws for which none is given, from 0 to 2^32 - 1.
        :raises ValueError: if a number is not a positive integer, the nonlinearity is unknown, or
            the seed is not a seed.
        :raises TypeError: if the nonlinearity is neither a name nor a function.
        """
        super().__init__(input_dim, output_dim, seed)
        self.nonlinearity = as_nonlinearity(nonlinearity)
        dims = [self.input_dim, *widths_of_layers(widths), self.output_dim]
        self.layers = [DenseLayer(below, above, Factorised()) for below, above in pairwise(dims)]

    @property
    def size(self) -> int:
        """L, the number of all weights."""
        return sum(layer.num_weights * layer.output_dim for layer in self.layers)

    def functions(self, num_draws: int, seed: tf.Tensor) -> Functions:
        z = standard_normal([num_draws, self.size], seed, gpflow.default_float())
        return self.functions_of(z)

    def functions_of(self, z: tf.Tensor) -> Functions:
        """The network with weights mean + scale z.

        :param z: whitened weights, [S, L], those of the first layer first; N(0, I) under the prior.
        :return: functions from a tensor [N, D] to [S, N, P].
        """
        draws = []
        for layer in self.layers:
            q = layer.posterior
            K, P = q.mean.shape
            own, z = z[:, : K * P], z[:, K * P :]
            weights = q.mean + q.standard_deviation * tf.reshape(own, [-1, K, P])
            draws.append(layer.draw_of(weights))

        def values(X: tf.Tensor) -> tf.Tensor:
            F = X
            for i, draw in enumerate(draws):
                F = draw(F if i == 0 else self.nonlinearity(F))
            return F

        return values

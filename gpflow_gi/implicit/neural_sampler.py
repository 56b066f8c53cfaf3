"""Neural samplers: networks with random inputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gpflow
import tensorflow as tf

from ..core.perceptron import Perceptron
from ..core.process import Functions, Process
from ..core.random import fold_in, standard_normal, start_seed
from ..core.validation import positive_integer, share_below_one, widths_of_layers
from ..kernels.nonlinearities import Nonlinearity, as_nonlinearity


class NeuralSampler(Process):
    """f(x) = g(x, e), e ~ N(0, I): a network on the inputs and on noise that all rows share.

    Ma, Li & Hernandez-Lobato (2019); Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022),
    section 5, with 10 dimensions of noise. All weights of g are parameters.

    With a rank R, f(x) = a(x)^T v(e) with two networks, a of the inputs and v of the noise. N rows
    and S draws then pass through a network N + S times in place of N S times.

    With a dropout rate, the units that a draw leaves out are part of its noise: each draw is a
    function, of all rows alike, in training and in predictions.

    >>> sampler = NeuralSampler(2, noise_dim=3, rank=4)
    >>> sampler.draw(5)([[0.0, 1.0]]).shape
    TensorShape([5, 1, 1])
    """

    dropout_rate = 0.0  # in files of earlier versions

    def __init__(
        self,
        input_dim: int,
        output_dim: int = 1,
        widths: Sequence[int] = (50, 50),
        nonlinearity: str | Nonlinearity = "tanh",
        seed: int = 0,
        *,
        noise_dim: int = 10,
        rank: int | None = None,
        dropout_rate: float = 0.0,
    ) -> None:
        """Draw the weights at the start.

        :param input_dim: D, the number of columns of the inputs.
        :param output_dim: P, the number of outputs.
        :param widths: widths of the hidden layers, of each network.
        :param nonlinearity: after each hidden layer: a name, or an elementwise function.
        :param seed: the seed of the weights at the start, and of draws for which none is given,
            from 0 to 2^32 - 1.
        :param noise_dim: the number of dimensions of the noise.
        :param rank: R, for each output; None for one network on inputs and noise together.
        :param dropout_rate: probability that a draw leaves out a hidden unit; with a rank a hidden
            unit of the noise's network, or one of the R products. The paper has 0.05 in section
            5.2, and does not say where.
        :raises ValueError: if a number is not a positive integer, the nonlinearity is unknown, the
            rate is not from 0 to below 1, or the seed is not a seed.
        :raises TypeError: if the nonlinearity is neither a name nor a function.
        """
        super().__init__(input_dim, output_dim, seed)
        self.noise_dim = positive_integer("noise_dim", noise_dim)
        self.rank = None if rank is None else positive_integer("rank", rank)
        self.dropout_rate = share_below_one("dropout_rate", dropout_rate)
        widths, function = widths_of_layers(widths), as_nonlinearity(nonlinearity)
        start = start_seed(self.seed)
        D, P, noise = self.input_dim, self.output_dim, self.noise_dim
        if self.rank is None:
            self.network = Perceptron(D + noise, P, widths, function, fold_in(start, 0))
            return
        size = self.rank * P
        self.network = Perceptron(D, size, widths, function, fold_in(start, 0))
        self.noise_network = Perceptron(noise, size, widths, function, fold_in(start, 1))

    def functions(self, num_draws: int, seed: tf.Tensor) -> Functions:
        noise = standard_normal(
            [num_draws, self.noise_dim], fold_in(seed, 0), gpflow.default_float()
        )
        if self.rank is not None:
            shape = [-1, self.output_dim, self.rank]
            v = self.noise_network(noise, self._factors(num_draws, seed, self.noise_network))
            v = tf.reshape(v, shape) / self.rank**0.5
            if self.dropout_rate:
                v *= self._kept(tf.shape(v), fold_in(seed, 1))
            return lambda X: tf.einsum("npr,spr->snp", tf.reshape(self.network(X), shape), v)

        def values(X: tf.Tensor) -> tf.Tensor:
            N = tf.shape(X)[0]
            rows = tf.broadcast_to(X, tf.concat([[num_draws], tf.shape(X)], axis=0))
            noises = tf.broadcast_to(noise[:, None], [num_draws, N, self.noise_dim])
            return self.network(tf.concat([rows, noises], axis=-1), factors)

        factors = self._factors(num_draws, seed, self.network)
        if factors is not None:  # the same for all rows
            factors = [factor[:, None] for factor in factors]
        return values

    def _factors(
        self, num_draws: int, seed: tf.Tensor, network: Perceptron
    ) -> list[tf.Tensor] | None:
        """Factors of each draw's hidden units, [S, width] each; None without dropout."""
        if not self.dropout_rate:
            return None
        return [
            self._kept([num_draws, weights.shape[0]], fold_in(seed, 2 + i))
            for i, weights in enumerate(network.weights[1:])
        ]

    def _kept(self, shape: Any, seed: tf.Tensor) -> tf.Tensor:
        """0 with the probability of the dropout rate, and otherwise what makes the mean 1."""
        kept = 1.0 - self.dropout_rate
        uniform = tf.random.stateless_uniform(shape, seed, dtype=gpflow.default_float())
        return tf.cast(uniform < kept, uniform.dtype) / kept

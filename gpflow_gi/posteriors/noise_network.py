"""A network that turns noise into samples of a distribution without a density."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

from ..core.perceptron import Perceptron
from ..core.random import as_seed, standard_normal, start_seed
from ..core.validation import finite_array, numpy_seed, positive_integer, widths_of_layers
from ..kernels.nonlinearities import Nonlinearity, as_nonlinearity


class NoiseNetwork(gpflow.Module):
    """Samples network(e), e ~ N(0, I): an implicit distribution over vectors of L numbers.

    Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), section 5, with 100 dimensions of noise
    and two hidden layers of 50 units.

    >>> samples = NoiseNetwork(3)(10, seed=0)
    >>> samples.shape
    TensorShape([10, 3])
    """

    def __init__(
        self,
        output_dim: int,
        *,
        noise_dim: int = 100,
        widths: Sequence[int] = (50, 50),
        nonlinearity: str | Nonlinearity = "tanh",
        mean: Any = None,
        seed: int = 0,
    ) -> None:
        """Draw the start.

        :param output_dim: L, the size of a sample.
        :param noise_dim: the number of dimensions of the noise.
        :param widths: widths of the hidden layers.
        :param nonlinearity: after each hidden layer: a name, or an elementwise function.
        :param mean: [L], the bias of the outputs at the start; zero by default.
        :param seed: of the weights at the start, an integer from 0 to 2^32 - 1.
        :raises ValueError: if a number is not a positive integer, the nonlinearity is unknown, or
            `mean` is not finite or of another shape.
        :raises TypeError: if the nonlinearity is neither a name nor a function.
        """
        super().__init__()
        self.output_dim = positive_integer("output_dim", output_dim)
        self.noise_dim = positive_integer("noise_dim", noise_dim)
        self.network = Perceptron(
            self.noise_dim,
            self.output_dim,
            widths_of_layers(widths),
            as_nonlinearity(nonlinearity),
            start_seed(numpy_seed("seed", seed)),
        )
        mean = np.zeros(self.output_dim) if mean is None else mean
        self.network.biases[-1].assign(finite_array("mean", mean, (self.output_dim,)))

    def __call__(self, num_samples: int, seed: Any) -> tf.Tensor:
        """Draw samples.

        :param num_samples: the number of samples, S.
        :param seed: an integer or a pair of them.
        :return: [S, L].
        """
        dtype = gpflow.default_float()
        return self.network(standard_normal([num_samples, self.noise_dim], as_seed(seed), dtype))

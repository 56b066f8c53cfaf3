"""The interface of implicit processes: random functions that can be drawn, without a density."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, TypeAlias

import gpflow
import tensorflow as tf

from .random import Seed, as_seed
from .validation import check_float_type, check_rank, finite_tensor, numpy_seed, positive_integer

Functions: TypeAlias = Callable[[tf.Tensor], tf.Tensor]
"""S drawn functions, [N, D] -> [S, N, P]; the value of a row does not depend on other rows."""


class Process(gpflow.Module, ABC):
    """A random function f(x) = g(x, z), z ~ p(z), with parameters in g or p.

    Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), eq. (5). All that is needed of it is
    that it can be drawn; a subclass implements :meth:`functions`. Draws have gradients in the
    parameters, and the same seed gives the same z: with common random numbers, moments of S draws
    are deterministic functions of the parameters.
    """

    def __init__(self, input_dim: int, output_dim: int, seed: int) -> None:
        """Set the sizes.

        :param input_dim: D, the number of columns of the inputs.
        :param output_dim: P, the number of outputs.
        :param seed: the seed of draws for which none is given, from 0 to 2^32 - 1.
        :raises ValueError: if a number is not a positive integer, or the seed is not a seed.
        """
        super().__init__()
        self.input_dim = positive_integer("input_dim", input_dim)
        self.output_dim = positive_integer("output_dim", output_dim)
        self.seed = numpy_seed("seed", seed)

    def draw(self, num_draws: int, seed: Seed = None) -> Functions:
        """Draw functions.

        :param num_draws: the number of draws, S.
        :param seed: an integer or a pair of them; None for the process's own, so that the draws
            change with the parameters alone.
        :return: a function from X [N, D] to the draws' values, [S, N, P], with the parameters at
            the time of this call. It raises ValueError if X is not finite or has another shape.
        :raises ValueError: if `num_draws` is not a positive integer, if `seed` is not a seed, or if
            GPflow's default float type has changed since the process was built.
        """
        check_float_type(self, "process")
        S = positive_integer("num_draws", num_draws)
        functions = self.functions(S, self.own_seed if seed is None else as_seed(seed))

        def values(X: Any) -> tf.Tensor:
            X = finite_tensor("X", X)
            check_rank("X", X)
            self.check_columns(X.shape[-1])
            return functions(X)

        return values

    @abstractmethod
    def functions(self, num_draws: int, seed: tf.Tensor) -> Functions:
        """Draw functions, of arguments that are known to be right.

        :param num_draws: the number of draws, S.
        :param seed: [2].
        :return: functions from a tensor [N, D] to [S, N, P].
        """

    @property
    def own_seed(self) -> tf.Tensor:
        """The seed of draws for which none is given, [2]."""
        return as_seed(self.seed)

    def check_columns(self, number: int | None) -> None:
        """Check the number of columns of the inputs, if it is known.

        :param number: of columns; None if it is not known.
        :raises ValueError: if it is not D.
        """
        if number not in (None, self.input_dim):
            raise ValueError(
                f"The process has input_dim={self.input_dim}, but X has {number} columns."
            )

"""Gaussian processes, and functions of them, as implicit processes."""

from __future__ import annotations

from collections.abc import Callable

import gpflow
import tensorflow as tf
from gpflow.kernels import Kernel

from ..core.process import Functions, Process
from ..core.validation import positive_integer, shown
from ..kernels import functions


class KernelProcess(Process):
    """f(x) = warp(g(x)) with g ~ GP(0, k): a warped Gaussian process, one for each output.

    Draws are sums of random features (Rahimi & Recht 2007), with new frequencies in each draw;
    of kernels with finitely many features, of those. Their means and covariances are the kernel's.

    >>> import gpflow
    >>> positive = KernelProcess(gpflow.kernels.Matern32(), 1, warp=tf.exp)
    >>> bool(tf.reduce_all(positive.draw(3)([[0.0], [1.0]]) > 0.0))
    True
    """

    def __init__(
        self,
        kernel: Kernel,
        input_dim: int,
        output_dim: int = 1,
        *,
        warp: Callable[[tf.Tensor], tf.Tensor] | None = None,
        num_features: int = 100,
        seed: int = 0,
    ) -> None:
        """Set the kernel.

        :param kernel: any of GPflow's kernels, sums and products of them, and
            :class:`~gpflow_gi.kernels.BNNKernel`; but no White kernel, which is noise, no product
            of several kernels of which more than one is an arc-cosine kernel, a convolutional one
            or one with change points, and no periodic Matern or exponential kernel of several
            inputs. One of several outputs has its own.
        :param input_dim: D, the number of columns of the inputs.
        :param output_dim: P, the number of outputs, which are independent unless the kernel
            mixes them.
        :param warp: an elementwise function; None for g itself.
        :param num_features: F, the number of random frequencies of each draw.
        :param seed: the seed of draws for which none is given, from 0 to 2^32 - 1.
        :raises ValueError: if the kernel is none of these or cannot take D columns, if a number is
            not a positive integer, if `warp` changes the shape, or if the seed is not a seed.
        :raises TypeError: if `kernel` is not a kernel, or `warp` not a function.
        """
        super().__init__(input_dim, output_dim, seed)
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a GPflow kernel, but is {shown(kernel)}.")
        if warp is not None and not callable(warp):
            raise TypeError(f"warp must be a function of a tensor, but is {shown(warp)}.")
        self.kernel = kernel
        self.warp = warp
        self.num_features = positive_integer("num_features", num_features)
        self._check()

    def functions(self, num_draws: int, seed: tf.Tensor) -> Functions:
        g = functions.draw_function(
            self.kernel, self.input_dim, [num_draws], self.output_dim, self.num_features, seed
        )
        warp = self.warp
        return g if warp is None else lambda X: warp(g(X))

    def _check(self) -> None:
        """Draw once, for an error now rather than in training."""
        try:
            values = self.functions(2, self.own_seed)(
                tf.zeros([3, self.input_dim], gpflow.default_float())
            )
        except functions.NoFunctionError as error:
            raise ValueError(
                f"The kernel {type(self.kernel).__name__} cannot be drawn as functions: {error}."
            ) from None
        except Exception as error:
            raise ValueError(
                f"The kernel or the warp cannot take inputs of {self.input_dim} columns. "
                f"({shown(error)})"
            ) from None
        if not tf.is_tensor(values):
            raise ValueError(
                "warp must be made of TensorFlow operations, such as tf.exp, but it returned a "
                f"{type(values).__name__}, which has no gradients."
            )
        if values.shape != [2, 3, self.output_dim]:
            raise ValueError(
                f"warp must return a tensor of the shape of its input, [2, 3, {self.output_dim}], "
                f"but returned one of shape {values.shape.as_list()}."
            )

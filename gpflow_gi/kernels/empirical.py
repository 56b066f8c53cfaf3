"""The Gaussian process with the empirical mean and covariance of drawn functions.

    m(x) = 1/S sum_s f_s(x),    k(x, x') = phi(x)^T phi(x'),    phi_s(x) = (f_s(x) - m(x)) / sqrt(S)

(Rodriguez Santana, Zaldivar & Hernandez-Lobato 2022, eq. 6). It has at most S - 1 degrees of
freedom, since the phi_s sum to zero.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import tensorflow as tf
from check_shapes import inherit_check_shapes
from gpflow.base import TensorType
from gpflow.functions import MeanFunction
from gpflow.kernels import Kernel, SeparateIndependent

from ..core.process import Functions, Process
from ..core.random import standard_normal
from ..core.validation import integer, shown
from .basis import KernelBasis


@dataclass(frozen=True)
class EmpiricalMoments:
    """The mean m and the features phi of S drawn functions."""

    functions: Functions

    def __call__(self, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Compute m and phi.

        :param X: [..., N, D].
        :return: m, [..., N, P], and phi, [..., N, P, S].
        """
        values = self.functions(tf.reshape(X, [-1, X.shape[-1]]))  # [S, N, P]
        mean = tf.reduce_mean(values, axis=0)
        S = values.shape[0]
        phi = tf.transpose((values - mean) / math.sqrt(S), [1, 2, 0])
        rows, P = tf.shape(X)[:-1], values.shape[-1]
        return (
            tf.reshape(mean, tf.concat([rows, [P]], axis=0)),
            tf.reshape(phi, tf.concat([rows, [P, S]], axis=0)),
        )


class EmpiricalKernel(Kernel):
    """k(x, x') = phi(x)^T phi(x') of one output of a process, by S draws of fixed random numbers.

    Its parameters are those of the process.
    """

    def __init__(self, process: Process, num_draws: int, output: int = 0) -> None:
        """Set the process.

        :param process: the process.
        :param num_draws: S, at least 2.
        :param output: the output, from 0 to P - 1.
        :raises TypeError: if `process` is not a process.
        :raises ValueError: if `num_draws` is not an integer of at least 2, or if there is no such
            output.
        """
        super().__init__()
        self.process, self.num_draws = check_draws(process, num_draws)
        self.output = integer("output", output, 0)
        if self.output >= process.output_dim:
            raise ValueError(
                f"output is {output}, but the process has outputs 0 to {process.output_dim - 1}."
            )

    def features(self, X: TensorType) -> tf.Tensor:
        """Compute phi(x) of every row, [..., D] -> [..., S]."""
        X = tf.convert_to_tensor(X)
        self.process.check_columns(X.shape[-1])
        _, phi = EmpiricalMoments(self.process.functions(self.num_draws, self.process.own_seed))(X)
        return phi[..., self.output, :]

    def centred_draws(self, X: tf.Tensor, num_draws: int, seed: tf.Tensor) -> tf.Tensor:
        """New draws of f - m, with the empirical mean m of this kernel's own draws.

        :param X: [N, D].
        :param num_draws: their number, S.
        :param seed: [2].
        :return: [S, N].
        """
        own = self.process.functions(self.num_draws, self.process.own_seed)
        mean, _ = EmpiricalMoments(own)(X)
        return (self.process.functions(num_draws, seed)(X) - mean)[..., self.output]

    @inherit_check_shapes
    def K(self, X: TensorType, X2: TensorType | None = None) -> tf.Tensor:
        phi = self.features(X)
        if X2 is None:
            return tf.matmul(phi, phi, transpose_b=True)
        return tf.tensordot(phi, self.features(X2), [[-1], [-1]])

    @inherit_check_shapes
    def K_diag(self, X: TensorType) -> tf.Tensor:
        return tf.reduce_sum(tf.square(self.features(X)), axis=-1)


class EmpiricalMean(MeanFunction):
    """m(x) of all outputs of a process, by S draws of fixed random numbers."""

    def __init__(self, process: Process, num_draws: int) -> None:
        """Set the process.

        :param process: the process.
        :param num_draws: S, at least 2.
        :raises TypeError: if `process` is not a process.
        :raises ValueError: if `num_draws` is not an integer of at least 2.
        """
        super().__init__()
        self.process, self.num_draws = check_draws(process, num_draws)

    def __call__(self, X: TensorType) -> tf.Tensor:
        """The mean, [..., N, D] -> [..., N, P]."""
        X = tf.convert_to_tensor(X)
        self.process.check_columns(X.shape[-1])
        return EmpiricalMoments(self.process.functions(self.num_draws, self.process.own_seed))(X)[0]


def empirical_gp(process: Process, num_draws: int) -> tuple[Kernel, MeanFunction]:
    """The Gaussian process with the mean and the covariance of S draws of a process.

    Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), eq. (6), with common random numbers: a
    GPflow kernel and mean function, whose parameters are those of the process. The kernel's rank
    is at most S - 1.

    >>> from gpflow_gi.implicit import NetworkProcess
    >>> kernel, mean = empirical_gp(NetworkProcess(1), num_draws=50)
    >>> X = tf.constant([[0.0], [1.0]], tf.float64)
    >>> kernel(X).shape, mean(X).shape
    (TensorShape([2, 2]), TensorShape([2, 1]))

    :param process: the process.
    :param num_draws: S, at least 2.
    :return: the kernel, one for each output (SeparateIndependent) if there is more than one; and
        the mean function of all outputs.
    :raises TypeError: if `process` is not a process.
    :raises ValueError: if `num_draws` is not an integer of at least 2.
    """
    process, num_draws = check_draws(process, num_draws)
    mean = EmpiricalMean(process, num_draws)
    kernels = [EmpiricalKernel(process, num_draws, p) for p in range(process.output_dim)]
    return (kernels[0] if len(kernels) == 1 else SeparateIndependent(kernels)), mean


def centred_draws(
    kernel: Kernel, X: tf.Tensor, num_draws: int, seed: tf.Tensor, jitter_scale: tf.Tensor | float
) -> tf.Tensor:
    """Draws of f - m from the prior of any kernel: for an empirical one, from its process.

    :param kernel: a GPflow kernel of one output.
    :param X: [N, D].
    :param num_draws: the number of draws, S.
    :param seed: [2].
    :param jitter_scale: [], a factor on GPflow's default jitter.
    :return: [S, N].
    """
    if isinstance(kernel, EmpiricalKernel):
        return kernel.centred_draws(X, num_draws, seed)
    basis = KernelBasis(kernel, X, jitter_scale=jitter_scale)
    z = standard_normal([X.shape[0], num_draws], seed, X.dtype)
    return tf.transpose(basis.design_times(z))


def first_of_process(kernels: list[Kernel], i: int) -> int:
    """The place of the first kernel of the same process: outputs of a process share their draws.

    Outputs with other kernels are independent, also if all have the same one.

    :param kernels: one or more kernels.
    :param i: the place of one of them.
    """
    process = getattr(kernels[i], "process", None)
    if process is None:
        return i
    return next(j for j, one in enumerate(kernels) if getattr(one, "process", None) is process)


def check_draws(process: Process, num_draws: int) -> tuple[Process, int]:
    """A process and a number of its draws that have moments.

    :raises TypeError: if it is not a process.
    :raises ValueError: if the number is not an integer of at least 2.
    """
    if not isinstance(process, Process):
        raise TypeError(
            "process must be one of gpflow_gi.implicit, such as NetworkProcess, but is "
            f"{shown(process)}."
        )
    return process, integer("num_draws", num_draws, 2)

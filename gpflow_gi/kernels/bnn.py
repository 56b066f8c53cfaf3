"""The kernel of one layer of a Bayesian neural network."""

from typing import Any

import numpy as np
import tensorflow as tf
from check_shapes import check_shapes, inherit_check_shapes
from gpflow.base import Parameter, TensorType
from gpflow.kernels import Kernel
from gpflow.kernels.base import ActiveDims
from gpflow.utilities import positive

from ..core.validation import finite_array, positive_integer, positive_number, shown, true_or_false
from .nonlinearities import Nonlinearity, as_nonlinearity


class BNNKernel(Kernel):
    """k(x, x') = variance * phi(x)^T phi(x') / N, the paper's eq. 20 with S = variance * I.

    phi is a nonlinearity applied to each of the D inputs, with a constant unit appended for the
    bias; N, the fan-in, includes that unit. A Gaussian process with this kernel is phi(x)^T w with
    independent weights of variance `variance` / N: `variance` 1 gives NealPrior (eq. 14),
    `variance` N gives StandardPrior (eq. 15). It has N degrees of freedom, so the kernel matrix of
    more than N rows is singular.

    >>> kernel = BNNKernel(2, "relu")
    >>> x = tf.constant([[1.0, -3.0]], tf.float64)
    >>> kernel(x, full_cov=False).numpy()  # (1 + 0 + 1) / 3
    array([0.66666667])
    """

    def __init__(
        self,
        input_dim: int,
        nonlinearity: str | Nonlinearity = "relu",
        variance: TensorType = 1.0,
        bias: bool = True,
        *,
        active_dims: ActiveDims | None = None,
        name: str | None = None,
    ) -> None:
        """Set up the layer's prior.

        :param input_dim: D, the number of inputs, after `active_dims`.
        :param nonlinearity: phi, a name or a function; see
            :func:`gpflow_gi.nonlinearities.as_nonlinearity`. Use "identity" in the first layer of a
            network, whose inputs are the data.
        :param variance: S, [], in squared units of the outputs, if phi has no unit.
        :param bias: True to append a constant unit to phi.
        :param active_dims: the columns of the inputs to use; by default all.
        :param name: name of the module, as for GPflow's kernels.
        :raises ValueError: if `input_dim` is not a positive integer or differs from the number of
            `active_dims`; if `variance` is not positive; or if `nonlinearity` is not elementwise.
        :raises TypeError: if `nonlinearity` is neither a name nor a function of tensors, if `bias`
            is neither True nor False, or if `active_dims` are not columns.
        """
        _check_active_dims(active_dims)
        super().__init__(active_dims, name=name)
        self.input_dim = positive_integer("input_dim", input_dim)
        if not isinstance(self.active_dims, slice):
            self._check_columns(len(self.active_dims), "active_dims names")
        self.nonlinearity = as_nonlinearity(nonlinearity)
        self.variance = Parameter(positive_number("variance", variance), transform=positive())
        self.bias = true_or_false("bias", bias)

    @property
    def num_features(self) -> int:
        """N, the fan-in: the inputs and the unit of the bias."""
        return self.input_dim + self.bias

    @inherit_check_shapes
    def K(self, X: TensorType, X2: TensorType | None = None) -> tf.Tensor:
        phi = self.features(X)
        scale = self.variance / self.num_features
        if X2 is None:
            return scale * tf.matmul(phi, phi, transpose_b=True)
        return scale * tf.tensordot(phi, self.features(X2), [[-1], [-1]])

    @inherit_check_shapes
    def K_diag(self, X: TensorType) -> tf.Tensor:
        squares = tf.reduce_sum(tf.square(self.features(X)), axis=-1)
        return self.variance / self.num_features * squares

    @check_shapes("return: [batch..., N]")
    def features(self, X: TensorType) -> tf.Tensor:
        """Compute phi(x) of every row, with the unit of the bias last.

        :param X: [..., D], the active columns only.
        :return: [..., N].
        :raises ValueError: if `X` is not numeric, or does not have `input_dim` columns.
        """
        if not tf.is_tensor(X):
            X = finite_array("X", X)
        X = tf.convert_to_tensor(X, self.variance.dtype)
        self._check_columns(X.shape[-1], "the inputs have")
        phi = self.nonlinearity(X)
        if not self.bias:
            return phi
        return tf.concat([phi, tf.ones_like(phi[..., :1])], axis=-1)

    def _check_columns(self, number: int | None, who: str) -> None:
        if number not in (None, self.input_dim):
            raise ValueError(
                f"The kernel is for input_dim={self.input_dim} columns, but {who} {number}."
            )


def _check_active_dims(active_dims: Any) -> None:
    """Check that they are columns; GPflow's kernels do not check it."""
    if active_dims is None or isinstance(active_dims, slice):
        return
    is_list = isinstance(active_dims, list | tuple | np.ndarray) and np.ndim(active_dims) == 1
    if not is_list or not all(isinstance(column, int | np.integer) for column in active_dims):
        raise TypeError(
            "active_dims must be a slice or a list of the numbers of columns, but is "
            f"{shown(active_dims)}."
        )

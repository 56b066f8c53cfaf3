"""Global inducing points: exact regression on pseudo-data at the activations from below."""

from typing import Any, Literal

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.base import Parameter

from ..kernels import KernelBasis
from ..regression import RegressionPosterior
from ..validation import finite_array, positive_integer
from ..whitened import WhitenedGaussian
from .base import Posterior


class GlobalInducing(Posterior):
    """q(z) is the exact posterior given pseudo-outputs V, observed with precision Lambda.

    The pseudo-inputs are not parameters of the layer: they are the model's inducing inputs, pushed
    through the layers below (Ober & Aitchison 2021, eq. 10, 11 and 22). Each draw of the layers
    below thus has its own q(z), which is how this posterior is correlated across layers.

    Like the targets of a regression whose mean function is subtracted first, the pseudo-outputs
    are of f - m, the part of the layer that the mean function leaves over: V = 0 says f = m.
    """

    uses_global_inducing = True

    def __init__(
        self,
        num_inducing: int,
        output_dim: int,
        *,
        pseudo_outputs: Any = None,
        pseudo_precision: Any = None,
        precision: Literal["diagonal", "full"] = "diagonal",
    ) -> None:
        """Set up the pseudo-data.

        :param num_inducing: M, the number of inducing points of the model.
        :param output_dim: P, the number of outputs of the layer.
        :param pseudo_outputs: V at the start, [M, P], in the units of the layer's outputs. Zero by
            default.
        :param pseudo_precision: Lambda at the start, in one over the squared units of the outputs,
            shared by all outputs: [M], or for "full" a positive definite [M, M]. A scalar stands
            for that multiple of the identity, and [M] for a diagonal matrix. One by default.
        :param precision: "diagonal" or "full".
        :raises ValueError: if a number is not positive, if an array is not finite or of another
            shape, or if Lambda is not positive definite or exceeds :func:`largest_precision`.
        """
        super().__init__()
        M = self.num_inducing = positive_integer("num_inducing", num_inducing)
        P = self.output_dim = positive_integer("output_dim", output_dim)
        if precision not in ("diagonal", "full"):
            raise ValueError(f'precision must be "diagonal" or "full", but is {precision!r}.')
        self.precision = precision

        V = np.zeros((M, P)) if pseudo_outputs is None else pseudo_outputs
        self.pseudo_outputs = Parameter(finite_array("pseudo_outputs", V, (M, P)))

        Lambda = 1.0 if pseudo_precision is None else pseudo_precision
        Lambda = finite_array("pseudo_precision", Lambda)
        if Lambda.ndim == 0:
            Lambda = np.full(M, Lambda)
        bound = tf.constant(np.log(largest_precision()), gpflow.default_float())
        # Between the bounds, and far from them, a soft clip is the identity.
        bounded = tfp.bijectors.Chain(
            [tfp.bijectors.Exp(), tfp.bijectors.SoftClip(low=-bound, high=bound)]
        )
        if precision == "diagonal":
            Lambda = finite_array("pseudo_precision", Lambda, (M,))
            _check_range(Lambda)
            self.pseudo_precision = Parameter(Lambda, transform=bounded)
        else:
            Lambda = np.diag(Lambda) if Lambda.ndim == 1 else Lambda
            Lambda = finite_array("pseudo_precision", Lambda, (M, M))
            _check_positive_definite(Lambda)
            # T T^T, with the logarithms of T's squared diagonal and T's other entries free.
            log_square = tfp.bijectors.Chain([tfp.bijectors.Power(0.5), bounded])
            self._triangle = tfp.bijectors.FillScaleTriL(diag_bijector=log_square, diag_shift=None)
            self.pseudo_precision = Parameter(
                Lambda,
                transform=tfp.bijectors.Chain(
                    [tfp.bijectors.CholeskyOuterProduct(), self._triangle]
                ),
            )

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        return U

    def q(self, basis: KernelBasis, outputs: slice) -> WhitenedGaussian:
        # Lambda = T T^T
        if self.precision == "diagonal":
            T = tf.sqrt(self.pseudo_precision)
        else:
            T = self._triangle.forward(self.pseudo_precision.unconstrained_variable)
        return RegressionPosterior(basis, T, self.pseudo_outputs[:, outputs])


def largest_precision() -> float:
    """The largest pseudo-precision allowed, in GPflow's default float type; the smallest is 1 / it.

    Beyond, for outputs of unit scale, one of the two terms of S = K + Lambda^-1 would be lost in
    the rounding of the other.
    """
    return 0.01 / float(np.finfo(gpflow.default_float()).eps)


def _check_range(Lambda: np.ndarray) -> None:
    largest = largest_precision()
    if not np.all((Lambda > 1 / largest) & (Lambda < largest)):
        raise ValueError(
            f"pseudo_precision must lie between {1 / largest:.2g} and {largest:.2g} (the bounds "
            f"for {gpflow.default_float().__name__}), but ranges from {Lambda.min():.6g} to "
            f"{Lambda.max():.6g}."
        )


def _check_positive_definite(Lambda: np.ndarray) -> None:
    if not np.allclose(Lambda, Lambda.T):
        raise ValueError("pseudo_precision must be symmetric, but is not.")
    _check_range(np.linalg.eigvalsh(Lambda))

"""Pseudo-data: what global inducing points, and a dense layer's local ones, are conditioned on."""

from typing import Any, Literal, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.base import Parameter

from ..basis import Basis
from ..regression import regress
from ..validation import finite_array, positive_integer
from ..whitened import WhitenedGaussian

PrecisionKind: TypeAlias = Literal["diagonal", "full"]


class PseudoData(gpflow.Module):
    """Pseudo-outputs V and their precision Lambda (Ober & Aitchison 2021, eq. 11 and 22)."""

    num_inducing: int | None
    output_dim: int | None

    def __init__(
        self,
        num_inducing: int,
        output_dim: int,
        *,
        pseudo_outputs: Any,
        pseudo_precision: Any,
        precision: PrecisionKind,
        shared: bool,
    ) -> None:
        """Set up the parameters; see :class:`~gpflow_gi.posteriors.GlobalInducing`."""
        super().__init__()
        M = self.num_inducing = positive_integer("num_inducing", num_inducing)
        P = self.output_dim = positive_integer("output_dim", output_dim)
        check_kind(precision, shared)
        self.precision: PrecisionKind = precision
        self.shared = shared

        V = np.zeros((M, P)) if pseudo_outputs is None else pseudo_outputs
        self.pseudo_outputs = Parameter(finite_array("pseudo_outputs", V, (M, P)))

        # log Lambda = bound tanh(x / bound), which is nearly x far from the bounds.
        bound = tf.constant(np.log(largest_precision()), gpflow.default_float())
        bounded = tfp.bijectors.Chain(
            [
                tfp.bijectors.Exp(),
                tfp.bijectors.Scale(bound),
                tfp.bijectors.Tanh(),
                tfp.bijectors.Scale(1.0 / bound),
            ]
        )
        Lambda = _start(pseudo_precision, M, precision, () if shared else (P,))
        if precision == "diagonal":
            _check_range(Lambda)
            self.pseudo_precision = Parameter(Lambda, transform=bounded)
        else:
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

    def regression(self, basis: Basis, outputs: slice) -> WhitenedGaussian:
        """The exact posterior of some of the outputs, given their pseudo-data at the basis' inputs.

        :param basis: at M inputs.
        :param outputs: which of the P outputs share that basis.
        """
        # Lambda = T T^T
        if self.precision == "diagonal":
            T = tf.sqrt(self.pseudo_precision)
        else:
            T = self._triangle.forward(self.pseudo_precision.unconstrained_variable)
        V: tf.Tensor = self.pseudo_outputs
        if outputs != slice(0, self.output_dim):  # a slice costs a copy, and its gradient another
            V = V[:, outputs]
            T = T if self.shared else T[outputs]
        return regress(basis, T, V, shared=self.shared)


def check_kind(precision: Any, shared: Any) -> None:
    """Check what is said of Lambda.

    :raises ValueError: if it is unknown.
    """
    if precision not in ("diagonal", "full"):
        raise ValueError(f'precision must be "diagonal" or "full", but is {precision!r}.')
    if not isinstance(shared, bool):
        raise ValueError(f"shared must be True or False, but is {shared!r}.")


def _start(value: Any, M: int, precision: PrecisionKind, outputs: tuple[int, ...]) -> np.ndarray:
    """Lambda at the start: [M] or [M, M], or with an axis P in front where it is not shared."""
    Lambda = finite_array("pseudo_precision", 1.0 if value is None else value)
    vector, matrix = (*outputs, M), (*outputs, M, M)
    if Lambda.ndim == 0:
        Lambda = np.full(vector, Lambda)
    if precision == "diagonal":
        return finite_array("pseudo_precision", Lambda, vector)
    if Lambda.ndim == len(vector):
        Lambda = Lambda[..., None] * np.eye(Lambda.shape[-1])
    return finite_array("pseudo_precision", Lambda, matrix)


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
    if not np.allclose(Lambda, np.swapaxes(Lambda, -1, -2)):
        raise ValueError("pseudo_precision must be symmetric, but is not.")
    _check_range(np.linalg.eigvalsh(Lambda))

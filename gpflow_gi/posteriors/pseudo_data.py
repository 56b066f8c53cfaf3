"""Pseudo-data for global inducing points, and for local inducing points of layers of weights."""

from typing import Any, Literal, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.base import Parameter

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian
from ..core.regression import regress
from ..core.validation import finite_array, is_one_of, output_shape, positive_integer, shown
from .precision import BoundedExp, PrecisionRoot

PrecisionKind: TypeAlias = Literal["diagonal", "full", "location"]


class PseudoData(gpflow.Module):
    """Pseudo-outputs V and their precision Lambda (Ober & Aitchison 2021, eq. 11 and 22)."""

    num_inducing: int | None
    output_dim: int | tuple[int, ...] | None

    def __init__(
        self,
        num_inducing: int,
        output_dim: int | tuple[int, ...],
        *,
        pseudo_outputs: Any,
        pseudo_precision: Any,
        precision: PrecisionKind,
        shared: bool,
    ) -> None:
        """Set up the parameters; see :class:`~gpflow_gi.posteriors.GlobalInducing`.

        :param num_inducing: M, the number of pseudo-inputs.
        :param output_dim: P, or (H, W, P).
        :param pseudo_outputs: initial V; None for zero.
        :param pseudo_precision: initial Lambda; None for one.
        :param precision: kind of Lambda.
        :param shared: True if all outputs share it.
        :raises ValueError: as :class:`~gpflow_gi.posteriors.GlobalInducing`.
        """
        super().__init__()
        M = self.num_inducing = positive_integer("num_inducing", num_inducing)
        shape = output_shape(output_dim)
        self.output_dim = shape if len(shape) > 1 else shape[0]
        check_kind(precision, shared, shape)
        self.precision: PrecisionKind = precision
        self.shared = shared

        V = np.zeros((M, *shape)) if pseudo_outputs is None else pseudo_outputs
        self.pseudo_outputs = Parameter(finite_array("pseudo_outputs", V, (M, *shape)))

        bound = float(np.log(largest_precision()))  # of |log Lambda|
        vector = (M, *shape[:-1]) if precision == "location" else (M,)
        Lambda = _start(pseudo_precision, precision, vector if shared else (*shape, M))
        if precision != "full":
            _check_range(Lambda)
            self.pseudo_precision = Parameter(Lambda, transform=BoundedExp(bound))
        else:
            Lambda = _positive_definite(Lambda)
            self._triangle = PrecisionRoot(bound)
            self.pseudo_precision = Parameter(
                Lambda,
                transform=tfp.bijectors.Chain(
                    [tfp.bijectors.CholeskyOuterProduct(), self._triangle]
                ),
            )

    @property
    def root_of_precision(self) -> tf.Tensor:
        """T with Lambda = T T^T, of a posterior that all outputs share: [M, M]."""
        if self.precision == "full":
            return self._triangle.forward(self.pseudo_precision.unconstrained_variable)
        return tf.linalg.diag(tf.sqrt(self.pseudo_precision))

    def regression(
        self, basis: Basis, outputs: slice, V: tf.Tensor | None = None
    ) -> WhitenedGaussian:
        """The exact posterior of some of the outputs, given their pseudo-data at the basis' inputs.

        :param basis: basis at M inputs.
        :param outputs: the outputs among P that share that basis.
        :param V: their pseudo-outputs, [M, p] or [S, M, p]; by default the parameters.
        :return: q(z).
        """
        # Lambda = T T^T
        if self.precision != "full":
            T = tf.sqrt(self.pseudo_precision)
        else:
            T = self._triangle.forward(self.pseudo_precision.unconstrained_variable)
        if not self._are_all(outputs):
            T = T if self.shared else T[outputs]
        V = self.values_of(outputs) if V is None else V
        return regress(basis, T, V, shared=self.shared)

    def values_of(self, outputs: slice) -> tf.Tensor:
        """The parameter of some outputs' pseudo-outputs, [M, p]."""
        V: tf.Tensor = self.pseudo_outputs
        # A slice costs a copy, and its gradient another.
        return V if self._are_all(outputs) else V[..., outputs]

    def _are_all(self, outputs: slice) -> bool:
        return outputs == slice(0, self.pseudo_outputs.shape[-1])


def check_kind(precision: Any, shared: Any, shape: tuple[int, ...]) -> None:
    """Check the kind of Lambda.

    :param precision: "diagonal", "full" or "location".
    :param shared: True or False.
    :param shape: (P,), or (H, W, P) for a convolution.
    :raises ValueError: if it is unknown, or not possible for such outputs.
    """
    kinds = ("diagonal", "full") if len(shape) == 1 else ("diagonal", "location")
    if not is_one_of(precision, kinds):
        known = " or ".join(f'"{kind}"' for kind in kinds)
        of = "" if len(shape) == 1 else " for a convolution"
        raise ValueError(f"precision must be {known}{of}, but is {shown(precision)}.")
    if not isinstance(shared, bool):
        raise ValueError(f"shared must be True or False, but is {shown(shared)}.")
    if not shared and len(shape) > 1:
        raise ValueError("shared must be True for a convolution: all filters share one precision.")


def _start(value: Any, precision: PrecisionKind, shape: tuple[int, ...]) -> np.ndarray:
    """Initial Lambda of a shape; for "full" with the last axis twice.

    :param shape: [M], with an axis P in front if Lambda is not shared; [M, H, W] for locations.
    """
    Lambda = finite_array("pseudo_precision", 1.0 if value is None else value)
    if Lambda.ndim == 0:
        Lambda = np.full(shape, Lambda)
    if precision == "location" and Lambda.shape == shape[:1]:
        Lambda = np.tile(Lambda[:, None, None], (1, *shape[1:]))
    if precision != "full":
        return finite_array("pseudo_precision", Lambda, shape)
    if Lambda.ndim == len(shape):
        Lambda = Lambda[..., None] * np.eye(Lambda.shape[-1])
    return finite_array("pseudo_precision", Lambda, (*shape, shape[-1]))


def largest_precision() -> float:
    """The largest pseudo-precision in GPflow's default float type; the smallest is its inverse.

    Beyond it, for outputs of unit scale, one of the two terms of S = K + Lambda^-1 would be lost
    by rounding.
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


def _positive_definite(Lambda: np.ndarray) -> np.ndarray:
    """Lambda, repaired if only rounding errors keep it from being positive definite.

    A precision T T^T that is read from another posterior can be singular to rounding. Scaled to a
    unit diagonal, its eigenvalues that are lost in rounding errors are raised to a few times these.
    """
    diagonal = np.diagonal(Lambda, axis1=-2, axis2=-1)
    scales = np.sqrt(np.abs(diagonal))
    scales = scales[..., :, None] * scales[..., None, :]
    rounding = Lambda.shape[-1] * float(np.finfo(Lambda.dtype).eps)
    # Small elements of a computed T T^T may differ from their mirror images by the rounding of
    # large terms, |T_i| |T_j| M eps.
    transposed = np.swapaxes(Lambda, -1, -2)
    if np.any(np.abs(Lambda - transposed) > 1e-8 + 1e-5 * np.abs(transposed) + rounding * scales):
        raise ValueError("pseudo_precision must be symmetric, but is not.")
    if np.all(diagonal > 0):
        values, vectors = np.linalg.eigh(Lambda / scales)
        if np.all(values > -rounding) and np.any(values < rounding):
            raised = vectors * np.maximum(values, 4 * rounding)[..., None, :]
            Lambda = scales * (raised @ np.swapaxes(vectors, -1, -2))
    try:
        T = np.linalg.cholesky(Lambda)
    except np.linalg.LinAlgError:
        least = np.linalg.eigvalsh(Lambda).min()
        raise ValueError(
            f"pseudo_precision must be positive definite, but has an eigenvalue of {least:.6g}."
        ) from None
    _check_range(np.square(np.diagonal(T, axis1=-2, axis2=-1)))
    return Lambda

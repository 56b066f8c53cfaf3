"""Global inducing points: exact regression on pseudo-data at the activations from below."""

from typing import Any

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian
from .base import Posterior
from .pseudo_data import PrecisionKind, PseudoData


class GlobalInducing(PseudoData, Posterior):
    """q(z) is the exact posterior given pseudo-outputs V, observed with precision Lambda.

    The pseudo-inputs are not parameters of the layer: they are the model's inducing inputs, pushed
    through the layers below (Ober & Aitchison 2021, eq. 10, 11 and 22). Each draw of the layers
    below thus has its own q(z), which is how this posterior is correlated across layers.

    Like the targets of a regression whose mean function is subtracted first, the pseudo-outputs
    are of f - m, the part of the layer that the mean function leaves over: V = 0 says f = m.

    ``pseudo_outputs``, V, and ``pseudo_precision``, Lambda, are its parameters.

    >>> posterior = GlobalInducing(3, 1, pseudo_outputs=[[0.0], [1.0], [2.0]], precision="full")
    >>> posterior.pseudo_precision.shape
    TensorShape([3, 3])
    """

    uses_global_inducing = True

    def __init__(
        self,
        num_inducing: int,
        output_dim: int | tuple[int, ...],
        *,
        pseudo_outputs: Any = None,
        pseudo_precision: Any = None,
        precision: PrecisionKind = "diagonal",
        shared: bool = True,
    ) -> None:
        """Set up the pseudo-data.

        :param num_inducing: M, the number of inducing points of the model.
        :param output_dim: P, the number of outputs of the layer; for a convolution the shape of
            its output images, (H, W, P) with P filters.
        :param pseudo_outputs: V at the start, [M, P] or [M, H, W, P], in the units of the layer's
            outputs. Zero by default.
        :param pseudo_precision: Lambda at the start, in one over the squared units of the outputs:
            [M], or for "full" a positive definite [M, M], or for "location" [M, H, W]. A scalar
            stands for that multiple of the identity, and [M] for a diagonal matrix. One by default.
        :param precision: "diagonal" or "full". For a convolution "diagonal", one for each image,
            or "location", one for each location of each image.
        :param shared: whether all outputs share one Lambda, as in the paper. Otherwise each has its
            own, [P, M] or [P, M, M], and a factorisation of its own: P times the work.
        :raises ValueError: if a number is no positive integer, if `precision` or `shared` is
            unknown or does not suit the outputs, if an array is not finite or of another shape, or
            if Lambda is not positive definite or beyond the bounds of
            :func:`gpflow_gi.posteriors.pseudo_data.largest_precision`.
        """
        super().__init__(
            num_inducing,
            output_dim,
            pseudo_outputs=pseudo_outputs,
            pseudo_precision=pseudo_precision,
            precision=precision,
            shared=shared,
        )

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        return self.regression(basis, outputs)

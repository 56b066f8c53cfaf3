"""Global inducing points: exact regression on pseudo-data at the activations from below."""

from typing import Any

import tensorflow as tf

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian
from ..core.validation import true_or_false
from .base import Posterior, own_inputs
from .pseudo_data import PrecisionKind, PseudoData


class GlobalInducing(PseudoData, Posterior):
    """q(z) is the exact posterior given pseudo-outputs V, observed with precision Lambda.

    The pseudo-inputs are not parameters of the layer: they are the model's inducing inputs, pushed
    through the layers below (Ober & Aitchison 2021, eq. 10, 11 and 22). Each draw of the layers
    below therefore has its own q(z), which correlates this posterior across layers.

    The pseudo-outputs are those of f - m, the layer without its mean function, like the targets of
    a regression after subtraction of the mean: V = 0 means f = m.

    Some of the pseudo-inputs can be the layer's own: with ``inducing_inputs`` the regression is on
    pseudo-data at [U, Z], of which only U, the activations from below, go on to the next layer.
    Those of a layer above the first need not lie where the layers below send the model's inducing
    inputs. Without any U this is :class:`LocalInducing`.

    ``pseudo_outputs``, V, and ``pseudo_precision``, Lambda, are its parameters, and so is
    ``inducing_inputs``, Z, if it is given. With
    ``whiten=True`` the first is v, and V = L v with the Cholesky factor L of the kernel matrix at
    the pseudo-inputs: the same posteriors where the pseudo-inputs are not sampled, as in the first
    layer of a deep GP, with other steps of training.

    >>> posterior = GlobalInducing(3, 1, pseudo_outputs=[[0.0], [1.0], [2.0]], precision="full")
    >>> posterior.pseudo_precision.shape
    TensorShape([3, 3])
    """

    uses_global_inducing = True

    whiten = False  # in files of earlier versions

    def __init__(
        self,
        num_inducing: int,
        output_dim: int | tuple[int, ...],
        *,
        pseudo_outputs: Any = None,
        pseudo_precision: Any = None,
        precision: PrecisionKind = "diagonal",
        shared: bool = True,
        whiten: bool = False,
        inducing_inputs: Any = None,
    ) -> None:
        """Set up the pseudo-data.

        :param num_inducing: M, the number of inducing points: those of the model, and J of the
            layer's own.
        :param output_dim: P, the number of outputs of the layer; for a convolution the shape of
            its output images, (H, W, P) with P filters.
        :param pseudo_outputs: initial V, [M, P] or [M, H, W, P], in the units of the layer's
            outputs, or with `whiten` v, without units. Zero by default.
        :param pseudo_precision: initial Lambda, in one over the squared units of the outputs:
            [M], or for "full" a positive definite [M, M], or for "location" [M, H, W]. A scalar
            means that multiple of the identity, and [M] a diagonal matrix. One by default.
        :param precision: "diagonal" or "full". For a convolution "diagonal", one for each image,
            or "location", one for each location of each image.
        :param shared: True if all outputs share one Lambda, as in the paper. Otherwise each has its
            own Lambda, [P, M] or [P, M, M], and its own factorisation: P times the work.
        :param whiten: True for pseudo-outputs L v; for GP layers.
        :param inducing_inputs: initial Z, the layer's own inducing inputs, [J, D] with J < M, or
            images [J, H, W, C], in the units of the layer's inputs. Their pseudo-outputs are the
            last J rows of V. None by default.
        :raises ValueError: if a number is not a positive integer, if `precision` or `shared` is
            unknown or not possible for the outputs, if an array is not finite or of another shape,
            or if Lambda is not positive definite or beyond the bounds of
            :func:`gpflow_gi.posteriors.pseudo_data.largest_precision`.
        :raises TypeError: if `whiten` is not True or False.
        """
        super().__init__(
            num_inducing,
            output_dim,
            pseudo_outputs=pseudo_outputs,
            pseudo_precision=pseudo_precision,
            precision=precision,
            shared=shared,
        )
        self.whiten = true_or_false("whiten", whiten)
        self.inducing_inputs = own_inputs(inducing_inputs, self.pseudo_outputs.shape[0])

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        if self.whiten and num_weights is not None:
            raise ValueError(
                "whiten=True is for Gaussian process layers; this layer has weights. Leave it out."
            )

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        if not self.whiten:
            return self.regression(basis, outputs)
        v = tf.convert_to_tensor(self.values_of(outputs))
        return self.regression(basis, outputs, basis.design_times(v))  # L v

"""What a layer asks of an approximate posterior."""

from abc import ABC, abstractmethod

import gpflow
import tensorflow as tf

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian


class Posterior(gpflow.Module, ABC):
    """A choice of q(z) for one layer, where f(x) = m(x) + a(x)^T z + r(x) and z ~ N(0, I).

    A posterior owns variational parameters and says at which inputs its layer's basis stands, and
    which Gaussian it puts over the coordinates.
    """

    has_density: bool = True
    """True if there is a density q(z), and so a KL divergence."""

    uses_global_inducing: bool
    """Whether q(z) depends on the inducing activations that come up from the layer below."""

    num_inducing: int | None
    """M, or None where the posterior has no pseudo-data of its own."""

    output_dim: int | tuple[int, ...] | None
    """P, or (H, W, P) of the images that a convolution makes; None where any will do."""

    @property
    def has_own_inputs(self) -> bool:
        """Whether the basis stands at M inputs of the posterior's own, not at those from below."""
        return self.num_inducing is not None and not self.uses_global_inducing

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Called by the layer that takes the posterior, before anything else.

        :param num_weights: K of a layer of weights; None for a Gaussian process.
        :param output_dim: P, of a convolution its number of filters.
        :raises ValueError: if the posterior is none for such a layer.
        """
        return None

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        """The inputs that span the layer's basis, or at which its pseudo-data stand: U, or its own.

        :param U: inducing activations from below, [M, D] or [S, M, D]; none at all, [0, D], where
            no layer from here on needs them.
        :return: [M, D] or [S, M, D].
        """
        return U

    @abstractmethod
    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        """The Gaussian over the coordinates of some of the outputs.

        :param basis: the layer's basis at :meth:`~gpflow_gi.posteriors.Posterior.basis_inputs`.
        :param outputs: which of the P outputs, or filters, share that basis.
        :param num_samples: S, where q(z) is one of many recorded draws for each sample; None for
            one without a sample axis.
        :return: q(z), of K coordinates to each of those outputs.
        """

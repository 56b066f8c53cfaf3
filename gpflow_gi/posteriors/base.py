"""The interface between layers and approximate posteriors."""

from abc import ABC, abstractmethod

import gpflow
import tensorflow as tf

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian


class Posterior(gpflow.Module, ABC):
    """A choice of q(z) for one layer, where f(x) = m(x) + a(x)^T z + r(x) and z ~ N(0, I).

    A posterior owns variational parameters. It determines the inputs of its layer's basis, and the
    Gaussian over the coordinates.
    """

    has_density: bool = True
    """True if there is a density q(z), and therefore a KL divergence."""

    samples_outputs: bool = False
    """True if q draws the values at the basis' inputs: see :meth:`sample_outputs`."""

    uses_global_inducing: bool
    """True if q(z) depends on the inducing activations from the layer below."""

    num_inducing: int | None
    """M, or None if the posterior has no pseudo-data."""

    rows: tf.Tensor | None = None
    """Rows of the data, [N, D], if q(z) depends on their activations: for the last layer of a
    model."""

    output_dim: int | tuple[int, ...] | None
    """P, or (H, W, P) of a convolution's images; None if any number is possible."""

    @property
    def has_own_inputs(self) -> bool:
        """True if the basis is at M inputs of the posterior itself, not at those from below."""
        return self.num_inducing is not None and not self.uses_global_inducing

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Bind the posterior to a layer, which calls this before anything else.

        :param num_weights: K of a layer of weights; None for a Gaussian process.
        :param output_dim: P; for a convolution its number of filters.
        :raises ValueError: if the posterior is not for such a layer.
        """
        return None

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        """The inputs of the layer's basis or of its pseudo-data: U, or its own inputs.

        :param U: inducing activations from below, [M, D] or [S, M, D]; empty, [0, D], if no layer
            from here on needs them.
        :return: [M, D] or [S, M, D].
        """
        return U

    def sample_outputs(self, num_samples: int | None, seed: tf.Tensor) -> tf.Tensor:
        """Draw the layer's values at the basis' inputs, for posteriors that do.

        :param num_samples: S; None for one sample without a sample axis.
        :param seed: [2].
        :return: [S, M, P] or [M, P], in the units of the layer's outputs.
        :raises NotImplementedError: if `samples_outputs` is False.
        """
        raise NotImplementedError(
            f"{type(self).__name__} does not draw outputs: it is a Gaussian given the layers below."
        )

    @abstractmethod
    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        """The Gaussian over the coordinates of some of the outputs.

        :param basis: the layer's basis at :meth:`~gpflow_gi.posteriors.Posterior.basis_inputs`.
        :param outputs: the outputs, or filters, among P that share that basis.
        :param num_samples: S, if q(z) is one of many recorded draws for each sample; None for one
            without a sample axis.
        :return: q(z), with K coordinates for each of those outputs.
        """


def check_new(posterior: Posterior) -> None:
    """Check that no layer has taken a posterior whose parameters are made for one layer.

    :raises ValueError: if one has.
    """
    if posterior.output_dim is not None:
        raise ValueError(
            f"posterior is {type(posterior).__name__} and belongs to another layer already; make a "
            "new one."
        )

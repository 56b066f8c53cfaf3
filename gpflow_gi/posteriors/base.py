"""The interface between layers and approximate posteriors."""

from abc import ABC, abstractmethod
from typing import Any

import gpflow
import tensorflow as tf
from gpflow.base import Parameter

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian
from ..core.linalg import concat_rows, flat_rows
from ..core.validation import finite_array


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
    """M, with the layer's own inducing points; None if the posterior has no pseudo-data."""

    inducing_inputs: Parameter | None = None
    """The layer's own inducing inputs, [J, D] or images [J, H, W, C]; None if it has none."""

    rows: tf.Tensor | None = None
    """Rows of the data, [N, D], if q(z) depends on their activations: for the last layer of a
    model."""

    output_dim: int | tuple[int, ...] | None
    """P, or (H, W, P) of a convolution's images; None if any number is possible."""

    @property
    def num_own(self) -> int:
        """J, the number of the layer's own inducing points: those that are not from below."""
        return 0 if self.inducing_inputs is None else int(self.inducing_inputs.shape[0])

    @property
    def has_own_inputs(self) -> bool:
        """True if the basis is at inputs of the posterior alone, and none is from below."""
        return self.num_inducing is not None and not self.uses_global_inducing

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Bind the posterior to a layer, which calls this before anything else.

        :param num_weights: K of a layer of weights; None for a Gaussian process.
        :param output_dim: P; for a convolution its number of filters.
        :raises ValueError: if the posterior is not for such a layer.
        """
        return None

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        """The inputs of the layer's basis or of its pseudo-data: U, its own inputs Z, or both.

        :param U: inducing activations from below, [M - J, D] or [S, M - J, D]; empty, [0, D], if
            no layer from here on needs them.
        :return: [U, Z], or Z alone if q(z) does not depend on U: [M, D] or [S, M, D].
        """
        if self.inducing_inputs is None:
            return U
        Z = flat_rows(tf.convert_to_tensor(self.inducing_inputs))
        return concat_rows(U, Z) if self.uses_global_inducing else Z

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


def own_inputs(inducing_inputs: Any, num_inducing: int) -> Parameter | None:
    """The inducing inputs of a layer that has global ones too.

    :param inducing_inputs: initial Z, [J, D] or images [J, H, W, C]; None for none.
    :param num_inducing: M, more than J.
    :raises ValueError: if Z is not finite or of another shape, or has M or more rows.
    """
    if inducing_inputs is None:
        return None
    Z = finite_array("inducing_inputs", inducing_inputs, (None, None), images=True)
    if len(Z) >= num_inducing:
        raise ValueError(
            f"inducing_inputs has {len(Z)} rows, the layer's own among its num_inducing="
            f"{num_inducing} points: at least one point must come from below. For a layer with "
            "its own points alone use LocalInducing."
        )
    return Parameter(Z)

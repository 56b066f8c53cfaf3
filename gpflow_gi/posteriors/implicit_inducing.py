"""Local inducing points whose values have an implicit distribution."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from gpflow.base import Parameter

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian
from ..core.random import as_seed, unpaired
from ..core.regression import RegressionOnDraws
from ..core.validation import finite_array, positive_number, shown
from .base import Posterior

NOISE_VARIANCE = 1e-5
"""The noise of the values u in p(f | u), as in the paper, in squared units of the outputs."""


class ImplicitInducing(Posterior):
    """The values u at inducing inputs Z are drawn by a network: q(f, u) = p(f | u) q(u).

    The sparse implicit process of Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), eq. (8):
    q(u) can be drawn, u = sampler(noise), but has no density; p(f | u) is the Gaussian of eq. (13),
    with a small noise of u. So there is no bound in closed form, and predictions are mixtures of
    Gaussians, eq. (14). For GP layers and implicit layers.

    ``inducing_inputs``, Z, is a parameter, and so are those of the sampler.

    >>> from gpflow_gi.posteriors import NoiseNetwork
    >>> posterior = ImplicitInducing([[0.0], [0.5], [1.0]], NoiseNetwork(3))
    >>> posterior.output_dim
    1
    """

    has_density = False
    samples_outputs = True
    uses_global_inducing = False
    inducing_inputs: Parameter

    def __init__(
        self,
        inducing_inputs: Any,
        sampler: Callable[[int, tf.Tensor], tf.Tensor],
        *,
        noise_variance: float = NOISE_VARIANCE,
    ) -> None:
        """Set the inducing inputs and the distribution of their values.

        :param inducing_inputs: initial Z, [M, D], in the units of the layer's inputs.
        :param sampler: a function from the number of samples and a seed [2] to samples [S, M P],
            where a sample holds the P outputs at the first input, then those at the second. A
            :class:`NoiseNetwork` is one.
        :param noise_variance: of u in p(f | u), in squared units of the outputs.
        :raises ValueError: if an array is not finite or of another shape, if the samples' size is
            not a multiple of M, or if the noise variance is not positive.
        :raises TypeError: if `sampler` is not a function that returns a tensor.
        """
        super().__init__()
        Z = finite_array("inducing_inputs", inducing_inputs, (None, None))
        self.num_inducing = len(Z)
        self.inducing_inputs = Parameter(Z)
        self.output_dim = _outputs_of(sampler, len(Z))
        self.sampler = sampler
        self.noise_variance = positive_number("noise_variance", noise_variance)

    def sample_outputs(self, num_samples: int | None, seed: tf.Tensor) -> tf.Tensor:
        """Draw u ~ q(u).

        :param num_samples: S; None for one sample without a sample axis.
        :param seed: [2].
        :return: [S, M, P] or [M, P], in the units of the layer's outputs.
        """
        S = 1 if num_samples is None else num_samples
        u = tf.reshape(self.sampler(S, unpaired(seed)), [S, self.num_inducing, self.output_dim])
        return u[0] if num_samples is None else u

    def q(
        self,
        basis: Basis,
        outputs: slice,
        num_samples: int | None = None,
        *,
        drawn: Any = None,
    ) -> WhitenedGaussian:
        """The Gaussian p(z | u), of the same means and covariances of f as eq. (13).

        :param basis: the layer's basis at Z.
        :param outputs: the outputs among P that share that basis.
        :param num_samples: not used.
        :param drawn: u - m(Z), [M, P] or [S, M, P].
        :return: p(z | u).
        """
        T = tf.fill([self.num_inducing], tf.constant(self.noise_variance**-0.5, drawn.dtype))
        return RegressionOnDraws(basis, T, drawn[..., outputs])


def _outputs_of(sampler: Any, M: int) -> int:
    """P, the number of outputs at each of the M inducing inputs of a sample."""
    if not callable(sampler):
        raise TypeError(
            "sampler must be a function of the number of samples and a seed, such as a "
            f"gpflow_gi.posteriors.NoiseNetwork, but is {shown(sampler)}."
        )
    try:
        samples = tf.convert_to_tensor(sampler(2, as_seed(0)))
    except Exception:
        raise TypeError(
            "sampler must be a function from the number of samples and a seed of shape [2] to a "
            f"tensor, but {shown(sampler)} failed or returned something else."
        ) from None
    if samples.shape.rank != 2 or samples.shape[0] != 2 or samples.shape[1] % M:
        raise ValueError(
            f"sampler must return [S, M P] for S samples at M = {M} inducing inputs, but returned "
            f"shape {list(samples.shape)} for S = 2."
        )
    return int(samples.shape[1]) // M

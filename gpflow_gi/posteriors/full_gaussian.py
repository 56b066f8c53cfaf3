"""A free Gaussian over the weights to each output."""

from __future__ import annotations

from typing import Any

from ..core.basis import Basis
from ..core.gaussians import FreeGaussian, WhitenedGaussian
from .base import Posterior, check_new
from .free_parameters import free_parameters


class FullGaussian(Posterior):
    """q(z_p) = N(q_mu_p, q_sqrt_p q_sqrt_p^T), for layers of weights: dense, conv or implicit.

    The weights to an output are w_p = R z_p, with R the root of their prior's covariance; outputs
    are independent. In an :class:`~gpflow_gi.layers.ImplicitLayer` it is the variational implicit
    process (Ma, Li & Hernandez-Lobato 2019). Parameters are those of GPflow's whitened SVGP, so it
    works with GPflow's NaturalGradient.

    ``q_mu``, [K, P], and ``q_sqrt``, [P, K, K], exist once the posterior is bound to a layer with K
    weights to each output.

    >>> from gpflow_gi.layers import DenseLayer
    >>> layer = DenseLayer(20, 5, FullGaussian())
    >>> layer.posterior.q_sqrt.shape
    TensorShape([5, 21, 21])
    """

    uses_global_inducing = False
    num_inducing = None
    output_dim = None

    def __init__(self, *, q_mu: Any = None, q_sqrt: Any = None) -> None:
        """Set the start, which is checked when a layer takes the posterior: see :meth:`bind`.

        :param q_mu: [K, P]. Zero by default.
        :param q_sqrt: lower triangular, [P, K, K]. The identity by default, which makes q the
            prior.
        """
        super().__init__()
        self._start = (q_mu, q_sqrt)

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Make the parameters.

        :param num_weights: K; None for a Gaussian process.
        :param output_dim: P; for a convolution its number of filters.
        :raises ValueError: if the layer has no weights, if another layer has taken the posterior,
            or if the start is not finite, of another shape, or not lower triangular.
        """
        num_weights = check_new(self, num_weights, "Its free Gaussian is LocalInducing.")
        self.q_mu, self.q_sqrt = free_parameters(num_weights, output_dim, *self._start)
        self.output_dim = output_dim

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        return FreeGaussian(self.q_mu[:, outputs], self.q_sqrt[outputs])

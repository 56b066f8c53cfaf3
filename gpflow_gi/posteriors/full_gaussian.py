"""A free Gaussian over the whitened coordinates of each output."""

from __future__ import annotations

from typing import Any

from ..core.basis import Basis
from ..core.gaussians import FreeGaussian, WhitenedGaussian
from ..core.validation import positive_integer
from .base import Posterior, check_new, own_inputs
from .free_parameters import free_parameters


class FullGaussian(Posterior):
    """q(z_p) = N(q_mu_p, q_sqrt_p q_sqrt_p^T), with any mean and covariance for each output.

    Outputs are independent. In layers of weights, dense, conv or implicit, the weights to an output
    are w_p = R z_p, with R the root of their prior's covariance. In an
    :class:`~gpflow_gi.layers.ImplicitLayer` it is the variational implicit process (Ma, Li &
    Hernandez-Lobato 2019).

    In a :class:`~gpflow_gi.layers.GPLayer` it takes M, and the outputs at the model's global
    inducing inputs, drawn through the layers below, are u = m + L z, with the Cholesky factor L of
    their kernel matrix: the q(z) of Salimbeni & Deisenroth (2017) at the inducing points of Ober &
    Aitchison (2021). In the first layer of a deep GP, whose inducing inputs are not drawn, every
    :class:`GlobalInducing` posterior is one of these. There is no precision to factorise.

    Parameters are those of GPflow's whitened SVGP, so it works with GPflow's NaturalGradient.
    ``q_mu``, [K, P], and ``q_sqrt``, [P, K, K], exist once a layer takes the posterior, with K
    weights to each output, or K = M.

    >>> from gpflow_gi.layers import DenseLayer
    >>> layer = DenseLayer(20, 5, FullGaussian())
    >>> layer.posterior.q_sqrt.shape
    TensorShape([5, 21, 21])
    """

    num_inducing = None
    output_dim = None

    def __init__(
        self,
        num_inducing: int | None = None,
        *,
        q_mu: Any = None,
        q_sqrt: Any = None,
        inducing_inputs: Any = None,
    ) -> None:
        """Set the start, which is checked when a layer takes the posterior: see :meth:`bind`.

        :param num_inducing: M, the number of inducing points, for a GP layer: those of the model,
            and J of the layer's own; None for a layer of weights.
        :param q_mu: [K, P], or [M, P] in a GP layer. Zero by default.
        :param q_sqrt: lower triangular, [P, K, K] or [P, M, M]. The identity by default, which
            makes q the prior.
        :param inducing_inputs: initial Z, the layer's own inducing inputs, [J, D] with J < M; see
            :class:`GlobalInducing`. None by default.
        :raises ValueError: if `num_inducing` is neither a positive integer nor None; or if Z is not
            finite, of another shape, has M or more rows, or is given without M.
        """
        super().__init__()
        if num_inducing is not None:
            self.num_inducing = positive_integer("num_inducing", num_inducing)
            self.inducing_inputs = own_inputs(inducing_inputs, self.num_inducing)
        elif inducing_inputs is not None:
            raise ValueError(
                "inducing_inputs are for a GP layer, which needs num_inducing too: the number of "
                "its inducing points, with these."
            )
        self._start = (q_mu, q_sqrt)

    @property
    def uses_global_inducing(self) -> bool:  # type: ignore[override]
        """True in a Gaussian process."""
        return self.num_inducing is not None

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Make the parameters.

        :param num_weights: K; None for a Gaussian process.
        :param output_dim: P; for a convolution its number of filters.
        :raises ValueError: if a GP layer gets no number of inducing points or a layer of weights
            gets one, if another layer has taken the posterior, or if the start is not finite, of
            another shape, or not lower triangular.
        """
        K = self.num_inducing if num_weights is None else num_weights
        if K is None or (num_weights is not None and self.num_inducing is not None):
            raise ValueError(
                "posterior is a FullGaussian without num_inducing, which a GPLayer needs: the "
                "number of the model's inducing points. A free Gaussian at inducing points of its "
                "own is LocalInducing."
                if K is None
                else "posterior is a FullGaussian with num_inducing, which is for a GPLayer; this "
                "layer has weights. Leave it out."
            )
        check_new(self)
        self.q_mu, self.q_sqrt = free_parameters(K, output_dim, *self._start)
        self._start = (None, None)  # not a second copy in files
        self.output_dim = output_dim

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        return FreeGaussian(self.q_mu[:, outputs], self.q_sqrt[outputs])

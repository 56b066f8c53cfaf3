"""Local inducing points: a free Gaussian at the layer's own inducing inputs."""

from typing import Any

import numpy as np
import tensorflow as tf
from gpflow.base import Parameter
from gpflow.utilities import triangular

from ..kernels import KernelBasis
from ..validation import finite_array, positive_integer
from ..whitened import FreeGaussian, WhitenedGaussian
from .base import Posterior


class LocalInducing(Posterior):
    """q(z) = N(q_mu, q_sqrt q_sqrt^T) at learned inputs of the layer's own, z = L^-1 (u - m).

    Doubly stochastic variational inference (Salimbeni & Deisenroth 2017): the same whitened
    parameters as in GPflow's SVGP, so that GPflow's NaturalGradient takes them. q(z) does not
    depend on the layers below.
    """

    uses_global_inducing = False

    def __init__(
        self, inducing_inputs: Any, output_dim: int, *, q_mu: Any = None, q_sqrt: Any = None
    ) -> None:
        """Set up the free Gaussian.

        :param inducing_inputs: Z at the start, [M, D], in the units of the layer's inputs.
        :param output_dim: P, the number of outputs of the layer.
        :param q_mu: whitened means, [M, P]; zero by default.
        :param q_sqrt: lower triangular factors of the whitened covariances, [P, M, M]; the identity
            by default, which makes q the prior.
        :raises ValueError: if an array is empty, not finite or of another shape, or P is not
            positive.
        """
        super().__init__()
        P = self.output_dim = positive_integer("output_dim", output_dim)
        Z = finite_array("inducing_inputs", inducing_inputs, (None, None))
        M = self.num_inducing = Z.shape[0]
        self.inducing_inputs = Parameter(Z)
        q_mu = np.zeros((M, P)) if q_mu is None else q_mu
        q_sqrt = np.tile(np.eye(M), (P, 1, 1)) if q_sqrt is None else q_sqrt
        self.q_mu = Parameter(finite_array("q_mu", q_mu, (M, P)))
        q_sqrt = finite_array("q_sqrt", q_sqrt, (P, M, M))
        if np.any(np.triu(q_sqrt, 1)):
            raise ValueError("q_sqrt must be lower triangular, but has entries above the diagonal.")
        self.q_sqrt = Parameter(q_sqrt, transform=triangular())

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        return tf.convert_to_tensor(self.inducing_inputs)

    def q(self, basis: KernelBasis, outputs: slice) -> WhitenedGaussian:
        return FreeGaussian(self.q_mu[:, outputs], self.q_sqrt[outputs])

"""The exact posterior of a network's last layer, given all rows and the layers below."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.base import Parameter
from gpflow.likelihoods import Gaussian, Likelihood

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian
from ..core.regression import regress
from ..core.validation import finite_array, shown
from .base import Posterior


class Optimal(Posterior):
    """q(z) = p(z | Y, F) for the last layer of weights: regression on the data themselves.

    With Gaussian noise, the best q(z) given the layers below has a closed form: the posterior of
    Bayesian linear regression of all targets Y on F, the data's rows as the drawn layers below
    return them. It is the global posterior of Ober & Aitchison (2021, eq. 8 and 9) with the data
    instead of pseudo-data, and it maximises their bound (eq. 13) for each draw of the layers
    below, which then is::

        L = E_q [ log N(Y | 0, Phi(F) Phi(F)^T + variance I) - sum_{l < L} KL(q(z_l) || p(z_l)) ]

    There is nothing to learn in it. Each step and each prediction pushes all N rows through the
    layers below, which have to be layers of weights or deterministic; the bound is then one for
    minibatches too. Files of such a model hold the data.

    >>> import numpy as np
    >>> from gpflow_gi.layers import DenseLayer
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 10, 1))
    >>> likelihood = Gaussian(0.1)
    >>> layer = DenseLayer(1, 1, Optimal(X, Y, likelihood))
    """

    uses_global_inducing = False
    num_inducing = None

    # The model owns the likelihood.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        {*Posterior._TF_MODULE_IGNORED_PROPERTIES, "likelihood"}
    )

    def __init__(self, X: Any, Y: Any, likelihood: Likelihood) -> None:
        """Keep the data.

        :param X: inputs of the model, [N, D]: all rows that it is trained on.
        :param Y: targets, [N, P].
        :param likelihood: the model's likelihood, the same object: a Gaussian one with a constant
            variance.
        :raises TypeError: if `likelihood` is not such a likelihood.
        :raises ValueError: if the data are empty, not finite or of another shape.
        """
        super().__init__()
        if not isinstance(likelihood, Gaussian) or not isinstance(likelihood.variance, Parameter):
            raise TypeError(
                "likelihood must be a gpflow.likelihoods.Gaussian with a constant variance, for "
                "which the last layer has an exact posterior, but is "
                f"{shown(likelihood)}. Use GlobalInducing for others."
            )
        self.likelihood = likelihood
        X = finite_array("X", X, (None, None))
        Y = finite_array("Y", Y, (len(X), None))
        self.rows: tf.Tensor = tf.constant(X)
        self._targets = tf.constant(Y)
        self.output_dim = Y.shape[1]

    @property
    def num_rows(self) -> int:
        """N, the number of rows of the data."""
        return int(self._targets.shape[0])

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Check that the layer has weights.

        :param num_weights: K; None for a Gaussian process.
        :param output_dim: P, which the layer checks.
        :raises ValueError: if the layer has no weights.
        """
        if num_weights is None:
            raise ValueError(
                "posterior is Optimal, which is for the last layer of a network; a GPLayer has no "
                "weights. Use GlobalInducing, or DenseLayer in place of GPLayer."
            )

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        # Lambda = I / variance
        T = tf.fill([self.num_rows], 1.0 / tf.sqrt(self.likelihood.variance))
        return regress(basis, T, self._targets[:, outputs], shared=True)

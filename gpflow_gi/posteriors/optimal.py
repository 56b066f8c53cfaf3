"""The best q(z) of the last layer, given all rows and the layers below."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.base import Parameter
from gpflow.likelihoods import Likelihood

from ..core.basis import Basis
from ..core.gaussians import WhitenedGaussian
from ..core.linalg import product, row_blocks
from ..core.noise import constant_variance
from ..core.regression import WeightSpaceRegression, regress
from ..core.validation import finite_array, positive_integer, shown
from .base import Posterior


class Optimal(Posterior):
    """The best q(z) of the last layer: regression on the data themselves.

    With Gaussian noise, the best q(z) given the layers below has a closed form: the posterior of
    Bayesian linear regression of all targets Y on F, the data's rows as the drawn layers below
    return them. For weights it is exact, p(z | Y, F): the global posterior of Ober & Aitchison
    (2021, eq. 8 and 9) with the data instead of pseudo-data. In a network it maximises their bound
    (eq. 13) for each draw of the layers below, which then is::

        L = E_q [ log N(Y | 0, Phi(F) Phi(F)^T + variance I) - sum_{l < L} KL(q(z_l) || p(z_l)) ]

    In a GP layer q(z) is the optimal Gaussian of Titsias (2009) at its inducing inputs, which are
    the model's global ones, drawn through the layers below, or its own, or some of both. Below it
    there may be GP layers too. Given their inducing outputs, the rows of F are still random: q(z)
    takes their means, passed from layer to layer, and is optimal if F does not vary around these.

    There is nothing to learn in it but its own inducing inputs, if it has any. Each step and each
    prediction pushes all N rows through the layers below; the bound is then one for minibatches
    too. Files of such a model hold the data.

    >>> import numpy as np
    >>> from gpflow.kernels import Matern52
    >>> from gpflow.likelihoods import Gaussian
    >>> from gpflow_gi.layers import DenseLayer, GPLayer
    >>> X, Y = np.random.default_rng(0).normal(size=(2, 10, 1))
    >>> likelihood = Gaussian(0.1)
    >>> layer = DenseLayer(1, 1, Optimal(X, Y, likelihood))
    >>> layer = GPLayer(Matern52(), 1, Optimal(X, Y, likelihood, num_inducing=5))
    >>> layer = GPLayer(Matern52(), 1, Optimal(X, Y, likelihood, inducing_inputs=X[:5]))
    """

    num_inducing = None

    # The model owns the likelihood.
    _TF_MODULE_IGNORED_PROPERTIES = frozenset(
        {*Posterior._TF_MODULE_IGNORED_PROPERTIES, "likelihood"}
    )

    def __init__(
        self,
        X: Any,
        Y: Any,
        likelihood: Likelihood,
        *,
        num_inducing: int | None = None,
        inducing_inputs: Any = None,
    ) -> None:
        """Keep the data.

        :param X: inputs of the model, [N, D]: all rows that it is trained on.
        :param Y: targets, [N, P].
        :param likelihood: the model's likelihood, the same object: a Gaussian one with a constant
            variance.
        :param num_inducing: M, the number of inducing points of a GP layer: those of the model, and
            J of the layer's own. With inducing points of its own alone it can be left out.
        :param inducing_inputs: initial Z of a GP layer with inducing inputs of its own, [J, D'],
            J <= M, in the units of that layer's inputs. They are learned. A layer of weights has
            neither.
        :raises TypeError: if `likelihood` is not such a likelihood.
        :raises ValueError: if the data or Z are empty, not finite or of another shape, if
            `num_inducing` is not a positive integer, or if Z has more rows.
        """
        super().__init__()
        variance = constant_variance(likelihood)
        if variance is None or tf.size(variance) != 1:
            raise TypeError(
                "likelihood must be a gpflow.likelihoods.Gaussian with one constant variance, for "
                "which the last layer has an exact posterior, but is "
                f"{shown(likelihood)}. Use GlobalInducing for others."
            )
        self.likelihood = likelihood
        X = finite_array("X", X, (None, None))
        Y = finite_array("Y", Y, (len(X), None))
        self.rows: tf.Tensor = tf.constant(X)
        self._targets = tf.constant(Y)
        self.output_dim = Y.shape[1]
        if num_inducing is not None:
            self.num_inducing = positive_integer("num_inducing", num_inducing)
        if inducing_inputs is not None:
            Z = finite_array("inducing_inputs", inducing_inputs, (None, None))
            self.inducing_inputs = Parameter(Z)
            if self.num_inducing is None:
                self.num_inducing = len(Z)
            if len(Z) > self.num_inducing:
                raise ValueError(
                    f"inducing_inputs has {len(Z)} rows, the layer's own among its num_inducing="
                    f"{num_inducing} points: there cannot be more. Raise num_inducing, or leave it "
                    "out for a layer with its own points alone."
                )

    @property
    def targets(self) -> tf.Tensor:
        """Y, [N, P]."""
        return self._targets

    @property
    def num_rows(self) -> int:
        """N, the number of rows of the data."""
        return int(self._targets.shape[0])

    @property
    def uses_global_inducing(self) -> bool:  # type: ignore[override]
        """True in a Gaussian process at the model's inducing points."""
        return self.num_inducing is not None and self.num_own < self.num_inducing

    def bind(self, num_weights: int | None, output_dim: int) -> None:
        """Check that a Gaussian process has inducing points, and a layer of weights none.

        :param num_weights: K; None for a Gaussian process.
        :param output_dim: P, which the layer checks.
        :raises ValueError: if it is the other way round.
        """
        if num_weights is None and self.num_inducing is None:
            raise ValueError(
                "posterior is Optimal without inducing points, which a GPLayer needs: give it "
                "num_inducing, the number of the model's inducing points, or inducing_inputs of "
                "its own."
            )
        if num_weights is not None and self.num_inducing is not None:
            raise ValueError(
                "posterior is Optimal with inducing points, which are for a GPLayer; this layer "
                "has weights. Leave them out."
            )

    def q(
        self,
        basis: Basis,
        outputs: slice,
        num_samples: int | None = None,
        *,
        rows: tf.Tensor | None = None,
        means: tf.Tensor | float = 0.0,
    ) -> WhitenedGaussian:
        """The Gaussian over the coordinates; see :meth:`Posterior.q`.

        :param basis: the layer's basis: of weights at the data's rows, of a process at its inducing
            inputs.
        :param rows: of a process: F, the mean activations of the data's rows, [N, D'] or [S, N,
            D'].
        :param means: of a process: its mean function at F, [N, P] or [S, N, P]; or one column or
            number, if outputs share it.
        :return: q(z), with a sample axis if the basis or `rows` have one.
        """
        variance = tf.reshape(constant_variance(self.likelihood), [])
        if rows is None:
            T = tf.fill([self.num_rows], 1.0 / tf.sqrt(variance))  # Lambda = I / variance
            return regress(basis, T, self._targets[:, outputs], shared=True)
        # q(z) = N(B^-1 c, B^-1) with B = I + A A^T / variance and c = A (Y - m) / variance
        residuals = (self._targets - means)[..., outputs]
        grams, products = [], []
        for block in row_blocks(self.num_rows, self.num_inducing or 1, rows, basis.inputs):
            A = basis(rows[..., block, :])
            grams.append(tf.matmul(A, A, transpose_b=True))
            products.append(product(A, residuals[..., block, :]))
        G, c = tf.add_n(grams) / variance, tf.add_n(products) / variance
        return WeightSpaceRegression.from_moments(G, c)


def optimal_of(model: Any) -> Optimal | None:
    """The posterior of a model's last layer, if it is an :class:`Optimal` one."""
    layers = getattr(model, "layers", None)
    posterior = getattr(layers[-1], "posterior", None) if layers else None
    return posterior if isinstance(posterior, Optimal) else None

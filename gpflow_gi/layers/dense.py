"""Dense layers of a Bayesian neural network."""

from __future__ import annotations

import math

import tensorflow as tf

from ..core.gaussians import integrate
from ..core.validation import positive_integer, true_or_false
from ..core.weight_root import WeightRoot
from ..posteriors import Posterior
from ..priors import WeightPrior
from .base import LayerFunction, check_posterior
from .weights import ConditionedWeights, WeightBasis, WeightLayer, check_prior


class DenseLayer(WeightLayer):
    """P outputs f_p(x) = [x, 1]^T w_p, with a prior and an approximate posterior over the weights.

    The bias is the weight of an appended unit that is always one (Ober & Aitchison 2021, eq. 1 and
    2, with the bias counted in N). In whitened form f(x) = a(x)^T z with a(x) = s [x, 1], w = s z:
    a Gaussian process layer with the kernel :class:`gpflow_gi.kernels.BNNKernel` and without a
    residual. Nonlinearities are separate layers below this one.

    >>> from gpflow_gi.posteriors import GlobalInducing
    >>> from gpflow_gi.priors import ScalePrior
    >>> layer = DenseLayer(20, 5, GlobalInducing(num_inducing=50, output_dim=5), prior=ScalePrior())
    >>> layer.num_weights
    21
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        posterior: Posterior,
        *,
        prior: WeightPrior | None = None,
        bias: bool = True,
    ) -> None:
        """Set the prior and the posterior.

        :param input_dim: D, the number of units below.
        :param output_dim: P, the number of units of this layer.
        :param posterior: a choice of q(z).
        :param prior: prior over the weights; :class:`gpflow_gi.priors.NealPrior` by default.
        :param bias: True to append a unit that is always one.
        :raises ValueError: if a width is not a positive integer, if the posterior is for another
            number of outputs or not for a layer of weights, or if the prior is for convolutions.
        :raises TypeError: if `posterior` is not a posterior, `prior` is not a prior, or `bias` is
            neither True nor False.
        """
        super().__init__()
        self._input_dim = positive_integer("input_dim", input_dim)
        self.output_dim = positive_integer("output_dim", output_dim)
        self.bias = true_or_false("bias", bias)
        check_posterior(posterior, self.output_dim)
        self.prior = check_prior(prior, None, self.num_weights)
        posterior.bind(self.num_weights, self.output_dim)
        self.posterior = posterior

    @property
    def input_dim(self) -> int:
        return self._input_dim

    @property
    def num_weights(self) -> int:
        """N, the number of weights to each output: its fan-in, counting the bias."""
        return self._input_dim + self.bias

    def check_inputs(self, *input_shape: int) -> None:
        input_dim = math.prod(input_shape)
        if input_dim != self._input_dim:
            raise ValueError(
                f"The layer has input_dim={self._input_dim}, but gets {input_dim} columns."
            )

    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedDenseLayer:
        scale = self._scale(num_samples, seed)
        basis = DenseBasis(self.posterior.basis_inputs(U), scale.root, self.bias)
        q = self.posterior.q(basis, slice(0, self.output_dim), num_samples)
        return ConditionedDenseLayer(basis, q, scale)

    def draw_of(self, weights: tf.Tensor) -> LayerFunction:
        return DenseDraw(weights, self.bias, tf.zeros([], weights.dtype))


class DenseBasis(WeightBasis):
    """The basis a(x) = R^T [x, 1], or R^T x without a bias, with pseudo-data at rows."""

    def __init__(self, inputs: tf.Tensor, root: WeightRoot, bias: bool) -> None:
        """Take the layer's inputs as basis functions; see :class:`WeightBasis`."""
        super().__init__(inputs, root)
        self.bias = bias
        self._scaled = self._units(inputs)

    @property
    def design(self) -> tf.Tensor:
        return self._scaled

    def _units(self, X: tf.Tensor) -> tf.Tensor:
        return super()._units(_with_bias(X, self.bias))


class ConditionedDenseLayer(ConditionedWeights):
    """A dense layer, given the inducing activations and its prior's scale."""

    basis: DenseBasis

    def predict(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        return integrate(self.q, self.basis, X, full_cov)

    def _function_of(self, weights: tf.Tensor, log_p_minus_log_q: tf.Tensor) -> DenseDraw:
        return DenseDraw(weights, self.basis.bias, log_p_minus_log_q)


class DenseDraw(LayerFunction):
    """Drawn weights."""

    def __init__(self, weights: tf.Tensor, bias: bool, log_p_minus_log_q: tf.Tensor) -> None:
        """Keep the weights.

        :param weights: [K, P] or [S, K, P]; the last row is the bias.
        :param log_p_minus_log_q: [] or [S].
        """
        self.weights = weights
        self._bias = bias
        self.log_p_minus_log_q = log_p_minus_log_q

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        return tf.matmul(_with_bias(X, self._bias), self.weights)


def _with_bias(X: tf.Tensor, bias: bool) -> tf.Tensor:
    """Append a one to every row, [x, 1]; without a bias return x."""
    if not bias:
        return X
    one = tf.ones(tf.concat([tf.shape(X)[:-1], [1]], axis=0), X.dtype)
    return tf.concat([X, one], axis=-1)

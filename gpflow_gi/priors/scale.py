"""Gaussian priors with a random variable as their scale."""

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.base import Parameter, TensorType
from gpflow.utilities import positive

from ..core.validation import finite_tensor, positive_integer, positive_number
from ..core.weight_root import WeightRoot
from .base import WeightPrior, WeightScale


class ScalePrior(WeightPrior):
    """Weights of precision N s / scale^2 with a Gamma prior over s: the paper's eq. 16 to 18::

        S = scale^2 I / s,    p(s) = Gamma(shape, rate),    q(s) = Gamma(shape + alpha, rate + beta)

    The variational parameters alpha and beta are positive and learned. All else is constant, so
    bounds can be compared with those of other priors.

    The default prior, Gamma(2, 2), is the paper's. The authors' published code uses other
    constants; set them with `shape` and `rate`.
    """

    def __init__(
        self,
        *,
        scale: float = 1.0,
        shape: float = 2.0,
        rate: float = 2.0,
        alpha: float = 1.0,
        beta: float = 1.0,
    ) -> None:
        """Set p(s) and the initial q(s).

        :param scale: factor on the weights' standard deviation, a constant.
        :param shape: shape of p(s).
        :param rate: rate of p(s); s has no unit.
        :param alpha: initial difference of the shapes of q(s) and p(s).
        :param beta: initial difference of the rates of q(s) and p(s).
        :raises ValueError: if one of them is not positive.
        """
        super().__init__()
        self.scale = positive_number("scale", scale)
        self.shape = positive_number("shape", shape)
        self.rate = positive_number("rate", rate)
        self.alpha = Parameter(positive_number("alpha", alpha), transform=positive())
        self.beta = Parameter(positive_number("beta", beta), transform=positive())

    @property
    def is_type_ii(self) -> bool:
        return False

    def draw(self, num_weights: int, num_samples: int | None, seed: tf.Tensor) -> WeightScale:
        size = [] if num_samples is None else [num_samples]
        # Differentiable in shape and rate, by implicit reparameterisation (Figurnov et al., 2018).
        s = tf.random.stateless_gamma(
            size, seed, self.shape + self.alpha, self.rate + self.beta, dtype=self.alpha.dtype
        )
        return self._given(s, num_weights)

    @property
    def num_coordinates(self) -> int:
        """One coordinate, log s."""
        return 1

    def log_density_of_coordinates(self, eta: TensorType, num_weights: int) -> tf.Tensor:
        eta, _ = self._check_coordinates(eta, num_weights)
        log_s = eta[:, 0]
        return self._log_prior(tf.exp(log_s)) + log_s  # p(log s) = s p(s)

    def draw_coordinates(self, num_samples: int, num_weights: int, seed: tf.Tensor) -> tf.Tensor:
        dtype = gpflow.default_float()
        s = tf.random.stateless_gamma([num_samples, 1], seed, self.shape, self.rate, dtype=dtype)
        return tf.math.log(s)

    def root_of(self, eta: TensorType, num_weights: int) -> WeightRoot:
        eta, num_weights = self._check_coordinates(eta, num_weights)
        return WeightRoot(self._standard_deviation(tf.exp(eta[:, :, None]), num_weights))

    def follow_prior(self) -> None:
        for parameter in (self.alpha, self.beta):
            parameter.assign(_ALMOST_ZERO)
            gpflow.set_trainable(parameter, False)

    def given(self, s: TensorType, num_weights: int) -> WeightScale:
        """The scale at a given s: recorded, or drawn by MCMC.

        :param s: [] or [S], positive.
        :param num_weights: N, the fan-in with the bias.
        :return: the scale, with its KL divergence and its log p - log q.
        :raises ValueError: if `s` is known not to be positive and finite, or if `num_weights` is no
            positive integer.
        """
        return self._given(_positive(s), positive_integer("num_weights", num_weights))

    def _given(self, s: tf.Tensor, num_weights: int) -> WeightScale:
        log_ratio = self._log_prior(s) - self._log_posterior(s)
        return WeightScale(self._standard_deviation(s, num_weights), self.kl(), log_ratio)

    def _standard_deviation(self, s: tf.Tensor, num_weights: int) -> tf.Tensor:
        """Standard deviation of each weight, of the shape of `s`."""
        return self.scale / tf.sqrt(num_weights * s)

    def log_prior(self, s: TensorType) -> tf.Tensor:
        """The log density log p(s).

        :param s: [] or [S], positive.
        :return: log density of the shape of `s`, in nats.
        :raises ValueError: if `s` is known not to be positive and finite.
        """
        return self._log_prior(_positive(s))

    def _log_prior(self, s: tf.Tensor) -> tf.Tensor:
        shape, rate = (tf.constant(number, s.dtype) for number in (self.shape, self.rate))
        return _log_gamma_density(s, shape, rate)

    def log_posterior(self, s: TensorType) -> tf.Tensor:
        """The log density log q(s).

        :param s: [] or [S], positive.
        :return: log density of the shape of `s`, in nats.
        :raises ValueError: if `s` is known not to be positive and finite.
        """
        return self._log_posterior(_positive(s))

    def _log_posterior(self, s: tf.Tensor) -> tf.Tensor:
        return _log_gamma_density(s, self.shape + self.alpha, self.rate + self.beta)

    def kl(self) -> tf.Tensor:
        """KL(q(s) || p(s)), [], in nats."""
        # With q = Gamma(a, b), p = Gamma(a0, b0), alpha = a - a0 and beta = b - b0:
        # alpha digamma(a) - log Gamma(a) + log Gamma(a0) + a0 log(b / b0) - a beta / b
        a, b = self.shape + self.alpha, self.rate + self.beta
        return (
            self.alpha * tf.math.digamma(a)
            - tf.math.lgamma(a)
            + tf.math.lgamma(tf.constant(self.shape, a.dtype))
            + self.shape * tf.math.log1p(self.beta / self.rate)
            - a * self.beta / b
        )


_ALMOST_ZERO = 1e-8
"""Smallest initial value: zero has no logarithm; the KL divergence at this value is negligible."""


def _positive(s: TensorType) -> tf.Tensor:
    """`s` in GPflow's default float type, checked if its values are known."""
    s = finite_tensor("s", s)
    if tf.executing_eagerly() and not np.all(s.numpy() > 0):
        raise ValueError(f"s must be positive, but its least entry is {s.numpy().min()}.")
    return s


def _log_gamma_density(s: tf.Tensor, shape: tf.Tensor, rate: tf.Tensor) -> tf.Tensor:
    # shape log(rate) - log Gamma(shape) + (shape - 1) log(s) - rate s
    return (
        shape * tf.math.log(rate) - tf.math.lgamma(shape) + (shape - 1) * tf.math.log(s) - rate * s
    )

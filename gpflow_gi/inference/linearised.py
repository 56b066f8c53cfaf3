"""A network linearised in its weights."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.likelihoods import Gaussian as GaussianNoise
from gpflow.likelihoods import Likelihood

from ..core import linalg
from ..core.random import Seed, as_seed, fold_in, standard_normal
from ..core.validation import positive_integer, shown
from ..models import Draws, Predictive
from .curvature import jacobian
from .gaussian import Gaussian


class LinearisedDraws(Draws):
    """f(x) = f(x, mean) + J(x) (theta - mean), with theta integrated out or drawn."""

    def __init__(
        self,
        posterior: Gaussian,
        num_samples: int,
        theta: tf.Tensor | None,
        kl: tf.Tensor | None,
        log_p_minus_log_q: tf.Tensor | None,
    ) -> None:
        """Keep the drawn weights.

        :param num_samples: number of samples, S.
        :param theta: [S, L]; None to integrate.
        :param kl: KL divergence of integrated weights, [] or [S].
        :param log_p_minus_log_q: log p - log q of drawn weights, [S].
        """
        self._posterior = posterior
        self._num_samples = num_samples
        self._theta = theta
        self.kl = kl
        self.log_p_minus_log_q = log_p_minus_log_q
        self.is_function = theta is not None

    def moments(
        self, X: tf.Tensor, seed: Any, *, full_cov: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        q = self._posterior
        f, J = jacobian(q.space, tf.convert_to_tensor(q.mean), tf.convert_to_tensor(X))
        if not full_cov:
            return f, q.spread(J)
        return f, q.covariance(tf.transpose(J, [1, 0, 2]))

    def moments_of_outputs(self, X: tf.Tensor, seed: Any) -> tuple[tf.Tensor, tf.Tensor]:
        # Outputs share weights, and so J Cov(theta) J^T is not diagonal.
        q = self._posterior
        f, J = jacobian(q.space, tf.convert_to_tensor(q.mean), tf.convert_to_tensor(X))
        return f, q.covariance(J)

    def __call__(self, X: tf.Tensor, seed: Any) -> tf.Tensor:
        if self._theta is None:
            is_single = self._posterior.network.output_dim == 1
            f, spread = (self.moments if is_single else self.moments_of_outputs)(X, seed)
            shape = tf.concat([[self._num_samples], tf.shape(f)], axis=0)
            noise = standard_normal(shape, seed, f.dtype)
            if is_single:
                return f + tf.sqrt(spread) * noise
            return f + tf.linalg.matvec(linalg.root_of_any(spread), noise)
        mean = tf.convert_to_tensor(self._posterior.mean)
        f, J = jacobian(self._posterior.space, mean, tf.convert_to_tensor(X))
        return f + tf.einsum("npl,sl->snp", J, self._theta - mean)


class Linearised(Predictive):
    """Predictions of a network linearised at the mean of a Gaussian over its weights.

    Then f is a Gaussian process, and the weights are integrated exactly (Khan, Immer, Abedi &
    Korzepa 2019; Immer, Korzepa & Bauer 2021). A Laplace approximation with the Gauss-Newton matrix
    belongs to this model; samples of its weights in the network itself underfit.

    The bounds are on the evidence of the linearised model, which differs from the network's.

    Outputs share weights, and are correlated at a row. Predictions of f, its draws, and densities
    under Gaussian noise take the covariance; other likelihoods of several outputs, such as Softmax,
    are integrated as if outputs were independent, by their variances alone.
    """

    def __init__(self, posterior: Gaussian) -> None:
        """Set the weights' posterior.

        :param posterior: posterior over the weights of the network.
        :raises TypeError: if it is not a :class:`Gaussian`.
        """
        super().__init__()
        if not isinstance(posterior, Gaussian) or posterior.is_of_target:
            raise TypeError(
                f"posterior must be a gpflow_gi.inference.Gaussian of a network, but is "
                f"{shown(posterior)}."
            )
        self.posterior_of_weights = posterior
        self.num_samples = posterior.num_samples

    @property
    def network(self) -> Any:
        """The network before linearisation."""
        return self.posterior_of_weights.network

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood p(y | f) of the network."""
        return self.network.likelihood

    @property
    def num_data(self) -> int:
        """The number of rows that the network is trained on."""
        return self.network.num_data

    @num_data.setter
    def num_data(self, num_rows: int) -> None:
        self.network.num_data = num_rows

    @property
    def output_dim(self) -> int:
        """P, the number of outputs of the last layer."""
        return self.network.output_dim

    @property
    def has_correlated_outputs(self) -> bool:
        # False for other likelihoods, which are integrated output by output: their densities given
        # the covariance have no closed form.
        return self.output_dim > 1 and isinstance(self.likelihood, GaussianNoise)

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """Shape (D,), or (H, W, C) of images."""
        return self.network.input_shape

    def draw(self, num_samples: int, seed: Seed = None, *, joint: bool = False) -> Draws:
        """Draw S linear functions, or integrate them.

        See :meth:`Predictive.draw <gpflow_gi.models.Predictive.draw>`.
        """
        q = self.posterior_of_weights
        S = positive_integer("num_samples", num_samples)
        if not joint and q.has_density and q.space.is_standard_normal:
            return LinearisedDraws(q, S, None, q.kl_from_standard_normal(), None)
        theta, log_q = q.sample(S, fold_in(as_seed(seed), 0))
        ratio = None if log_q is None else q.space.log_prior(theta) - log_q
        if joint:
            return LinearisedDraws(q, S, theta, None, ratio)
        return LinearisedDraws(q, S, None, None if ratio is None else -ratio, None)

    def check_inputs(self, X: Any) -> tf.Tensor:
        return self.posterior_of_weights.check_inputs(X)

    def width(self) -> int:
        return self.output_dim * self.posterior_of_weights.space.size

    def numbers_per_row(self, num_samples: int) -> int:
        return self.width()  # no array has a sample axis

    def why_no_density(self) -> str:
        return self.posterior_of_weights.why_no_density()

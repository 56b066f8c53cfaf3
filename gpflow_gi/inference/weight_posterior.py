"""Posteriors over all weights of a network at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import tensorflow as tf
from gpflow.likelihoods import Likelihood

from ..core.random import Seed, as_seed, fold_in
from ..core.validation import positive_integer
from ..models import DeepGP, Draws, Predictive
from .weight_space import WeightSpace


class WeightDraws(Draws):
    """Functions with drawn weights."""

    is_function = True

    def __init__(
        self, space: WeightSpace, theta: tf.Tensor, log_p_minus_log_q: tf.Tensor | None
    ) -> None:
        """Keep the weights.

        :param theta: [S, L].
        :param log_p_minus_log_q: [S], or None if there is no density.
        """
        self._space = space
        self.theta = theta
        self.log_p_minus_log_q = log_p_minus_log_q

    def moments(
        self, X: tf.Tensor, seed: Any, *, full_cov: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        F = self._space.functions(self.theta, tf.convert_to_tensor(X))
        if full_cov:  # [S, P, N, N]
            S, N, P = tf.unstack(tf.shape(F))
            return F, tf.zeros([S, P, N, N], F.dtype)
        return F, tf.zeros_like(F)

    def __call__(self, X: tf.Tensor, seed: Any) -> tf.Tensor:
        return self._space.functions(self.theta, tf.convert_to_tensor(X))


class WeightPosterior(Predictive):
    """q(theta) over all whitened weights of a network: see :class:`WeightSpace`.

    A subclass implements :meth:`sample`. The base class uses it to draw functions, and so has every
    bound and prediction of a :class:`~gpflow_gi.models.Predictive`. If the parameters are trainable
    and there is a density, :func:`gpflow_gi.fit` trains it.

    Shapes: S samples, L coordinates.
    """

    def __init__(self, model: DeepGP, *, num_samples: int = 1) -> None:
        """Copy the network.

        :param model: the layers, their priors and the likelihood; see :class:`WeightSpace`. The
            approximate posteriors and inducing inputs of this model are not used.
        :param num_samples: S for the bound, the default number of samples.
        :raises TypeError: if `model` is not a DeepGP.
        :raises ValueError: if a layer cannot be part of a vector of weights, or if `num_samples` is
            not a positive integer.
        """
        super().__init__()
        WeightSpace(model)  # for its errors
        self.network = model.prior_model()
        self.num_samples = positive_integer("num_samples", num_samples)

    @abstractmethod
    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Draw theta ~ q.

        :param num_samples: the number of samples, S.
        :param seed: [2].
        :return: theta [S, L], and log q(theta) [S], in nats, or None if there is no density.
        """

    @property
    def space(self) -> WeightSpace:
        """The space of the vectors theta, with the present priors."""
        return WeightSpace(self.network)

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood p(y | f) of the network."""
        return self.network.likelihood

    @property
    def num_data(self) -> int:  # type: ignore[override]
        """The number of rows that the network is trained on."""
        return self.network.num_data

    @property
    def output_dim(self) -> int:
        """P, the number of outputs of the last layer."""
        return self.network.output_dim

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """Shape (D,), or (H, W, C) of images."""
        return self.network.input_shape

    def draw(self, num_samples: int, seed: Seed = None, *, joint: bool = False) -> WeightDraws:
        """Draw S functions. Functions of weights are always joint over rows.

        See :meth:`Predictive.draw <gpflow_gi.models.Predictive.draw>`.
        """
        S = positive_integer("num_samples", num_samples)
        theta, log_q = self.sample(S, fold_in(as_seed(seed), 0))
        space = self.space
        ratio = None if log_q is None else space.log_prior(theta) - log_q
        return WeightDraws(space, theta, ratio)

    def check_inputs(self, X: Any) -> tf.Tensor:
        return self.network.check_inputs(X)

    def width(self) -> int:
        return self.network.width()

    def numbers_per_sample(self, num_rows: int) -> int:
        return max(self.network.numbers_per_sample(num_rows), self.space.size)

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
    """The functions of drawn weights."""

    is_function = True

    def __init__(
        self, space: WeightSpace, theta: tf.Tensor, log_p_minus_log_q: tf.Tensor | None
    ) -> None:
        """Keep the weights.

        :param theta: [S, L].
        :param log_p_minus_log_q: [S], or None without a density.
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

    A subclass says how to :meth:`sample`; the base class draws functions by it, and so has every
    bound and prediction of a :class:`~gpflow_gi.models.Predictive`. If its parameters are trainable
    and it has a density, :func:`gpflow_gi.fit` trains it.

    Shapes: S samples, L coordinates.
    """

    def __init__(self, model: DeepGP, *, num_samples: int = 1) -> None:
        """Copy the network.

        :param model: the layers, their priors and the likelihood; see :class:`WeightSpace`. Its own
            approximate posteriors play no part, and neither do inducing inputs.
        :param num_samples: S for the bound, where a call does not say otherwise.
        :raises TypeError: if `model` is no DeepGP.
        :raises ValueError: if a layer cannot be part of a vector of weights, or if `num_samples` is
            no positive integer.
        """
        super().__init__()
        WeightSpace(model)  # for its errors
        self.network = model.prior_model()
        self.num_samples = positive_integer("num_samples", num_samples)

    @abstractmethod
    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Draw theta ~ q.

        :param num_samples: S, how many.
        :param seed: [2].
        :return: theta [S, L], and log q(theta) [S], in nats, or None without a density.
        """

    @property
    def space(self) -> WeightSpace:
        """The vectors theta, with the priors as they are now."""
        return WeightSpace(self.network)

    @property
    def likelihood(self) -> Likelihood:
        """p(y | f), the network's."""
        return self.network.likelihood

    @property
    def num_data(self) -> int:  # type: ignore[override]
        """The number of rows that the network is trained on."""
        return self.network.num_data

    @property
    def output_dim(self) -> int:
        """P, of the last layer."""
        return self.network.output_dim

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """(D,), or (H, W, C) of images."""
        return self.network.input_shape

    def draw(self, num_samples: int, seed: Seed = None, *, joint: bool = False) -> WeightDraws:
        """Draw S functions; those of weights are joint in any case.

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

"""Posteriors over all weights of a network at once."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import tensorflow as tf
from gpflow.likelihoods import Likelihood

from ..core.random import Seed, as_seed, fold_in
from ..core.validation import positive_integer
from ..models import DeepGP, Draws, NoDensityError, Predictive
from .target import Target, as_target
from .weight_space import WeightSpace


class WeightDraws(Draws):
    """Functions with drawn weights."""

    is_function = True

    def __init__(self, space: Any, theta: tf.Tensor, log_p_minus_log_q: tf.Tensor | None) -> None:
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

    In place of a network there may be a :class:`Target`, a density over vectors. Its bounds take
    None in place of data, and there are no predictions.

    Shapes: S samples, L coordinates.
    """

    def __init__(self, model: DeepGP | Target, *, num_samples: int = 1) -> None:
        """Copy the network.

        :param model: the layers, their priors and the likelihood; see :class:`WeightSpace`. The
            approximate posteriors and inducing inputs of this model are not used. Or a target.
        :param num_samples: S for the bound, the default number of samples.
        :raises TypeError: if `model` is neither a DeepGP nor a target.
        :raises ValueError: if a layer cannot be part of a vector of weights, or if `num_samples` is
            not a positive integer.
        """
        super().__init__()
        self.network: Any
        if isinstance(model, DeepGP):
            WeightSpace(model)  # for its errors
            self.network = model.prior_model()
        else:
            self.network = as_target(model)
        self.num_samples = positive_integer("num_samples", num_samples)

    @abstractmethod
    def sample(self, num_samples: int, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Draw theta ~ q.

        :param num_samples: the number of samples, S.
        :param seed: [2].
        :return: theta [S, L], and log q(theta) [S], in nats, or None if there is no density.
        """

    @property
    def is_of_target(self) -> bool:
        """True if there is a target in place of a network."""
        return isinstance(self.network, Target)

    @property
    def space(self) -> Any:
        """The :class:`WeightSpace` of the vectors theta, with the present priors; or the target."""
        return self.network if self.is_of_target else WeightSpace(self.network)

    @property
    def own_variables(self) -> list[tf.Variable]:
        """The trainable variables of q, without those of the network or the target."""
        given = [part for part in self.submodules if isinstance(part, DeepGP | Target)]
        theirs = {id(variable) for part in given for variable in part.variables}
        return [variable for variable in self.trainable_variables if id(variable) not in theirs]

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood p(y | f) of the network."""
        return self._of_network().likelihood

    @property
    def num_data(self) -> int:
        """The number of rows that the network is trained on."""
        return 1 if self.is_of_target else self.network.num_data

    @num_data.setter
    def num_data(self, num_rows: int) -> None:
        self._of_network().num_data = num_rows

    @property
    def output_dim(self) -> int:
        """P, the number of outputs of the last layer."""
        return self._of_network().output_dim

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """Shape (D,), or (H, W, C) of images."""
        return self._of_network().input_shape

    def draw(self, num_samples: int, seed: Seed = None, *, joint: bool = False) -> WeightDraws:
        """Draw S functions. Functions of weights are always joint over rows.

        See :meth:`Predictive.draw <gpflow_gi.models.Predictive.draw>`.
        """
        S = positive_integer("num_samples", num_samples)
        theta, log_q = self.sample(S, fold_in(as_seed(seed), 0))
        space = self.space
        ratio = None if log_q is None else space.log_prior(theta) - log_q
        return WeightDraws(space, theta, ratio)

    def bound_terms(
        self, data: Any, num_samples: int | None = None, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The two terms of the bound; see :class:`~gpflow_gi.models.Predictive`.

        For a target they are E log p(y | theta) and E [log q - log p(theta)], the first of them
        zero if the target has no likelihood of its own.

        :param data: X [B, D] and Y [B, Q]; of no meaning for a target.
        :param num_samples: S; the model's own by default.
        :param seed: see the class.
        :return: two of [], in nats.
        :raises ValueError: see the class.
        :raises NoDensityError: if the posterior has no density.
        """
        if not self.is_of_target:
            return super().bound_terms(data, num_samples, seed)
        S = self.num_samples if num_samples is None else num_samples
        draws = self.draw(S, seed)
        if draws.log_p_minus_log_q is None:
            raise NoDensityError(self.why_no_density())
        log_likelihood = self.network.log_likelihood(draws.theta)
        return tf.reduce_mean(log_likelihood), -tf.reduce_mean(draws.log_p_minus_log_q)

    def row_terms(
        self, data: Any, num_samples: int | None = None, seed: Seed = None
    ) -> tuple[tf.Tensor, tf.Tensor | None, tf.Tensor]:
        if self.is_of_target:
            raise ValueError(
                "The density of a target is that of all data at once: it is no sum over rows."
            )
        return super().row_terms(data, num_samples, seed)

    def log_importance_weights(self, data: Any, num_samples: int, seed: Seed = None) -> tf.Tensor:
        """Compute log p(Y, theta) - log q(theta) for S draws; see
        :class:`~gpflow_gi.models.Predictive`.

        :param data: X [N, D] and Y [N, Q], all rows; of no meaning for a target.
        :param num_samples: the number of samples, S.
        :param seed: see the class.
        :return: [S], in nats.
        :raises ValueError: see the class.
        :raises NoDensityError: if the posterior has no density.
        """
        if not self.is_of_target:
            return super().log_importance_weights(data, num_samples, seed)
        draws = self.draw(positive_integer("num_samples", num_samples), seed)
        if draws.log_p_minus_log_q is None:
            raise NoDensityError(self.why_no_density())
        return self.network.log_likelihood(draws.theta) + draws.log_p_minus_log_q

    def check_data(self, data: Any) -> tuple[tf.Tensor, tf.Tensor]:
        return () if self.is_of_target else super().check_data(data)  # type: ignore[return-value]

    def check_inputs(self, X: Any) -> tf.Tensor:
        return self._of_network().check_inputs(X)

    def width(self) -> int:
        return self.network.width()

    def numbers_per_sample(self, num_rows: int) -> int:
        return max(self.network.numbers_per_sample(num_rows), self.space.size)

    def _of_network(self) -> DeepGP:
        if self.is_of_target:
            raise ValueError(
                "This posterior is of a Target, a density over parameters, which has no inputs and "
                "no predictions. Draw parameters by sample(num_samples, seed)."
            )
        return self.network

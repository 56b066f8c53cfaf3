"""The interface between layers and priors over their weights."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import gpflow
import tensorflow as tf
from gpflow.base import TensorType

from ..core.random import as_seed
from ..core.validation import finite_tensor, positive_integer
from ..core.weight_root import WeightRoot


@dataclass(frozen=True)
class WeightScale:
    """The scale of a layer's weights, drawn if it is random, and its terms of the bound.

    An output's weights are w = R z with z ~ N(0, I). R is `standard_deviation` times the identity,
    or its diagonal matrix, or, with `spatial_sqrt`, times the Kronecker product of that and the
    identity over channels: weights are then in the order [kernel height, kernel width, channels] of
    TensorFlow's filters.
    """

    standard_deviation: tf.Tensor
    """Standard deviation of each weight, [] or [S]; or of the weights from each input, [N, 1]."""

    kl: tf.Tensor
    """KL(q(s) || p(s)) of the scale s, [], in nats; zero if it is not random."""

    log_p_minus_log_q: tf.Tensor
    """Log p(s) - log q(s) of the drawn scale, [] or [S], in nats; zero if it is not random."""

    spatial_sqrt: tf.Tensor | None = None
    """T, [K, K] or [S, K, K], where T T^T is a filter's covariance over the K = height * width
    places of its kernel, up to scale; not triangular. None if the covariance is the identity."""

    @property
    def root(self) -> WeightRoot:
        """R, with the sample axis before its two other axes."""
        is_drawn = self.standard_deviation.shape.rank == 1
        scale = self.standard_deviation
        return WeightRoot(scale[:, None, None] if is_drawn else scale, self.spatial_sqrt)


class WeightPrior(gpflow.Module, ABC):
    """Gaussian weights of mean zero, independent over outputs: the paper's eq. 2.

    An output's weights have the covariance S / N, where N is their number, bias included. Usually
    S = c I, with a scale c that is a number, or a random variable with its own approximate
    posterior.

    A posterior over all weights of a network does not use that approximate posterior. It needs the
    random part of S as unconstrained coordinates eta, [S, E], beside the whitened weights
    z ~ N(0, I), with w = R(eta) z. The methods :attr:`num_coordinates`,
    :meth:`log_density_of_coordinates`, :meth:`draw_coordinates` and :meth:`root_of` define these
    coordinates. Here they are implemented for S that is not random.
    """

    num_weights: int | None = None
    """N, the number of weights to each output that the prior is for; None if it is for any."""

    kernel_size: tuple[int, int] | None = None
    """Height and width of the convolutions that the prior is for; None if it is for any layer."""

    @abstractmethod
    def draw(self, num_weights: int, num_samples: int | None, seed: tf.Tensor) -> WeightScale:
        """Draw the scale from its approximate posterior, reparameterised.

        :param num_weights: N, the fan-in with the bias.
        :param num_samples: S, or None for one draw without a sample axis. A scale that is not
            random never has one.
        :param seed: [2].
        :return: the scale, with its KL divergence and its log p - log q.
        """

    @property
    def num_coordinates(self) -> int:
        """E, the number of coordinates eta of the random part of S; 0 if S is not random."""
        return 0

    def log_density_of_coordinates(self, eta: TensorType, num_weights: int) -> tf.Tensor:
        """The log density log p(eta) under the prior, with the Jacobian of the coordinates.

        :param eta: [S, E], see :attr:`num_coordinates`.
        :param num_weights: N, the fan-in with the bias.
        :return: [S], in nats.
        :raises ValueError: if `eta` has another shape or is known not to be finite, or if
            `num_weights` is not a positive integer.
        """
        eta, _ = self._check_coordinates(eta, num_weights)
        return tf.zeros(tf.shape(eta)[:1], eta.dtype)

    def draw_coordinates(self, num_samples: int, num_weights: int, seed: tf.Tensor) -> tf.Tensor:
        """Draw eta from the prior.

        :param num_samples: S, the number of draws.
        :param num_weights: N, the fan-in with the bias.
        :param seed: [2].
        :return: [S, E].
        """
        return tf.zeros([num_samples, 0], gpflow.default_float())

    def root_of(self, eta: TensorType, num_weights: int) -> WeightRoot:
        """The root R of an output's covariance S / N at the coordinates eta: w = R z.

        :param eta: [S, E], see :attr:`num_coordinates`.
        :param num_weights: N, the fan-in with the bias.
        :return: R, whose scale is [S, 1, 1], or [] or [N, 1] if all S samples share it.
        :raises ValueError: if `eta` has another shape or is known not to be finite, or if
            `num_weights` is not a positive integer.
        :raises NotImplementedError: if the prior draws its scale and does not define its
            coordinates.
        """
        self._check_coordinates(eta, num_weights)
        root = self.draw(num_weights, 1, as_seed(0)).root
        if root.is_sampled:
            raise NotImplementedError(
                f"{type(self).__name__} draws the scale of the weights, but defines no "
                "coordinates for it. Give it num_coordinates, log_density_of_coordinates, "
                "draw_coordinates and root_of."
            )
        return root

    def _check_coordinates(self, eta: TensorType, num_weights: int) -> tuple[tf.Tensor, int]:
        """Both arguments after a check; eta in GPflow's default float type."""
        eta = finite_tensor("eta", eta)
        if eta.shape.rank != 2 or eta.shape[1] != self.num_coordinates:
            raise ValueError(
                f"eta must have shape [S, {self.num_coordinates}], but has shape {eta.shape}."
            )
        return eta, positive_integer("num_weights", num_weights)

    def rescale(self, factor: float) -> None:
        """Multiply the standard deviation of the weights by a factor.

        :param factor: a positive number.
        :raises NotImplementedError: if the prior has no scale that is a number, or one of each
            weight.
        """
        raise NotImplementedError(
            f"{type(self).__name__} cannot be rescaled: its scale is not one number."
        )

    def follow_prior(self) -> None:
        """Fix the scale's approximate posterior at its prior; do nothing for a fixed scale."""

    @property
    @abstractmethod
    def is_type_ii(self) -> bool:
        """True if a scale without a prior is learned by maximising the bound.

        This is type II maximum likelihood. Bounds of such models cannot be compared with those of
        models whose parameters all have priors (the paper's section 2.3).
        """

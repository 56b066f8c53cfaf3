"""A density over vectors that need not be the weights of a network."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

from ..core.random import as_seed
from ..core.validation import positive_integer, shown

LogDensity = Callable[[tf.Tensor], tf.Tensor]
"""A function of theta, [S, L] -> [S], in nats."""


class Target(tf.Module):
    """A density over vectors theta of L real numbers, known up to a constant.

    It takes the place of a network in :func:`gpflow_gi.inference.variational` and in the classes of
    posteriors: of a hierarchical model, say, whose parameters are mapped to the real line. Data are
    part of it, so that bounds take None in place of data, and there are no predictions.

    Shapes: S vectors, L coordinates.

    >>> target = Target(2, lambda theta: -0.5 * tf.reduce_sum(theta**2, axis=-1))
    >>> target.size
    2
    """

    def __init__(
        self, size: int, log_prob: LogDensity, log_likelihood: LogDensity | None = None
    ) -> None:
        """Check and keep the density.

        :param size: L, the number of coordinates.
        :param log_prob: log p(y, theta), or any log density up to a constant, [S, L] -> [S], in
            nats, in TensorFlow operations.
        :param log_likelihood: log p(y | theta), the part of `log_prob` that comes from data; None
            if it is not told apart.
        :raises TypeError: if a function is not callable.
        :raises ValueError: if `size` is not a positive integer, or if a function does not return
            [S] for [S, L].
        """
        super().__init__()
        self.size = positive_integer("size", size)
        _check_function("log_prob", log_prob, self.size)
        if log_likelihood is not None:
            _check_function("log_likelihood", log_likelihood, self.size)
        self._log_prob = log_prob
        self._log_likelihood = log_likelihood

    @classmethod
    def from_joint_distribution(cls, joint: Any, observed: dict[str, Any]) -> Target:
        """The posterior of a joint distribution of TensorFlow Probability, given some of its parts.

        The other parts are mapped to the real line by the joint distribution's own bijector
        (``experimental_default_event_space_bijector``); theta has them one after the other.

        :param joint: such as ``tfp.distributions.JointDistributionNamedAutoBatched``.
        :param observed: values of the observed parts, by name.
        :raises ValueError: if a name is not one of the parts.
        """
        try:
            pinned = joint.experimental_pin(**observed)
            bijector = pinned.experimental_default_event_space_bijector()
            shapes = bijector.inverse_event_shape(pinned.event_shape)
        except (AttributeError, TypeError, ValueError) as error:
            raise ValueError(
                "joint must be a joint distribution of TensorFlow Probability, and observed values "
                f"of some of its parts. The error says: {str(error).splitlines()[0]}"
            ) from None
        # The density of a point of a simplex is that of K - 1 of its coordinates. The bijector has
        # the volume of the simplex in R^K, which is sqrt(K) times as large.
        constant = 0.0
        zeros = tf.nest.map_structure(
            lambda shape: tf.zeros([1, *tf.TensorShape(shape)], gpflow.default_float()), shapes
        )
        for real, event in zip(
            tf.nest.flatten(zeros), tf.nest.flatten(bijector.forward(zeros)), strict=True
        ):
            is_narrower = real.shape.rank == event.shape.rank > 1 and real.shape != event.shape
            if is_narrower and np.allclose(tf.reduce_sum(event, axis=-1), 1.0, rtol=1e-5):
                constant -= 0.5 * math.log(event.shape[-1]) * event.shape[:-1].num_elements()
        flat_shapes = [tf.TensorShape(shape) for shape in tf.nest.flatten(shapes)]
        sizes = [shape.num_elements() for shape in flat_shapes]

        def log_prob(theta: tf.Tensor) -> tf.Tensor:
            parts = [
                tf.reshape(part, [-1, *shape])
                for part, shape in zip(tf.split(theta, sizes, axis=1), flat_shapes, strict=True)
            ]
            real = tf.nest.pack_sequence_as(shapes, parts)
            value = bijector.forward(real)
            ranks = tf.nest.map_structure(lambda shape: tf.TensorShape(shape).rank, shapes)
            # p(theta) = p(value) |d value / d theta|
            log_volume = bijector.forward_log_det_jacobian(real, ranks) + constant
            return pinned.unnormalized_log_prob(value) + log_volume

        return cls(sum(sizes), log_prob)

    def log_prob(self, theta: tf.Tensor) -> tf.Tensor:
        """The log density, [S, L] -> [S], in nats."""
        return self._log_prob(theta)

    def log_likelihood(self, theta: tf.Tensor) -> tf.Tensor:
        """Its part from data, [S, L] -> [S], in nats; zero if it was not given."""
        if self._log_likelihood is None:
            return tf.zeros(tf.shape(theta)[:1], theta.dtype)
        return self._log_likelihood(theta)

    def log_prior(self, theta: tf.Tensor) -> tf.Tensor:
        """The rest of it, [S, L] -> [S], in nats."""
        return self.log_prob(theta) - self.log_likelihood(theta)


def as_target(target: Any) -> Target:
    """The target itself, or one with the same functions.

    :param target: an object with `size`, `log_prob` and, optionally, `log_likelihood`.
    :raises TypeError: if it is not such an object.
    """
    if isinstance(target, Target):
        return target
    if not hasattr(target, "size") or not callable(getattr(target, "log_prob", None)):
        raise TypeError(
            "model must be a gpflow_gi.models.DeepGP, or a target with a size and a function "
            f"log_prob such as gpflow_gi.inference.Target, but is {shown(target)}."
        )
    return Target(target.size, target.log_prob, getattr(target, "log_likelihood", None))


def _check_function(name: str, function: Any, size: int) -> None:
    if not callable(function):
        raise TypeError(f"{name} must be a function of theta [S, L], but is {shown(function)}.")
    theta = tf.random.stateless_normal([2, size], as_seed(0), dtype=gpflow.default_float())
    try:
        shape = tuple(function(theta).shape)
    except Exception as error:
        raise ValueError(
            f"{name} failed on a tensor of shape [2, {size}]. The error says: "
            f"{str(error).splitlines()[0]}"
        ) from None
    if shape != (2,):
        raise ValueError(
            f"{name} must return [S] for theta [S, {size}], but returns {list(shape)} for S = 2."
        )

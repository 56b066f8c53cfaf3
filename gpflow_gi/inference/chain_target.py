"""The log joint density in the form that TensorFlow Probability's samplers take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import gpflow
import tensorflow as tf
import tensorflow_probability as tfp

from .log_joint import LogJoint

tfd = tfp.distributions


def joint_distribution(log_joint: LogJoint) -> Any:
    """A joint distribution of "states", theta [L], and "data" with any value pinned."""
    size = log_joint.space.size
    dtype = gpflow.default_float()

    def log_likelihood(states: tf.Tensor) -> tf.Tensor:
        values = log_joint.log_likelihood(tf.reshape(states, [-1, size]))
        return tf.reshape(values, tf.shape(states)[:-1])

    return tfd.JointDistributionNamed(
        {
            "states": _Density([size], [], dtype, log_joint.space.log_prior),
            "data": lambda states: _Density(
                [], states.shape[:-1], dtype, lambda _: log_likelihood(states)
            ),
        }
    )


class _Density(tfp.distributions.Distribution):
    """A log density as a distribution, as a component of a joint distribution."""

    def __init__(
        self,
        event_shape: Any,
        batch_shape: Any,
        dtype: Any,
        log_density: Callable[[tf.Tensor], tf.Tensor],
    ) -> None:
        self._shapes = tf.TensorShape(event_shape), tf.TensorShape(batch_shape)
        self._log_density = log_density
        super().__init__(
            dtype=dtype,
            reparameterization_type=tfd.NOT_REPARAMETERIZED,
            validate_args=False,
            allow_nan_stats=True,
            parameters={},
        )

    def _event_shape(self) -> tf.TensorShape:
        return self._shapes[0]

    def _event_shape_tensor(self) -> tf.Tensor:
        return tf.constant(self._shapes[0].as_list(), tf.int32)

    def _batch_shape(self) -> tf.TensorShape:
        return self._shapes[1]

    def _batch_shape_tensor(self) -> tf.Tensor:
        return tf.constant(self._shapes[1].as_list(), tf.int32)

    def _default_event_space_bijector(self) -> Any:
        return tfp.bijectors.Identity()

    def _sample_n(self, n: Any, seed: Any = None) -> tf.Tensor:
        # Chains have given starts and the data are pinned: only the shapes of draws are used.
        shape = [[n], self._batch_shape_tensor(), self._event_shape_tensor()]
        return tf.zeros(tf.concat(shape, axis=0), self.dtype)

    def _log_prob(self, value: tf.Tensor) -> tf.Tensor:
        return self._log_density(value)

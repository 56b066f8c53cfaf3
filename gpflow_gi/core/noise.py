"""The variance of a Gaussian likelihood's noise."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.base import Parameter
from gpflow.likelihoods import Gaussian


def constant_variance(likelihood: Any) -> tf.Tensor | None:
    """The variance of Gaussian noise that does not depend on the inputs.

    :param likelihood: any likelihood.
    :return: of the shape that its parameter has; None if it is not Gaussian, or if its noise
        depends on the inputs.
    """
    if not isinstance(likelihood, Gaussian):
        return None
    if isinstance(likelihood.variance, Parameter):
        return tf.convert_to_tensor(likelihood.variance)
    if isinstance(likelihood.scale, Parameter):
        return tf.square(likelihood.scale)
    return None


def variance_of_outputs(likelihood: Gaussian, X: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
    """The variance of Gaussian noise at rows, for each output.

    GPflow's `variance_at` has one column, also where each output has a noise of its own.

    :param X: [N, D].
    :param outputs: any values of the outputs, [N, P].
    :return: [N, P].
    """
    return likelihood.conditional_variance(X, tf.zeros_like(outputs))

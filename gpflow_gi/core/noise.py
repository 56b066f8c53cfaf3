"""The noise of a Gaussian likelihood."""

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

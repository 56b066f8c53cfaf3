"""Probabilities of classes, from the moments that GPflow's likelihoods give of targets."""

import tensorflow as tf
from gpflow.likelihoods import Bernoulli, Likelihood, MultiClass, Softmax


def check_classes(likelihood: Likelihood, output_dim: int) -> None:
    """Refuse a likelihood whose targets are not one label for each row.

    :param output_dim: P, of the model's last layer.
    :raises ValueError: if it is none of those that :func:`probabilities` knows.
    """
    if isinstance(likelihood, MultiClass | Softmax):
        return
    if not isinstance(likelihood, Bernoulli):
        raise ValueError(
            "predict_proba needs a likelihood over classes, Bernoulli, MultiClass or Softmax, but "
            f"the model has {type(likelihood).__name__}. For other targets there is predict_y."
        )
    if output_dim != 1:
        raise ValueError(
            f"predict_proba needs one class for each row, but a Bernoulli of {output_dim} outputs "
            "has as many labels, each 0 or 1. Their probabilities are the means of predict_y."
        )


def probabilities(likelihood: Likelihood, mean: tf.Tensor) -> tf.Tensor:
    """The probability of each class, which sum to one.

    :param mean: of targets: [N, 1] of a Bernoulli likelihood, otherwise [N, C].
    :return: [N, C].
    """
    if isinstance(likelihood, Bernoulli):
        return tf.concat([1.0 - mean, mean], axis=-1)
    # Those of MultiClass are integrals by quadrature, one for each class, with errors of their own.
    return mean / tf.reduce_sum(mean, axis=-1, keepdims=True)

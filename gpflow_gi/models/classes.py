"""Class probabilities, from the moments of targets that GPflow's likelihoods return."""

import tensorflow as tf
from gpflow.likelihoods import Bernoulli, Likelihood, MultiClass, Softmax


def check_classes(likelihood: Likelihood, output_dim: int) -> None:
    """Check that the targets of a likelihood are one label for each row.

    :param output_dim: P, the number of outputs of the model's last layer.
    :raises ValueError: if :func:`probabilities` does not support the likelihood.
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
    """Probabilities of the classes, which sum to one.

    :param mean: mean of the targets: [N, 1] for a Bernoulli likelihood, otherwise [N, C].
    :return: [N, C].
    """
    if isinstance(likelihood, Bernoulli):
        return tf.concat([1.0 - mean, mean], axis=-1)
    # For MultiClass they are integrals by quadrature, one for each class, each with its own error.
    return mean / tf.reduce_sum(mean, axis=-1, keepdims=True)

"""Equal-weight mixtures over samples of the layers below the last, which are the predictions."""

import tensorflow as tf


def moments(means: tf.Tensor, variances: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Mean and variance of the mixture of S distributions.

    :param means: [S, N, P].
    :param variances: [S, N, P].
    :return: two of [N, P].
    """
    mean = tf.reduce_mean(means, axis=0)
    spread = tf.reduce_mean(tf.square(means - mean), axis=0)
    return mean, tf.reduce_mean(variances, axis=0) + spread


def moments_jointly(means: tf.Tensor, covariances: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Mean and covariance of the mixture over rows.

    :param means: [S, N, P].
    :param covariances: [S, P, N, N]; or [P, N, N], if all samples have the same.
    :return: [N, P] and [P, N, N].
    """
    mean = tf.reduce_mean(means, axis=0)
    centred = means - mean
    spread = tf.einsum("snp,smp->pnm", centred, centred) / tf.cast(tf.shape(means)[0], mean.dtype)
    if covariances.shape.rank == 4:
        covariances = tf.reduce_mean(covariances, axis=0)
    return mean, covariances + spread


def moments_of_outputs(means: tf.Tensor, covariances: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Mean and covariance of the mixture over outputs.

    :param means: [S, N, P].
    :param covariances: [S, N, P, P].
    :return: [N, P] and [N, P, P].
    """
    mean = tf.reduce_mean(means, axis=0)
    centred = means - mean
    spread = tf.einsum("snp,snq->npq", centred, centred) / tf.cast(tf.shape(means)[0], mean.dtype)
    return mean, tf.reduce_mean(covariances, axis=0) + spread


def log_density(log_densities: tf.Tensor) -> tf.Tensor:
    """Log of the mixture's density: log 1/S sum_s exp(log p_s), [S, N] -> [N]."""
    S = tf.cast(tf.shape(log_densities)[0], log_densities.dtype)
    return tf.reduce_logsumexp(log_densities, axis=0) - tf.math.log(S)

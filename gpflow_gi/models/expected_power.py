"""A likelihood's expected power: log E p(y | f)^alpha for Gaussian f."""

from __future__ import annotations

import math

import tensorflow as tf
from gpflow.likelihoods import (
    Gaussian,
    Likelihood,
    MonteCarloLikelihood,
    MultiClass,
    QuadratureLikelihood,
    SwitchedLikelihood,
)
from gpflow.quadrature import hermgauss

from ..core.noise import variance_of_outputs
from .missing import filled


def log_expected_power(
    likelihood: Likelihood,
    alpha: float,
    X: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    Y: tf.Tensor,
    epsilon: tf.Tensor | None = None,
) -> tf.Tensor:
    """Compute log E p(y_n | f_n)^alpha for f_n ~ N(mean, variance).

    In closed form for Gaussian noise, and for MultiClass as far as GPflow has it; otherwise by the
    quadrature or the Monte Carlo points that GPflow uses for its own integrals.

    :param alpha: the power, positive.
    :param X: [N, D].
    :param mean: [N, P].
    :param variance: [N, P].
    :param Y: [N, Q].
    :param epsilon: [points, N, P], noise of a Monte Carlo likelihood.
    :return: [N], in nats.
    :raises ValueError: if the likelihood has no integrals of this kind.
    """
    if isinstance(likelihood, Gaussian) and not isinstance(likelihood, MonteCarloLikelihood):
        return _gaussian(likelihood, alpha, X, mean, variance, Y)
    if isinstance(likelihood, MultiClass):
        return _multi_class(likelihood, alpha, mean, variance, Y)
    if isinstance(likelihood, SwitchedLikelihood):
        return _switched(likelihood, alpha, X, mean, variance, Y)
    if isinstance(likelihood, MonteCarloLikelihood):
        power = likelihood._mc_quadrature(
            lambda F, X_, Y_: alpha * likelihood.log_prob(X_, F, Y_),
            mean,
            variance,
            logspace=True,
            epsilon=epsilon,
            X_=X,
            Y_=Y,
        )
        return tf.reduce_sum(power, axis=-1)
    if isinstance(likelihood, QuadratureLikelihood):
        power = likelihood.quadrature.logspace(
            lambda F, X, Y: alpha * likelihood._quadrature_log_prob(F, X, Y),
            mean,
            variance,
            X=X,
            Y=Y,
        )
        return likelihood._quadrature_reduction(power)
    raise ValueError(
        f"The likelihood {type(likelihood).__name__} has neither quadrature nor Monte Carlo points "
        "for the power of its density. Use the ELBO with it."
    )


def _gaussian(
    likelihood: Gaussian,
    alpha: float,
    X: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    Y: tf.Tensor,
) -> tf.Tensor:
    # N(y; f, s2)^alpha = N(y; f, s2/alpha) sqrt(2 pi s2/alpha) (2 pi s2)^(-alpha/2), and so
    # E N(y; f, s2)^alpha = N(y; m, v + s2/alpha) sqrt(2 pi s2/alpha) (2 pi s2)^(-alpha/2)
    s2 = variance_of_outputs(likelihood, X, Y)
    # In this form the limit alpha -> 0 loses no digits: alpha v / s2 -> 0 in log1p.
    ratio = alpha * variance / s2
    square = alpha * tf.square(Y - mean) / (s2 * (1.0 + ratio))
    log_power = -0.5 * (square + tf.math.log1p(ratio) + alpha * tf.math.log(2.0 * math.pi * s2))
    return tf.reduce_sum(log_power, axis=-1)


def log_expected_power_of_correlated(
    likelihood: Gaussian,
    alpha: float,
    X: tf.Tensor,
    mean: tf.Tensor,
    covariance: tf.Tensor,
    Y: tf.Tensor,
) -> tf.Tensor:
    """Compute log E p(y_n | f_n)^alpha for f_n ~ N(mean, covariance) and Gaussian noise.

    :param alpha: the power, positive; with 1 it is the log density.
    :param X: [N, D].
    :param mean: [..., N, P].
    :param covariance: between outputs, [..., N, P, P].
    :param Y: [N, P], NaN where an output was not observed.
    :return: [..., N], in nats.
    """
    # With D = diag(s2), r = D^-1/2 (y - m) and A = I + alpha D^-1/2 C D^-1/2, as in one dimension:
    # log E N(y; f, D)^alpha = -1/2 [ alpha r^T A^-1 r + log|A| + alpha log|2 pi D| ]
    s2 = variance_of_outputs(likelihood, X, Y)
    Y, is_seen = filled(Y)
    seen = tf.cast(is_seen, Y.dtype)
    root = seen / tf.sqrt(s2)  # an output that is missing has no residual and no variance
    A = alpha * covariance * root[:, :, None] * root[:, None, :]
    L = tf.linalg.cholesky(tf.linalg.set_diag(A, 1.0 + tf.linalg.diag_part(A)))
    whitened = tf.linalg.triangular_solve(L, (root * (Y - mean))[..., None])[..., 0]
    log_det = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)), axis=-1)
    of_outputs = tf.square(whitened) + seen * tf.math.log(2.0 * math.pi * s2)
    return -0.5 * alpha * tf.reduce_sum(of_outputs, axis=-1) - log_det


def _multi_class(
    likelihood: MultiClass, alpha: float, mean: tf.Tensor, variance: tf.Tensor, Y: tf.Tensor
) -> tf.Tensor:
    # The density is 1 - epsilon where f is largest at the label, with probability p, else
    # epsilon / (C - 1).
    link = likelihood.invlink
    points = hermgauss(likelihood.num_gauss_hermite_points)
    p = link.prob_is_largest(Y, mean, variance, *points)
    hit, miss = tf.pow(1.0 - link.epsilon, alpha), tf.pow(link.eps_k1, alpha)
    return tf.reduce_sum(tf.math.log(p * hit + (1.0 - p) * miss), axis=-1)


def _switched(
    likelihood: SwitchedLikelihood,
    alpha: float,
    X: tf.Tensor,
    mean: tf.Tensor,
    variance: tf.Tensor,
    Y: tf.Tensor,
) -> tf.Tensor:
    parts = likelihood.likelihoods
    label = tf.cast(Y[:, -1], tf.int32)

    def split(rows: tf.Tensor) -> list[tf.Tensor]:
        return tf.dynamic_partition(rows, label, len(parts))

    powers = [
        log_expected_power(part, alpha, *rows)
        for part, *rows in zip(
            parts, split(X), split(mean), split(variance), split(Y[:, :-1]), strict=True
        )
    ]
    return tf.dynamic_stitch(split(tf.range(tf.size(label))), powers)

"""The curvature of the log joint density, for Laplace approximations."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from .log_joint import LogJoint
from .weight_space import WeightSpace

_CHUNK_SIZE = 4_000_000
"""Size of the largest array of one chunk of rows, in numbers."""


def jacobian(space: WeightSpace, theta: tf.Tensor, X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """f(X) and its derivatives with respect to the weights.

    :param theta: [L].
    :param X: [N, D].
    :return: f [N, P] and J [N, P, L].
    """
    # One vector per row, so that one backward pass gives the derivatives of an output for all rows.
    thetas = tf.repeat(theta[None], tf.shape(X)[0], axis=0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(thetas)
        F = space.functions(thetas, X[:, None, :])[:, 0, :]
        outputs = tf.unstack(F, axis=1)
    return F, tf.stack([tape.gradient(f, thetas) for f in outputs], axis=1)


def gauss_newton(
    log_joint: LogJoint, theta: tf.Tensor, *, diagonal: bool, block: slice = slice(None)
) -> tf.Tensor:
    """The generalised Gauss-Newton matrix of -log p(Y | theta): sum_n J_n^T Lambda_n J_n.

    Lambda_n is the Hessian of -log p(y_n | f_n) (Schraudolph 2002; Immer, Korzepa & Bauer 2021).

    :param theta: [L].
    :param diagonal: True for the diagonal alone.
    :param block: coordinates that it is of; all by default.
    :return: [L, L], or [L], with L the number of these coordinates.
    """

    @tf.function(autograph=False, reduce_retracing=True)
    def part(X: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
        F, J = jacobian(log_joint.space, theta, X)
        J = J[:, :, block]
        weighted = tf.einsum("npq,nql->npl", output_hessian(log_joint, X, F, Y), J)
        if diagonal:
            return tf.einsum("npl,npl->l", J, weighted)
        L = tf.shape(J)[-1]
        return tf.matmul(tf.reshape(J, [-1, L]), tf.reshape(weighted, [-1, L]), transpose_a=True)

    return tf.add_n([part(X, Y) for X, Y in chunks(log_joint)])


def output_hessian(log_joint: LogJoint, X: tf.Tensor, F: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
    """Lambda_n, the Hessian of -log p(y_n | f_n) with respect to f_n: [N, P, P].

    :param F: f(X), [N, P].
    """
    with tf.GradientTape() as outer:
        outer.watch(F)
        with tf.GradientTape() as inner:
            inner.watch(F)
            value = -tf.reduce_sum(log_joint.likelihood.log_prob(X, F, Y))
        gradient = inner.gradient(value, F)
    return outer.batch_jacobian(gradient, F)


def prior_hessian(log_joint: LogJoint, theta: tf.Tensor) -> tf.Tensor:
    """The Hessian of -log p(theta) at theta [L]: [L, L], the identity for Gaussian priors."""
    space = log_joint.space
    if space.is_standard_normal:
        return tf.eye(space.size, dtype=theta.dtype)
    return -hessian_of(space.log_prior, theta)


def diagonal_of_prior_hessian(log_joint: LogJoint, theta: tf.Tensor) -> tf.Tensor:
    """The diagonal of :func:`prior_hessian`, [L]; without the matrix for Gaussian priors."""
    if log_joint.space.is_standard_normal:
        return tf.ones_like(theta)
    return tf.linalg.diag_part(prior_hessian(log_joint, theta))


def hessian(log_joint: LogJoint, theta: tf.Tensor) -> tf.Tensor:
    """The Hessian of -log p(Y | theta) at theta [L]: [L, L]."""
    return -hessian_of(log_joint.log_likelihood, theta)


def hessian_of(function: Callable[[tf.Tensor], tf.Tensor], theta: tf.Tensor) -> tf.Tensor:
    """The Hessian of a function from [S, L] to [S] at theta [L]: [L, L]."""

    @tf.function(autograph=False)
    def compute(theta: tf.Tensor) -> tf.Tensor:
        with tf.GradientTape() as outer:
            outer.watch(theta)
            with tf.GradientTape() as inner:
                inner.watch(theta)
                value = function(theta[None])[0]
            gradient = inner.gradient(value, theta)
        # A loop: of all rows at once TensorFlow makes batches of small products, which in float32
        # end TensorFlow 2.21 on some machines, and which take longer.
        rows = outer.jacobian(gradient, theta, experimental_use_pfor=False)
        return 0.5 * (rows + tf.transpose(rows))

    return compute(theta)


def chunks(log_joint: LogJoint) -> Iterator[tuple[tf.Tensor, tf.Tensor]]:
    """Rows of X and Y, so many at a time that no array becomes too large."""
    size = max(1, _CHUNK_SIZE // log_joint.space.size)
    for start in np.arange(0, int(log_joint.X.shape[0]), size):
        yield log_joint.X[start : start + size], log_joint.Y[start : start + size]

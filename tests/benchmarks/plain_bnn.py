"""A network with global inducing points as one would write it down: the yardstick.

Each layer, straight from the paper's eq. 11 and Algorithm 1: the precision of the weights, its
explicit inverse for the covariance, a Cholesky factor of each; every layer is sampled, and
log p - log q is that of the sample. Densities are TensorFlow Probability's or, with `by_hand`,
formulas that reuse the precision's Cholesky factor: leaner than most would write it.
"""

from collections.abc import Callable

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from gpflow.keras import tf_keras

import gpflow_gi as gi

tfd = tfp.distributions
LOG_2PI = float(np.log(2 * np.pi))


def parameters_of(model: gi.models.DeepGP) -> list[tf.Variable]:
    """U, and V and log Lambda of each layer, of a network with diagonal precisions."""
    parameters = [tf.Variable(model.inducing_inputs.numpy())]
    for layer in model.layers:
        if isinstance(layer, gi.layers.DenseLayer):
            parameters.append(tf.Variable(layer.posterior.pseudo_outputs.numpy()))
            parameters.append(tf.Variable(np.log(layer.posterior.pseudo_precision.numpy())))
    return parameters


def _terms(
    parameters: list[tf.Variable],
    X: tf.Tensor,
    Y: tf.Tensor,
    noise: float,
    num_samples: int,
    by_hand: bool,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Log p(Y | weights) and log p - log q of the weights, two of [S]."""
    U = tf.tile(parameters[0][None], [num_samples, 1, 1])
    F = tf.tile(X[None], [num_samples, 1, 1])
    log_ratio = tf.zeros([num_samples])
    pairs = list(zip(parameters[1::2], parameters[2::2], strict=True))
    for i, (V, log_Lambda) in enumerate(pairs):
        if i > 0:
            U, F = tf.nn.relu(U), tf.nn.relu(F)
        U = tf.concat([U, tf.ones_like(U[..., :1])], axis=-1)
        F = tf.concat([F, tf.ones_like(F[..., :1])], axis=-1)
        K, P = U.shape[-1], V.shape[-1]
        Lambda_U = tf.exp(log_Lambda)[:, None] * U
        precision = K * tf.eye(K) + tf.matmul(U, Lambda_U, transpose_a=True)
        precision_root = tf.linalg.cholesky(precision)
        covariance = tf.linalg.cholesky_solve(precision_root, tf.eye(K, batch_shape=[num_samples]))
        V = tf.tile(V[None], [num_samples, 1, 1])
        mean = tf.matmul(covariance, tf.matmul(Lambda_U, V, transpose_a=True))
        root = tf.linalg.cholesky(covariance)
        if by_hand:
            W = mean + tf.matmul(root, tf.random.normal([num_samples, K, P]))
            whitened = tf.matmul(precision_root, W - mean, transpose_a=True)
            log_det = 2 * tf.reduce_sum(tf.math.log(tf.linalg.diag_part(precision_root)), axis=-1)
            log_q = -0.5 * (tf.reduce_sum(whitened**2, axis=[1, 2]) + K * P * LOG_2PI - P * log_det)
            log_p = -0.5 * (
                K * tf.reduce_sum(W**2, axis=[1, 2])
                + K * P * (LOG_2PI - np.log(K).astype(np.float32))
            )
        else:
            q = tfd.MultivariateNormalTriL(
                tf.linalg.matrix_transpose(mean), root[:, None], validate_args=False
            )
            columns = q.sample()
            log_q = tf.reduce_sum(q.log_prob(columns), axis=1)
            log_p = tf.reduce_sum(tfd.Normal(0.0, K**-0.5).log_prob(columns), axis=[1, 2])
            W = tf.linalg.matrix_transpose(columns)
        log_ratio += log_p - log_q
        U, F = tf.matmul(U, W), tf.matmul(F, W)
    log_noise = float(np.log(2 * np.pi * noise))
    log_likelihood = -0.5 * tf.reduce_sum((Y - F) ** 2 / noise + log_noise, axis=[1, 2])
    return log_likelihood, log_ratio


def bound(
    parameters: list[tf.Variable],
    data: tuple[np.ndarray, np.ndarray],
    noise: float,
    num_samples: int,
    by_hand: bool = False,
) -> Callable[[], tf.Tensor]:
    X, Y = (tf.constant(array) for array in data)

    @tf.function
    def estimate() -> tf.Tensor:
        return tf.reduce_mean(tf.add_n(_terms(parameters, X, Y, noise, num_samples, by_hand)))

    return estimate


def log_weights(
    parameters: list[tf.Variable],
    data: tuple[np.ndarray, np.ndarray],
    noise: float,
    num_samples: int,
    by_hand: bool = False,
) -> Callable[[], tf.Tensor]:
    """Importance weights, [S] at each call."""
    X, Y = (tf.constant(array) for array in data)

    @tf.function
    def draw() -> tf.Tensor:
        return tf.add_n(_terms(parameters, X, Y, noise, num_samples, by_hand))

    return draw


def training_step(
    parameters: list[tf.Variable],
    data: tuple[np.ndarray, np.ndarray],
    noise: float,
    num_samples: int,
    by_hand: bool = False,
) -> Callable[[], tf.Tensor]:
    X, Y = (tf.constant(array) for array in data)
    optimizer = tf_keras.optimizers.Adam(0.01)
    optimizer.build(parameters)

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape() as tape:
            terms = _terms(parameters, X, Y, noise, num_samples, by_hand)
            loss = -tf.reduce_mean(tf.add_n(terms))
        optimizer.apply_gradients(zip(tape.gradient(loss, parameters), parameters, strict=True))
        return loss

    return step

"""Draws of both layers of a two-layer deep GP on one input, and what they say of each other."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from gpflow_gi.core.random import as_seed
from gpflow_gi.inference import NutsResult, Target, nuts
from gpflow_gi.models import DeepGP
from gpflow_gi.models.pathwise_functions import drawn_layers

Array = NDArray[np.float64]

JITTER = 1e-6
NUM_COMPONENTS = 3
"""Principal components of each layer for the mutual information."""
NUM_FEATURES = 1000
"""Random features of a draw between its inducing points."""


@dataclass(frozen=True)
class Layers:
    """S draws of both layers.

    :param hidden: f1 at inputs x, [S, n].
    :param outer: f2 at hidden values h, [S, m], the same in every draw.
    :param whole: f2(f1(x)), [S, n].
    """

    hidden: Array
    outer: Array
    whole: Array

    def aligned(self, x: Array, h: Array) -> Layers:
        """The draws, with f1 turned to one sign, and f2 with it.

        f1 and f2(h) can be replaced by -f1 and f2(-h) without a change of the whole. The signs are
        those along the direction of the largest second moment of f1, which rises with x.

        :param x: [n].
        :param h: [m], symmetric about 0 and ascending.
        """
        _, vectors = np.linalg.eigh(self.hidden.T @ self.hidden)
        direction = vectors[:, -1] * (np.sign(vectors[:, -1] @ x) or 1.0)
        sign = np.where(self.hidden @ direction < 0.0, -1.0, 1.0)[:, None]
        outer = np.where(sign > 0, self.outer, self.outer[:, ::-1])
        return Layers(sign * self.hidden, outer, self.whole)


def spread(functions: Array) -> float:
    """Root mean square over inputs of the standard deviation over draws, [S, n]."""
    return float(np.sqrt(functions.var(axis=0).mean()))


def shapes(functions: Array) -> Array:
    """Functions [S, n] without their location and scale: mean 0 and standard deviation 1 over x."""
    centred = functions - functions.mean(axis=1, keepdims=True)
    return centred / centred.std(axis=1, keepdims=True)


def mutual_information(one: Array, other: Array, rng: np.random.Generator) -> tuple[float, float]:
    """Of a Gaussian with the correlations of the leading principal components, in nats.

    Estimates from finite draws are too large by what independent draws would give, which is
    estimated by shuffling and taken off.

    :param one: [S, n].
    :param other: [S, m].
    :param rng: for shuffling.
    :return: the estimate, and the standard deviation of that of independent draws.
    """
    a, b = components(one), components(other)
    shuffled = [_information(a, b[rng.permutation(len(b))]) for _ in range(50)]
    return _information(a, b) - float(np.mean(shuffled)), float(np.std(shuffled))


def components(functions: Array) -> Array:
    """Leading principal components over draws, of variance 1: [S, n] -> [S, 3]."""
    left, _, _ = np.linalg.svd(functions - functions.mean(axis=0), full_matrices=False)
    return left[:, :NUM_COMPONENTS] * np.sqrt(len(functions))


def _information(a: Array, b: Array) -> float:
    # -1/2 sum log(1 - rho^2) over the canonical correlations rho of orthonormal components
    rho = np.linalg.svd(a.T @ b / len(a), compute_uv=False)
    return float(-0.5 * np.sum(np.log1p(-np.minimum(rho**2, 1.0 - 1e-12))))


def draw_layers(model: DeepGP, x: Array, h: Array, num_draws: int, seed: int) -> Layers:
    """Draws of a model of two GP layers, each with one output.

    :param x: [n].
    :param h: [m].
    """
    first, second = drawn_layers(model, 1, num_draws, as_seed(seed), NUM_FEATURES)
    hidden: Any = first(tf.constant(x[:, None]))
    outer = second(tf.repeat(tf.constant(h[None, :, None]), num_draws, axis=0))
    return Layers(*(values.numpy()[..., 0] for values in (hidden, outer, second(hidden))))


def exact_posterior(
    X: Array,
    Y: Array,
    lengthscales: tuple[float, float],
    noise: float,
    settings: Mapping[str, Any],
    seed: int,
) -> NutsResult:
    """Draws of f1 at the rows, whitened, by NUTS; f2 is integrated: it has a closed form.

    Both kernels are squared exponentials of variance 1::

        z ~ N(0, I),  f1 = L1 z,  y | f1 ~ N(0, k2(f1, f1) + noise I)

    :param X: [N, 1].
    :param Y: [N, 1].
    :param settings: of :func:`gpflow_gi.inference.nuts`.
    """
    N = len(X)
    kernels = [gpflow.kernels.SquaredExponential(lengthscales=one) for one in lengthscales]
    L1 = tf.linalg.cholesky(kernels[0](X) + JITTER * tf.eye(N, dtype=tf.float64))
    y = tf.constant(Y)

    def log_likelihood(z: tf.Tensor) -> tf.Tensor:
        f1 = tf.matmul(z, L1, transpose_b=True)  # [S, N]
        squares = tf.square((f1[:, :, None] - f1[:, None, :]) / lengthscales[1])
        covariance = tf.exp(-0.5 * squares) + noise * tf.eye(N, dtype=z.dtype)
        L = tf.linalg.cholesky(covariance)
        residual = tf.linalg.triangular_solve(L, tf.repeat(y[None], tf.shape(z)[0], axis=0))
        log_determinant = tf.reduce_sum(tf.math.log(tf.linalg.diag_part(L)), axis=-1)
        return -0.5 * tf.reduce_sum(tf.square(residual), axis=[1, 2]) - log_determinant

    def log_prob(z: tf.Tensor) -> tf.Tensor:
        return log_likelihood(z) - 0.5 * tf.reduce_sum(tf.square(z), axis=-1)

    with warnings.catch_warnings():
        # Chains may have opposite signs of f1; they are compared after a choice of the sign.
        warnings.filterwarnings("ignore", "The (chains do not agree|.* draws are worth few)")
        return nuts(Target(N, log_prob, log_likelihood), seed=seed, **settings)


def draw_exact(
    z: Array,
    X: Array,
    Y: Array,
    lengthscales: tuple[float, float],
    noise: float,
    x: Array,
    h: Array,
    rng: np.random.Generator,
) -> Layers:
    """Both layers at other inputs, given whitened values z of f1 at the rows.

    :param z: [S, N].
    :param x: [n].
    :param h: [m].
    """
    rows = X[:, 0]
    L1 = np.linalg.cholesky(_kernel(rows, rows, lengthscales[0]) + JITTER * np.eye(len(rows)))
    drawn = []
    for one in z @ L1.T:
        hidden = _conditional(rows, one, x, lengthscales[0], JITTER, rng)
        f2 = _conditional(one, Y[:, 0], np.concatenate([h, hidden]), lengthscales[1], noise, rng)
        drawn.append((hidden, f2[: len(h)], f2[len(h) :]))
    return Layers(*(np.array(values) for values in zip(*drawn, strict=True)))


def _kernel(a: Array, b: Array, lengthscale: float) -> Array:
    return np.asarray(np.exp(-0.5 * np.square((a[:, None] - b) / lengthscale)))


def _conditional(
    at: Array, values: Array, x: Array, lengthscale: float, noise: float, rng: np.random.Generator
) -> Array:
    """A draw of a GP at x, given values with noise."""
    L = np.linalg.cholesky(_kernel(at, at, lengthscale) + noise * np.eye(len(at)))
    A = np.linalg.solve(L, _kernel(at, x, lengthscale))
    covariance = _kernel(x, x, lengthscale) - A.T @ A + 10 * JITTER * np.eye(len(x))
    return np.asarray(
        A.T @ np.linalg.solve(L, values) + np.linalg.cholesky(covariance) @ rng.normal(size=len(x))
    )

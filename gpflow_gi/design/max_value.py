"""Max-value entropy search: information about the optimum's value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from check_shapes import check_shapes

from ..core.random import Seed
from ..core.validation import finite_array, positive_integer, true_or_false
from .components import NUM_SAMPLES, check_model, components, distribution

_NUM_POINTS = 400
"""Points of the integrals over f, those of all components together."""

_LEAST = 4
"""Least number of points of a component."""

_TAIL = -4.0
"""Beginning of the tail of a component, in standard deviations."""


@check_shapes("return: [K]")
def sample_optima(
    model: Any, candidates: Any, num_draws: int = 10, *, maximise: bool = False, seed: Seed = None
) -> tf.Tensor:
    """Draw the optimal value of f among candidates, from functions of the posterior.

    :param model: a :class:`gpflow_gi.models.Predictive` of one output.
    :param candidates: [N, D], many, some of them near the optimum.
    :param num_draws: K, the number of functions.
    :param maximise: True for the maximum.
    :param seed: as in :meth:`gpflow_gi.models.Predictive.sample_functions`.
    :return: [K], in the unit of f.
    :raises ValueError: if there are no candidates, or they do not fit the model.
    :raises TypeError: if it is not a model of this library.
    """
    check_model(model)
    candidates = finite_array("candidates", candidates, (None, None))
    reduce = tf.reduce_max if true_or_false("maximise", maximise) else tf.reduce_min
    draws = model.sample_functions(positive_integer("num_draws", num_draws), seed)
    return reduce(draws(candidates)[..., 0], axis=1)


@check_shapes("return: [N]")
def max_value_entropy(
    model: Any,
    X: Any,
    optima: Any,
    *,
    maximise: bool = False,
    num_samples: int = NUM_SAMPLES,
    seed: Seed = None,
) -> tf.Tensor:
    """The information that f(x) gives about the optimal value f*: H[f(x)] - E H[f(x) | f*].

    Given f*, f(x) has the density of the mixture truncated at f* (Wang & Jegelka, "Max-value
    entropy search for efficient Bayesian optimization", ICML 2017, eq. 5). For one Gaussian that is
    their eq. 6. A mixture has that of each component, and what f tells about the component that it
    is from, an integral over each of them.

    :param model: a :class:`gpflow_gi.models.Predictive` of one output.
    :param X: [N, D].
    :param optima: draws of f*, [K], as those of :func:`sample_optima`.
    :param maximise: True if f* is the maximum.
    :param num_samples: S, as in :meth:`gpflow_gi.models.Predictive.predict_f`.
    :param seed: see there.
    :return: [N], in nats.
    :raises ValueError: if `optima` are not finite numbers, or X does not fit the model.
    :raises TypeError: if it is not a model of this library.
    """
    mean, sd = components(model, X, num_samples, seed, maximise=maximise)
    sign = 1.0 if maximise else -1.0
    f_max = sign * tf.constant(finite_array("optima", optima, (None,)), mean.dtype)
    log_sd, u, v = tf.math.log(sd), *_nodes(mean.shape[0], mean.dtype)
    log_S = tf.math.log(tf.cast(tf.shape(mean)[0], mean.dtype))
    # H[f] = E_s H[f | s] + H[s] - H[s | f] for the component s that f is from; the first without
    # the constant log(2 pi e) / 2, which both entropies have.
    standard = tf.math.ndtri(u) + tf.zeros_like(mean)  # [J, S, N]
    entropy_of_s = tf.reduce_mean(
        tf.reduce_sum(v * _entropy_given_f(mean, sd, mean + sd * standard), axis=0), axis=0
    )
    whole = tf.reduce_mean(log_sd, axis=0) + log_S - entropy_of_s

    def cut(end: tf.Tensor) -> tf.Tensor:
        t = (end - mean) / sd
        log_p = tf.nn.log_softmax(_log_distribution(t), axis=0)  # of s given f < end
        p = tf.exp(log_p)
        below, density = _below(t, u, v)
        entropy_of_s = tf.reduce_sum(density * _entropy_given_f(mean, sd, mean + sd * below), 0)
        return tf.reduce_sum(p * (log_sd - _gain(t) - log_p - entropy_of_s), axis=0)

    ends = tf.unstack(f_max)
    return whole - tf.add_n([cut(end) for end in ends]) / len(ends)


def _nodes(num_components: int, dtype: tf.DType) -> tuple[tf.Tensor, tf.Tensor]:
    """Nodes and weights of Gauss and Legendre in (0, 1), two of [J, 1, 1].

    They are probabilities below the values of f, J for each component.
    """
    nodes, weights = np.polynomial.legendre.leggauss(max(_LEAST, _NUM_POINTS // num_components))
    u, v = 0.5 + 0.5 * nodes, 0.5 * weights
    return tf.constant(u[:, None, None], dtype), tf.constant(v[:, None, None], dtype)


def _entropy_given_f(mean: tf.Tensor, sd: tf.Tensor, f: tf.Tensor) -> tf.Tensor:
    """Entropy of the component given f, in [0, log S].

    :param mean: [S, N].
    :param sd: [S, N].
    :param f: [..., N].
    :return: [..., N].
    """
    log_p = -0.5 * tf.square((f[..., None, :] - mean) / sd) - tf.math.log(sd)
    log_p -= tf.stop_gradient(tf.reduce_max(log_p, axis=-2, keepdims=True))
    p = tf.exp(log_p)
    total = tf.reduce_sum(p, axis=-2)
    return tf.math.log(total) - tf.reduce_sum(p * log_p, axis=-2) / total


def _below(t: tf.Tensor, u: tf.Tensor, v: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Nodes and weights for N(0, 1) below t, both [J, S, N].

    Quantiles; far out in the tail, where they cannot be computed, those of the density
    -x exp(-x^2 / 2), with weights for the other factor.

    :param t: [S, N].
    :param u: [J, 1, 1], probabilities.
    :param v: [J, 1, 1], their weights.
    """
    near, far = tf.maximum(t, _TAIL), tf.minimum(t, _TAIL)
    quantiles = tf.math.ndtri(u * distribution(near))
    tail = -tf.sqrt(tf.square(far) - 2.0 * tf.math.log(u))
    factor = v / tail
    weights = tf.where(t > _TAIL, v, factor / tf.reduce_sum(factor, axis=0))
    return tf.where(t > _TAIL, quantiles, tail), weights


def _log_distribution(t: tf.Tensor) -> tf.Tensor:
    """Log of the distribution function of N(0, 1), for any t."""
    return tfp.distributions.Normal(tf.zeros([], t.dtype), 1.0).log_cdf(t)


def _gain(t: tf.Tensor) -> tf.Tensor:
    """H[x] - H[x | x < t] for x from N(0, 1): Wang & Jegelka 2017, eq. 6."""
    # Above 40 it is zero in floating point; below -30 its terms all but cancel.
    near = tf.clip_by_value(t, -30.0, 40.0)
    log_p = _log_distribution(near)
    ratio = tf.exp(-0.5 * tf.square(near) - 0.5 * math.log(2.0 * math.pi) - log_p)
    y = 1.0 / tf.square(tf.minimum(t, -30.0))
    tail = -0.5 * tf.math.log(y) + 0.5 * math.log(2.0 * math.pi) - 0.5 + 2.0 * y - 7.5 * y * y
    return tf.where(t < -30.0, tail, 0.5 * near * ratio - log_p)

"""Max-value entropy search: information about the optimum's value."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from check_shapes import check_shapes

from ..core.random import Seed
from ..core.validation import finite_array, positive_integer, true_or_false
from .components import NUM_SAMPLES, check_model, components

Grid = Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]]

_NUM_POINTS = 400
"""Points of the integrals over f, for components that one grid resolves."""

_BLOCKS = 16
"""Number of parts in which these are computed."""

_LEAST = 12
"""Least number of a component's own points, if one grid does not; two are between neighbours."""

_REACH = 7.0
"""End of a component, in standard deviations."""


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
    is from, an integral.

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
    low = tf.reduce_min(mean - _REACH * sd, axis=0)
    high = tf.reduce_max(mean + _REACH * sd, axis=0)
    ends = tf.concat([high[None], tf.minimum(f_max[:, None], high)], axis=0)
    # Nodes of Gauss and Legendre are pi / 2 times as far apart in the middle as equal steps.
    steps = 0.5 * math.pi / _NUM_POINTS * (high - low)
    one_grid = tf.reduce_all(steps < tf.reduce_min(sd, axis=0))

    def entropies(grid: Grid) -> tf.Tensor:
        return tf.map_fn(
            lambda end: _entropy((end - mean) / sd, sd, grid), ends, parallel_iterations=1
        )

    entropy = tf.cond(one_grid, lambda: entropies(_one_grid), lambda: entropies(_own_points))
    return entropy[0] - tf.reduce_mean(entropy[1:], axis=0)


def _entropy(t: tf.Tensor, sd: tf.Tensor, grid: Grid) -> tf.Tensor:
    """Entropy of a mixture below an end, [N], without the constant log(2 pi e) / 2.

    It is H[f | s] + H[s] - H[s | f] for the component s that f is from.

    :param t: the end less the mean, in standard deviations, [S, N].
    :param sd: [S, N].
    """
    log_p = tf.nn.log_softmax(_log_distribution(t), axis=0)  # of s
    f, weights = (tf.stop_gradient(one) for one in grid(t, sd))
    log_scale = log_p - tf.math.log(sd) + _log_ratio(t)

    @tf.recompute_grad  # a block in memory at a time
    def block(
        f: tf.Tensor, weights: tf.Tensor, t: tf.Tensor, sd: tf.Tensor, log_scale: tf.Tensor
    ) -> tf.Tensor:
        # From the mean, or from the end if it is below: there the squares would cancel.
        x = f[:, None] / sd + tf.nn.relu(t)
        log_q = log_scale - x * (0.5 * x + tf.minimum(t, 0.0))
        largest = tf.stop_gradient(tf.reduce_max(log_q, axis=1))
        log_q -= largest[:, None]
        q = tf.exp(log_q)
        total = tf.reduce_sum(q, axis=1)
        entropy_of_s = tf.math.log(total) - tf.reduce_sum(q * log_q, axis=1) / total
        mass = weights * tf.exp(largest) * total
        return tf.reduce_sum(tf.stack([mass * entropy_of_s, mass]), axis=1)

    sums = tf.map_fn(
        lambda part: block(*part, t, sd, log_scale),
        (f, weights),
        parallel_iterations=1,
        fn_output_signature=t.dtype,
    )
    given_f, mass = tf.unstack(tf.reduce_sum(sums, axis=0))
    without = tf.reduce_sum(tf.exp(log_p) * (tf.math.log(sd) - _gain(t) - log_p), axis=0)
    return without - given_f / mass


def _one_grid(t: tf.Tensor, sd: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Nodes and weights of Gauss and Legendre for all components.

    :return: values of f less the end, and their weights, two of [B, T, N].
    """
    low = tf.reduce_min(_place(_REACH, t, sd), axis=0)
    nodes, weights = np.polynomial.legendre.leggauss(_NUM_POINTS)
    u, v = (
        tf.constant(one.reshape(_BLOCKS, -1, 1), t.dtype) for one in (0.5 - 0.5 * nodes, weights)
    )
    return low * u, -0.5 * low * v


def _own_points(t: tf.Tensor, sd: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Nodes and weights of Gauss and Legendre, two between neighbours of all components' points.

    :return: as from :func:`_one_grid`.
    """
    S, N = t.shape[0], tf.shape(t)[1]
    each = _LEAST * max(1, 2 * _NUM_POINTS // (_LEAST * S))
    u = tf.cast(tf.linspace(0.0, 1.0, each), t.dtype)[:, None, None]
    top = tf.clip_by_value(t, 0.0, _REACH)
    f = tf.reshape(_place(_REACH - (_REACH + top) * u, t, sd), [each * S, N])
    f = tf.sort(tf.minimum(f, 0.0), axis=0)
    half = 0.5 * (tf.concat([f[1:], f[-1:]], axis=0) - f)  # the last is zero
    nodes = tf.concat([f + (1.0 + one / math.sqrt(3.0)) * half for one in (-1, 1)], axis=0)
    blocks = [2 * _LEAST, each * S // _LEAST, N]
    return tf.reshape(nodes, blocks), tf.reshape(tf.tile(half, [2, 1]), blocks)


def _place(y: Any, t: tf.Tensor, sd: tf.Tensor) -> tf.Tensor:
    """Values of f less the end where a component's log density has fallen by y^2 / 2.

    Below its mean, or above if y is negative; below the end if that is below the mean.
    """
    y, below = tf.cast(y, t.dtype), tf.minimum(t, 0.0)
    fall = y * tf.abs(y) / tf.maximum(tf.sqrt(tf.square(below) + tf.square(y)) - below, 1e-30)
    return -sd * (fall + tf.nn.relu(t))


def _log_distribution(t: tf.Tensor) -> tf.Tensor:
    """Log of the distribution function of N(0, 1), for any t."""
    return tfp.distributions.Normal(tf.zeros([], t.dtype), 1.0).log_cdf(t)


def _log_ratio(t: tf.Tensor) -> tf.Tensor:
    """Log of sqrt(2 pi) times the density of N(0, 1) at min(t, 0), over the mass below t."""
    near, far = tf.maximum(t, -30.0), tf.minimum(t, -30.0)
    ratio = -0.5 * tf.square(tf.minimum(near, 0.0)) - _log_distribution(near)
    tail = tf.math.log(-far) + 1.0 / tf.square(far) + 0.5 * math.log(2.0 * math.pi)
    return tf.where(t < -30.0, tail, ratio)


def _gain(t: tf.Tensor) -> tf.Tensor:
    """H[x] - H[x | x < t] for x from N(0, 1): Wang & Jegelka 2017, eq. 6."""
    # Above 40 it is zero in floating point; below -30 its terms all but cancel.
    near = tf.clip_by_value(t, -30.0, 40.0)
    log_p = _log_distribution(near)
    ratio = tf.exp(-0.5 * tf.square(near) - 0.5 * math.log(2.0 * math.pi) - log_p)
    y = 1.0 / tf.square(tf.minimum(t, -30.0))
    tail = -0.5 * tf.math.log(y) + 0.5 * math.log(2.0 * math.pi) - 0.5 + 2.0 * y - 7.5 * y * y
    return tf.where(t < -30.0, tail, 0.5 * near * ratio - log_p)

"""Max-value entropy search: information about the optimum's value."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from check_shapes import check_shapes

from ..core.random import Seed
from ..core.validation import finite_array, positive_integer, true_or_false
from .components import NUM_SAMPLES, check_model, components, density

_NUM_POINTS = 400
"""Points of the integrals over f, in ten standard deviations to both sides of all components."""


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
    their eq. 6; for a mixture, whose entropy has no closed form, the integrals are sums over a
    grid.

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
    f_max = sign * tf.constant(finite_array("optima", optima, (None,)))
    low = tf.reduce_min(mean - 10.0 * sd, axis=0)
    high = tf.reduce_max(mean + 10.0 * sd, axis=0)
    # One grid below each f*, for the whole density and for the part that is left of it.
    whole = _entropy(mean, sd, low, high)
    ends = [tf.minimum(tf.maximum(one, low), high) for one in tf.unstack(f_max)]
    return whole - tf.add_n([_entropy(mean, sd, low, end) for end in ends]) / len(ends)


def _entropy(mean: tf.Tensor, sd: tf.Tensor, low: tf.Tensor, high: tf.Tensor) -> tf.Tensor:
    """Entropy of a truncated mixture, [N], by the trapezoidal rule.

    :param mean: [S, N].
    :param sd: [S, N].
    :param low: where the density begins, [N].
    :param high: where it ends, [N].
    """
    steps = tf.linspace(tf.zeros([], mean.dtype), tf.ones([], mean.dtype), _NUM_POINTS)
    f = low + (high - low) * steps[:, None]  # [T, N]
    p = tf.reduce_mean(density((f[:, None] - mean) / sd) / sd, axis=1)
    p = tf.maximum(p, 1e-300 if mean.dtype == tf.float64 else 1e-37)
    step = (high - low) / (_NUM_POINTS - 1)

    def integral(values: tf.Tensor) -> tf.Tensor:
        return step * (tf.reduce_sum(values, axis=0) - 0.5 * (values[0] + values[-1]))

    # H = log Z - 1/Z int p log p
    mass = tf.maximum(integral(p), 1e-30)
    return tf.math.log(mass) - integral(p * tf.math.log(p)) / mass

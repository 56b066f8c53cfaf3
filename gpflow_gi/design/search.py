"""Maximisation of acquisition and drawn functions: candidates, then SciPy's L-BFGS-B."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from scipy import optimize
from scipy.stats import qmc

from ..core.callables import name_of, reason_of
from ..core.random import Seed
from ..core.validation import (
    finite_array,
    non_negative_integer,
    numpy_seed,
    positive_integer,
    shown,
    true_or_false,
)
from .components import check_model

Array = NDArray[Any]


def search(
    acquisition: Callable[[tf.Tensor], tf.Tensor],
    lower: Any,
    upper: Any,
    *,
    num_candidates: int = 1000,
    num_starts: int = 5,
    seed: int = 0,
) -> tuple[Array, float]:
    """Find the point of a box at which an acquisition function is largest.

    The best of scrambled Sobol points are starts of L-BFGS-B, with TensorFlow's gradient. Give the
    acquisition function a fixed seed; otherwise it is another function in every call::

        x, value = gi.design.search(
            lambda X: gi.design.expected_improvement(model, X, Y.min(), seed=0), [0, 0], [1, 1]
        )

    :param acquisition: a function from X [N, D] to [N], in TensorFlow operations.
    :param lower: [D], the least value of each input.
    :param upper: [D], the largest one.
    :param num_candidates: number of Sobol points.
    :param num_starts: number of starts of L-BFGS-B; 0 for none.
    :param seed: of the Sobol points, an integer from 0 to 2^32 - 1.
    :return: the point, [D], and the function's value there.
    :raises ValueError: if `lower` is not below `upper`, or a number is not a positive integer; or
        if the function does not return one number for each row, is NaN at all Sobol points, or is
        not written in TensorFlow operations while there are starts.
    :raises TypeError: if `acquisition` is not callable.
    """
    if isinstance(acquisition, type) or not callable(acquisition):
        raise TypeError(f"acquisition must be a function of X, but is {shown(acquisition)}.")
    lower, upper = _box(lower, upper)
    candidates = _sobol(lower, upper, num_candidates, seed)
    values = _values(acquisition, candidates)
    known = np.flatnonzero(~np.isnan(values))
    if not len(known):
        raise ValueError(
            f"acquisition={name_of(acquisition)} is NaN at all {len(values)} Sobol points between "
            "lower and upper: check the model, and the function at one of its training inputs."
        )
    order = known[np.argsort(-values[known])]
    best = order[: non_negative_integer("num_starts", num_starts)]
    found = [(candidates[order[0]], float(values[order[0]]))]
    if len(best):
        rows, improved = _climb(acquisition, candidates[best], lower, upper)
        found += list(zip(rows, improved.tolist(), strict=True))
    return max(found, key=lambda pair: pair[1])


def thompson_batch(
    model: Any,
    lower: Any,
    upper: Any,
    batch_size: int,
    *,
    maximise: bool = False,
    num_candidates: int = 1000,
    seed: Seed = 0,
) -> Array:
    """Thompson sampling: the optimum in a box of each of some functions drawn from the posterior.

    Hernandez-Lobato, Requeima, Pyzer-Knapp & Aspuru-Guzik, "Parallel and distributed Thompson
    sampling for large-scale accelerated exploration of chemical space", ICML 2017. Functions with
    gradients are refined by L-BFGS-B; see :class:`gpflow_gi.models.FunctionDraws`.

    :param model: a :class:`gpflow_gi.models.Predictive` of one output.
    :param lower: [D], the least value of each input.
    :param upper: [D], the largest one.
    :param batch_size: the number of functions, and of points.
    :param maximise: True to search for maxima.
    :param num_candidates: number of Sobol points to start from.
    :param seed: of the functions and of the points, an integer from 0 to 2^32 - 1.
    :return: [B, D].
    :raises ValueError: if an argument is invalid, or the box does not fit the model.
    :raises TypeError: if it is not a model of this library.
    """
    check_model(model)
    lower, upper = _box(lower, upper)
    B = positive_integer("batch_size", batch_size)
    sign = 1.0 if true_or_false("maximise", maximise) else -1.0
    candidates = _sobol(lower, upper, num_candidates, seed)
    draws = model.sample_functions(B, int(numpy_seed("seed", seed)))
    points = candidates[np.argmax(sign * draws(candidates).numpy()[..., 0], axis=1)]
    if not draws.is_pathwise:
        return points
    # Function b at point b: the diagonal.
    return _climb(lambda x: sign * tf.linalg.diag_part(draws(x)[..., 0]), points, lower, upper)[0]


def _box(lower: Any, upper: Any) -> tuple[Array, Array]:
    lower = finite_array("lower", lower, (None,))
    upper = finite_array("upper", upper, lower.shape)
    if not np.all(lower < upper):
        raise ValueError(
            f"lower must be below upper in each column, but lower is {shown(lower)} and upper is "
            f"{shown(upper)}."
        )
    return lower, upper


def _sobol(lower: Array, upper: Array, num_candidates: int, seed: Any) -> Array:
    number = positive_integer("num_candidates", num_candidates)
    sampler = qmc.Sobol(len(lower), seed=numpy_seed("seed", seed))
    points = sampler.random_base2(int(np.ceil(np.log2(number))))[:number]
    return (lower + (upper - lower) * points).astype(lower.dtype)


def _values(acquisition: Callable[[tf.Tensor], tf.Tensor], X: Array) -> Array:
    values = np.asarray(acquisition(tf.constant(X)))
    if values.shape != (len(X),):
        raise ValueError(
            f"acquisition must return a number for each of {len(X)} rows, but returned an array of "
            f"shape {values.shape}."
        )
    return values


def _climb(
    acquisition: Callable[[tf.Tensor], tf.Tensor], starts: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """The points reached from each start, [B, D], never worse, and their values, [B]."""
    scale = upper - lower

    def with_gradient(u: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch(u)
            total = -tf.reduce_sum(acquisition(lower + scale * u))
        return total, tape.gradient(total, u, unconnected_gradients="zero")

    # A concrete function: TensorFlow would take those of several searches for retracing, and warn.
    try:
        compiled = tf.function(with_gradient, autograph=False).get_concrete_function(
            tf.TensorSpec(starts.shape, starts.dtype)
        )
    except Exception as error:
        raise ValueError(
            f"acquisition={name_of(acquisition)} failed in a compiled function, which has "
            "gradients; it must be written in TensorFlow operations, or be searched with "
            f"num_starts=0. The error says: {reason_of(error)}"
        ) from None

    def loss(flat: Array) -> tuple[float, Array]:
        u = tf.constant(flat.reshape(starts.shape), dtype=starts.dtype)
        total, gradient = compiled(u)
        return float(total), gradient.numpy().astype(np.float64).ravel()

    start = (starts - lower) / scale
    done = optimize.minimize(
        loss, start.ravel(), jac=True, method="L-BFGS-B", bounds=[(0.0, 1.0)] * start.size
    )
    reached = (lower + scale * done.x.reshape(starts.shape)).astype(starts.dtype)
    before, after = _values(acquisition, starts), _values(acquisition, reached)
    better = after > before
    return np.where(better[:, None], reached, starts), np.where(better, after, before)

"""Importance weights of whole functions: the importance weighted bound.

    log w_s = log p(Y | F_s) + sum_l [ log p(z_l) - log q(z_l) ],    F_s, z ~ q
    IWBO_S = E log 1/S sum_s w_s  <=  log p(Y)

(Burda, Grosse & Salakhutdinov 2016, eq. 8). A weight belongs to one function: the rows of F_s are
drawn jointly, and the last layer is drawn too. Rows drawn separately would bound the evidence of
another model, whose function values are independent given the inducing points.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any
from weakref import WeakKeyDictionary, ref

import gpflow
import tensorflow as tf

from ..core.random import fold_in
from ..core.structure import Structure
from ..layers import DataRows
from . import integration
from .no_density import NoDensityError

CACHED_SIZE = 400_000
"""Size of the largest array of one chunk of samples, in numbers: a processor's cache holds it."""

MOST_SAMPLES_AT_ONCE = 50

MOST_TRACED = 16
"""Compiled functions kept for a model, those called last."""


def samples_at_once(numbers_per_sample: int, num_samples: int) -> int:
    """Number of samples of one chunk; all chunks except the last have the same size."""
    at_most = min(max(CACHED_SIZE // numbers_per_sample, 1), MOST_SAMPLES_AT_ONCE)
    num_chunks = -(-num_samples // at_most)
    return -(-num_samples // num_chunks)


def log_weights(
    model: Any, X: tf.Tensor, Y: tf.Tensor, num_samples: int, seed: tf.Tensor
) -> tf.Tensor:
    """Log w_s of `num_samples` functions, [S], chunk by chunk.

    :param model: a :class:`gpflow_gi.models.Predictive`.
    :param X: [N, D], all rows.
    :param Y: [N, Q].
    :param seed: [2].
    :raises NoDensityError: if the posterior has no density.
    """
    chunk = samples_at_once(model.numbers_per_sample(int(X.shape[0])), num_samples)
    num_chunks = -(-num_samples // chunk)
    if num_chunks == 1:
        return _chunk(model, X, Y, chunk, fold_in(seed, 0))

    def body(i: tf.Tensor, weights: tf.TensorArray) -> tuple[tf.Tensor, tf.TensorArray]:
        return i + 1, weights.write(i, _chunk(model, X, Y, chunk, fold_in(seed, i)))

    weights = tf.TensorArray(X.dtype, num_chunks, element_shape=[chunk])
    _, weights = tf.while_loop(
        lambda i, _: i < num_chunks, body, (tf.constant(0), weights), parallel_iterations=1
    )
    return tf.reshape(weights.stack(), [num_chunks * chunk])[:num_samples]


def _chunk(model: Any, X: tf.Tensor, Y: tf.Tensor, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
    draws = model.draw_for(X, num_samples, seed, joint=True)
    ratio = draws.log_p_minus_log_q
    if ratio is None:
        raise NoDensityError(model.why_no_density())
    rows = DataRows(X, Y, tf.range(X.shape[0]))
    F, ratio_of_latents = draws.values_of_data(rows, seed)
    log_weight = _log_likelihood(model, X, F, Y) + ratio + ratio_of_latents
    return tf.broadcast_to(log_weight, [num_samples])


def _log_likelihood(model: Any, X: tf.Tensor, F: tf.Tensor, Y: tf.Tensor) -> tf.Tensor:
    return integration.log_prob(model.likelihood, X, F, Y, missing=model.missing == "ignore")


def compiled(model: Any) -> Callable[[Any, Any, int, Any], tf.Tensor]:
    """Compile :func:`log_weights` of a model for eager calls, once in the model's lifetime.

    The function is compiled again if a part of the model was replaced. It is not compiled if a part
    can change unnoticed, as a user's own functions can.
    """
    if model not in _COMPILED or not _COMPILED[model][0].is_unchanged():
        owner = ref(model)  # the function must not keep alive what it is stored under

        _COMPILED[model] = (Structure(model), _Compiled(owner))
    structure, function = _COMPILED[model]
    return function if structure.is_known else partial(log_weights, model)


class _Compiled:
    """:func:`log_weights` of a model, compiled for each number of samples and each shape.

    And for GPflow's settings, such as its jitter, which are constants of a compiled function.
    """

    def __init__(self, owner: Callable[[], Any]) -> None:
        self.traced = lru_cache(MOST_TRACED)(self._trace)
        self._owner = owner

    def __call__(self, X: tf.Tensor, Y: tf.Tensor, num_samples: int, seed: tf.Tensor) -> tf.Tensor:
        specs = (tf.TensorSpec(value.shape, value.dtype) for value in (X, Y, seed))
        return self.traced(repr(gpflow.config.config()), num_samples, *specs)(X, Y, seed)

    def _trace(self, settings: str, num_samples: int, *specs: tf.TensorSpec) -> Any:
        def function(X: tf.Tensor, Y: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
            return log_weights(self._owner(), X, Y, num_samples, seed)

        # A concrete function: TensorFlow would take those of several models for retracing, and
        # warn.
        return tf.function(function, autograph=False).get_concrete_function(*specs)


_COMPILED: WeakKeyDictionary[Any, tuple[Structure, Any]] = WeakKeyDictionary()

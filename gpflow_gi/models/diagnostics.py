"""Diagnostics of a chain of layers: inducing activations, and the first non-finite number."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..core.linalg import flat_rows
from ..core.random import fold_in
from ..layers import Deterministic
from . import integration
from .connections import describe, uses_global_inducing
from .propagation import propagate_inducing


def inducing_activations(model: Any, S: int, seed: tf.Tensor) -> list[tf.Tensor]:
    """See :meth:`gpflow_gi.models.DeepGP.inducing_activations`."""
    U = flat_rows(tf.convert_to_tensor(model.inducing_inputs))
    levels = [U]
    used = [uses_global_inducing(layer) for layer in model.layers]
    for end, layer in enumerate(model.layers, start=1):
        if isinstance(layer, Deterministic) or not any(used[end - 1 :]):
            continue
        below = propagate_inducing(model.layers, U, U.shape[-1], S, fold_in(seed, 0), stop=end)
        if end > 1:
            levels.append(below.inducing)
        if end == len(model.layers):
            draw = below.last.draw(below.num_samples, fold_in(seed, 1))
            levels.append(draw.extend_inducing(below.inducing, fold_in(seed, 2))[0])
    return [tf.broadcast_to(level, [S, *level.shape[-2:]]) for level in levels]


def first_non_finite(model: Any, X: tf.Tensor, Y: tf.Tensor, S: int, seed: tf.Tensor) -> str | None:
    """See :meth:`gpflow_gi.models.DeepGP.first_non_finite`."""
    for end in range(1, len(model.layers) + 1):
        name = f"layer {end} of {len(model.layers)} ({describe(model.layers[end - 1])})"
        if isinstance(model.layers[end - 1], Deterministic):
            continue
        propagated = propagate_inducing(
            model.layers, model.inducing_inputs, X.shape[-1], S, fold_in(seed, 0), stop=end
        )
        for quantity, value in propagated.last.diagnostics():
            if not _is_finite(value):
                return f"{name}: {quantity}"
        if end < len(model.layers) and not model.layers[end - 1].has_independent_outputs:
            continue  # nothing to integrate; the next layer checks whether its inputs are finite
        mean, variance = propagated.predict(X, fold_in(seed, 1))
        if not (_is_finite(mean) and _is_finite(variance)):
            return f"{name}: its outputs at the data"
    likelihoods = integration.variational_expectations(
        model.likelihood, X, mean, variance, Y, fold_in(seed, 2), missing=model.missing == "ignore"
    )
    return None if _is_finite(likelihoods) else "the likelihood's expectation"


def _is_finite(value: Any) -> bool:
    return bool(tf.reduce_all(tf.math.is_finite(value)))

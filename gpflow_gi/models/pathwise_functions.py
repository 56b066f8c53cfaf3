"""Drawn functions known at all inputs: sums of features and of kernels at inducing inputs."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, cast

import tensorflow as tf

from ..core.random import fold_in
from ..layers import Deterministic, LayerFunction
from .chunks import rows_per_chunk


class PathwiseFunctions:
    """S functions from a model whose layers have features: [N, D] -> [S, N, P].

    The inducing points pass through the same functions as the rows, once, in the first call.
    Eager calls process many rows in chunks of bounded memory.
    """

    is_pathwise = True

    def __init__(self, model: Any, num_samples: int, seed: tf.Tensor, num_features: int) -> None:
        """Prepare the draw.

        :param model: a :class:`gpflow_gi.models.DeepGP` that will not change.
        :param num_samples: S, the number of functions.
        :param seed: [2].
        :param num_features: F, of each function in each layer.
        """
        self._model = model
        self._num_samples = num_samples
        self._seed = seed
        self._num_features = num_features
        self._layers: list[Deterministic | LayerFunction] | None = None

    def __getstate__(self) -> dict[str, Any]:
        # The functions are closures; copies and pickles make them again from the seed.
        return {**vars(self), "_layers": None}

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        if self._layers is None:
            # Once, also while a function is being traced; but eagerly without a scope, in which
            # nothing is recorded for the gradients that some draws are made of.
            with nullcontext() if tf.executing_eagerly() else tf.init_scope():
                self._layers = self._start(X.shape[-1])
        if not tf.executing_eagerly():
            return through(self._layers, X)
        chunk = rows_per_chunk(self._num_samples * max(self._num_features, self._model.width()))
        starts = range(0, max(X.shape[0], 1), chunk)
        return tf.concat([through(self._layers, X[i : i + chunk]) for i in starts], axis=1)

    def _start(self, input_dim: int) -> list[Deterministic | LayerFunction]:
        return drawn_layers(
            self._model, input_dim, self._num_samples, self._seed, self._num_features
        )


def drawn_layers(
    model: Any, input_dim: int, num_samples: int, seed: tf.Tensor, num_features: int
) -> list[Deterministic | LayerFunction]:
    """Draw every layer of a model as a function on all inputs.

    :param model: a :class:`gpflow_gi.models.DeepGP` whose layers have features.
    :param input_dim: D, the number of columns of the inputs.
    :param num_samples: S, the number of functions.
    :param seed: [2].
    :param num_features: F, of each function in each layer.
    """
    propagated = model.propagate(
        input_dim, num_samples, fold_in(seed, 0), draw_all=True, num_features=num_features
    )
    last = propagated.last.draw(propagated.num_samples, fold_in(seed, 1))
    hidden = cast(list[Deterministic | LayerFunction], propagated.hidden)
    return [*hidden, last.function(num_features, fold_in(seed, 2))]


def through(layers: list[Deterministic | LayerFunction], X: tf.Tensor) -> tf.Tensor:
    """The values of drawn layers, one after the other, [N, D] -> [S, N, P]."""
    F = X
    for layer in layers:
        F = layer(F)
    return F if F.shape.rank == 3 else F[None]

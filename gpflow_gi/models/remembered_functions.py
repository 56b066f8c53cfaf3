"""Drawn functions that store their values: exact for every kernel."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import tensorflow as tf

from ..core.random import fold_in
from ..layers import Deterministic, LayerDraw
from ..layers.row_latents import LatentDraw


class RememberedFunctions:
    """S functions from a model: [N, D] -> [S, N, P].

    Exact for every kernel. Values at earlier rows and at the inducing inputs are stored; at new
    rows each layer is drawn jointly, conditioned on all its values so far. For each sample, time
    therefore grows with the cube and memory with the square of the number of different rows seen so
    far.
    """

    is_pathwise = False

    def __init__(self, model: Any, num_samples: int, seed: tf.Tensor) -> None:
        """Prepare the draw.

        :param model: a :class:`gpflow_gi.models.DeepGP` that will not change.
        :param num_samples: S, the number of functions.
        :param seed: [2].
        """
        self._model = model
        self._num_samples = num_samples
        self._seed = seed
        self._layers: list[Deterministic | LayerDraw] = []  # conditioned on all values drawn so far
        self._num_calls = 0
        self._index: dict[bytes, int] = {}  # a row of inputs -> its place in the values
        self._values: list[np.ndarray] = []  # [S, P] each

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        """The functions' values at `X`.

        :raises RuntimeError: inside ``tf.function``, since the draws store their values.
        """
        if not tf.executing_eagerly():
            raise RuntimeError(
                "These function draws are exact: they remember the rows that they have seen, and "
                "so cannot be called inside tf.function. Call them eagerly; or use kernels with "
                "features in every layer, as gpflow_gi.models.FunctionDraws lists them."
            )
        if X.shape[0] == 0:
            return tf.zeros([self._num_samples, 0, self._model.layers[-1].output_dim], X.dtype)
        if not self._layers:
            self._start(X)
        keys = _keys(X)
        unseen = {key: n for n, key in enumerate(keys) if key not in self._index}
        if unseen:
            new = tf.gather(X, list(unseen.values()))
            self._remember(list(unseen), self._evaluate(new))
        values = np.stack([self._values[self._index[key]] for key in keys], axis=1)
        return tf.constant(values)

    def _start(self, X: tf.Tensor) -> None:
        model = self._model
        propagated = model.propagate(
            X.shape[-1], self._num_samples, fold_in(self._seed, 0), draw_all=True
        )
        last = propagated.last.draw(propagated.num_samples, fold_in(self._seed, 1))
        # Inducing points have latent variables of their own, and a function has one for all rows.
        has_own_latents = any(
            isinstance(layer, LatentDraw) and layer.layer.inducing_latents is not None
            for layer in propagated.hidden
        )
        is_remembered = model.layers[-1].uses_global_inducing and not has_own_latents
        if model.inducing_inputs is not None and is_remembered:
            outputs, last = last.extend_inducing(propagated.inducing, self._seed)
            self._remember(_keys(tf.convert_to_tensor(model.inducing_inputs)), outputs)
        self._layers = cast(list[Deterministic | LayerDraw], [*propagated.hidden, last])
        for i, layer in enumerate(self._layers):
            if isinstance(layer, LatentDraw):
                # What is remembered is a function of X: all rows share its latent variables.
                draw: LayerDraw = layer
                self._layers[i] = draw.function(0, fold_in(fold_in(self._seed, 0), i))

    def _evaluate(self, X: tf.Tensor) -> tf.Tensor:
        """Values at new rows, [S, N, P], drawn jointly with all earlier values."""
        self._num_calls += 1
        seed = fold_in(self._seed, 1 + self._num_calls)
        F = X
        for i, layer in enumerate(self._layers):
            if isinstance(layer, Deterministic):
                F = layer(F)
            else:
                F, self._layers[i] = layer.extend(F, fold_in(seed, i))
        return F

    def _remember(self, keys: list[bytes], values: tf.Tensor) -> None:
        if values.shape.rank == 2:
            values = values[None]
        for n, key in enumerate(keys):
            if key not in self._index:
                self._index[key] = len(self._values)
                self._values.append(values[:, n].numpy())


def _keys(X: tf.Tensor) -> list[bytes]:
    # Adding zero turns -0.0 into 0.0; the two are equal as numbers but not as bytes.
    return [row.tobytes() for row in X.numpy() + 0.0]

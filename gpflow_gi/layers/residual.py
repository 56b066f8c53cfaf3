"""Residual blocks: a chain of layers, and a shortcut in parallel with it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import gpflow
import tensorflow as tf

from ..core.random import as_seed, fold_in
from ..core.validation import shown
from .base import ConditionedLayer, Layer, LayerDraw, LayerFunction
from .deterministic import Deterministic, as_layers
from .gp import GPLayer
from .row_latents import RowLatents


class Residual(Layer):
    """A residual block f(x) = shortcut(x) + chain(x) (He et al. 2016, eq. 1).

    A chain of any layers is one layer. All of its parts are drawn, none is integrated, so a block
    cannot be the last layer of a model.
    """

    def __init__(self, layers: Sequence[Any], shortcut: Any = None) -> None:
        """Put layers together.

        :param layers: the chain, as in :class:`gpflow_gi.models.DeepGP`: layers of this package,
            and callables or Keras layers as deterministic ones.
        :param shortcut: one layer or callable; the identity by default. Its outputs must have the
            shape of the chain's outputs.
        :raises ValueError: if the chain is empty or not a list, or as :class:`Deterministic`.
        :raises TypeError: if an entry is not a layer.
        """
        super().__init__()
        if not isinstance(layers, Sequence) or not layers:
            raise ValueError(
                f"layers must be a list of at least one layer, but is {shown(layers)}."
            )
        self.layers = as_layers(layers)
        self.shortcut = as_layers([] if shortcut is None else [shortcut])
        self._shapes: tuple[tuple[int, ...], tuple[int, ...]] | None = None

    def connect(self, input_shape: tuple[int, ...], output_shape: tuple[int, ...]) -> None:
        """Set the shapes; called by the model, which knows the layer below.

        :param input_shape: (D,) or (H, W, C).
        :param output_shape: (P,) or (H', W', P).
        """
        self._shapes = input_shape, output_shape

    @property
    def input_shape(self) -> tuple[int, ...] | None:
        """Shape (D,) or (H, W, C); None if neither the model nor the first layer determines it."""
        if self._shapes is not None:
            return self._shapes[0]
        first = self.layers[0]
        return first.input_shape if isinstance(first, Layer) else None

    @property
    def input_dim(self) -> int | None:
        return None if self.input_shape is None else math.prod(self.input_shape)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape (P,) or (H, W, P), known once the block is part of a model.

        :raises ValueError: before that.
        """
        if self._shapes is None:
            raise ValueError(
                "The shape of the block's outputs is not known before the block is part of a model."
            )
        return self._shapes[1]

    @property
    def output_dim(self) -> int:  # type: ignore[override]
        return math.prod(self.output_shape)

    @property
    def has_features(self) -> bool:
        # Within a block, the inducing points have passed through the draws before the draws become
        # functions, but draws of weights are functions from the start.
        layers = every_layer([*self.layers, *self.shortcut])
        return not any(isinstance(layer, GPLayer) for layer in layers)

    @property
    def uses_global_inducing(self) -> bool:
        return any(
            isinstance(layer, Layer) and layer.uses_global_inducing
            for layer in [*self.layers, *self.shortcut]
        )

    @property
    def has_density(self) -> bool:
        return all(layer.has_density for layer in every_layer([*self.layers, *self.shortcut]))

    @property
    def has_independent_outputs(self) -> bool:
        return False

    def check_inputs(self, *input_shape: int) -> None:
        for chain in (self.layers, self.shortcut):
            if chain and isinstance(chain[0], Layer):
                chain[0].check_inputs(*input_shape)

    def follow_prior(self) -> None:
        for layer in every_layer([*self.layers, *self.shortcut]):
            layer.follow_prior()

    def condition(
        self, U: tf.Tensor, num_samples: int | None = None, seed: tf.Tensor | None = None
    ) -> ConditionedResidual:
        seed = as_seed(None) if seed is None else seed
        parts = [
            _Chain(chain, U, num_samples, fold_in(seed, i))
            for i, chain in enumerate((self.layers, self.shortcut))
        ]
        return ConditionedResidual(parts)


def every_layer(layers: Sequence[Layer | Deterministic]) -> Iterator[Layer]:
    """The layers with a posterior, including those inside blocks."""
    return (layer for layer in _flattened(layers) if isinstance(layer, Layer))


def every_deterministic(layers: Sequence[Layer | Deterministic]) -> Iterator[Deterministic]:
    """The layers without randomness, including those inside blocks, and encoders."""
    return (layer for layer in _flattened(layers) if isinstance(layer, Deterministic))


def _flattened(layers: Sequence[Layer | Deterministic]) -> Iterator[Layer | Deterministic]:
    for layer in layers:
        if isinstance(layer, Residual):
            yield from _flattened([*layer.layers, *layer.shortcut])
        else:
            yield layer
        if isinstance(layer, RowLatents) and layer.encoder is not None:
            yield layer.encoder


class _Chain:
    """Layers drawn one after the other while the inducing points pass through them."""

    def __init__(
        self,
        layers: Sequence[Layer | Deterministic],
        U: tf.Tensor,
        num_samples: int | None,
        seed: tf.Tensor,
    ) -> None:
        self.draws: list[Deterministic | LayerDraw] = []
        self.kl: list[tf.Tensor] = []
        self._given: list[tuple[str, ConditionedLayer]] = []
        for i, layer in enumerate(layers):
            if isinstance(layer, Deterministic):
                U = layer(U)
                self.draws.append(layer)
                continue
            layer_seed = fold_in(seed, i)
            q = layer.condition(U, num_samples, fold_in(layer_seed, 0))
            draw, kl = q.draw_with_kl(num_samples, fold_in(layer_seed, 1))
            if U.shape[-2] == 0:  # no layer from here on uses them
                U = tf.zeros([0, layer.output_dim], U.dtype)
            else:
                U, draw = draw.extend_inducing(U, fold_in(layer_seed, 2))
            self.draws.append(draw)
            self.kl.append(kl)
            self._given.append((f"{type(layer).__name__} {i + 1} of the block", q))
        self.inducing = U

    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        return [
            (f"{name}, {what}", value) for name, q in self._given for what, value in q.diagnostics()
        ]

    @property
    def log_ratios(self) -> list[tf.Tensor]:
        return [draw.log_p_minus_log_q for draw in self.draws if isinstance(draw, LayerDraw)]


class ConditionedResidual(ConditionedLayer):
    """A block with its layers drawn, given the inducing activations from the layer below."""

    def __init__(self, parts: list[_Chain]) -> None:
        self._parts = parts

    def kl(self) -> tf.Tensor:
        # A block of fixed functions alone has nothing to learn.
        nothing = tf.zeros([], gpflow.default_float())
        return sum((kl for part in self._parts for kl in part.kl), nothing)

    def diagnostics(self) -> list[tuple[str, tf.Tensor]]:
        return [pair for part in self._parts for pair in part.diagnostics()]

    def predict(self, X: tf.Tensor, full_cov: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
        raise NotImplementedError("A block has no moments: its layers are drawn, not integrated.")

    def draw(self, num_samples: int | None, seed: tf.Tensor) -> ResidualDraw:
        nothing = tf.zeros([], gpflow.default_float())
        log_ratio = sum((ratio for part in self._parts for ratio in part.log_ratios), nothing)
        at_U = tf.add(*(part.inducing for part in self._parts))
        return ResidualDraw([part.draws for part in self._parts], log_ratio, at_U)


class ResidualDraw(LayerDraw):
    """Draws of a block's layers."""

    def __init__(
        self,
        chains: list[list[Deterministic | LayerDraw]],
        log_p_minus_log_q: tf.Tensor,
        at_U: tf.Tensor,
    ) -> None:
        """Keep the draws.

        :param chains: the draws of the chain's layers, and of the shortcut's.
        :param log_p_minus_log_q: [] or [S].
        :param at_U: the block's values at the inducing activations, [M, P] or [S, M, P].
        """
        self._chains = chains
        self.log_p_minus_log_q = log_p_minus_log_q
        self._at_U = at_U

    def rows(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        values = []
        for i, chain in enumerate(self._chains):
            F = X
            for j, draw in enumerate(chain):
                layer_seed = fold_in(fold_in(seed, i), j)
                F = draw(F) if isinstance(draw, Deterministic) else draw.rows(F, layer_seed)
            values.append(F)
        return tf.add(*values)

    def means(self, X: tf.Tensor) -> tf.Tensor:
        values = []
        for chain in self._chains:
            F = X
            for draw in chain:
                F = draw(F) if isinstance(draw, Deterministic) else draw.means(F)
            values.append(F)
        return tf.add(*values)

    def extend(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, ResidualDraw]:
        values, chains = [], []
        for i, chain in enumerate(self._chains):
            F, extended = X, list(chain)
            for j, draw in enumerate(chain):
                if isinstance(draw, Deterministic):
                    F = draw(F)
                else:
                    F, extended[j] = draw.extend(F, fold_in(fold_in(seed, i), j))
            values.append(F)
            chains.append(extended)
        return tf.add(*values), ResidualDraw(chains, self.log_p_minus_log_q, self._at_U)

    def extend_inducing(self, U: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, ResidualDraw]:
        return self._at_U, self

    def function(self, num_features: int, seed: tf.Tensor) -> ResidualFunction:
        functions = [
            [
                draw
                if isinstance(draw, Deterministic)
                else cast(LayerDraw, draw).function(num_features, fold_in(fold_in(seed, i), j))
                for j, draw in enumerate(chain)
            ]
            for i, chain in enumerate(self._chains)
        ]
        return ResidualFunction(functions, self.log_p_minus_log_q)


class ResidualFunction(LayerFunction):
    """Drawn functions of a block's layers."""

    def __init__(
        self, chains: list[list[Deterministic | LayerFunction]], log_p_minus_log_q: tf.Tensor
    ) -> None:
        """Keep the functions of the chain, and those of the shortcut."""
        self._chains = chains
        self.log_p_minus_log_q = log_p_minus_log_q

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        values = []
        for chain in self._chains:
            F = X
            for function in chain:
                F = function(F)
            values.append(F)
        return tf.add(*values)

"""The two passes through the network: inducing points once, then batches of rows.

The posteriors of the layers depend on the inducing points alone (the paper's Algorithm 1), so they
go first; the rows of the data, in one or more batches, then pass through the same functions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import gpflow
import tensorflow as tf

from ..core.linalg import flat_rows
from ..core.random import fold_in, standard_normal
from ..layers import ConditionedLayer, DataRows, Deterministic, Layer, LayerDraw
from ..layers.row_latents import LatentDraw
from ..layers.weights import WeightLayer


@dataclass(frozen=True)
class Propagated:
    """The layers after a pass of the inducing points, ready for rows of data.

    A layer below one that uses the inducing activations is drawn, since its values at U and at the
    rows must be those of one function. If no layer above uses them, only the marginals of the rows
    matter: z is then integrated out row by row, which has less variance (the reparameterisation of
    Salimbeni & Deisenroth 2017). A convolution's outputs at the locations of one image are not
    independent, so it is always drawn. Below a last layer whose posterior depends on the data's
    rows, all layers are drawn too.
    """

    hidden: list[Deterministic | ConditionedLayer | LayerDraw]
    """The layers below the last, from the inputs up."""

    last: ConditionedLayer
    """The last layer, which is integrated."""

    kl: tf.Tensor | None
    """Sum of KL(q || p) over the layers, each given the layers below, mean over samples: [], in
    nats; None where a layer's q has no density."""

    inducing: tf.Tensor
    """U below the last layer, [M, D'] or [S, M, D']; [0, D'] if that layer does not use it."""

    num_samples: int | None
    """S, or None for one sample without a sample axis."""

    def rows(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Push rows up to the input of the last layer.

        :param X: [N, D].
        :param seed: [2], or a :class:`~gpflow_gi.core.random.RowSeed`, for what is drawn row by
            row.
        :return: F, [N, D'] or [S, N, D'].
        """
        return _push(self.hidden, X, self.num_samples, seed)

    def data_rows(self, rows: DataRows, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Push rows of the data up, with their latent variables from q(h_n).

        :param rows: B of them.
        :param seed: [2].
        :return: F, [B, D'] or [S, B, D']; and the sum over layers of KL(q(h_n) || p(h_n)), [B].
        """
        F, kl = rows.X, tf.zeros([tf.shape(rows.X)[0]], rows.X.dtype)
        for i, layer in enumerate(self.hidden):
            if isinstance(layer, LatentDraw):
                F, _ = layer.of_data(F, rows, fold_in(seed, i))
                kl += layer.layer.kl(rows)
            else:
                F = _values(layer, F, self.num_samples, fold_in(seed, i))
        return F, kl

    @property
    def has_latents(self) -> bool:
        """True if a layer appends latent variables."""
        return any(isinstance(layer, LatentDraw) for layer in self.hidden)

    def rows_jointly(self, X: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """Push rows up, with the rows of each sample drawn jointly; every layer must be a draw.

        :param X: [N, D].
        :param seed: [2].
        :return: F, [N, D'] or [S, N, D'].
        """
        F = X
        for i, layer in enumerate(self.hidden):
            if isinstance(layer, Deterministic):
                F = layer(F)
            else:
                F, _ = cast(LayerDraw, layer).extend(F, fold_in(seed, i))
        return F

    def data_rows_jointly(
        self, rows: DataRows, seed: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor | float]:
        """Push rows of the data up, with the rows of each sample drawn jointly.

        :param rows: B of them.
        :param seed: [2].
        :return: F, [B, D'] or [S, B, D']; and log p(h) - log q(h) of all latent variables, [S],
            [], or 0 without any.
        """
        F, ratio = rows.X, 0.0
        for i, layer in enumerate(self.hidden):
            if isinstance(layer, Deterministic):
                F = layer(F)
            elif isinstance(layer, LatentDraw):
                F, each = layer.of_data(F, rows, fold_in(seed, i))
                ratio += tf.reduce_sum(each, axis=-1)
            else:
                F, _ = cast(LayerDraw, layer).extend(F, fold_in(seed, i))
        return F, ratio

    def predict(self, X: tf.Tensor, seed: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Mean and variance of f at `X` for every sample of the layers below the last.

        :param X: [N, D].
        :param seed: as in :meth:`rows`.
        :return: two of [N, P] or [S, N, P].
        """
        return self.last.predict(self.rows(X, seed))


def _push(
    hidden: Sequence[Deterministic | ConditionedLayer | LayerDraw],
    X: tf.Tensor,
    S: int | None,
    seed: tf.Tensor,
) -> tf.Tensor:
    F = X
    for i, layer in enumerate(hidden):
        F = _values(layer, F, S, fold_in(seed, i))
    return F


def _values(
    layer: Deterministic | ConditionedLayer | LayerDraw,
    F: tf.Tensor,
    S: int | None,
    seed: tf.Tensor,
) -> tf.Tensor:
    """One layer's values, row by row: [N, P] or [S, N, P]."""
    if isinstance(layer, Deterministic):
        return layer(F)
    if isinstance(layer, LayerDraw):
        return layer.rows(F, seed)
    mean, variance = layer.predict(F)
    shape = tf.shape(mean)
    if S is not None and mean.shape.rank == 2:
        shape = tf.concat([[S], shape], axis=0)
    return mean + tf.sqrt(variance) * standard_normal(shape, seed, mean.dtype)


def propagate_inducing(
    layers: Sequence[Layer | Deterministic],
    U: tf.Tensor | None,
    input_dim: int,
    num_samples: int,
    seed: tf.Tensor,
    *,
    draw_all: bool = False,
    num_features: int | None = None,
    stop: int | None = None,
) -> Propagated:
    """Push the inducing points through the network (the paper's Algorithm 1).

    :param layers: layers from the inputs up; the last one has a posterior.
    :param U: inducing inputs, [M, D] or [M, H, W, C], or None if no layer uses them.
    :param input_dim: D, the number of columns of later rows.
    :param num_samples: the number of samples, S. There is no sample axis before something is
        sampled, nor for S = 1.
    :param seed: [2].
    :param draw_all: True to draw every hidden layer, for functions that are evaluated jointly
        over rows.
    :param num_features: make each draw a function on all inputs, with this number of random
        features if it needs them; only for layers that have features, and not for those that
        :func:`learns_from_inducing` names.
    :param stop: use only this number of layers, the last of which is integrated.
    :return: the layers, ready for rows.
    """
    S = None if num_samples == 1 else num_samples
    uses_U = [isinstance(lay, Layer) and lay.uses_global_inducing for lay in layers]
    is_whole = stop in (None, len(layers))
    rows = cast(Layer, layers[-1]).posterior.rows if is_whole else None
    hidden: list[Deterministic | ConditionedLayer | LayerDraw] = []
    F = rows  # their means, given the draws of the layers below
    kl: list[tf.Tensor] = []
    if U is None:
        U = tf.zeros([0, input_dim], gpflow.default_float())
    else:
        U = flat_rows(tf.convert_to_tensor(U))
    for i, layer in enumerate(layers):
        if isinstance(layer, Deterministic):
            U = layer(U)
            F = None if F is None else layer(F)
            hidden.append(layer)
            continue
        layer_seed = fold_in(seed, i)
        is_last = i + 1 == (stop or len(layers))
        if is_last and F is not None:
            q = layer.condition_on_rows(U, F, S, fold_in(layer_seed, 0))
        else:
            q = layer.condition(U, S, fold_in(layer_seed, 0))
        if is_last:
            kl.append(tf.reduce_mean(q.kl()))
            return Propagated(hidden, q, _total(kl, layers), U, S)
        below_global = any(uses_U[i + 1 :])
        if below_global or F is not None or draw_all or not layer.has_independent_outputs:
            draw, divergence = q.draw_with_kl(S, fold_in(layer_seed, 1))
            known = draw
            if num_features is not None:
                draw = draw.function(num_features, fold_in(layer_seed, 3))
            if below_global:
                U, draw = draw.extend_inducing(U, fold_in(layer_seed, 2))
            # A function knows more than its values at the inducing inputs.
            known = draw if num_features is None else known
            F = None if F is None else known.means(F)
            hidden.append(draw)
        else:
            hidden.append(q)
            divergence = q.kl()
        if not below_global:
            U = tf.zeros([0, layer.output_dim], U.dtype)
        kl.append(tf.reduce_mean(divergence))
    raise AssertionError("the last layer of a model must not be deterministic")


def learns_from_inducing(layers: Sequence[Layer | Deterministic]) -> bool:
    """True if the means of the data's rows depend on more than each layer's q.

    A layer whose q is not at the global inducing inputs is also conditioned on its values there, if
    a layer above uses them.
    """
    if cast(Layer, layers[-1]).posterior.rows is None:
        return False
    hidden = [layer for layer in layers[:-1] if isinstance(layer, Layer)]
    used = [layer.uses_global_inducing for layer in (*hidden, cast(Layer, layers[-1]))]
    return any(
        not used[i] and any(used[i + 1 :]) and not isinstance(layer, WeightLayer)
        for i, layer in enumerate(hidden)
    )


def _total(kl: list[tf.Tensor], layers: Sequence[Layer | Deterministic]) -> tf.Tensor | None:
    if all(layer.has_density for layer in layers if isinstance(layer, Layer)):
        return tf.add_n(kl)
    return None

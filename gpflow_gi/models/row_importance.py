"""The importance weighted bound of a model with latent variables: a sum over rows.

    log w_nk = E_{q(f)} log p(y_n | f(x_n, h_nk)) + log p(h_nk) - log q(h_nk),    h_nk ~ q(h_n)
    L_K = sum_n E log 1/K sum_k w_nk - sum_l KL(q(z_l) || p(z_l))

(Salimbeni, Dutordoir, Hensman & Deisenroth, ICML 2019). The K values of f in one row's term are of
one function: otherwise, with K large, L_K would exceed the log evidence. Only the last layer is
integrated, inside the exponential, which makes the bound lower: log-mean-exp is convex.
"""

from __future__ import annotations

import math
from typing import Any, cast

import tensorflow as tf

from ..core.random import fold_in
from ..layers import DataRows, Deterministic, LayerDraw
from ..layers.row_latents import LatentDraw, log_ratio
from . import integration
from .chunks import in_chunks, rows_per_chunk
from .propagation import Propagated


def bound_terms(
    model: Any,
    rows: DataRows,
    num_importance_samples: int,
    num_samples: int,
    seed: tf.Tensor,
    *,
    doubly_reparameterised: bool,
    weights: tf.Tensor | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The two terms of the bound.

    :param model: a :class:`gpflow_gi.models.DeepGP` with latent variables.
    :param rows: B rows of the data.
    :param num_importance_samples: K, samples of each row's latent variables.
    :param num_samples: S, functions over which the bound is averaged.
    :param seed: [2].
    :param doubly_reparameterised: True for the gradient of Tucker et al. 2019, with all rows in
        memory; False for chunks of rows.
    :param weights: of the rows' terms, [B]; None for weights of 1.
    :return: the first term, scaled to all rows, and the KL divergence of the layers: two of [].
    """
    terms = [
        _of_one_function(
            model, rows, num_importance_samples, fold_in(seed, s), doubly_reparameterised, weights
        )
        for s in range(num_samples)
    ]
    first, kl = (tf.add_n(term) / num_samples for term in zip(*terms, strict=True))
    return first, kl


def _of_one_function(
    model: Any,
    rows: DataRows,
    K: int,
    seed: tf.Tensor,
    doubly_reparameterised: bool,
    weights: tf.Tensor | None,
) -> tuple[tf.Tensor, tf.Tensor]:
    one = model.propagate(rows.X, 1, fold_in(seed, 0), draw_all=True)
    row_seed = fold_in(seed, 1)
    index = tf.zeros_like(rows.Y[:, 0], tf.int32) if rows.index is None else rows.index

    def of_rows(i: tf.Tensor, X: tf.Tensor, Y: tf.Tensor, index: tf.Tensor) -> tuple[tf.Tensor]:
        # log 1/K sum_k w_nk
        part, part_seed = DataRows(X, Y, index), fold_in(row_seed, i)
        log_w = log_weights(model, one, part, K, part_seed, doubly_reparameterised)
        return (tf.reduce_logsumexp(log_w, axis=0) - math.log(K),)

    # A hidden layer of Gaussian processes draws K values of a row jointly. Gradients that pass
    # through weights of the same row need all rows in one graph.
    arrays = [rows.X, rows.Y, index]
    if doubly_reparameterised:
        (bounds,) = of_rows(tf.constant(0), *arrays)
    else:
        (bounds,) = in_chunks(of_rows, arrays, rows_per_chunk(K * max(model.width(), K)))
    if weights is not None:
        bounds *= weights
    return float(model.num_data) * tf.reduce_mean(bounds), one.kl


class _Weights:
    """The normalised importance weights, [K, B], known only after the forward pass."""

    def __init__(self) -> None:
        self.values: tf.Tensor | None = None


def log_weights(
    model: Any,
    one: Propagated,
    rows: DataRows,
    K: int,
    seed: tf.Tensor,
    doubly_reparameterised: bool,
) -> tf.Tensor:
    """Log w_nk, [K, B], for one draw of the layers.

    :param one: the layers, all drawn but the last, without a sample axis.
    :param doubly_reparameterised: see :func:`bound_terms`.
    """
    weights = _Weights()
    F, ratio = rows.X, tf.zeros([], rows.X.dtype)
    for i, layer in enumerate(one.hidden):
        layer_seed = fold_in(seed, i)
        if isinstance(layer, Deterministic):
            F = layer(F)
        elif isinstance(layer, LatentDraw):
            mean, sd = (value[:, None] for value in layer.layer.q(rows))
            many = LatentDraw(layer.layer, None).noise(K * tf.shape(rows.X)[0], layer_seed, F.dtype)
            eps = tf.reshape(many, [-1, K, layer.layer.latent_dim])
            h = mean + sd * eps  # [B, K, L]
            if doubly_reparameterised:
                h = _reweighted(h, weights)
                mean, sd = tf.stop_gradient(mean), tf.stop_gradient(sd)
            ratio += tf.transpose(log_ratio(h, mean, sd))
            F = layer.layer.join(F if F.shape.rank == 3 else F[:, None], h)
        elif F.shape.rank == 2:
            # below all latent variables: shared by a row's samples
            F = cast(LayerDraw, layer).rows(F, layer_seed)
        else:
            F = cast(LayerDraw, layer).groups(F, layer_seed)
    mean, variance = (tf.transpose(moment, [1, 0, 2]) for moment in one.last.predict(F))
    expected = integration.variational_expectations(
        model.likelihood,
        rows.X,
        mean,
        variance,
        rows.Y,
        fold_in(seed, len(one.hidden)),
        missing=model.missing == "ignore",
    )
    log_w = expected + ratio
    weights.values = tf.stop_gradient(tf.nn.softmax(log_w, axis=0))
    return log_w


def _reweighted(h: tf.Tensor, weights: _Weights) -> tf.Tensor:
    """Multiply the gradient that passes through each sample by its normalised weight.

    The gradient of log 1/K sum_k w_k with respect to log w_k is the normalised weight; once more
    makes its square, as in Tucker, Lawson, Gu & Maddison, "Doubly reparameterized gradient
    estimators for Monte Carlo objectives", ICLR 2019.

    :param h: [B, K, L].
    """

    @tf.custom_gradient
    def same(h: tf.Tensor) -> Any:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return upstream * tf.transpose(weights.values)[..., None]

        return tf.identity(h), gradient

    return same(h)

"""The terms of the bound, with the rows of a step divided among draws."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from ..core.random import PairedSeed, fold_in
from ..models import DeepGP, NoDensityError, integration
from ..models.bounds import kl_of
from .objective import Batch, Terms


def divided_terms(model: DeepGP, batch: Batch, num_samples: int, seed: tf.Tensor) -> Terms:
    """The terms of the bound from S draws of the layers, among which the rows are dealt out.

    Every row has one draw, and every draw is one of q: the expectation is that of
    :meth:`~gpflow_gi.models.DeepGP.bound_terms`. The draws are antithetic pairs, so that noise
    which moves all rows cancels to first order.

    :param model: see :func:`check_divisible`.
    :param batch: X [B, D] and Y [B, Q].
    :param num_samples: the number of samples, S.
    :param seed: [2].
    :return: two of [], in nats.
    :raises ValueError: if there are no rows.
    :raises NoDensityError: if the posterior has no density.
    """
    S = num_samples
    rows = model.data_rows(batch)
    if rows.X.shape[0] == 0:
        raise ValueError("The bound needs at least one row of data, but X has none.")
    B = tf.shape(rows.X)[0]
    draws = model.draw_for(rows.X, S, PairedSeed(seed))
    kl = kl_of(draws)
    if kl is None:
        raise NoDensityError(model.why_no_density())
    # Row n belongs to draw n mod S: [S, ceil(B/S), D], with rows again where there are none left.
    places = tf.transpose(tf.reshape(tf.range(S * -(-B // S)) % B, [-1, S]))
    # One draw has no sample axis.
    X = rows.X if S == 1 else tf.gather(rows.X, places)
    mean, variance = (_in_order(each)[:B] for each in draws.moments(X, fold_in(seed, 1)))
    per_row = integration.variational_expectations(
        model.likelihood,
        rows.X,
        mean,
        variance,
        rows.Y,
        fold_in(seed, 2),
        missing=model.missing == "ignore",
    )
    # N/B sum_n E log p(y_n | f_n), f_n of the draw of row n
    return float(model.num_data) * tf.reduce_mean(per_row), kl


def _in_order(moments: tf.Tensor) -> tf.Tensor:
    """Moments of rows that were dealt out, in the rows' order: [S, c, P] or [c, P] to [c S, P]."""
    if moments.shape.rank == 2:
        return moments
    return tf.reshape(tf.transpose(moments, [1, 0, 2]), [-1, moments.shape[-1]])


def check_divisible(model: Any) -> None:
    """Refuse models whose rows cannot be divided among draws.

    :raises TypeError: if the model is no deep GP or network of this library.
    :raises ValueError: if its rows have latent variables, or if it was updated.
    """
    if not isinstance(model, DeepGP):
        raise TypeError(
            "Elbo(divide_rows=True) needs a gpflow_gi.models.DeepGP, but got a "
            f"{type(model).__name__}. Leave out divide_rows."
        )
    if model.latents:
        raise ValueError(
            "Elbo(divide_rows=True) cannot train a model with latent variables of the rows. Use "
            "ImportanceWeighted, or leave out divide_rows."
        )
    if model.memory is not None:
        raise ValueError(
            "Elbo(divide_rows=True) cannot train a model that was updated, whose bound has a term "
            "of earlier rows too. Leave out divide_rows."
        )

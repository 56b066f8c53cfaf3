"""Rows of the data that have latent variables, found by an index in the last column of Y."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from ..core.validation import check_rank, data_pair, finite_tensor, tensor_with_missing
from .targets import target_columns


def check_latents(model: Any, input_dim: int | None) -> None:
    """Check a model's latent variable layers, and make the weights of their encoders.

    :param model: a :class:`gpflow_gi.models.DeepGP`.
    :param input_dim: D, if inducing inputs tell it.
    :raises ValueError: if they do not fit; the message names the layer.
    """
    Q = target_columns(model.likelihood, model.layers[-1].output_dim)
    for i, layer in enumerate(model.layers, start=1):
        if layer not in model.latents:
            continue
        name = f"Layer {i} (LatentVariableLayer)"
        if layer.num_data not in (None, model.num_data):
            raise ValueError(
                f"{name} has free posteriors for num_data={layer.num_data} rows, but the model "
                f"has num_data={model.num_data}; they must be equal."
            )
        D = layer.input_dim if i == 1 and input_dim is None else input_dim
        if layer.encoder is not None and (D is None or Q is None):
            if layer.encoder.lacks_weights:
                raise ValueError(
                    f"{name} has an encoder without weights, and the number of its inputs, D + Q, "
                    "is not known. Call its method build([None, D + Q]) first."
                )
        elif layer.encoder is not None:
            try:
                layer.connect_encoder(D, Q)
            except (ValueError, TypeError) as error:
                raise type(error)(f"{name}: {error}") from None


def numbered(model: Any, Y: tf.Tensor) -> tf.Tensor:
    """Y with the index of each row as a last column, if a layer has free posteriors."""
    if not has_free_latents(model):
        return Y
    N = model.num_data
    if Y.shape[0] != N:
        raise ValueError(
            f"Y has {Y.shape[0]} rows, but the model has latent variables of {N} rows (num_data), "
            "which are found by their place in the data. Give it all rows, in their order."
        )
    return tf.concat([Y, tf.cast(tf.range(N), Y.dtype)[:, None]], axis=1)


def split_index(model: Any, data: tuple[Any, Any]) -> tuple[tuple[Any, Any], tf.Tensor | None]:
    """The data without the index, and the index, [B], integers; None if no layer needs one.

    :raises ValueError: if an index is needed and missing, or is none of the data's rows.
    """
    X, Y = data_pair(data)
    if not has_free_latents(model):
        return (X, Y), None
    is_complete = model.missing == "error"
    Y = finite_tensor("Y", Y, of_its_type=True) if is_complete else tensor_with_missing("Y", Y)
    check_rank("Y", Y)
    N, Q = model.num_data, target_columns(model.likelihood, model.output_dim)
    Q = model.output_dim if Q is None else Q
    if Y.shape[-1] == Q + 1:
        index = tf.cast(Y[:, -1], tf.int32)
        if tf.executing_eagerly():
            values = Y[:, -1].numpy()
            if not np.all(np.isin(values, np.arange(N))):
                raise ValueError(
                    f"The last column of Y must be the index of each row in the data, a whole "
                    f"number from 0 to {N - 1}, for the latent variables of the rows."
                )
        return (X, Y[:, :-1]), index
    if Y.shape[-1] == Q and Y.shape[0] != N:
        raise ValueError(
            f"Y has {Y.shape[0]} of the {N} rows, but not their index, which finds the latent "
            "variables of each row: give Y one more column with it, as model.numbered(Y) does for "
            "all rows. gpflow_gi.fit does so."
        )
    return (X, Y), tf.range(N)


def has_free_latents(model: Any) -> bool:
    """True if the latent variables of each row have a posterior of their own.

    It is found by the row's place in the data.
    """
    return any(layer.num_data is not None for layer in getattr(model, "latents", ()))

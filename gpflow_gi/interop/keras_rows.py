"""Rows in the forms that Keras takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf
from gpflow.keras import tf_keras

from ..core.validation import check_data
from ..models import Predictive
from ..models.latent_rows import has_free_latents
from ..models.targets import target_columns

STREAMS = (tf.data.Dataset, tf_keras.utils.Sequence)

_FORM = 'Data must be X and Y, {"inputs": X, "targets": Y} or a dataset of such batches'


def checked(model: Predictive, x: Any, y: Any = None) -> Any:
    """`x` and `y` as one dictionary of tensors, since Keras would round arrays to float32.

    Keras shuffles rows: their targets get the index that a model with free latent variables needs.
    Streams stay as they are.

    :raises ValueError: if the form is another, or the data do not fit the model.
    """
    if y is not None:
        if isinstance(x, (Mapping, *STREAMS)):
            raise ValueError(f"{_FORM}; y must be left out where x holds the targets.")
        x = {"inputs": x, "targets": y}
    batch = x
    if isinstance(x, tf.data.Dataset):
        batch = x.element_spec
    elif isinstance(x, tf_keras.utils.Sequence):
        batch = x[0]
    if batch is not x and isinstance(batch, tuple) and len(batch) == 2:
        _check_has_index(model, batch[1])
        return x
    if not isinstance(batch, Mapping):
        raise ValueError(f"{_FORM}, but the type is {type(batch).__name__}.")
    if set(batch) != {"inputs", "targets"}:
        raise ValueError(f"{_FORM}, but the keys are {', '.join(map(repr, batch))}.")
    if batch is not x:
        _check_has_index(model, batch["targets"])
        return x
    missing = getattr(model, "missing", None) == "ignore"
    X, Y = model.check_data(check_data((x["inputs"], x["targets"]), missing=missing))
    return {"inputs": X, "targets": model.numbered(Y)}


def check_validation(model: Predictive) -> None:
    """Check that rows that are not for training have a bound.

    :raises ValueError: if they have none, since their latent variables have no posterior.
    """
    if has_free_latents(model):
        raise ValueError(
            "The model has free latent variables of the training rows, and other rows have no "
            "bound: leave validation_data and validation_split out, and use predict_log_density "
            "after training; or an encoder in place of num_data in the LatentVariableLayer."
        )


def _check_has_index(model: Predictive, targets: Any) -> None:
    """Check that batches of a stream say which rows they are, if the model asks."""
    Q = target_columns(model.likelihood, model.output_dim)
    Q = model.output_dim if Q is None else Q
    columns = targets.shape[-1]
    if has_free_latents(model) and columns != Q + 1:
        raise ValueError(
            f"The targets of a batch have {columns} columns, but the model has free latent "
            f"variables of rows: give each batch {Q + 1}, with the row's index in the data as the "
            "last one, as model.numbered(Y) does for all rows."
        )

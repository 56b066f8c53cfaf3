"""Keras callbacks: the ones that training needs, and those that it refuses."""

from __future__ import annotations

from typing import Any

import tensorflow as tf
from gpflow.keras import tf_keras

from ..training import Recovery
from .keras_files import INSTEAD, check_path


class History(tf_keras.callbacks.History):
    """Keras' history, which continues when training starts again after a recovery."""

    def __init__(self) -> None:
        super().__init__()
        self.epoch: list[int] = []
        self.recoveries: list[Recovery] = []

    def on_train_begin(self, logs: Any = None) -> None:
        """Keras' hook, called when training starts."""


class EpochStart(tf_keras.callbacks.Callback):
    """A record of variables at the start of the present epoch."""

    def __init__(self, variables: list[tf.Variable]) -> None:
        super().__init__()
        self._variables = variables
        self.epoch = 0

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        self.epoch = epoch + 1
        self._values = [variable.numpy() for variable in self._variables]

    def go_back(self) -> None:
        """Restore the recorded values."""
        for variable, value in zip(self._variables, self._values, strict=True):
            variable.assign(value)


def check_callback(callback: Any) -> None:
    """Refuse a callback that needs what the model does not have.

    :raises ValueError: if so.
    """
    checkpoint = tf_keras.callbacks.ModelCheckpoint
    if isinstance(callback, checkpoint) and not callback.save_weights_only:
        raise ValueError(f"ModelCheckpoint would write whole models, which Keras cannot. {INSTEAD}")
    if isinstance(callback, checkpoint):
        check_path(callback.filepath, None)
    if isinstance(callback, tf_keras.callbacks.TensorBoard) and callback.histogram_freq:
        raise ValueError(
            "TensorBoard's histograms are of Keras layers, and would leave out the parameters. Set "
            "histogram_freq=0; gpflow.monitor.ModelToTensorBoard shows parameters."
        )

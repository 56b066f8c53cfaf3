"""Checkpoints, and what a run must have in common with the one that it resumes."""

import json
import math
import os
import time
import zlib
from pathlib import Path
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

from .record import FitRecord

EVERY_SECONDS = 60.0


class Checkpoints:
    """The state of a run, on disk: model, optimizer and step, and beside them the record as JSON.

    The two latest are kept. Whenever the process is killed, the directory holds a whole one:
    TensorFlow's index of checkpoints is replaced in one move, after everything else is written.

    :param directory: made if it does not exist.
    :param model: a GPflow model.
    :param optimizer: built.
    :param step: the number of steps done.
    :param settings: must be the same in a run that is resumed.
    :raises ValueError: if `directory` is not one that can be written to.
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        model: tf.Module,
        optimizer: Any,
        step: tf.Variable,
        settings: dict[str, Any],
    ) -> None:
        self._directory = Path(directory)
        self._settings = settings
        self._step = step
        self._saved_at = time.monotonic()
        self._saved_step = 0
        try:
            self._directory.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"checkpoint_dir cannot be made: {error}") from None
        if not os.access(self._directory, os.W_OK):
            raise ValueError(f"checkpoint_dir {str(directory)!r} cannot be written to.")
        self._checkpoint = tf.train.Checkpoint(model=model, optimizer=optimizer, step=step)
        self._manager = tf.train.CheckpointManager(
            self._checkpoint, str(self._directory), max_to_keep=2
        )

    def restore(self) -> FitRecord | None:
        """Bring back the latest state. None if there is none.

        :return: the record up to there.
        :raises ValueError: if the checkpoint is of a run with other settings, or cannot be read.
        """
        latest = self._manager.latest_checkpoint
        if latest is None:
            return None
        try:
            record = FitRecord.from_dict(json.loads(Path(f"{latest}.json").read_text("utf-8")))
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(
                f"checkpoint_dir {str(self._directory)!r} holds a checkpoint that fit did not "
                f"write, or that is damaged ({error}). Use another directory."
            ) from None
        self._compare(record.settings)
        try:
            self._checkpoint.restore(latest).assert_existing_objects_matched()
        except (AssertionError, ValueError, tf.errors.OpError) as error:
            raise ValueError(
                f"The checkpoint {latest!r} cannot be restored into this model: {error}"
            ) from None
        self._saved_step = int(self._step)
        return record

    def save(self, record: FitRecord) -> None:
        """Write the present state, unless it is written already."""
        step = int(self._step)
        if step == self._saved_step:
            return
        # Beside the checkpoint before it, since that is what makes the pair valid.
        unfinished = self._directory / "record.tmp"
        unfinished.write_text(json.dumps(record.to_dict()), "utf-8")
        os.replace(unfinished, self._directory / f"ckpt-{step}.json")
        self._manager.save(checkpoint_number=step)
        # The records of checkpoints that are gone, and what a kill in the middle left behind.
        kept = {Path(checkpoint).name for checkpoint in self._manager.checkpoints}
        for path in self._directory.glob("ckpt-*.*"):
            if path.is_file() and path.name.split(".")[0] not in kept:
                path.unlink()
        self._saved_step = step
        self._saved_at = time.monotonic()

    def save_if_due(self, record: FitRecord) -> None:
        """Write the present state if the last time is long enough ago."""
        if time.monotonic() - self._saved_at >= EVERY_SECONDS:
            self.save(record)

    def _compare(self, before: dict[str, Any]) -> None:
        for name in sorted({*before, *self._settings}):
            old, new = before.get(name), self._settings.get(name)
            if old != new:
                raise ValueError(
                    f"checkpoint_dir {str(self._directory)!r} holds a run with {name} = {old}, but "
                    f"this one has {name} = {new}. Resume it with the same settings, or start this "
                    "one in another directory."
                )


def describe_model(model: Any) -> dict[str, Any]:
    """The parameters' shapes and the numerical settings, by name."""
    settings: dict[str, Any] = {
        "default_float": np.dtype(gpflow.default_float()).name,
        "default_jitter": float(gpflow.default_jitter()),
    }
    for path, parameter in gpflow.utilities.parameter_dict(model).items():
        kind = "trainable" if parameter.trainable else "fixed"
        settings[f"parameter {path}"] = f"{kind}, shape {list(parameter.shape)}"
    return settings


def describe_data(data: tuple[tf.Tensor, tf.Tensor]) -> dict[str, Any]:
    """The data's shapes and a checksum, by name."""
    X, Y = data
    checksum = zlib.crc32(Y.numpy().tobytes(), zlib.crc32(X.numpy().tobytes()))
    return {
        "number of rows": int(X.shape[0]),
        "columns of X": math.prod(X.shape[1:]),
        "columns of Y": int(Y.shape[1]),
        # Last in the alphabet of settings, so that a plainer difference is named first.
        "the data's checksum": checksum,
    }

"""The rows of each step from a ``tf.data.Dataset`` of batches."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from ..core.validation import check_data, kind_of
from ..models.latent_rows import has_free_latents
from .minibatches import Held, KeptRows, Minibatches, Rows
from .settings import Settings
from .streams import Streams

MOST_NUMBERS = 8_000_000
"""Numbers of the batches of one compiled call: 64 MB in float64."""


class DatasetBatches(Minibatches):
    """The batches of a dataset, one for each step, in the dataset's order.

    A dataset that ends is iterated again. The batches of one compiled call are stacked and handed
    to it; those since the start of the call before are kept, since training may repeat steps.

    :param dataset: of X [B, D], or images [B, H, W, C], and Y [B, P].
    :param model: its ``check_data`` is applied to every batch, if it has one.
    :param seed: seed of the samples, [2].
    :raises ValueError: if the dataset is empty, or if an element is not a pair of finite arrays of
        the shapes of the first; or if the model holds the rows of its data, and a batch has
        others.
    """

    def __init__(self, dataset: tf.data.Dataset, model: Any, seed: tf.Tensor) -> None:
        self.seed = seed
        self.streams = Streams(seed)
        self._dataset = dataset
        self._model = model
        self._number = 0
        """Number of the next batch, counting from 0."""
        self._kept: dict[int, Rows] = {}
        self._newest_call = 0
        self._iterator: Iterator[Any] = iter(dataset)
        self._kept_rows = KeptRows(model)
        self.first = self._next()
        self.data = self._stacked(0, 1)
        self._start = 0

    @property
    def most_steps(self) -> int:
        numbers = sum(math.prod(part.shape) for part in self.first)
        return max(1, MOST_NUMBERS // numbers)

    @property
    def specs(self) -> tuple[tf.TensorSpec, ...]:
        return tuple(tf.TensorSpec([None, *part.shape], part.dtype) for part in self.first)

    def of(self, data: Rows, seed: tf.Tensor) -> Minibatches:
        return _Stacked(data, seed)

    def initially(self) -> Held:
        return tf.constant(self._start, tf.int64), tf.zeros([0], tf.int32)

    def ready(self, start: int, stop: int, held: Held) -> Held:
        stop = max(stop, start + 1)
        if stop - 1 not in self._kept:  # not a repetition
            self._kept = {i: rows for i, rows in self._kept.items() if i >= self._newest_call}
            self._newest_call = start
        while self._number < stop:
            self._next()
        self.data, self._start = self._stacked(start, stop), start
        return self.initially()

    def batch(self, step: tf.Tensor, held: Held) -> tuple[Rows, Held]:
        return self.of(self.data, self.seed).batch(step, held)

    def _stacked(self, start: int, stop: int) -> Rows:
        batches = [self._kept[i] for i in range(start, stop)]
        return tuple(tf.stack(parts) for parts in zip(*batches, strict=True))

    def _next(self) -> Rows:
        for _ in range(2):
            try:
                element = next(self._iterator)
                break
            except StopIteration:
                self._iterator = iter(self._dataset)
        else:
            raise ValueError("The dataset has no batches.")
        rows = self._checked(element)
        self._kept[self._number] = rows
        self._number += 1
        return rows

    def _checked(self, element: Any) -> Rows:
        where = f"Batch {self._number} of the dataset: "
        if not isinstance(element, tuple | list) or len(element) != 2:
            raise ValueError(f"{where}it must be a pair (X, Y), but is {kind_of(element)}.")
        try:
            missing = getattr(self._model, "missing", None) == "ignore"
            X, Y = check_data(element, missing=missing)
            if hasattr(self._model, "check_data"):
                Y = self._model.check_data((X, Y))[1]
            self._kept_rows.check(X, Y)
        except ValueError as error:
            raise ValueError(f"{where}{error}") from None
        shapes = [part.shape.as_list() for part in (X, Y)]
        expected = [part.shape.as_list() for part in self.first] if self._number else shapes
        if shapes != expected:
            raise ValueError(
                f"{where}X and Y have shapes {shapes[0]} and {shapes[1]}, but those of the first "
                f"batch {expected[0]} and {expected[1]}. All batches need the same number of rows: "
                "write dataset.batch(size, drop_remainder=True)."
            )
        return X, Y


class _Stacked(Minibatches):
    """Batches that are stacked: X [K, B, D] and Y [K, B, P], from the step that is held."""

    def __init__(self, data: Rows, seed: tf.Tensor) -> None:
        self.data = data
        self.seed = seed
        self.streams = Streams(seed)

    def batch(self, step: tf.Tensor, held: Held) -> tuple[Rows, Held]:
        # A call without steps looks at the one before its first.
        place = tf.maximum(step - held[0], 0)
        return tuple(tf.gather(part, place) for part in self.data), held


def check_settings(model: Any, settings: Settings) -> None:
    """Refuse what a dataset of batches does not support.

    :raises ValueError: if the model has no `num_data`, or if an argument has no meaning.
    """
    if getattr(model, "num_data", None) is None:
        raise ValueError(
            "The model's num_data is None, so that the bound of a batch would not be scaled to all "
            "rows. Build the model with num_data, the number of rows in the whole dataset."
        )
    if has_free_latents(model):
        raise ValueError(
            "The model has latent variables of its own for each row, and a dataset does not say "
            "which rows a batch holds: give X and Y as arrays, or the LatentVariableLayer an "
            "encoder in place of num_data."
        )
    if settings.objective.weights is not None:
        raise ValueError("Weights of rows need data as arrays (X, Y), not as a dataset of batches.")
    without = {
        "batch_size": "the dataset's batches are the rows of each step: dataset.batch(size)",
        "checkpoint_dir": "a dataset's place cannot be saved, so such a run cannot be resumed; "
        "save the model in a callback, with gpflow_gi.save",
        "strategy": "the replicas of a strategy share the rows of arrays, (X, Y)",
        "jit_compile": "XLA would compile anew for each number of batches",
    }
    for name, reason in without.items():
        if getattr(settings, name):
            raise ValueError(f"{name} cannot be used with a dataset: {reason}. Leave it out.")

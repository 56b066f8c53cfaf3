"""Rows in the type of their file, which each step converts."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from ..core.validation import (
    check_rank,
    check_same_rows,
    positive_integer,
    real_array,
    true_or_false,
)

_ROWS_AT_ONCE, _MOST_FIRST = 100_000, 1000

Batch = tuple[tf.Tensor, tf.Tensor]


class NarrowRows:
    """Training rows that stay as narrow as they are: int16 or float32, say, instead of float64.

    ``gi.fit(model, NarrowRows(X, Y), steps=..., batch_size=500)`` gathers the rows of a step, and
    converts and standardises only these. The table is held once, in its own type: two million rows
    of eight int16 take 33 MB, and twice 131 MB as float64. Build the model from some rows, and set
    its ``num_data`` to the number of all; an optimal last layer needs all of them, as
    :meth:`standardised` gives them.

    >>> X = np.arange(30, dtype=np.int16).reshape(10, 3)
    >>> rows = NarrowRows(X, X[:, :1] > 10, standardise_targets=False)
    >>> X, Y = rows.standardised(slice(0, 10))
    >>> np.round(X.std(axis=0), 6)
    array([1., 1., 1.])

    :param X: [N, D], an array, a ``np.memmap`` or a tensor of numbers; it is read once.
    :param Y: [N, Q], the same.
    :param standardise_inputs: True to bring the columns of X to mean 0 and standard deviation 1.
    :param standardise_targets: the same for Y. False for labels, counts and other targets that a
        likelihood takes as they are.
    :raises ValueError: if they are not tables of finite numbers with the same rows, or have none.
    :raises TypeError: if a flag is neither True nor False.
    """

    def __init__(
        self, X: Any, Y: Any, *, standardise_inputs: bool = True, standardise_targets: bool = True
    ) -> None:
        arrays = [_checked(name, rows) for name, rows in (("X", X), ("Y", Y))]
        check_same_rows(*arrays)
        self.standardise_targets = true_or_false("standardise_targets", standardise_targets)
        flags = true_or_false("standardise_inputs", standardise_inputs), self.standardise_targets
        self.scales = [
            _moments(rows) if flag else (np.zeros(rows.shape[1]), np.ones(rows.shape[1]))
            for rows, flag in zip(arrays, flags, strict=True)
        ]
        """Mean and standard deviation of the columns of X and of Y, in float64."""
        self.tensors: Batch = tf.constant(arrays[0]), tf.constant(arrays[1])
        """X and Y in their own types."""

    @classmethod
    def from_batches(
        cls, batches: Iterable[Any], num_rows: int, *, dtype: Any = np.float32, **options: Any
    ) -> NarrowRows:
        """Collect rows that come in parts: of a ``tf.data.Dataset``, or of a file of Parquet.

        For Parquet, with the names `x` and `y` of columns::

            frames = (part.to_pandas() for part in pyarrow.parquet.ParquetFile(file).iter_batches())
            NarrowRows.from_batches(((frame[x], frame[y]) for frame in frames), num_rows)

        :param batches: pairs of X [B, D] and Y [B, Q].
        :param num_rows: the number of rows of all together, N.
        :param dtype: the type in which they are kept.
        :param options: arguments of the class.
        :return: the rows, in the order of the batches.
        :raises ValueError: as the class, or if there are more or fewer rows.
        """
        N = positive_integer("num_rows", num_rows)
        kept: list[NDArray[Any]] | None = None
        start = 0
        for batch in batches:
            parts = [np.asarray(part) for part in batch]
            for name, part in zip("XY", parts, strict=True):
                check_rank(name, part)
            if kept is None:
                kept = [np.empty((N, part.shape[1]), dtype) for part in parts]
            stop = start + len(parts[0])
            if stop > N:
                raise ValueError(f"The batches have more than num_rows={N} rows.")
            for rows, part in zip(kept, parts, strict=True):
                rows[start:stop] = part
            start = stop
        if kept is None or start < N:
            raise ValueError(f"The batches have {start} rows, but num_rows is {N}.")
        return cls(*kept, **options)

    def __len__(self) -> int:
        """N, the number of rows."""
        return int(self.tensors[0].shape[0])

    def converted(self, X: tf.Tensor, Y: tf.Tensor) -> Batch:
        """Rows in GPflow's default float, standardised; also in a graph.

        :param X: some rows in their own type, [B, D].
        :param Y: the same of the targets, [B, Q].
        """
        # In float32 the difference to a large mean, such as of times, would lose its digits.
        X, Y = (
            tf.cast((tf.cast(rows, tf.float64) - mean) / scale, gpflow.default_float())
            for rows, (mean, scale) in zip((X, Y), self.scales, strict=True)
        )
        return X, Y

    def blocks_of_targets(self) -> Iterator[tf.Tensor]:
        """All targets as a step sees them, some rows at a time, [B, Q]."""
        X, Y = self.tensors
        for start in range(0, len(self), _ROWS_AT_ONCE):
            yield self.converted(X[:1], Y[start : start + _ROWS_AT_ONCE])[1]

    def standardised(self, index: Any) -> tuple[NDArray[Any], NDArray[Any]]:
        """Some rows as a step sees them, for building a model.

        :param index: a slice, or the numbers of the rows.
        :return: X [B, D] and Y [B, Q].
        """
        X, Y = (rows.numpy()[index] for rows in self.tensors)
        X, Y = self.converted(tf.constant(X), tf.constant(Y))
        return X.numpy(), Y.numpy()

    @property
    def first(self) -> Batch:
        """The first thousand rows as a step sees them, X [B, D] and Y [B, Q]."""
        X, Y = (rows[:_MOST_FIRST] for rows in self.tensors)
        return self.converted(X, Y)

    @property
    def box(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """The least and the largest input of each column as a step sees them, two of [D]."""
        X, Y = self.tensors
        ends = tf.stack([tf.reduce_min(X, axis=0), tf.reduce_max(X, axis=0)])
        least, most = self.converted(ends, Y[:2])[0].numpy()
        return least, most

    def checksum(self) -> int:
        """A checksum of the means and standard deviations."""
        numbers = np.concatenate([part for pair in self.scales for part in pair])
        return zlib.crc32(numbers.tobytes())


def _checked(name: str, rows: Any) -> NDArray[Any]:
    array = real_array(name, rows)
    if array.dtype == bool:
        array = array.astype(np.uint8)
    check_rank(name, array)
    if not array.size:
        raise ValueError(f"{name} has no numbers: its shape is {list(array.shape)}.")
    if array.dtype.kind == "f":
        for start in range(0, len(array), _ROWS_AT_ONCE):
            if not np.all(np.isfinite(array[start : start + _ROWS_AT_ONCE])):
                raise ValueError(f"{name} holds NaN or infinity.")
    return array


def _moments(rows: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean and standard deviation (1 for constant columns) of the columns, part by part."""

    def mean_of(function: Any) -> NDArray[np.float64]:
        parts = range(0, len(rows), _ROWS_AT_ONCE)
        return sum(
            function(rows[start : start + _ROWS_AT_ONCE].astype(np.float64)).sum(axis=0)
            for start in parts
        ) / len(rows)

    first = rows[0].astype(np.float64)  # which makes a constant column exactly constant
    mean = first + mean_of(lambda part: part - first)
    scale = np.sqrt(mean_of(lambda part: (part - mean) ** 2))
    return mean, np.where(scale == 0.0, 1.0, scale)

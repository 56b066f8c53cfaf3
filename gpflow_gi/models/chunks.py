"""Functions of rows, applied to more rows than fit into memory at once."""

from collections.abc import Callable

import tensorflow as tf

from ..core.compiled import is_recorded
from ..core.graph_memory import forget_graph

TARGET_SIZE = 4_000_000
"""Size of the largest array of one chunk, in numbers (32 MB in float64): a few times a processor's
cache, and small compared with a machine's memory."""

_MANY = 20
"""Smallest number of chunks for which compiling the loop of an eager call pays."""


def rows_per_chunk(numbers_per_row: int) -> int:
    """Number of rows of one chunk, if the largest array has `numbers_per_row` numbers per row."""
    return max(1, TARGET_SIZE // max(numbers_per_row, 1))


@tf.autograph.experimental.do_not_convert
def in_chunks(
    function: Callable[..., tuple[tf.Tensor, ...]], rows: list[tf.Tensor], chunk: int
) -> tuple[tf.Tensor, ...]:
    """Apply `function` to chunks of rows, one after the other, and join what it returns.

    :param function: from a chunk's number, [], and its part of each of `rows` to tensors whose
        first axis is the rows.
    :param rows: tensors of N rows each.
    :param chunk: the number of rows at a time; the last chunk has the remaining rows.
    :return: the function's tensors for all rows.
    """
    N = rows[0].shape[0]
    if N is not None and N <= chunk:
        return function(tf.constant(0), *rows)
    if tf.executing_eagerly() and N <= _MANY * chunk:
        starts = range(0, N, chunk)
        parts = [
            function(tf.constant(i), *(row[start : start + chunk] for row in rows))
            for i, start in enumerate(starts)
        ]
        return tuple(tf.concat(part, axis=0) for part in zip(*parts, strict=True))
    shapes: list[tf.TensorShape] = []
    dtypes: list[tf.DType] = []

    def one(i: tf.Tensor) -> tuple[tf.Tensor, ...]:
        values = function(i, *(row[i * chunk : (i + 1) * chunk] for row in rows))
        shapes[:] = [value.shape[1:] for value in values]
        dtypes[:] = [value.dtype for value in values]
        return values

    def loop() -> tuple[tf.Tensor, ...]:
        num_chunks = tf.maximum((tf.shape(rows[0])[0] + chunk - 1) // chunk, 1)
        # The first chunk is outside the loop, to find the types and shapes of the loop's arrays.
        first = one(tf.constant(0))
        arrays = tuple(
            tf.TensorArray(dtype, num_chunks, infer_shape=False).write(0, value)
            for dtype, value in zip(dtypes, first, strict=True)
        )

        def body(
            i: tf.Tensor, arrays: tuple[tf.TensorArray, ...]
        ) -> tuple[tf.Tensor, tuple[tf.TensorArray, ...]]:
            values = one(i)
            return i + 1, tuple(a.write(i, v) for a, v in zip(arrays, values, strict=True))

        _, arrays = tf.while_loop(
            lambda i, _: i < num_chunks, body, (tf.constant(1), arrays), parallel_iterations=1
        )
        return tuple(
            tf.ensure_shape(array.concat(), [None, *shape])
            for array, shape in zip(arrays, shapes, strict=True)
        )

    if not tf.executing_eagerly():
        return loop()
    traced = tf.function(loop).get_concrete_function()
    if not is_recorded():  # otherwise the gradient may still be asked for
        forget_graph(traced)
    return traced()

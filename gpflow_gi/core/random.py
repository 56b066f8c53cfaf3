"""Stateless seeds: the same seed gives the same numbers, compiled or not.

A seed is a pair of integers. Whatever needs several independent streams folds a counter into the
seed that it was given; nothing here reads or sets a global seed, with one documented exception:
``seed=None`` asks TensorFlow's own generator for a fresh pair, so that ``tf.random.set_seed`` means
to this library what it means to every other.
"""

from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from .row_seed import RowSeed
from .validation import shown

Seed: TypeAlias = Any
"""An integer, a pair of integers (list, array or tensor of shape [2]), or None for a fresh one."""


def as_seed(seed: Seed = None) -> tf.Tensor:
    """Return `seed` as the pair of integers that TensorFlow's stateless operations take.

    :param seed: an integer, a pair of integers, or None for a pair drawn from TensorFlow's global
        generator (a new one at every call, inside a compiled function too).
    :return: [2], int32.
    :raises ValueError: if `seed` is none of these.
    """
    if seed is None:
        int32 = tf.int32
        return tf.random.uniform([2], minval=int32.min, maxval=int32.max, dtype=int32)
    if not tf.is_tensor(seed):
        values = np.asarray(seed)
        if values.dtype.kind not in "iu" or values.shape not in ((), (2,)):
            raise ValueError(
                f"seed must be an integer, a pair of integers or None, but is {shown(seed)}."
            )
        seed = tf.constant(values.astype(np.int64))
    if not seed.dtype.is_integer or seed.shape not in ([], [2]):
        raise ValueError(
            "seed must be integers of shape [] or [2], but is a tensor of type "
            f"{seed.dtype.name} and shape {seed.shape}."
        )
    if seed.shape.rank == 0:
        # Both halves of a 64-bit integer count: 5 and 2**32 + 5 are different seeds.
        seed = tf.cast(seed, tf.int64)
        seed = tf.stack([tf.bitwise.right_shift(seed, 32), seed])
    return tf.cast(seed, tf.int32)


def fold_in(seed: Any, counter: Any) -> Any:
    """A seed for stream number `counter` of `seed`.

    :param seed: [2], from :func:`as_seed`; or a :class:`~gpflow_gi.core.row_seed.RowSeed`.
    :param counter: [], an integer, which may be a tensor.
    :return: [2], int32; or a RowSeed for the same rows.
    """
    if isinstance(seed, RowSeed):
        return RowSeed(fold_in(seed.seed, counter), seed.keys)
    return tf.random.fold_in(seed, tf.cast(counter, tf.int32))


def split(seed: tf.Tensor, num: int) -> list[tf.Tensor]:
    """`num` seeds of independent streams.

    :param seed: [2], from :func:`as_seed`.
    :return: a list of `num` seeds, each [2], int32.
    """
    return tf.unstack(tf.random.split(seed, num))


def standard_normal(shape: Any, seed: Any, dtype: Any) -> tf.Tensor:
    """Independent draws of N(0, 1).

    :param shape: the shape of the answer, static or a tensor.
    :param seed: [2], from :func:`as_seed`; or a :class:`~gpflow_gi.core.row_seed.RowSeed`.
    :return: `shape`, `dtype`.
    """
    if isinstance(seed, RowSeed):
        return seed.standard_normal(shape, dtype)
    return tf.random.stateless_normal(shape, seed, dtype=dtype)

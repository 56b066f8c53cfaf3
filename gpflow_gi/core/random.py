"""Stateless seeds: the same seed gives the same numbers, compiled or not.

A seed is a pair of integers. A function that needs several independent streams folds a counter into
its seed. Nothing here reads or sets a global seed, with one documented exception: ``seed=None``
takes a new pair from TensorFlow's global generator, so ``tf.random.set_seed`` has its usual
effect.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from .validation import shown

Seed: TypeAlias = Any
"""An integer, a pair of integers (list, array or tensor of shape [2]), or None for a fresh one."""

_STEP = 0x9E3779B97F4A7C15
"""The fractional part of the golden ratio times 2^64: the increment of SplitMix64."""


_START = -0x5EED
"""The stream of starts; those of a run count steps from 0, and replicas down from -1."""


def as_seed(seed: Seed = None) -> tf.Tensor:
    """Return `seed` as the pair of integers that TensorFlow's stateless operations take.

    :param seed: an integer, a pair of integers, or None for a pair drawn from TensorFlow's global
        generator (a new one at every call, inside a compiled function too).
    :return: [2], int32.
    :raises ValueError: if `seed` is none of them.
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
        # Both halves of a 64-bit integer are used: 5 and 2**32 + 5 are different seeds.
        seed = tf.cast(seed, tf.int64)
        seed = tf.stack([tf.bitwise.right_shift(seed, 32), seed])
    return tf.cast(seed, tf.int32)


def fold_in(seed: Any, counter: Any) -> Any:
    """A seed for stream number `counter` of `seed`.

    :param seed: [2], from :func:`as_seed`; or a :class:`RowSeed` or :class:`PairedSeed`.
    :param counter: [], an integer, which may be a tensor.
    :return: [2], int32; or a RowSeed for the same rows, or a PairedSeed.
    """
    if isinstance(seed, RowSeed):
        return RowSeed(fold_in(seed.seed, counter), seed.keys)
    if isinstance(seed, PairedSeed):
        return PairedSeed(fold_in(seed.seed, counter))
    return tf.random.fold_in(seed, tf.cast(counter, tf.int32))


def start_seed(seed: Seed) -> tf.Tensor:
    """A seed for variables at their start, apart from all streams of a run with the same seed.

    :param seed: as for :func:`as_seed`.
    :return: [2], int32.
    """
    return fold_in(as_seed(seed), _START)


def split(seed: Any, num: int) -> list[Any]:
    """`num` seeds of independent streams.

    :param seed: [2], from :func:`as_seed`; or a :class:`PairedSeed`.
    :return: a list of `num` seeds, each [2], int32, or a PairedSeed.
    """
    if isinstance(seed, PairedSeed):
        return [PairedSeed(each) for each in split(seed.seed, num)]
    return tf.unstack(tf.random.split(seed, num))


def standard_normal(shape: Any, seed: Any, dtype: Any) -> tf.Tensor:
    """Independent draws of N(0, 1).

    :param shape: the shape of the result, static or a tensor.
    :param seed: [2], from :func:`as_seed`; or a :class:`RowSeed` or :class:`PairedSeed`, whose
        draws are not independent.
    :return: `shape`, `dtype`.
    """
    if isinstance(seed, RowSeed | PairedSeed):
        return seed.standard_normal(shape, dtype)
    return tf.random.stateless_normal(shape, seed, dtype=dtype)


class RowSeed:
    """A seed for noise of shape [..., N, P] that depends on each row alone.

    Equal rows then have equal noise, in every batch. A function drawn from a GP layer needs a
    residual at each of its inputs. Where rows are used one by one, as in means and variances of
    predictions, residuals may be independent between rows; but then the prediction for a row would
    depend on its batch. Here a hash of the row's numbers is the position in a stream of random
    numbers, which makes the noise a function of the row.

    :param seed: [2].
    :param keys: [N], uint64; see :func:`keys_of`.
    """

    def __init__(self, seed: tf.Tensor, keys: tf.Tensor) -> None:
        self.seed = seed
        self.keys = keys

    def standard_normal(self, shape: Any, dtype: Any) -> tf.Tensor:
        """Draw N(0, 1) as a function of the seed, the row and the position in the row.

        The bits are those of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014).

        :param shape: [..., N, P], static or a tensor.
        :param dtype: tf.float64 or tf.float32.
        :return: [..., N, P].
        """
        shape = tf.convert_to_tensor(shape)
        others = tf.concat([shape[:-2], [1], shape[-1:]], axis=0)
        places = tf.reshape(tf.range(1, tf.reduce_prod(others) + 1), others)
        stream = _mix(_mix(self.keys) + tf.bitcast(tf.cast(self.seed, tf.int32), tf.uint64))
        bits = _mix(stream[:, None] + _unsigned(places) * tf.constant(_STEP, tf.uint64))
        # As many bits as a mantissa has, at the centre of their interval: neither 0 nor 1.
        digits = 52 if dtype == tf.float64 else 23
        whole = tf.cast(_shifted(bits, 64 - digits), dtype)
        return tf.math.ndtri((whole + 0.5) * 2.0**-digits)


class PairedSeed:
    """A seed for noise [S, K, P] of antithetic pairs: samples s and s + (S + 1) // 2.

    The noise of a pair differs in the sign, and its odd powers cancel in their mean. Noise without
    a sample axis, [K, P], is that of the seed itself.

    :param seed: [2].
    """

    def __init__(self, seed: tf.Tensor) -> None:
        self.seed = seed

    def standard_normal(self, shape: Any, dtype: Any) -> tf.Tensor:
        """Draw N(0, 1) in pairs.

        :param shape: [S, K, P] or [K, P], static or a tensor.
        :param dtype: tf.float64 or tf.float32.
        :return: `shape`, `dtype`; of an odd S the sample in the middle has no partner.
        """
        shape = tf.convert_to_tensor(shape)
        if shape.shape[0] < 3:
            return standard_normal(shape, self.seed, dtype)
        S = shape[0]
        half = standard_normal(tf.concat([[(S + 1) // 2], shape[1:]], axis=0), self.seed, dtype)
        return tf.concat([half, -half], axis=0)[:S]


def unpaired(seed: Any) -> tf.Tensor:
    """The seed of a :class:`PairedSeed`, for numbers that have no opposite; others as they are.

    :param seed: [2], or a PairedSeed.
    :return: [2], int32.
    """
    return seed.seed if isinstance(seed, PairedSeed) else seed


def keys_of(X: tf.Tensor) -> tf.Tensor:
    """A hash of each row's numbers.

    :param X: [N, D].
    :return: [N], uint64.
    """
    # Adding zero turns -0.0 into 0.0; the two are equal as numbers but not as bits.
    bits = tf.bitcast(tf.cast(X, tf.float64) + 0.0, tf.uint64)
    columns = _unsigned(tf.range(1, tf.shape(X)[1] + 1)) * tf.constant(_STEP, tf.uint64)
    return tf.reduce_sum(_mix(bits + columns), axis=1)


def _mix(x: tf.Tensor) -> tf.Tensor:
    """The output function of SplitMix64 (Steele, Lea & Flood, OOPSLA 2014); shape kept, uint64."""
    x = tf.bitwise.bitwise_xor(x, _shifted(x, 30)) * tf.constant(0xBF58476D1CE4E5B9, tf.uint64)
    x = tf.bitwise.bitwise_xor(x, _shifted(x, 27)) * tf.constant(0x94D049BB133111EB, tf.uint64)
    return tf.bitwise.bitwise_xor(x, _shifted(x, 31))


def _shifted(x: tf.Tensor, bits: int) -> tf.Tensor:
    return tf.bitwise.right_shift(x, tf.constant(bits, tf.uint64))


def _unsigned(x: tf.Tensor) -> tf.Tensor:
    return tf.bitcast(tf.cast(x, tf.int64), tf.uint64)

"""Minibatches without replacement, drawn inside the graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import tensorflow as tf

from ..core.linalg import flat_rows
from ..core.random import fold_in
from ..posteriors.optimal import Optimal, optimal_of
from .streams import Streams

Held: TypeAlias = tuple[tf.Tensor, tf.Tensor]
"""An epoch's number, [] int64, and its permutation, [N] int32, passed from step to step."""

Rows: TypeAlias = tuple[tf.Tensor, ...]
"""X, Y and, if rows have weights, these."""


class Minibatches:
    """The rows of each step.

    An epoch goes through a random permutation of the rows, `batch_size` at a time, and drops the
    remainder. So every step has the same number of rows (one shape to compile). Since the
    permutation is uniform, every row is equally likely to be in any step's batch: N / B times a
    batch's sum is an unbiased estimate of the sum over all rows, for any remainder.

    The permutation is a function of (seed, epoch) alone, so a run can start at any step.

    :param data: X [N, D] and Y [N, P], and weights [N] if there are any.
    :param batch_size: B, at most N; None for all rows at every step.
    :param seed: seed of the run, [2].
    :param jit_compile: True if XLA will compile it. The permutations are then different.
    :param num_replicas: number of replicas that share each step.
    :param convert: function from the rows of a step in the type of `data` to those that it uses;
        None for the same.
    """

    def __init__(
        self,
        data: Rows,
        batch_size: int | None,
        seed: tf.Tensor,
        jit_compile: bool = False,
        num_replicas: int = 1,
        convert: Callable[[tf.Tensor, tf.Tensor], tuple[tf.Tensor, tf.Tensor]] | None = None,
    ) -> None:
        self._convert = convert
        self.data = data
        self.seed = seed
        self.streams = Streams(seed, num_replicas)
        self._batch_size = batch_size
        self._jit_compile = jit_compile
        self._num_replicas = num_replicas
        self._num_rows = int(data[0].shape[0])
        self._steps_per_epoch = 1 if batch_size is None else self._num_rows // batch_size

    def of(self, data: Rows, seed: tf.Tensor) -> Minibatches:
        """The same of other data of these shapes, or of placeholders for them."""
        return Minibatches(
            data, self._batch_size, seed, self._jit_compile, self._num_replicas, self._convert
        )

    @property
    def most_steps(self) -> int | None:
        """The largest number of steps of one compiled call; None for any."""
        return None

    @property
    def specs(self) -> tuple[tf.TensorSpec, ...]:
        """Shapes and types of the data that a compiled loop takes."""
        return tuple(tf.TensorSpec(part.shape, part.dtype) for part in self.data)

    def ready(self, start: int, stop: int, held: Held) -> Held:
        """Have the rows of the steps from `start` to before `stop`, and those of step `start`.

        :return: what to pass to the first of them.
        """
        return held

    def initially(self) -> Held:
        """No permutation yet: the first step draws it."""
        size = 0 if self._batch_size is None else self._num_rows
        return tf.constant(-1, tf.int64), tf.zeros([size], tf.int32)

    def batch(self, step: tf.Tensor, held: Held) -> tuple[Rows, Held]:
        """The rows of one step, and the permutation to hold for the next.

        :param step: [], int64, counting from 0.
        :return: X [B, D] and Y [B, P], and weights [B] if there are any; what to pass at the next
            step.
        """
        if self._batch_size is None:
            return self._converted(self.data), held
        epoch = step // self._steps_per_epoch
        permutation = tf.cond(
            tf.equal(epoch, held[0]), lambda: held[1], lambda: self._permutation(epoch)
        )
        first = tf.cast(step % self._steps_per_epoch, tf.int32) * self._batch_size
        # A slice would do, but outside a loop XLA compiles a new one for every position.
        rows = tf.gather(permutation, first + tf.range(self._batch_size))
        parts = tuple(tf.gather(part, rows) for part in self.data)
        return self._converted(parts), (epoch, permutation)

    def _converted(self, parts: Rows) -> Rows:
        return parts if self._convert is None else self._convert(*parts)

    def _permutation(self, epoch: tf.Tensor) -> tf.Tensor:
        seed = fold_in(self.streams.permutations, epoch)
        if self._jit_compile:
            # XLA has no shuffle. Elsewhere sorting takes longer.
            keys = tf.random.stateless_uniform(
                [self._num_rows], seed, minval=None, maxval=None, dtype=tf.int64
            )
            return tf.argsort(keys)
        rows = tf.range(self._num_rows, dtype=tf.int32)
        return tf.random.experimental.stateless_shuffle(rows, seed)


def check_kept_rows(model: Any, X: tf.Tensor, Y: tf.Tensor) -> None:
    """Refuse data that are not those which the last layer's posterior holds.

    :param X: [N, D] or images [N, H, W, C].
    :param Y: [N, Q].
    :raises ValueError: if the posterior holds rows, and these are others.
    """
    posterior = _optimal_of(model)
    if posterior is None:
        return
    X = flat_rows(X)
    are_equal = X.shape == posterior.rows.shape and Y.shape == posterior.targets.shape
    if not are_equal or not bool(
        tf.reduce_all(X == posterior.rows) & tf.reduce_all(Y == posterior.targets)
    ):
        raise ValueError(_OTHER_ROWS)


class KeptRows:
    """The rows that a model's last layer holds, if it does, to check batches of data."""

    def __init__(self, model: Any) -> None:
        """:raises ValueError: if they have the noise of another likelihood than the model's."""
        posterior = _optimal_of(model)
        self._rows = None if posterior is None else _different(posterior.rows, posterior.targets)

    def check(self, X: tf.Tensor, Y: tf.Tensor) -> None:
        """Refuse a batch in which a row is not among them.

        :param X: [B, D] or images [B, H, W, C].
        :param Y: [B, Q].
        :raises ValueError: if there is such a row.
        """
        if self._rows is not None and not _different(X, Y) <= self._rows:
            raise ValueError(_OTHER_ROWS)


def _different(X: tf.Tensor, Y: tf.Tensor) -> set[bytes]:
    """The different rows; -0.0 is 0.0."""
    return {row.tobytes() for row in tf.concat([flat_rows(X), Y], axis=1).numpy() + 0.0}


def _optimal_of(model: Any) -> Optimal | None:
    """The posterior that holds rows, if there is one.

    :raises ValueError: if it has the noise of another likelihood than the model's.
    """
    posterior = optimal_of(model)
    if posterior is not None and posterior.likelihood is not model.likelihood:
        raise ValueError(
            "The last layer's posterior Optimal has another likelihood than the model, which was "
            "given a new one. Build the model anew, with both of them the same."
        )
    return posterior


_OTHER_ROWS = (
    "The last layer's posterior Optimal holds other rows than the data. Build the model with the "
    "data on which it is trained."
)


def check_num_data(model: Any, num_rows: int, in_parts: bool) -> None:
    """Refuse data whose number of rows is not the one that scales the model's bound.

    :param in_parts: True if the bound is estimated from parts of the rows.
    :raises ValueError: if the model's `num_data` is not the number of rows, or is missing although
        the bound is estimated from parts of them.
    """
    num_data = getattr(model, "num_data", None)
    if num_data is None:
        if in_parts:
            raise ValueError(
                "The model's num_data is None, so that the bound of some rows would not be "
                f"scaled to all rows. Build the model with num_data={num_rows}."
            )
    elif int(num_data) != num_rows:
        raise ValueError(
            f"The model was built with num_data={int(num_data)}, but the data has {num_rows} rows: "
            f"the bound would be scaled wrongly. Build the model with num_data={num_rows}."
        )

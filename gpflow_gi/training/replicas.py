"""Replicas: the devices of a `tf.distribute.Strategy`, which share the rows of every step.

The objective is a sum over rows, so each replica computes it, scaled, for its part of the rows, and
the sum over replicas is that of one device. One device is the special case of one replica, under
TensorFlow's default strategy, which adds no operation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import tensorflow as tf

from ..core.validation import shown
from ..objectives.objective import Batch
from .settings import Settings


class Part(NamedTuple):
    """The part of a step that one replica computes.

    :param batch: X [B', D] and Y [B', P], and weights [B'] if rows have any.
    :param seed: [2], seed of the bound's samples; a different one for each replica.
    :param fraction: share of the step's rows, B' / B.
    """

    batch: Batch
    seed: tf.Tensor
    fraction: float

    def of(self, total: tf.Tensor) -> tf.Tensor:
        """The replica's part of its estimate of the total over all rows."""
        return total if self.fraction == 1.0 else self.fraction * total


class Replicas:
    """The devices on which steps are computed.

    :param strategy: a strategy, or None for one device.
    :raises TypeError: if `strategy` is not one that mirrors its variables.
    :raises ValueError: in the scope of a strategy, where variables cannot be read as usual.
    """

    def __init__(self, strategy: Any = None) -> None:
        workers = tf.distribute.MultiWorkerMirroredStrategy
        if tf.distribute.has_strategy():
            raise ValueError(
                "fit was called in the scope of a strategy. Build the model there, but call fit "
                "outside of it, with strategy=..."
            )
        self._alone = strategy is None
        if strategy is None:
            strategy = tf.distribute.get_strategy()
        elif not isinstance(strategy, tf.distribute.MirroredStrategy | workers):
            raise TypeError(
                "strategy must be a tf.distribute.MirroredStrategy or a "
                f"tf.distribute.MultiWorkerMirroredStrategy, but is {shown(strategy)}."
            )
        self._strategy = strategy
        self._has_workers = isinstance(strategy, workers)
        self.num = int(strategy.num_replicas_in_sync)

    def check_settings(self, num_rows: int, settings: Settings) -> None:
        """Refuse settings that replicas do not support.

        :param num_rows: rows of a step.
        :raises ValueError: if they are too few, or if an argument has no meaning for replicas.
        """
        if num_rows < self.num:
            raise ValueError(
                f"The strategy has {self.num} replicas, but a step has only {num_rows} rows: each "
                "replica needs at least one."
            )
        if settings.jit_compile and not self._alone:
            raise ValueError("jit_compile=True cannot be used with a strategy. Leave it out.")
        if self._has_workers and settings.seed is None:
            raise ValueError(
                "A MultiWorkerMirroredStrategy needs a seed, the same for all workers."
            )
        if self._has_workers and settings.checkpoint_dir is not None:
            raise ValueError(
                "checkpoint_dir cannot be used with a MultiWorkerMirroredStrategy: workers that "
                "are stopped save different steps. Save the model in a callback, with "
                "gpflow_gi.save."
            )

    def check_variables(self, owner: str, variables: Iterable[tf.Variable]) -> None:
        """Refuse variables that the strategy does not mirror; keep fixed variables fixed.

        :param owner: owner of the variables, for the message.
        :raises ValueError: if one was not created in the strategy's scope.
        """
        for variable in variables:
            if not self._strategy.extended.variable_created_in_scope(variable):
                if self._alone:
                    remedy = "was built in the scope of a strategy. Pass that to fit: strategy=..."
                else:
                    remedy = (
                        "was not built in the scope of the strategy. Build it there: "
                        f"with strategy.scope(): {owner} = ..."
                    )
                raise ValueError(f"The {owner} {remedy}")
            # gpflow.set_trainable marks the mirrored variable, but TensorFlow reads its copies.
            for copy in self._strategy.experimental_local_results(variable):
                copy._trainable = variable._trainable

    def scope(self) -> Any:
        """A scope for variables that replicas share."""
        return self._strategy.scope()

    def parts(self, batch: Batch, seeds: list[tf.Tensor]) -> list[Part]:
        """Each replica's part of a step, as equal as possible.

        :param batch: X [B, D] and Y [B, P], and weights [B] if rows have any.
        :param seeds: seeds of the step's samples, [2], one for each replica.
        """
        if self.num == 1:
            return [Part(batch, seeds[0], 1.0)]
        B = int(batch[0].shape[0])
        ends = [B * replica // self.num for replica in range(self.num + 1)]
        return [
            Part(tuple(rows[first:last] for rows in batch), seed, (last - first) / B)
            for first, last, seed in zip(ends[:-1], ends[1:], seeds, strict=True)
        ]

    def sum(self, function: Callable[[Part], list[Any]], parts: list[Part]) -> list[Any]:
        """Call `function` in each replica with its part, and sum the results.

        :param function: function that returns tensors, and None for terms without a value.
        :return: the sums; every replica has a copy.
        """
        part = self._strategy.experimental_distribute_values_from_function(
            lambda replica: parts[replica.replica_id_in_sync_group]
        )
        values = self._strategy.run(function, (part,))
        sums: dict[int, Any] = {}
        # One message per type: TensorFlow joins everything that it sends into one tensor.
        dtypes = [None if v is None else self.own(v).dtype for v in values]
        for dtype in dict.fromkeys(dtypes):
            if dtype is not None:
                places = [i for i, other in enumerate(dtypes) if other == dtype]
                pairs = [(values[i], values[i]) for i in places]
                total = self._strategy.extended.batch_reduce_to(tf.distribute.ReduceOp.SUM, pairs)
                sums.update(zip(places, total, strict=True))
        return [sums.get(i) for i in range(len(values))]

    def each(self, function: Callable[..., tf.Tensor], *arguments: Any) -> tf.Tensor:
        """Call `function` in each replica with its copy of the arguments.

        :return: the result of one of them, if all return the same.
        """
        return self.own(self._strategy.run(function, arguments))

    def own(self, value: Any) -> tf.Tensor:
        """The first of a value's copies in this process."""
        return self._strategy.experimental_local_results(value)[0]

    def agree(self, seconds: float) -> float:
        """The mean of the workers' measurements, so that all of them decide the same."""
        if not self._has_workers:
            return seconds
        return float(self._mean(tf.constant(seconds, tf.float64)))

    @tf.function
    def _mean(self, value: tf.Tensor) -> tf.Tensor:
        values = self._strategy.run(tf.identity, (value,))
        return self._strategy.reduce(tf.distribute.ReduceOp.MEAN, values, axis=None)

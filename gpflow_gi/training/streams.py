"""The random streams of a run, each a function of its seed."""

import tensorflow as tf

from ..core.random import fold_in


class Streams:
    """Seeds of a run's samples, minibatches and augmented rows.

    Step t, replica r, epoch e; a dot means ``fold_in``:

    =====================  ==================================
    samples                ``seed.t``, of further replicas ``seed.(-1 - r).t``
    permutations of rows   ``seed.(-1).e``
    augmented rows         ``seed.(-1).(-1).t``
    =====================  ==================================

    Steps, epochs and replicas count from 0, so no two streams are equal.

    :param seed: seed of the run, [2].
    :param num_replicas: number of replicas, which draw different samples.
    """

    def __init__(self, seed: tf.Tensor, num_replicas: int = 1) -> None:
        self.permutations = fold_in(seed, -1)
        """Seed [2] into which an epoch's number is folded."""
        self._rows = fold_in(self.permutations, -1)
        further = (fold_in(seed, -1 - replica) for replica in range(1, num_replicas))
        self._samples = [seed, *further]

    def samples(self, step: tf.Tensor) -> list[tf.Tensor]:
        """Seeds [2] of a step's samples, by replica; the first is that of a single device."""
        return [fold_in(seed, step) for seed in self._samples]

    def augmented_rows(self, step: tf.Tensor) -> tf.Tensor:
        """The seed [2] of a step's augmented rows."""
        return fold_in(self._rows, step)

"""Random streams of a run."""

import numpy as np
import tensorflow as tf

from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.training.streams import Streams


def of(*counters, seed=7):
    """A seed with counters folded into it, one after the other."""
    folded = as_seed(seed)
    for counter in counters:
        folded = fold_in(folded, counter)
    return tuple(folded.numpy())


def test_no_two_streams_meet():
    streams = Streams(as_seed(7), num_replicas=3)
    steps = [tf.constant(step, tf.int64) for step in range(20)]
    seeds = [
        *(seed for step in steps for seed in streams.samples(step)),
        *(fold_in(streams.permutations, epoch) for epoch in range(20)),
        *(streams.augmented_rows(step) for step in steps),
    ]
    assert len({tuple(seed.numpy()) for seed in seeds}) == len(seeds) == 100


def test_the_streams_are_those_of_earlier_versions():
    """A resumed run continues with the same streams."""
    streams, step = Streams(as_seed(7), num_replicas=3), tf.constant(5, tf.int64)
    found = [tuple(seed.numpy()) for seed in streams.samples(step)]
    assert found == [of(5), of(-2, 5), of(-3, 5)]
    assert tuple(streams.permutations.numpy()) == of(-1)
    assert tuple(streams.augmented_rows(step).numpy()) == of(-1, -1, 5)
    np.testing.assert_array_equal(Streams(as_seed(7)).samples(step), [of(5)])

"""Seeds: what stands for which stream, and what is refused."""

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.core.random import as_seed, fold_in, split, standard_normal, start_seed

INTEGERS = [0, 5, -5, 2**31, 2**32 + 5, -(2**40), 2**63 - 1]


@pytest.mark.parametrize(
    "seed",
    [
        5,
        np.int64(5),
        np.uint8(5),
        tf.constant(5),
        tf.constant(5, tf.int64),
        tf.constant(5, tf.uint8),
    ],
    ids=["int", "int64", "uint8", "tensor", "tensor int64", "tensor uint8"],
)
def test_one_integer(seed) -> None:
    np.testing.assert_array_equal(as_seed(seed), [0, 5])
    assert as_seed(seed).dtype == tf.int32


@pytest.mark.parametrize(
    "seed",
    [[3, 4], (3, 4), np.array([3, 4]), tf.constant([3, 4]), tf.Variable([3, 4], dtype=tf.int64)],
    ids=["list", "tuple", "array", "tensor", "variable"],
)
def test_a_pair_of_integers(seed) -> None:
    np.testing.assert_array_equal(as_seed(seed), [3, 4])
    assert as_seed(seed).dtype == tf.int32


def test_all_64_bits_of_an_integer_count() -> None:
    seeds = [tuple(as_seed(seed).numpy()) for seed in INTEGERS]
    assert len(set(seeds)) == len(INTEGERS)
    # A tensor means the same as the integer that it holds.
    assert seeds == [tuple(as_seed(tf.constant(seed, tf.int64)).numpy()) for seed in INTEGERS]


@pytest.mark.parametrize(
    "seed",
    [
        1.0,
        True,
        "5",
        [1],
        [1, 2, 3],
        [[1, 2]],
        [1.0, 2.0],
        [],
        [1, None],
        2**70,
        tf.constant(1.5),
        tf.constant([1.0, 2.0]),
        tf.constant(True),
        tf.constant([1]),
        tf.constant([[1, 2]]),
    ],
    ids=str,
)
def test_bad_seeds(seed) -> None:
    with pytest.raises(ValueError, match="seed must be"):
        as_seed(seed)


def test_no_seed_is_a_fresh_one() -> None:
    tf.random.set_seed(1)
    first, second = as_seed().numpy(), as_seed(None).numpy()
    assert first.shape == (2,) and first.dtype == np.int32
    assert np.all(first != second)
    tf.random.set_seed(1)
    np.testing.assert_array_equal(as_seed(), first)
    tf.random.set_seed(2)
    assert np.all(as_seed().numpy() != first)


@pytest.mark.compiled
def test_no_seed_is_a_fresh_one_in_a_compiled_function() -> None:
    fresh = tf.function(as_seed)
    assert np.all(fresh().numpy() != fresh().numpy())


def test_streams_differ() -> None:
    seeds = [as_seed(0), as_seed(1)]
    children = [tuple(fold_in(seed, k).numpy()) for seed in seeds for k in range(50)]
    children += [tuple(child.numpy()) for seed in seeds for child in split(seed, 50)]
    assert len(set(children)) == 200
    np.testing.assert_array_equal(fold_in(seeds[0], 3), fold_in(seeds[0], tf.constant(3, tf.int64)))


def test_starts_are_a_stream_of_their_own() -> None:
    for seed in (0, 7, [3, 4]):
        start = start_seed(seed).numpy().tolist()
        run = as_seed(seed)
        of_run = [run, *(fold_in(run, t) for t in range(-20, 2000))]
        of_step = [fold_in(fold_in(run, 0), i) for i in range(-20, 50)]
        assert start not in [one.numpy().tolist() for one in of_run + of_step]


def test_standard_normal() -> None:
    shape = [3, 20_000]
    draws = standard_normal(shape, as_seed(0), tf.float64)
    assert draws.shape == shape and draws.dtype == tf.float64
    np.testing.assert_array_equal(
        draws, standard_normal(tf.constant(shape), as_seed(0), tf.float64)
    )
    n = draws.numpy().size
    assert np.abs(np.mean(draws)) < 5 / np.sqrt(n)
    assert np.abs(np.var(draws) - 1) < 5 * np.sqrt(2 / n)
    correlations = np.corrcoef(draws)[np.triu_indices(3, 1)]
    assert np.all(np.abs(correlations) < 5 / np.sqrt(shape[1]))
    assert standard_normal([2], as_seed(0), tf.float32).dtype == tf.float32


def test_global_generators_are_left_alone() -> None:
    def two_numbers(between) -> list[float]:
        tf.random.set_seed(3)
        np.random.seed(3)
        first = tf.random.uniform([]).numpy(), tf.random.get_global_generator().state.numpy()
        between()
        return [*first[:1], *first[1], tf.random.uniform([]).numpy(), np.random.rand()]

    def ours() -> None:
        seed = as_seed(1)
        standard_normal([2], fold_in(split(seed, 2)[1], 7), tf.float64)

    assert two_numbers(ours) == two_numbers(lambda: None)

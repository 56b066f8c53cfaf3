"""Noise in antithetic pairs."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from gpflow_gi.core.random import PairedSeed, as_seed, fold_in, split, standard_normal, unpaired

SEED = as_seed(5)
PAIRED = PairedSeed(SEED)


def noise(seed, shape=(6, 500, 3)):
    return standard_normal(list(shape), seed, tf.float64).numpy()


@pytest.mark.parametrize("seed", [PAIRED, fold_in(PAIRED, 2), *split(PAIRED, 2)])
def test_pairs_have_opposite_noise(seed):
    eps = noise(seed)
    assert eps.shape == (6, 500, 3)
    np.testing.assert_array_equal(eps[:3], -eps[3:])
    assert stats.kstest(eps[:3].ravel(), "norm").pvalue > 1e-3
    assert len(np.unique(eps)) == eps.size


def test_of_an_odd_number_one_has_no_partner():
    eps = noise(PAIRED, (5, 4, 2))
    np.testing.assert_array_equal(eps[:2], -eps[3:])
    assert np.all(eps[2] != -eps[0])


def test_without_samples_it_is_the_seeds_noise():
    np.testing.assert_array_equal(noise(PAIRED, (4, 2)), noise(SEED, (4, 2)))


def test_streams_are_those_of_the_seed():
    for one, other in zip(split(PAIRED, 2), split(SEED, 2), strict=True):
        np.testing.assert_array_equal(noise(one)[:3], noise(other, (3, 500, 3)))
    np.testing.assert_array_equal(unpaired(fold_in(PAIRED, 7)), fold_in(SEED, 7))
    np.testing.assert_array_equal(unpaired(SEED), SEED)

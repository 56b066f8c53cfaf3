import numpy as np
import pytest

from gpflow_gi.datasets import Standardiser


def test_standardised_columns_have_mean_zero_and_deviation_one():
    values = np.random.default_rng(0).normal([1e6, -2.0, 0.0], [3.0, 1e-3, 50.0], size=(200, 3))
    standardiser = Standardiser.fit(values)
    standardised = standardiser.transform(values)
    np.testing.assert_allclose(standardised.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(standardised.std(axis=0), 1)
    np.testing.assert_allclose(standardiser.inverse(standardised), values)
    np.testing.assert_allclose(standardiser.scale, values.std(axis=0))


def test_constant_columns_become_zeros():
    """The mean of many 0.1 is not 0.1, which must not be blown up to a deviation of one."""
    values = np.stack([np.full(1000, 0.1), np.arange(1000.0)], axis=1)
    standardiser = Standardiser.fit(values)
    assert np.all(standardiser.transform(values)[:, 0] == 0)
    assert standardiser.scale[0] == 1
    # Also in a row where the column is another.
    assert standardiser.transform(np.array([[2.1, 0.0]]))[0, 0] == 0
    np.testing.assert_allclose(standardiser.inverse(standardiser.transform(values)), values)


def test_constant_targets_keep_their_distance():
    values = np.stack([np.full(1000, 0.1), np.arange(1000.0)], axis=1)
    targets, fitted = Standardiser.of_targets(values), Standardiser.fit(values)
    np.testing.assert_array_equal(targets.transform(values), fitted.transform(values))
    moved = targets.transform(np.array([[2.1, 0.0]]))
    np.testing.assert_allclose(moved[0, 0], 2.0)
    np.testing.assert_allclose(targets.inverse(moved), [[2.1, 0.0]], atol=1e-12)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_extreme_units_are_standardised(unit):
    values = np.array([[1.0], [2.0], [4.0]])
    expected = Standardiser.fit(values).transform(values)
    np.testing.assert_allclose(Standardiser.fit(unit * values).transform(unit * values), expected)


def test_densities_and_variances_return_to_the_original_scale():
    values = np.random.default_rng(0).normal(5.0, 3.0, size=(50, 1))
    standardiser = Standardiser.fit(values)
    standardised = standardiser.transform(values)[:, 0]
    log_density = -0.5 * np.log(2 * np.pi * 0.7) - 0.5 * standardised**2 / 0.7
    variance = standardiser.inverse_variance(np.array([0.7]))
    expected = -0.5 * np.log(2 * np.pi * variance) - (
        0.5 * (values[:, 0] - standardiser.mean) ** 2 / variance
    )
    np.testing.assert_allclose(standardiser.inverse_log_density(log_density), expected)


def test_a_column_that_is_constant_up_to_rounding():
    values = np.where(np.arange(20) % 2, 0.3, 0.1 + 0.2)[:, None]
    assert np.ptp(values) > 0
    scaling = Standardiser.fit(values)
    assert scaling.constant.all() and scaling.scale == 1.0
    np.testing.assert_array_equal(scaling.transform([[0.3 + 1e-9], [7.0]]), [[0.0], [0.0]])
    narrow = Standardiser.fit(0.3 + 1e-12 * np.arange(5.0)[:, None])
    assert not narrow.constant.any()
    for years in (np.float16([[2010], [2024]]), np.float32([[1e6], [1e6 + 1]])):
        np.testing.assert_array_equal(Standardiser.fit(years).transform(years), [[-1.0], [1.0]])


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1.0, -2.0, 3.0], "at least zero"),
        ([0.0, 0.0, 0.0], "not all of them zero"),
        ([1.0, 1.0], r"must have shape \[3\]"),
        (np.ones((3, 1)), r"must have shape \[3\]"),
        ([1.0, np.nan, 1.0], "must be finite"),
    ],
)
def test_weights_are_checked(weights, said):
    with pytest.raises(ValueError, match=said):
        Standardiser.fit(np.array([[1.0], [1.0], [5.0]]), weights)


def test_a_column_may_be_constant_in_the_rows_with_weight():
    scaling = Standardiser.fit(np.array([[1.0, 1.0], [1.0, 2.0], [5.0, 9.0]]), [1.0, 1.0, 0.0])
    np.testing.assert_array_equal(scaling.constant, [True, False])
    np.testing.assert_allclose(scaling.scale, [1.0, 0.5])
    rng = np.random.default_rng(0)
    for value, other in rng.normal(size=(50, 2)):
        weights = np.append(rng.uniform(size=6), 0.0)
        scaling = Standardiser.fit(np.append([value] * 6, other)[:, None], weights)
        assert scaling.constant.all() and scaling.scale == 1.0

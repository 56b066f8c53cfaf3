import numpy as np
import pytest

from gpflow_gi.experiments.cubic import Cubic


def test_inputs_are_uniform_over_two_intervals_and_targets_their_cubes():
    data = Cubic.draw(20_000, seed=1)
    x = data.inputs.inverse(data.X)
    assert np.all((np.abs(x) >= 2) & (np.abs(x) <= 4))
    # Uniform: quantiles of |x| are those of [2, 4], and both signs are as frequent.
    quantiles = np.quantile(np.abs(x), [0.25, 0.5, 0.75])
    np.testing.assert_allclose(quantiles, [2.5, 3.0, 3.5], atol=0.03)
    assert np.mean(x < 0) == pytest.approx(0.5, abs=0.015)

    # Y is x^3 and noise of deviation 3, in other units: its regression on x^3 leaves 3 units.
    slope, offset = np.polyfit(x[:, 0] ** 3, data.Y[:, 0], 1)
    residual = data.Y[:, 0] - slope * x[:, 0] ** 3 - offset
    assert slope == pytest.approx(data.noise_deviation / 3, rel=0.01)
    assert residual.std() == pytest.approx(data.noise_deviation, rel=0.02)
    assert abs(np.corrcoef(residual, x[:, 0])[0, 1]) < 0.02


@pytest.mark.parametrize("num_rows", [2, 40, 100])
def test_columns_are_standardised(num_rows):
    data = Cubic.draw(num_rows, seed=0)
    assert data.X.shape == data.Y.shape == (num_rows, 1)
    for column in (data.X, data.Y):
        np.testing.assert_allclose([column.mean(), column.std()], [0, 1], atol=1e-12)


def test_a_seed_says_which_rows():
    one, same, other = (Cubic.draw(40, seed) for seed in (3, 3, 4))
    np.testing.assert_array_equal(one.X, same.X)
    np.testing.assert_array_equal(one.Y, same.Y)
    assert not np.any(one.X == other.X)


def test_even_inputs_are_in_the_gap_too():
    data = Cubic.draw(40, seed=0)
    np.testing.assert_allclose(data.inputs.inverse(data.evenly(5))[:, 0], [-4, -2, 0, 2, 4])
    np.testing.assert_allclose(data.inputs.inverse(data.evenly(3, -5, 5))[:, 0], [-5, 0, 5])
    np.testing.assert_allclose(data.inputs.inverse(data.evenly(1)), [[0.0]], atol=1e-12)

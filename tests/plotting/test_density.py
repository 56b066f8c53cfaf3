from importlib import import_module

import numpy as np
import pytest
from scipy.stats import norm

from gpflow_gi import plotting

density = import_module("gpflow_gi.plotting.density")


def test_colours_are_the_mixtures_density(ax, rng):
    X = np.array([2.0, 0.0, 1.0])
    mean, deviation = rng.normal(size=(4, 3, 1)), np.exp(0.3 * rng.normal(size=(4, 3, 1)))
    y = np.linspace(-2, 2, 7)
    assert plotting.density(X, mean, deviation**2, ax, y=y) is ax
    (mesh,) = ax.collections
    p = norm.pdf(y[:, None, None], mean[:, :, 0], deviation[:, :, 0]).mean(axis=1)
    wanted = (p / p.max(axis=0))[:, np.argsort(X)]
    np.testing.assert_allclose(np.asarray(mesh.get_array()).reshape(7, 3), wanted)


def test_chunks_of_rows_have_the_same_numbers(monkeypatch, rng):
    mean, variance = rng.normal(size=(4, 3)), np.exp(rng.normal(size=(4, 3)))
    y = np.linspace(-2, 2, 7)
    whole = density.relative_density(y, mean, variance)
    seen = []
    usual = density.mixture_log_density

    def watched(grid, *components):
        seen.append(components[0].size)
        return usual(grid, *components)

    monkeypatch.setattr(density, "mixture_log_density", watched)
    monkeypatch.setattr(density, "NUMBERS", 30)  # two rows of 4 x 3 at a time
    np.testing.assert_array_equal(density.relative_density(y, mean, variance), whole)
    assert seen == [24, 24, 24, 12]


def test_the_figure_covers_all_components(ax):
    mean = np.array([[-5.0, 0.0], [5.0, 0.0]])[..., None]
    plotting.density([0.0, 1.0], mean, np.ones((2, 2, 1)), ax)
    bottom, top = ax.get_ylim()
    assert bottom < -7.5 and top > 7.5
    mesh = np.asarray(ax.collections[0].get_array()).reshape(300, 2)
    assert mesh[:, 0].argmax() in (*range(50, 62), *range(237, 249))
    assert 140 < mesh[:, 1].argmax() < 160


def test_one_gaussian_and_repeated_inputs(ax):
    plotting.density([0.0, 1.0, 0.0], np.zeros(3), np.ones(3), ax)
    assert np.asarray(ax.collections[0].get_array()).size == 600


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [1.0, 1.0]}, "two different inputs"),
        ({"y": [1.0, 0.0]}, "increasing"),
        ({"y": [[1.0]]}, "y must have shape"),
        ({"variance": np.zeros(2)}, "variance must be positive"),
        ({"mean": np.zeros(3)}, "X has 2 rows"),
        ({"mean": np.zeros((3, 2, 1))}, "have 3 and 1"),
        ({"mean": np.zeros((0, 2, 1)), "variance": np.ones((0, 2, 1))}, "have 0 and 0"),
    ],
)
def test_failures(ax, arguments, message):
    good = {"X": [0.0, 1.0], "mean": np.zeros(2), "variance": np.ones(2)}
    with pytest.raises(ValueError, match=message):
        plotting.density(ax=ax, **{**good, **arguments})

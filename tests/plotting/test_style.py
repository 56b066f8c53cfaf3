"""The style shared by all figures."""

import numpy as np
import pytest
from matplotlib import pyplot
from matplotlib.colors import to_rgb

from gpflow_gi import plotting
from gpflow_gi.training import FitRecord, Report

ONE = np.linspace(0.1, 0.9, 5)
RECORD = FitRecord(
    reports=[Report(1, 0.0, -3.0, 1.0, 1.0, 0.1), Report(9, 0.0, -2.0, 1.0, 1.0, 0.1)]
)
FIGURES = {
    "bound_terms": (RECORD,),
    "coverage_curve": (ONE,),
    "density": (ONE, ONE, ONE),
    "function_draws": (ONE, ONE),
    "inducing_points": ([ONE[:, None], ONE[:, None]],),
    "pit_histogram": (ONE,),
    "predictions_with_intervals": (ONE, ONE, ONE - 1, ONE + 1),
    "predictive_bands": (ONE, ONE, ONE),
    "reliability_diagram": (np.linspace(0, 1, 6), ONE, ONE),
    "residuals": (ONE, ONE, ONE),
    "training_curves": ({"run": RECORD},),
}


def test_every_figure_is_in_this_file():
    assert set(FIGURES) == set(plotting.__all__) - {"COLOURS"}


@pytest.mark.parametrize("name", FIGURES)
def test_the_current_axes_are_the_default(name, monkeypatch, ax):
    monkeypatch.setattr(pyplot, "gca", lambda: ax)
    assert getattr(plotting, name)(*FIGURES[name]) is ax
    ax.figure.canvas.draw()


def luminance(colour):
    """Relative luminance, by the Web Content Accessibility Guidelines 2.1."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return linear @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("style", ["default", "dark_background"])
@pytest.mark.parametrize("name", FIGURES)
def test_lines_are_legible_on_light_and_dark_grounds(name, style):
    """A contrast of 2 against the ground."""
    with pyplot.style.context(style):
        ax = pyplot.figure().subplots()
        getattr(plotting, name)(*FIGURES[name], ax)
        ground = luminance(ax.get_facecolor())
        for line in ax.lines:
            low, high = sorted([luminance(line.get_color()), ground])
            assert (high + 0.05) / (low + 0.05) > 2
        pyplot.close(ax.figure)

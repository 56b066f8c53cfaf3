"""Every tutorial runs, shortened."""

import runpy
from pathlib import Path

import matplotlib
import matplotlib.pyplot as plt
import pytest

TUTORIALS = sorted((Path(__file__).parents[1] / "tutorials").glob("*.pct.py"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")
@pytest.mark.parametrize("path", TUTORIALS, ids=lambda path: path.name)
def test_tutorial(path, monkeypatch):
    monkeypatch.setenv("CI", "1")  # gpflow.ci_utils.reduce_in_tests
    monkeypatch.delenv("DOCS", raising=False)
    matplotlib.use("Agg")
    runpy.run_path(str(path))
    plt.close("all")

"""The code that the README opens with runs as it stands there."""

import re
from pathlib import Path

import matplotlib
import numpy as np


def test_the_first_example_fits_its_data(monkeypatch):
    matplotlib.use("Agg")
    readme = Path(__file__).resolve().parents[1] / "README.md"
    code = re.search(r"```python\n(.*?)```", readme.read_text(encoding="utf-8"), re.DOTALL)
    assert code is not None
    names: dict = {}
    exec(code.group(1), names)
    # Away from the step the noise is all that is left.
    inside = np.abs(names["X"][:, 0]) > 0.2
    mean, _ = names["model"].predict_y(names["X"], seed=0)
    rmse = np.sqrt(np.mean((mean - names["Y"])[inside] ** 2))
    assert rmse < 1.2 * 0.1

"""The code in the README runs as it stands there."""

import re
from pathlib import Path

import matplotlib
import numpy as np


def test_the_examples_fit_their_data(capsys):
    matplotlib.use("Agg")
    readme = Path(__file__).resolve().parents[1] / "README.md"
    text = readme.read_text("utf-8")
    deep_gp, network, estimator = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    names: dict = {}
    exec(deep_gp, names)
    # Away from the step the noise is all that is left.
    inside = np.abs(names["X"][:, 0]) > 0.2

    def rmse():
        mean, _ = names["model"].predict_y(names["X"], seed=0)
        return np.sqrt(np.mean((mean - names["Y"])[inside] ** 2))

    assert rmse() < 1.2 * 0.1
    exec(network, names)  # of the same data
    assert rmse() < 1.5 * 0.1
    assert capsys.readouterr().out.count("Estimate(value=") == 2

    exec(estimator, names)
    mean, std, y = names["mean"], names["std"], names["y"][-40:]
    assert np.mean((mean - y) ** 2) < 0.7 * np.var(y)
    assert np.mean(np.abs(mean - y) < 2 * std) > 0.8

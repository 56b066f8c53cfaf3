"""The code in docs/keras.md runs as it stands there."""

import re
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow


def test_the_examples_fit_their_data(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = Path(__file__).resolve().parents[1] / "docs" / "keras.md"
    keras_model, deep_features = re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL)
    names: dict = {}
    exec(keras_model, names)
    loss = names["history"].history["loss"]
    assert loss[-1] < loss[0] - 0.2
    Y = names["held_out"]["targets"]
    assert np.sqrt(np.mean((names["mean"] - Y) ** 2)) < 0.5 * np.std(Y)
    assert (tmp_path / "best.weights.h5").exists()

    before = names["model"]
    exec(deep_features, names)
    assert names["model"] is not before
    mean, _ = names["model"].predict_y(names["X"])
    assert np.sqrt(np.mean((mean - names["Y"]) ** 2)) < 0.5 * np.std(names["Y"])

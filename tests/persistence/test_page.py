"""The page on what loading a file can do says what the code does."""

import re
from pathlib import Path

import numpy as np
import pytest

import gpflow_gi as gi
from gpflow_gi.persistence import decoding, sizes

from .test_every_callable import PLACES
from .test_trusting import network, squared

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "loading.md").read_text("utf-8")


def test_limits():
    mebi = 2**20
    for said in (
        f"{sizes.LEAST_BYTES // mebi} MiB, or {sizes.TIMES_THE_FILE} times the size of the file",
        f"text of the description | {sizes.LARGEST_TEXT // mebi} MiB",
        f"parts of the description | {sizes.MOST_PARTS:,}",
        f"brackets within brackets | {sizes.DEEPEST} ",
        f"arrays | {sizes.MOST_ARRAYS:,},",
        f"together | {decoding.LARGEST_RESULT:,} ",
        f"at {len(PLACES)} kinds of places",
    ):
        assert said in re.sub(r"\s+", " ", PAGE), said


def test_files_that_are_named_are_there():
    root = Path(__file__).resolve().parents[2]
    for name in re.findall(r"`((?:tests|gpflow_gi)/[\w/.]+|test_\w+\.py)`", PAGE):
        assert (root / name).exists() or (root / "tests" / "persistence" / name).exists(), name


def test_the_call_that_it_shows(rng, tmp_path, monkeypatch):
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    model = network(rng, squared)
    with pytest.warns(UserWarning, match="may not name"):
        gi.save(model, "model.gi")
    names = {"gi": gi, "MyLayer": squared, "my_function": squared}
    exec(example, names)
    X = rng.normal(size=(3, 2))
    one, other = (each.predict_f(X, seed=0)[0] for each in (model, names["same"]))
    np.testing.assert_array_equal(one, other)

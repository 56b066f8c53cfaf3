"""Files of earlier versions load, and predict what the models predicted that were saved."""

import gpflow
import numpy as np
import pytest

import gpflow_gi as gi

from .fixtures import own_code
from .fixtures.make import EXPECTED, FLOAT32, HERE, MODELS, predictions

OWN = {
    name: {"custom_objects": {one: getattr(own_code, one) for one in own_code.NAMES}}
    for name in ("own",)
}

QUICK = ("deep-gp", "network-scale-factorised", "likelihood-heteroskedastic-laplace", "float32")
"""Whose predictions are compared in every run of the tests; those of the others take a minute."""


@pytest.fixture(scope="module")
def expected():
    with np.load(HERE / EXPECTED) as arrays:
        return dict(arrays)


def read(name):
    if name in FLOAT32:
        gpflow.config.set_default_float(np.float32)
        gpflow.config.set_default_jitter(1e-4)
    return gi.load(HERE / f"{name}.gi", **OWN.get(name, {}))


@pytest.mark.parametrize(
    "name",
    [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in MODELS],
)
def test_predictions_are_those_of_the_model_that_was_saved(name, expected):
    said = {
        key.partition("/")[2]: value
        for key, value in expected.items()
        if key.partition("/")[0] == name
    }
    X, Y = said.pop("X"), said.pop("Y")
    found = predictions(read(name), X, Y, "elbo" in said)
    assert found.keys() == said.keys()
    # Another machine rounds otherwise.
    tolerance = 1e-3 if name in FLOAT32 else 1e-8
    for key, value in said.items():
        np.testing.assert_allclose(found[key], value, tolerance, tolerance, err_msg=key)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kernels", "posteriors", "keras", "likelihood-switched", "own"])
def test_files_of_many_parts_load(name):
    read(name)


def test_there_is_a_file_of_every_kind():
    assert {path.stem for path in HERE.glob("*.gi")} == set(MODELS)

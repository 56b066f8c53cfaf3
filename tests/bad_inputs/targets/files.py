"""Files and other libraries."""

import functools
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gpflow
import numpy as np
import pandas as pd

import gpflow_gi as gi
from gpflow_gi import datasets
from gpflow_gi.interop import as_keras_model, from_gpflux
from tests.bad_inputs.examples import S, X, Y, folder, model, network, network_model
from tests.bad_inputs.target import add
from tests.bad_inputs.values import COUNTS, OBJECTS, PATHS, SEEDS


@functools.cache
def model_file() -> Path:
    path = folder() / "model"
    gi.save(model(), path)
    return path


# Nothing is written into the folder of the tests.
_WRITABLE = ("a string", "a name of 5000 letters", "a Python file", "not UTF-8")
add(
    "persistence",
    "save",
    lambda path: gi.save(model(), path),
    {},
    {"path": PATHS},
    left_out=_WRITABLE,
)
add("persistence", "save", lambda model: gi.save(model, folder() / "x"), {}, {"model": OBJECTS})
add("persistence", "load", gi.load, {}, {"path": PATHS})


@functools.cache
def table_model() -> Any:
    preprocessing = datasets.preprocessing.Preprocessing.of_numbers(["a", "b"])
    inputs, targets = datasets.Standardiser.fit(X), datasets.Standardiser.fit(Y)
    return gi.persistence.TableModel(model(), preprocessing, inputs, "y", targets, S)


add("persistence", "TableModel.load", gi.persistence.TableModel.load, {}, {"path": PATHS})
add(
    "persistence",
    "TableModel.save",
    lambda path: table_model().save(path),
    {},
    {"path": PATHS},
    left_out=_WRITABLE,
)
add(
    "persistence",
    "TableModel.predict",
    lambda rows, quantiles=(0.5,): table_model().predict(rows, quantiles).to_numpy(),
    {"rows": pd.DataFrame(X, columns=["a", "b"])},
    {"rows": OBJECTS, "quantiles": OBJECTS},
)
add(
    "persistence",
    "load",
    lambda custom_objects: gi.load(model_file(), custom_objects=custom_objects),
    {},
    {"custom_objects": OBJECTS},
)
add(
    "persistence",
    "export",
    lambda path: gi.export(network_model(), path),
    {},
    {"path": PATHS},
    left_out=_WRITABLE,
)
add("persistence", "export", lambda model: gi.export(model, folder() / "y"), {}, {"model": OBJECTS})
add(
    "persistence",
    "export",
    lambda num_samples=1, seed=0: gi.export(
        network_model(), tempfile.mkdtemp(dir=folder()), num_samples=num_samples, seed=seed
    ),
    {},
    {"num_samples": COUNTS, "seed": SEEDS},
)
add(
    "interop",
    "as_keras_model",
    lambda model=None, **more: as_keras_model(network_model() if model is None else model, **more),
    {},
    {"model": OBJECTS, "num_samples": COUNTS, "prediction_samples": COUNTS, "seed": SEEDS},
)


def _keras(method: str) -> Callable[..., Any]:
    def call(X: Any, Y: Any = Y) -> Any:
        keras_model = as_keras_model(network())
        keras_model.compile(gpflow.keras.tf_keras.optimizers.Adam())
        if method == "predict":
            return keras_model.predict(X, verbose=0)
        data = {"inputs": X, "targets": Y}
        return np.asarray(
            keras_model.fit(data, verbose=0).history["loss"]
            if method == "fit"
            else keras_model.evaluate(data, verbose=0)
        )

    return call


for _name in ("fit", "evaluate"):
    add(
        "interop",
        f"KerasDeepGP.{_name}",
        _keras(_name),
        {"X": X, "Y": Y},
        {"X": "array", "Y": "array"},
        few=True,
    )
add("interop", "KerasDeepGP.predict", _keras("predict"), {"X": X}, {"X": "array"}, few=True)
add(
    "interop",
    "KerasDeepGP.compile",
    lambda optimizer: as_keras_model(network()).compile(optimizer),
    {},
    {"optimizer": OBJECTS},
)
add("interop", "from_gpflux", from_gpflux, {}, {"model": OBJECTS})

"""Data sets."""

import functools
from pathlib import Path
from typing import Any

import numpy as np

from gpflow_gi import datasets
from tests.bad_inputs.examples import CLASSES, PIXELS, X, Y, folder
from tests.bad_inputs.target import Fresh, add
from tests.bad_inputs.values import (
    CHOICES,
    COUNTS,
    FLAGS,
    LABELS,
    NAMES,
    NUMBERS,
    OBJECTS,
    PATHS,
    SEEDS,
)


def table(**arguments: Any) -> Any:
    good = {"name": "t", "X": X, "Y": Y, "input_names": ("a", "b"), "target_name": "c"}
    return datasets.Table(**{**good, **arguments})


_scaling = datasets.Standardiser.fit(X)
add("datasets", "Standardiser.fit", datasets.Standardiser.fit, {"values": X}, {"values": "array"})


for _name in ("transform", "inverse", "inverse_variance", "inverse_log_density"):
    add(
        "datasets",
        f"Standardiser.{_name}",
        getattr(_scaling, _name),
        {("values" if _name == "transform" else "standardised"): X},
        {("values" if _name == "transform" else "standardised"): "array"},
    )
add("datasets", "Table", table, {"X": X, "Y": Y}, {"X": "array", "Y": "array"})
add("datasets", "Table", table, {}, {"input_names": OBJECTS})
add("datasets", "Table.rows", lambda index: table().rows(index), {}, {"index": OBJECTS})
add(
    "datasets",
    "Table.split",
    lambda train, test: table().split(train, test),
    {"train": np.arange(3), "test": np.arange(3, 5)},
    {"train": OBJECTS, "test": OBJECTS},
)
add(
    "datasets",
    "train_test_split",
    datasets.train_test_split,
    {"table": table()},
    {"table": OBJECTS, "test_fraction": NUMBERS, "seed": SEEDS},
)
add(
    "datasets",
    "standard_split",
    datasets.standard_split,
    {"table": table(), "split": 0},
    {"table": OBJECTS, "split": COUNTS},
    left_out=("31 digits",),
)
add(
    "datasets",
    "rows_in_both",
    datasets.rows_in_both,
    {"train": table(), "test": table()},
    {"train": OBJECTS, "test": OBJECTS, "inputs_only": FLAGS},
)
add(
    "datasets",
    "elevation",
    datasets.elevation,
    {"num_train": 5, "seed": 0},
    {"num_train": COUNTS, "seed": SEEDS},
)
add("datasets", "airline", datasets.airline, {}, {"path": PATHS})


for _name in ("uci_table", "uci_set", "num_splits", "images"):
    add("datasets", _name, getattr(datasets, _name), {}, {"name": NAMES})
add(
    "datasets", "uci", datasets.uci, {"name": "yacht", "split": 0}, {"name": NAMES, "split": COUNTS}
)
add(
    "datasets",
    "as_images",
    datasets.as_images,
    {"X": PIXELS, "labels": CLASSES},
    {"X": "array", "labels": "array"},
)
add(
    "datasets",
    "as_images",
    datasets.as_images,
    {"X": PIXELS, "labels": CLASSES},
    {"class_names": OBJECTS, "labels": LABELS},
)


@functools.cache
def csv_file() -> Path:
    path = folder() / "table.csv"
    path.write_text("a,b,c\n1,2,3\n2,3,5\n3,5,8\n4,1,1\n")
    return path


add(
    "datasets",
    "read_csv",
    datasets.read_csv,
    {"path": Fresh(csv_file), "target": "c"},
    {
        "path": PATHS,
        "target": NAMES,
        "drop": OBJECTS,
        "impute": CHOICES,
        "categories": OBJECTS,
        "max_categories": COUNTS,
        "calendar": FLAGS,
        "decimal": CHOICES,
        "drop_constant": FLAGS,
        "task": CHOICES,
    },
)

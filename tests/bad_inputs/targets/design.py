"""Designs."""

from typing import Any

import numpy as np

import gpflow_gi as gi
from tests.bad_inputs.examples import D, S, X, model, network_model
from tests.bad_inputs.target import add
from tests.bad_inputs.values import COUNTS, FLAGS, NUMBERS, OBJECTS, SEEDS

_AT = {"X": X, "seed": 0, "num_samples": S}
_TRIED_AT = {"X": "array", "seed": SEEDS, "num_samples": COUNTS}


_ACQUISITIONS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "expected_improvement": ({"best": 0.0}, {"maximise": FLAGS}),
    "upper_confidence_bound": ({}, {"beta": NUMBERS, "maximise": FLAGS}),
    "contour_improvement": ({"level": 0.0}, {"width": NUMBERS}),
    "max_value_entropy": ({"optima": np.zeros(2)}, {"optima": "array", "maximise": FLAGS}),
    "predictive_variance": ({}, {}),
    "integrated_variance_reduction": ({"references": X}, {"references": "array"}),
}


for _name, (_more, _tried) in _ACQUISITIONS.items():
    add(
        "design",
        _name,
        lambda _name=_name, **arguments: getattr(gi.design, _name)(model(), **arguments),
        {**_AT, **_more},
        {**_TRIED_AT, **_tried},
        few=True,
    )
    add(
        "design",
        f"{_name} of a model",
        lambda model, _name=_name, _more=_more: getattr(gi.design, _name)(model, X, **_more),
        {},
        {"model": OBJECTS},
    )
add(
    "design",
    "sample_optima",
    lambda **arguments: gi.design.sample_optima(model(), **arguments),
    {"candidates": X, "num_draws": 2, "seed": 0},
    {"candidates": "array", "num_draws": COUNTS, "maximise": FLAGS, "seed": SEEDS},
    few=True,
)


_BOX: dict[str, Any] = {"lower": np.zeros(D), "upper": np.ones(D), "num_candidates": 4}
add(
    "design",
    "search",
    lambda **arguments: gi.design.search(lambda X: X[:, 0], **arguments),
    {**_BOX, "num_starts": 1},
    {"lower": "array", "upper": "array", "num_candidates": COUNTS, "num_starts": COUNTS},
    few=True,
)
add(
    "design",
    "search",
    lambda acquisition: gi.design.search(acquisition, **_BOX),
    {"acquisition": lambda X: X[:, 0]},
    {"acquisition": OBJECTS},
    left_out=("a function that fails", "a function that gives NaN"),
)
add(
    "design",
    "thompson_batch",
    lambda **arguments: gi.design.thompson_batch(network_model(), **arguments),
    {**_BOX, "batch_size": 2},
    {"lower": "array", "upper": "array", "batch_size": COUNTS, "maximise": FLAGS},
    few=True,
)

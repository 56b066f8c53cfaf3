"""Builders."""

import functools
from typing import Any

from gpflow_gi import architectures
from tests.bad_inputs.examples import CLASSES, PIXELS, M, X, Y
from tests.bad_inputs.target import add
from tests.bad_inputs.values import CHOICES, COUNTS, FLAGS, NUMBERS, OBJECTS, SEEDS

_BUILDERS: dict[str, Any] = {
    "build_deep_gp": functools.partial(architectures.build_deep_gp, num_inducing=M),
    "build_bnn": functools.partial(architectures.build_bnn, num_inducing=M, widths=(3,)),
    "build_sip": functools.partial(architectures.build_sip, num_inducing=M, num_draws=3),
    "build_sparse_gp": functools.partial(architectures.build_sparse_gp, num_inducing=M),
    "build_vip": functools.partial(architectures.build_vip, num_inducing=M, num_draws=3),
}


for _name, _builder in _BUILDERS.items():
    add("architectures", _name, _builder, {"X": X, "Y": Y}, {"X": "array", "Y": "array"})
    add("architectures", _name, _builder, {"X": X, "Y": Y}, {"num_inducing": COUNTS, "seed": SEEDS})
add(
    "architectures",
    "build_deep_gp",
    _BUILDERS["build_deep_gp"],
    {"X": X, "Y": Y, "inducing_inputs": X[:M]},
    {
        "inducing_inputs": "array",
        "num_layers": COUNTS,
        "inference": CHOICES,
        "hidden_dim": COUNTS,
        "mean_function": CHOICES,
        "hidden_start": CHOICES,
        "shared_precision": FLAGS,
        "whiten": FLAGS,
        "kernel": OBJECTS,
        "likelihood": OBJECTS,
        "num_samples": COUNTS,
    },
)
add(
    "architectures",
    "build_vip",
    _BUILDERS["build_vip"],
    {"X": X, "Y": Y},
    {
        "num_layers": COUNTS,
        "inference": CHOICES,
        "process": OBJECTS,
        "num_draws": COUNTS,
        "hidden_dim": COUNTS,
        "likelihood": OBJECTS,
        "num_samples": COUNTS,
    },
)
add(
    "architectures",
    "build_sip",
    _BUILDERS["build_sip"],
    {"X": X, "Y": Y, "inducing_inputs": X[:M]},
    {
        "process": OBJECTS,
        "num_draws": COUNTS,
        "inducing_inputs": "array",
        "noise_dim": COUNTS,
        "widths": OBJECTS,
        "likelihood": OBJECTS,
        "num_samples": COUNTS,
    },
)
add(
    "architectures",
    "build_bnn",
    _BUILDERS["build_bnn"],
    {"X": X, "Y": Y, "inducing_inputs": X[:M]},
    {
        "widths": OBJECTS,
        "inference": CHOICES,
        "prior": CHOICES,
        "prior_scale": NUMBERS,
        "nonlinearity": OBJECTS,
        "bias": FLAGS,
        "shared_precision": FLAGS,
        "likelihood": OBJECTS,
        "num_samples": COUNTS,
        "inducing_inputs": "array",
    },
)
_resnet = functools.partial(architectures.build_resnet, width=2, num_blocks=1, num_inducing=3)
add(
    "architectures",
    "build_resnet",
    _resnet,
    {"X": PIXELS, "Y": CLASSES},
    {"X": "array", "Y": "array"},
)
add(
    "architectures",
    "build_resnet",
    _resnet,
    {"X": PIXELS, "Y": CLASSES},
    {
        "width": COUNTS,
        "num_blocks": COUNTS,
        "inference": CHOICES,
        "prior": CHOICES,
        "prior_scale": NUMBERS,
        "num_inducing": COUNTS,
        "likelihood": OBJECTS,
        "seed": SEEDS,
    },
    left_out=("31 digits",),
)
_resnet18 = functools.partial(architectures.build_resnet18, width=1, num_inducing=3)
add(
    "architectures",
    "build_resnet18",
    _resnet18,
    {"X": PIXELS, "Y": CLASSES},
    {
        "X": "array",
        "Y": "array",
        "width": COUNTS,
        "inference": CHOICES,
        "prior": CHOICES,
        "prior_scale": NUMBERS,
        "num_inducing": COUNTS,
        "likelihood": OBJECTS,
        "seed": SEEDS,
    },
    left_out=("31 digits",),
)

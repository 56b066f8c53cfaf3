"""Training and objectives."""

from typing import Any

import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.training import trackers
from tests.bad_inputs.examples import PIXELS, N, X, Y, deep_gp, latent_model, network, svgp
from tests.bad_inputs.target import add
from tests.bad_inputs.values import COUNTS, FLAGS, NUMBERS, OBJECTS, PATHS, SEEDS


def _fit(X: Any = X, Y: Any = Y, model: Any = None, **settings: Any) -> Any:
    model = deep_gp(num_layers=1) if model is None else model
    arguments = {"steps": 2, "progress": False, **settings}
    return gi.fit(model, (X, Y), **arguments)


def _fit_narrow(rows: Any) -> Any:
    return gi.fit(deep_gp(num_layers=1), rows, steps=2, progress=False)


add("training", "fit", _fit, {"X": X, "Y": Y}, {"X": "array", "Y": "array"})
add(
    "training",
    "fit of an SVGP",
    lambda X, Y: _fit(X, Y, svgp()),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
add(
    "training",
    "fit",
    _fit,
    {},
    {
        "steps": COUNTS,
        "batch_size": COUNTS,
        "num_samples": COUNTS,
        "kl_warmup": COUNTS,
        "until_converged": OBJECTS,
        "objective": OBJECTS,
        "temperature": NUMBERS,
        "learning_rate": NUMBERS,
        "optimizer": OBJECTS,
        "augment": OBJECTS,
        "callbacks": OBJECTS,
        "strategy": OBJECTS,
        "seed": SEEDS,
    },
)
add(
    "training",
    "TemperedBound",
    lambda temperature: _fit(objective=gi.objectives.TemperedBound(temperature)),
    {"temperature": 1.0},
    {"temperature": NUMBERS},
)
add(
    "training",
    "AlphaEnergy",
    lambda alpha: _fit(objective=gi.objectives.AlphaEnergy(alpha)),
    {"alpha": 0.5},
    {"alpha": NUMBERS},
)
add(
    "training",
    "DensityRatioKL",
    lambda **arguments: (
        _fit(
            model=gi.inference.Gaussian(network(), np.zeros(13), np.eye(13)),
            objective=gi.objectives.DensityRatioKL(**arguments),
        )
        .reports[-1]
        .objective
    ),  # it has no ELBO
    {"classifier": (3,), "num_draws": 3},
    {
        "classifier": OBJECTS,
        "alpha": NUMBERS,
        "symmetrised": FLAGS,
        "adaptive_contrast": FLAGS,
        "num_draws": COUNTS,
        "learning_rate": NUMBERS,
        "seed": SEEDS,
    },
)
add(
    "training",
    "FunctionalKL",
    lambda **arguments: (
        _fit(objective=gi.objectives.FunctionalKL(**arguments)).reports[-1].objective
    ),
    {"measurement_points": 2, "num_draws": 3},
    {
        "measurement_points": COUNTS,
        "alpha": NUMBERS,
        "num_draws": COUNTS,
        "noise": NUMBERS,
        "share": NUMBERS,
    },
)
add(
    "training",
    "classifier_kl",
    lambda **arguments: gi.objectives.classifier_kl(
        lambda S, seed: 1.0 + tf.random.stateless_normal([S, 1], seed, dtype=tf.float64),
        lambda S, seed: tf.random.stateless_normal([S, 1], seed, dtype=tf.float64),
        **arguments,
    ),
    {"classifier": (3,), "steps": 2, "num_draws": 3, "num_test_draws": 3},
    {
        "classifier": OBJECTS,
        "steps": COUNTS,
        "num_draws": COUNTS,
        "learning_rate": NUMBERS,
        "num_test_draws": COUNTS,
        "seed": SEEDS,
    },
)
add(
    "training",
    "NarrowRows",
    lambda X, Y, **arguments: _fit_narrow(gi.training.NarrowRows(X, Y, **arguments)),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
add(
    "training",
    "NoRise",
    lambda tol, steps: _fit(until_converged=gi.training.NoRise(tol, steps)),
    {"tol": 0.1, "steps": 1},
    {"tol": NUMBERS, "steps": COUNTS},
)
add(
    "training",
    "LinearTail",
    lambda rate, steps, share: _fit(learning_rate=gi.training.LinearTail(rate, steps, share)),
    {"rate": 0.1, "steps": 1, "share": 0.5},
    {"rate": NUMBERS, "steps": COUNTS, "share": NUMBERS},
)
add(
    "training",
    "AugmentedBound",
    lambda augment, temperature: _fit(
        objective=gi.objectives.AugmentedBound(augment, temperature=temperature)
    ),
    {"augment": lambda X, seed: X, "temperature": 1.0},
    {"augment": OBJECTS, "temperature": NUMBERS},
)
add(
    "training",
    "WeightedBound",
    lambda weights: _fit(objective=gi.objectives.WeightedBound(weights)),
    {"weights": np.ones(N)},
    {"weights": "array"},
)
add(
    "training",
    "fit",
    lambda model: gi.fit(model, (X, Y), steps=1, progress=False),
    {},
    {"model": OBJECTS},
)
add(
    "training",
    "fit",
    lambda data: gi.fit(deep_gp(), data, steps=1, progress=False),
    {},
    {"data": OBJECTS},
)
add("training", "TensorBoard", trackers.TensorBoard, {}, {"log_dir": PATHS})
add("training", "WeightsAndBiases", trackers.WeightsAndBiases, {}, {"run": OBJECTS})
add("models", "print_summary", gi.models.print_summary, {}, {"model": OBJECTS})
add(
    "training",
    "ImportanceWeighted",
    lambda num_samples: _fit(
        model=latent_model(), objective=gi.objectives.ImportanceWeighted(num_samples)
    ),
    {"num_samples": 2},
    {"num_samples": COUNTS},
    few=True,
)
add(
    "training",
    "fit with latent variables",
    lambda X, Y: _fit(X, Y, latent_model()),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
add(
    "training",
    "augmented",
    gi.training.augmented,
    {"images": PIXELS, "seed": 0},
    {"images": "array", "seed": SEEDS, "flip": FLAGS, "padding": COUNTS},
)

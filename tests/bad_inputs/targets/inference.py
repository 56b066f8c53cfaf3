"""Bounds and inference."""

from collections.abc import Callable
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi import bounds
from gpflow_gi.layers import DenseLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.posteriors import Prior
from tests.bad_inputs.examples import D, N, X, Y, local_gp, model, network
from tests.bad_inputs.target import add
from tests.bad_inputs.values import CHOICES, COUNTS, FLAGS, NUMBERS, OBJECTS, SEEDS

add(
    "bounds",
    "estimate_elbo",
    lambda X, Y: bounds.estimate_elbo(network(), (X, Y), 2),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
add(
    "bounds",
    "estimate_elbo",
    lambda model=None, num_samples=2, seed=0: bounds.estimate_elbo(
        model or network(), (X, Y), num_samples, seed=seed
    ),
    {},
    {"model": OBJECTS, "num_samples": COUNTS, "seed": SEEDS},
    left_out=("31 digits", "None", "an empty string", "an empty list", "a dict", "a large array"),
)
add(
    "bounds",
    "estimate_iwbo",
    lambda X, Y: bounds.estimate_iwbo(model(), (X, Y), 2, num_repeats=2),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
add(
    "bounds",
    "estimate_iwbo",
    lambda num_samples=2, num_repeats=2, seed=0: bounds.estimate_iwbo(
        model(), (X, Y), num_samples, num_repeats=num_repeats, seed=seed
    ),
    {},
    {"num_samples": COUNTS, "num_repeats": COUNTS, "seed": SEEDS},
    left_out=("31 digits",),
)


def _nuts(X: Any = X, Y: Any = Y, model: Any = None, **settings: Any) -> Any:
    arguments = {
        "num_draws": 4,
        "num_chains": 2,
        "num_adaptation_steps": 1,
        "max_tree_depth": 1,
        "jit_compile": False,
        **settings,
    }
    return gi.inference.nuts(network() if model is None else model, (X, Y), **arguments)


add(
    "inference",
    "nuts",
    _nuts,
    {"X": X, "Y": Y, "inputs": X},
    {"X": "array", "Y": "array", "inputs": "array"},
    few=True,
)
add(
    "inference",
    "nuts",
    _nuts,
    {},
    {
        "model": OBJECTS,
        "num_draws": COUNTS,
        "num_chains": COUNTS,
        "num_adaptation_steps": COUNTS,
        "max_tree_depth": COUNTS,
        "target_acceptance": NUMBERS,
        "seed": SEEDS,
    },
    left_out=("31 digits", "None", "NumPy's two", "unsigned two", "two", "a half", "400 digits"),
)


def _found(name: str) -> Callable[..., Any]:
    def call(X: Any = X, Y: Any = Y, model: Any = None, **settings: Any) -> Any:
        settings = {"steps": 1, **settings}
        method = getattr(gi.inference, name)
        return method(network() if model is None else model, (X, Y), **settings)

    return call


_SEARCH: dict[str, Any] = {
    "steps": COUNTS,
    "batch_size": COUNTS,
    "learning_rate": NUMBERS,
    "train_likelihood": FLAGS,
    "seed": SEEDS,
}


for _name, _more in {
    "map_estimate": {},
    "laplace": {
        "structure": CHOICES,
        "noise": CHOICES,
        "curvature": CHOICES,
        "prior_precision": CHOICES,
        "predictive": CHOICES,
    },
    "ensemble": {"num_members": COUNTS, "random_priors": FLAGS},
    "variational": {
        "family": CHOICES,
        "num_samples": COUNTS,
        "rank": COUNTS,
        "flow_steps": COUNTS,
        "width": COUNTS,
        "dropout_rate": NUMBERS,
    },
}.items():
    add("inference", _name, _found(_name), {"X": X, "Y": Y}, dict.fromkeys("XY", "array"), few=True)
    add(
        "inference",
        _name,
        _found(_name),
        {},
        {"model": OBJECTS, **_SEARCH, **_more},
        left_out=("31 digits", "None", "400 digits"),
    )


for _name, _more in {
    "swag": {"rank": COUNTS, "interval": COUNTS, "map_steps": COUNTS},
    "multi_swag": {"num_members": COUNTS, "rank": COUNTS},
    "sghmc": {
        "num_draws": COUNTS,
        "num_chains": COUNTS,
        "friction": NUMBERS,
        "cycles": COUNTS,
        "map_steps": COUNTS,
    },
    "sgld": {"num_draws": COUNTS, "cycles": COUNTS, "map_steps": COUNTS},
}.items():
    _usual = {"rank": 2, "steps": 4, "interval": 1} if "swag" in _name else {"num_draws": 1}
    add(
        "inference",
        _name,
        lambda _name=_name, _usual=_usual, **arguments: _found(_name)(**{**_usual, **arguments}),
        {"X": X, "Y": Y},
        dict.fromkeys("XY", "array"),
        few=True,
    )
    add(
        "inference",
        _name,
        lambda _name=_name, _usual=_usual, **arguments: _found(_name)(**{**_usual, **arguments}),
        {},
        {
            "model": OBJECTS,
            "steps": COUNTS,
            "batch_size": COUNTS,
            "learning_rate": NUMBERS,
            "seed": SEEDS,
            **_more,
        },
        left_out=("31 digits", "None", "400 digits", "20 digits"),
    )


for _arguments, _kinds in (
    ({"X": X, "Y": Y}, dict.fromkeys("XY", "array")),
    (
        {},
        {
            "model": OBJECTS,
            "num_draws": COUNTS,
            "num_chains": COUNTS,
            "burn_in": COUNTS,
            "steps": COUNTS,
            "batch_size": COUNTS,
            "step_size": NUMBERS,
            "friction": NUMBERS,
            "learning_rate": NUMBERS,
            "window": COUNTS,
            "seed": SEEDS,
        },
    ),
):
    add(
        "inference",
        "sghmc_inducing",
        lambda X=X, Y=Y, model=None, **settings: gi.inference.sghmc_inducing(
            local_gp() if model is None else model,
            (X, Y),
            **{"num_draws": 1, "burn_in": 1, "steps": 1, **settings},
        ),
        _arguments,
        _kinds,
        few=True,
        left_out=("31 digits", "None", "400 digits", "20 digits"),
    )
add(
    "bounds",
    "annealed_evidence",
    lambda X=X, Y=Y, model=None, **settings: bounds.annealed_evidence(
        network() if model is None else model,
        (X, Y),
        **{"num_temperatures": 2, "num_chains": 2, "num_leapfrog": 1, **settings},
    ),
    {"X": X, "Y": Y},
    dict.fromkeys("XY", "array"),
    few=True,
)
add(
    "bounds",
    "annealed_evidence",
    lambda model=None, **settings: bounds.annealed_evidence(
        network() if model is None else model,
        (X, Y),
        **{"num_temperatures": 2, "num_chains": 2, "num_leapfrog": 1, **settings},
    ),
    {},
    {
        "model": OBJECTS,
        "start": OBJECTS,
        "num_temperatures": COUNTS,
        "num_chains": COUNTS,
        "num_leapfrog": COUNTS,
        "seed": SEEDS,
    },
    left_out=("31 digits", "None", "400 digits"),
)
add(
    "bounds",
    "pareto_smoothed",
    lambda model=None, num_samples=25, seed=0: bounds.pareto_smoothed(
        network() if model is None else model, (X, Y), num_samples, seed=seed
    ),
    {},
    {"model": OBJECTS, "num_samples": COUNTS, "seed": SEEDS},
    left_out=("31 digits", "None", "400 digits"),
)
add(
    "inference",
    "reweighted",
    lambda posterior=None, num_samples=25, num_draws=2, seed=0: gi.inference.reweighted(
        gi.inference.variational(network(), (X, Y), steps=1).model
        if posterior is None
        else posterior,
        (X, Y),
        num_samples,
        num_draws=num_draws,
        seed=seed,
    ),
    {},
    {"posterior": OBJECTS, "num_samples": COUNTS, "num_draws": COUNTS, "seed": SEEDS},
    left_out=("31 digits", "None", "400 digits"),
)


def _quadratic(theta: Any) -> Any:
    return -0.5 * tf.reduce_sum(theta**2, axis=1)


add(
    "inference",
    "Target",
    lambda size=2, log_prob=_quadratic, log_likelihood=None: gi.inference.Target(
        size, log_prob, log_likelihood
    ),
    {},
    {"size": COUNTS, "log_prob": OBJECTS, "log_likelihood": OBJECTS},
    left_out=("31 digits", "None", "400 digits"),
)
_SIZE = 3  # of one dense layer's weights to one output, with a bias


def _weights_of(name: str) -> Callable[..., Any]:
    def call(**arguments: Any) -> Any:
        layers = [DenseLayer(D, 1, Prior())]
        model = DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=N)
        posterior = getattr(gi.inference, name)(model, **arguments)
        return posterior.predict_y(X, 2, seed=0)

    return call


add(
    "inference",
    "Samples",
    _weights_of("Samples"),
    {"theta": np.zeros((2, _SIZE))},
    {"theta": "array", "num_samples": COUNTS},
)
add(
    "inference",
    "Gaussian",
    _weights_of("Gaussian"),
    {"mean": np.zeros(_SIZE), "root": np.eye(_SIZE), "diagonal": np.ones(_SIZE)},
    {"mean": "array", "root": "array", "diagonal": "array", "num_samples": COUNTS},
    left_out=("None",),
)
add(
    "inference",
    "KroneckerGaussian",
    lambda mean, inputs, outputs, scales: _weights_of("KroneckerGaussian")(
        mean=mean, inputs=[inputs], outputs=[outputs], scales=[scales]
    ),
    {
        "mean": np.zeros(_SIZE),
        "inputs": np.eye(_SIZE),
        "outputs": np.eye(1),
        "scales": np.ones((_SIZE, 1)),
    },
    {"mean": "array", "inputs": "array", "outputs": "array", "scales": "array"},
)


for _name, _arguments in {
    "Radial": {"mean": np.zeros(_SIZE), "scale": np.ones(_SIZE)},
    "Flow": {"mean": np.zeros(_SIZE), "scale": np.ones(_SIZE), "steps": []},
    "Dropout": {"mean": np.zeros(_SIZE)},
}.items():
    _tried = {name: "array" for name in _arguments if name != "steps"}
    if _name == "Flow":
        _tried["steps"] = OBJECTS
    if _name == "Dropout":
        _tried["rate"] = NUMBERS
    add(
        "inference",
        _name,
        _weights_of(_name),
        _arguments,
        {**_tried, "num_samples": COUNTS},
        left_out=("None",),
    )
add(
    "inference",
    "Implicit",
    _weights_of("Implicit"),
    {"sampler": lambda S, seed: tf.random.stateless_normal([S, _SIZE], seed, dtype=tf.float64)},
    {"sampler": OBJECTS, "num_samples": COUNTS},
    left_out=("a class of kernels",),  # whose own error it shows
)
add("inference", "WeightSpace", gi.inference.WeightSpace, {}, {"model": OBJECTS})
add("inference", "Mixture", gi.inference.Mixture, {}, {"components": OBJECTS})
add("inference", "Linearised", gi.inference.Linearised, {}, {"posterior": OBJECTS})

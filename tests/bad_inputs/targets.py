"""The public names, each with good arguments and what each of them is."""

import functools
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import gpflow
import matplotlib
import numpy as np
import pandas as pd
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi import architectures, bounds, classification_metrics, datasets, metrics, plotting
from gpflow_gi.estimators import BNNClassifier, BNNRegressor, DeepGPClassifier, DeepGPRegressor
from gpflow_gi.implicit import (
    EmpiricalMean,
    KernelProcess,
    NetworkProcess,
    NeuralSampler,
    PriorProcess,
    empirical_gp,
)
from gpflow_gi.interop import as_keras_model, from_gpflux
from gpflow_gi.kernels import BNNKernel, EmpiricalKernel
from gpflow_gi.layers import (
    Conv2DLayer,
    DenseLayer,
    Deterministic,
    GPLayer,
    ImplicitLayer,
    LatentVariableLayer,
    Residual,
    UncertainInputs,
)
from gpflow_gi.models import DeepGP
from gpflow_gi.nonlinearities import as_nonlinearity
from gpflow_gi.posteriors import (
    Factorised,
    FullGaussian,
    GlobalInducing,
    ImplicitInducing,
    LocalInducing,
    NoiseNetwork,
    Optimal,
    Prior,
    Recorded,
    RecordedInducing,
)
from gpflow_gi.priors import ARDPrior, NealPrior, ScalePrior, SpatialIWPrior, StandardPrior
from gpflow_gi.training import trackers

from .values import ARRAYS, CHOICES, COUNTS, FLAGS, LABELS, NAMES, NUMBERS, OBJECTS, PATHS, SEEDS

matplotlib.use("Agg")

N, D, M, S = 6, 2, 3, 2
_rng = np.random.default_rng(0)
X, Y = _rng.normal(size=(N, D)), _rng.normal(size=(N, 1))
PIXELS = _rng.normal(size=(N, 4, 4, 1))
CLASSES = np.array([[0.0], [1.0], [2.0], [0.0], [1.0], [2.0]])
LABEL_LIST = np.array([0, 1, 0, 1, 0, 1])
MEAN, VARIANCE = _rng.normal(size=(S, N, 1)), np.exp(_rng.normal(size=(S, N, 1)))
PROBABILITIES = np.full((N, 2), 0.5)
PIT = np.linspace(0.1, 0.9, N)


@dataclass(frozen=True)
class Target:
    """A public name."""

    area: str
    name: str
    call: Callable[..., Any]
    good: Mapping[str, Any]
    """Arguments that it takes."""

    bad: Mapping[str, Any]
    """For some of them what they are: one of the tables of values, or "array"."""

    few: bool = False
    """True if a call is so slow that only some bad arrays are tried."""

    of_estimator: bool = False
    left_out: tuple[str, ...] = field(default=())
    """Values that say something else here."""


TARGETS: list[Target] = []

FEW = (
    "NaN in the last entry",
    "infinity",
    "complex",
    "masked in one entry",
    "dates",
    "None",
    "sparse matrix of SciPy",
    "rank 1",
    "one row less",
    "zero rows",
    "a data frame",
    "1e200",
    "1e308",
    "text",
    "rows of unequal lengths",
    "one column more",
    "one row",
)
"""Bad arrays for what takes long where they are taken."""


def cases() -> list[tuple[str, str, Target, str, Callable[[], Any]]]:
    """Every case: its name, what kind it is, the target, the argument, and a call."""
    found = []
    for target in TARGETS:
        for argument, role in target.bad.items():
            if role == "array":
                good = np.asarray(target.good[argument])
                for kind, makers in ARRAYS.items():
                    for value, make in makers.items():
                        if target.few and value not in FEW:
                            continue
                        call = functools.partial(_call, target, argument, make, good)
                        found.append((value, kind, target, argument, call))
                continue
            for value, bad in role.items():
                if value in target.left_out:
                    continue
                call = functools.partial(_call, target, argument, None, bad)
                found.append((value, _KINDS[id(role)], target, argument, call))
    return [
        (f"{target.name}({argument}: {value})", kind, target, argument, call)
        for value, kind, target, argument, call in found
    ]


def _call(target: Target, argument: str, make: Any, value: Any) -> Any:
    arguments = {
        name: good() if isinstance(good, _Fresh) else good for name, good in target.good.items()
    }
    arguments[argument] = value if make is None else make(value)
    return target.call(**arguments)


_KINDS = {
    id(COUNTS): "counts",
    id(NUMBERS): "numbers",
    id(CHOICES): "choices",
    id(FLAGS): "flags",
    id(SEEDS): "seeds",
    id(OBJECTS): "objects",
    id(PATHS): "paths",
    id(NAMES): "names",
    id(LABELS): "labels",
}


class _Fresh:
    """An argument that each call makes anew."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self._make = make

    def __call__(self) -> Any:
        return self._make()


def _add(
    area: str, name: str, call: Any, good: Mapping[str, Any], bad: Mapping[str, Any], **options: Any
) -> None:
    TARGETS.append(Target(area, name, call, good, bad, **options))


# ------------------------------------------------------------------------------------- small models


def gp_layer(P: int = 1, posterior: Any = None) -> GPLayer:
    return GPLayer(gpflow.kernels.SquaredExponential(), P, posterior or GlobalInducing(M, P))


def deep_gp(likelihood: Any = None, P: int = 1, num_layers: int = 2) -> DeepGP:
    hidden = [gp_layer(D) for _ in range(num_layers - 1)]
    likelihood = likelihood or gpflow.likelihoods.Gaussian()
    return DeepGP([*hidden, gp_layer(P)], likelihood, num_data=N, inducing_inputs=X[:M])


def local_gp() -> DeepGP:
    layer = gp_layer(1, LocalInducing(X[:M], 1))
    return DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=N)


def network(num_data: int = N) -> DeepGP:
    layers = [DenseLayer(D, 3, Factorised()), tf.nn.tanh, DenseLayer(3, 1, Factorised())]
    return DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=num_data)


@functools.cache
def model() -> DeepGP:
    return deep_gp()


@functools.cache
def classifier() -> DeepGP:
    return deep_gp(gpflow.likelihoods.Softmax(3), 3)


@functools.cache
def binary_classifier() -> DeepGP:
    return deep_gp(gpflow.likelihoods.Bernoulli())


@functools.cache
def image_model() -> DeepGP:
    return architectures.build_resnet(PIXELS, CLASSES, width=2, num_blocks=1, num_inducing=3)


def latent_model() -> DeepGP:
    layers = [LatentVariableLayer(1, num_data=N), gp_layer()]
    return DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=N, inducing_inputs=X[:M])


def svgp() -> Any:
    return gpflow.models.SVGP(
        gpflow.kernels.SquaredExponential(),
        gpflow.likelihoods.Gaussian(),
        X[:M].copy(),
        num_data=N,
    )


@functools.cache
def network_model() -> DeepGP:
    return network()


# ----------------------------------------------------------------------------------------- training


def _fit(X: Any = X, Y: Any = Y, model: Any = None, **settings: Any) -> Any:
    model = deep_gp(num_layers=1) if model is None else model
    arguments = {"steps": 2, "progress": False, **settings}
    return gi.fit(model, (X, Y), **arguments)


def _fit_narrow(rows: Any) -> Any:
    return gi.fit(deep_gp(num_layers=1), rows, steps=2, progress=False)


_add("training", "fit", _fit, {"X": X, "Y": Y}, {"X": "array", "Y": "array"})
_add(
    "training",
    "fit of an SVGP",
    lambda X, Y: _fit(X, Y, svgp()),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
_add(
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
_add(
    "training",
    "TemperedBound",
    lambda temperature: _fit(objective=gi.objectives.TemperedBound(temperature)),
    {"temperature": 1.0},
    {"temperature": NUMBERS},
)
_add(
    "training",
    "AlphaEnergy",
    lambda alpha: _fit(objective=gi.objectives.AlphaEnergy(alpha)),
    {"alpha": 0.5},
    {"alpha": NUMBERS},
)
_add(
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
_add(
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
_add(
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
_add(
    "training",
    "NarrowRows",
    lambda X, Y, **arguments: _fit_narrow(gi.training.NarrowRows(X, Y, **arguments)),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
_add(
    "training",
    "NoRise",
    lambda tol, steps: _fit(until_converged=gi.training.NoRise(tol, steps)),
    {"tol": 0.1, "steps": 1},
    {"tol": NUMBERS, "steps": COUNTS},
)
_add(
    "training",
    "LinearTail",
    lambda rate, steps, share: _fit(learning_rate=gi.training.LinearTail(rate, steps, share)),
    {"rate": 0.1, "steps": 1, "share": 0.5},
    {"rate": NUMBERS, "steps": COUNTS, "share": NUMBERS},
)
_add(
    "training",
    "AugmentedBound",
    lambda augment, temperature: _fit(
        objective=gi.objectives.AugmentedBound(augment, temperature=temperature)
    ),
    {"augment": lambda X, seed: X, "temperature": 1.0},
    {"augment": OBJECTS, "temperature": NUMBERS},
)
_add(
    "training",
    "WeightedBound",
    lambda weights: _fit(objective=gi.objectives.WeightedBound(weights)),
    {"weights": np.ones(N)},
    {"weights": "array"},
)
_add(
    "training",
    "fit",
    lambda model: gi.fit(model, (X, Y), steps=1, progress=False),
    {},
    {"model": OBJECTS},
)
_add(
    "training",
    "fit",
    lambda data: gi.fit(deep_gp(), data, steps=1, progress=False),
    {},
    {"data": OBJECTS},
)
_add("training", "TensorBoard", trackers.TensorBoard, {}, {"log_dir": PATHS})
_add("training", "WeightsAndBiases", trackers.WeightsAndBiases, {}, {"run": OBJECTS})
_add("models", "print_summary", gi.models.print_summary, {}, {"model": OBJECTS})
_add(
    "training",
    "ImportanceWeighted",
    lambda num_samples: _fit(
        model=latent_model(), objective=gi.objectives.ImportanceWeighted(num_samples)
    ),
    {"num_samples": 2},
    {"num_samples": COUNTS},
    few=True,
)
_add(
    "training",
    "fit with latent variables",
    lambda X, Y: _fit(X, Y, latent_model()),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
_add(
    "training",
    "augmented",
    gi.training.augmented,
    {"images": PIXELS, "seed": 0},
    {"images": "array", "seed": SEEDS, "flip": FLAGS, "padding": COUNTS},
)

# ------------------------------------------------------------------------------------ architectures

_BUILDERS: dict[str, Any] = {
    "build_deep_gp": functools.partial(architectures.build_deep_gp, num_inducing=M),
    "build_bnn": functools.partial(architectures.build_bnn, num_inducing=M, widths=(3,)),
    "build_sip": functools.partial(architectures.build_sip, num_inducing=M, num_draws=3),
    "build_sparse_gp": functools.partial(architectures.build_sparse_gp, num_inducing=M),
    "build_vip": functools.partial(architectures.build_vip, num_inducing=M, num_draws=3),
}
for _name, _builder in _BUILDERS.items():
    _add("architectures", _name, _builder, {"X": X, "Y": Y}, {"X": "array", "Y": "array"})
    _add(
        "architectures", _name, _builder, {"X": X, "Y": Y}, {"num_inducing": COUNTS, "seed": SEEDS}
    )
_add(
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
_add(
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
_add(
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
_add(
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
_add(
    "architectures",
    "build_resnet",
    _resnet,
    {"X": PIXELS, "Y": CLASSES},
    {"X": "array", "Y": "array"},
)
_add(
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
_add(
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

# ------------------------------------------------------------------------------------------- models


def _model(**arguments: Any) -> DeepGP:
    good = {
        "layers": [gp_layer()],
        "likelihood": gpflow.likelihoods.Gaussian(),
        "num_data": N,
        "inducing_inputs": X[:M],
    }
    return DeepGP(**{**good, **arguments})


_add(
    "models",
    "DeepGP",
    _model,
    {"inducing_inputs": X[:M]},
    {
        "layers": OBJECTS,
        "likelihood": OBJECTS,
        "num_data": COUNTS,
        "num_samples": COUNTS,
        "inducing_inputs": "array",
    },
)

_OF_DATA: dict[str, Any] = {
    "DeepGP.elbo": lambda X, Y: model().elbo((X, Y), seed=0),
    "DeepGP.training_loss": lambda X, Y: model().training_loss((X, Y), seed=0),
    "DeepGP.predict_log_density": lambda X, Y: model().predict_log_density((X, Y), S, seed=0),
    "DeepGP.first_non_finite": lambda X, Y: model().first_non_finite((X, Y), seed=0),
    "DeepGP.check_data": lambda X, Y: model().check_data((X, Y)),
    "posterior.predict_log_density": lambda X, Y: posterior().predict_log_density((X, Y)),
    "DeepGP.elbo of a network": lambda X, Y: network_model().elbo((X, Y), seed=0),
    "DeepGP.iwbo": lambda X, Y: model().iwbo((X, Y), S, seed=0),
    "DeepGP.log_importance_weights": lambda X, Y: model().log_importance_weights((X, Y), S, seed=0),
    "DeepGP.training_loss_closure": lambda X, Y: model().training_loss_closure(
        (X, Y), compile=False, seed=0
    )(),
}
_IN_FULL = (
    "DeepGP.elbo",
    "DeepGP.predict_log_density",
    "DeepGP.predict_f",
    "DeepGP.check_inputs",
    "DeepGP.check_data",
    "sample_functions()",
)
"""Those of them that get all bad arrays. The others check their arguments as these do."""

for _name, _method in _OF_DATA.items():
    _add(
        "models",
        _name,
        _method,
        {"X": X, "Y": Y},
        {"X": "array", "Y": "array"},
        few=_name not in _IN_FULL,
    )
_add(
    "models",
    "DeepGP.elbo of labels",
    lambda Y: classifier().elbo((X, Y), seed=0),
    {"Y": CLASSES},
    {"Y": "array"},
)
_add(
    "models",
    "DeepGP.predict_log_density of labels",
    lambda Y: classifier().predict_log_density((X, Y), S, seed=0),
    {"Y": CLASSES},
    {"Y": "array"},
)
_add(
    "models",
    "DeepGP.predict_log_density of two labels",
    lambda Y: binary_classifier().predict_log_density((X, Y), S, seed=0),
    {"Y": CLASSES % 2},
    {"Y": "array"},
)

_OF_INPUTS: dict[str, Any] = {
    "DeepGP.predict_f": lambda X: model().predict_f(X, S, seed=0),
    "DeepGP.predict_f of full_cov": lambda X: model().predict_f(X, S, True, seed=0),
    "DeepGP.predict_y": lambda X: model().predict_y(X, S, seed=0),
    "DeepGP.predict_y_components": lambda X: model().predict_y_components(X, S, seed=0),
    "DeepGP.predict_proba": lambda X: classifier().predict_proba(X, S, seed=0),
    "DeepGP.predict_f_samples": lambda X: model().predict_f_samples(X, S, seed=0),
    "DeepGP.predict_f_samples by rows": lambda X: model().predict_f_samples(X, S, False, seed=0),
    "DeepGP.check_inputs": lambda X: model().check_inputs(X),
    "sample_functions()": lambda X: functions()(X),
    "sample_functions(num_features=None)": lambda X: model().sample_functions(
        S, seed=0, num_features=None
    )(X),
    "sample_prior()": lambda X: model().sample_prior(S, seed=0)(X),
    "posterior.predict_f": lambda X: posterior().predict_f(X),
    "posterior.predict_y": lambda X: posterior().predict_y(X),
    "posterior.predict_y_components": lambda X: posterior().predict_y_components(X),
    "posterior.predict_proba": lambda X: classifier_posterior().predict_proba(X),
    "DeepGP.predict_y of a network": lambda X: network_model().predict_y(X, S, seed=0),
}
for _name, _method in _OF_INPUTS.items():
    _add("models", _name, _method, {"X": X}, {"X": "array"}, few=_name not in _IN_FULL)
_add(
    "models",
    "DeepGP.predict_y of images",
    lambda X: image_model().predict_y(X, S, seed=0),
    {"X": PIXELS},
    {"X": "array"},
)


@functools.cache
def posterior() -> Any:
    return model().posterior(S, seed=0)


@functools.cache
def classifier_posterior() -> Any:
    return classifier().posterior(S, seed=0)


@functools.cache
def functions() -> Any:
    return model().sample_functions(S, seed=0)


for _name in ("predict_f", "predict_y", "predict_y_components", "predict_f_samples"):
    _add(
        "models",
        f"DeepGP.{_name}",
        lambda num_samples=S, seed=0, name=_name: getattr(model(), name)(
            X, num_samples=num_samples, seed=seed
        ),
        {},
        {"num_samples": COUNTS, "seed": SEEDS},
    )
for _name in ("elbo", "bound_terms", "row_terms", "predict_log_density", "first_non_finite"):
    _add(
        "models",
        f"DeepGP.{_name}",
        lambda num_samples=S, seed=0, name=_name: getattr(model(), name)(
            (X, Y), num_samples=num_samples, seed=seed
        ),
        {},
        {"num_samples": COUNTS, "seed": SEEDS},
    )
    _add(
        "models",
        f"DeepGP.{_name}",
        lambda data, name=_name: getattr(model(), name)(data),
        {},
        {"data": OBJECTS},
    )
_add(
    "models",
    "DeepGP.predict_f",
    lambda full_cov: model().predict_f(X, S, full_cov),
    {},
    {"full_cov": FLAGS},
)
for _name in ("sample_functions", "sample_prior"):
    _add(
        "models",
        f"DeepGP.{_name}",
        lambda num_samples=S, seed=0, num_features=5, name=_name: getattr(model(), name)(
            num_samples, seed, num_features=num_features
        )(X),
        {},
        {"num_samples": COUNTS, "seed": SEEDS, "num_features": COUNTS},
    )
for _name in ("posterior", "inducing_activations"):
    _add(
        "models",
        f"DeepGP.{_name}",
        lambda num_samples=S, seed=0, name=_name: getattr(model(), name)(num_samples, seed),
        {},
        {"num_samples": COUNTS, "seed": SEEDS},
    )

# -------------------------------------------------------------- layers, posteriors, priors, kernels

_OF_LAYERS = {"output_dim": COUNTS, "posterior": OBJECTS}


def _gp_layer(kernel: Any = None, output_dim: Any = 1, posterior: Any = "good", **more: Any) -> Any:
    posterior = (
        GlobalInducing(M, 1) if isinstance(posterior, str) and posterior == "good" else posterior
    )
    return GPLayer(
        gpflow.kernels.Matern52() if kernel is None else kernel, output_dim, posterior, **more
    )


_add(
    "layers",
    "GPLayer",
    _gp_layer,
    {},
    {**_OF_LAYERS, "kernel": OBJECTS, "mean_function": OBJECTS},
    left_out=("None",),
)
_add(
    "layers",
    "DenseLayer",
    DenseLayer,
    {"input_dim": D, "output_dim": 1, "posterior": _Fresh(lambda: Factorised())},
    {**_OF_LAYERS, "input_dim": COUNTS, "prior": OBJECTS, "bias": FLAGS},
    left_out=("unsigned two",),
)
_add(
    "layers",
    "Conv2DLayer",
    Conv2DLayer,
    {"input_shape": (4, 4, 1), "filters": 2, "kernel_size": 2, "posterior": _Fresh(Prior)},
    {
        "input_shape": OBJECTS,
        "filters": COUNTS,
        "kernel_size": COUNTS,
        "posterior": OBJECTS,
        "strides": COUNTS,
        "padding": CHOICES,
        "prior": OBJECTS,
    },
)
_add(
    "layers",
    "Residual",
    Residual,
    {"layers": [tf.nn.tanh]},
    {"layers": OBJECTS, "shortcut": OBJECTS},
)
_add(
    "layers",
    "Deterministic",
    lambda function: Deterministic(function)(tf.constant(X)),
    {},
    {"function": OBJECTS},
    # Functions of the user's own, whose errors and numbers are theirs.
    left_out=("a function", "a function that fails", "a likelihood", "a function that gives NaN"),
)

_add(
    "layers",
    "LatentVariableLayer",
    LatentVariableLayer,
    {"latent_dim": 1, "num_data": N},
    {"latent_dim": COUNTS, "num_data": COUNTS},
)
_add(
    "layers",
    "LatentVariableLayer",
    lambda encoder: LatentVariableLayer(1, encoder=encoder),
    {"encoder": lambda rows: rows[:, :2]},
    {"encoder": OBJECTS},
    left_out=("a function", "a function that fails", "a likelihood", "a function that gives NaN"),
)
_add(
    "layers",
    "UncertainInputs",
    UncertainInputs,
    {"variance": np.ones(D)},
    {"variance": "array"},
)
_add(
    "layers",
    "GPLayer",
    lambda mixing: GPLayer(gpflow.kernels.Matern52(), 2, GlobalInducing(M, 1), mixing=mixing),
    {"mixing": np.ones((2, 1))},
    {"mixing": "array"},
    left_out=("None",),
)
_add(
    "models",
    "DeepGP with missing outputs",
    lambda missing: DeepGP(
        [gp_layer()],
        gpflow.likelihoods.Gaussian(),
        num_data=N,
        inducing_inputs=X[:M],
        missing=missing,
    ),
    {"missing": "ignore"},
    {"missing": CHOICES},
)
_add(
    "models",
    "update",
    lambda X, Y, **more: deep_gp(num_layers=1).update((X, Y), **more),
    {"X": X, "Y": Y, "num_inducing": 2},
    {"X": "array", "Y": "array", "num_inducing": COUNTS},
    few=True,
)
for _name in ("elbo", "iwbo", "importance_weighted_terms"):
    _more = {} if _name == "elbo" else {"num_samples": 2}
    if _name == "importance_weighted_terms":
        _more["num_importance_samples"] = 2
    _add(
        "models",
        f"{_name} with latent variables",
        lambda X, Y, _name=_name, **more: getattr(latent_model(), _name)((X, Y), **more),
        {"X": X, "Y": Y, **_more},
        {"X": "array", "Y": "array", **dict.fromkeys(_more, COUNTS)},
        few=True,
    )

V = _rng.normal(size=(M, 1))
_add(
    "posteriors",
    "GlobalInducing",
    GlobalInducing,
    {"num_inducing": M, "output_dim": 1, "pseudo_outputs": V, "pseudo_precision": np.ones(M)},
    {
        "num_inducing": COUNTS,
        "output_dim": COUNTS,
        "pseudo_outputs": "array",
        "pseudo_precision": "array",
        "precision": CHOICES,
        "shared": FLAGS,
        "whiten": FLAGS,
    },
)
_add(
    "posteriors",
    "LocalInducing",
    LocalInducing,
    {"inducing_inputs": X[:M], "output_dim": 1, "q_mu": V, "q_sqrt": np.eye(M)[None]},
    {
        "inducing_inputs": "array",
        "output_dim": COUNTS,
        "q_mu": "array",
        "q_sqrt": "array",
        "precision": CHOICES,
        "shared": FLAGS,
    },
)
_add(
    "posteriors",
    "Factorised",
    lambda **start: DenseLayer(D, 1, Factorised(**start)),
    {"mean": np.zeros((D + 1, 1)), "standard_deviation": np.ones((D + 1, 1))},
    {"mean": "array", "standard_deviation": "array"},
)
_add(
    "posteriors",
    "RecordedInducing",
    lambda **values: gp_layer(1, RecordedInducing(**values)),
    {"inducing_inputs": np.zeros((3, D)), "values": np.ones((4, 3, 1))},
    {"inducing_inputs": "array", "values": "array"},
)
_add("posteriors", "Recorded", Recorded, {"weights": np.ones((4, D + 1, 1))}, {"weights": "array"})
_add(
    "posteriors",
    "Optimal",
    Optimal,
    {"X": X, "Y": Y, "likelihood": gpflow.likelihoods.Gaussian()},
    {"X": "array", "Y": "array", "likelihood": OBJECTS},
)
_add(
    "posteriors",
    "FullGaussian",
    lambda **start: DenseLayer(D, 1, FullGaussian(**start)),
    {"q_mu": np.zeros((D + 1, 1)), "q_sqrt": np.eye(D + 1)[None]},
    {"q_mu": "array", "q_sqrt": "array"},
)
_add(
    "posteriors",
    "FullGaussian of a GPLayer",
    lambda **values: gp_layer(1, FullGaussian(**values)),
    {"num_inducing": M, "q_mu": V, "q_sqrt": np.eye(M)[None]},
    {"num_inducing": COUNTS, "q_mu": "array", "q_sqrt": "array"},
)
_add(
    "posteriors",
    "NoiseNetwork",
    NoiseNetwork,
    {"output_dim": M, "mean": np.zeros(M)},
    {
        "output_dim": COUNTS,
        "noise_dim": COUNTS,
        "widths": OBJECTS,
        "nonlinearity": OBJECTS,
        "mean": "array",
        "seed": SEEDS,
    },
    left_out=("an empty list", "a function"),
)
_add(
    "posteriors",
    "ImplicitInducing",
    ImplicitInducing,
    {"inducing_inputs": X[:M], "sampler": NoiseNetwork(M)},
    {"inducing_inputs": "array", "sampler": OBJECTS, "noise_variance": NUMBERS},
)
_OF_PROCESSES = {
    "input_dim": COUNTS,
    "output_dim": COUNTS,
    "widths": OBJECTS,
    "nonlinearity": OBJECTS,
    "seed": SEEDS,
}
for _process in (NetworkProcess, NeuralSampler):
    _add(
        "implicit",
        _process.__name__,
        _process,
        {"input_dim": D},
        {
            **_OF_PROCESSES,
            **(
                {} if _process is NetworkProcess else {"noise_dim": COUNTS, "dropout_rate": NUMBERS}
            ),
        },
        left_out=("an empty list", "a function"),
    )
_add(
    "implicit",
    "KernelProcess",
    KernelProcess,
    {"kernel": gpflow.kernels.Matern52(), "input_dim": D},
    {
        "kernel": OBJECTS,
        "input_dim": COUNTS,
        "output_dim": COUNTS,
        "num_features": COUNTS,
        "warp": OBJECTS,
        "seed": SEEDS,
    },
)
_add("implicit", "PriorProcess", PriorProcess, {}, {"model": OBJECTS})
_add(
    "implicit",
    "Process.draw",
    lambda num_draws, seed, X: NetworkProcess(D, widths=(2,)).draw(num_draws, seed)(X),
    {"num_draws": 2, "seed": 0, "X": X},
    {"num_draws": COUNTS, "seed": SEEDS, "X": "array"},
)
_add(
    "implicit",
    "empirical_gp",
    empirical_gp,
    {"process": NetworkProcess(D), "num_draws": 3},
    {"process": OBJECTS, "num_draws": COUNTS},
)
_add(
    "implicit",
    "EmpiricalMean",
    EmpiricalMean,
    {"process": NetworkProcess(D), "num_draws": 3},
    {"process": OBJECTS, "num_draws": COUNTS},
)
_add(
    "kernels",
    "EmpiricalKernel",
    EmpiricalKernel,
    {"process": NetworkProcess(D), "num_draws": 3},
    {"process": OBJECTS, "num_draws": COUNTS, "output": COUNTS},
)
_add(
    "layers",
    "ImplicitLayer",
    ImplicitLayer,
    {"process": NetworkProcess(D), "output_dim": 1, "posterior": _Fresh(lambda: FullGaussian())},
    {
        "process": OBJECTS,
        "output_dim": COUNTS,
        "posterior": OBJECTS,
        "num_draws": COUNTS,
        "mean_function": OBJECTS,
    },
    left_out=("None",),
)
_add(
    "priors",
    "ARDPrior",
    ARDPrior,
    {"num_weights": 3},
    {"num_weights": COUNTS, "scale": NUMBERS, "learn_scales": FLAGS},
)
for _prior in (NealPrior, StandardPrior):
    _add("priors", _prior.__name__, _prior, {}, {"scale": NUMBERS, "learn_scale": FLAGS})
_add(
    "priors",
    "ScalePrior",
    ScalePrior,
    {},
    dict.fromkeys(("scale", "shape", "rate", "alpha", "beta"), NUMBERS),
)
_add("priors", "ScalePrior.log_prior", lambda s: ScalePrior().log_prior(s), {}, {"s": NUMBERS})
_add(
    "priors",
    "SpatialIWPrior",
    SpatialIWPrior,
    {"kernel_size": 2, "psi": np.eye(4)},
    {
        "kernel_size": COUNTS,
        "scale": NUMBERS,
        "degrees_of_freedom": NUMBERS,
        "nu": NUMBERS,
        "psi": "array",
    },
    left_out=("31 digits",),
)
_add(
    "kernels",
    "BNNKernel",
    BNNKernel,
    {"input_dim": D},
    {
        "input_dim": COUNTS,
        "nonlinearity": OBJECTS,
        "variance": NUMBERS,
        "bias": FLAGS,
        "active_dims": OBJECTS,
    },
)
_add(
    "kernels",
    "BNNKernel.features",
    BNNKernel(D, "tanh").features,
    {"X": X},
    {"X": "array"},
    few=True,
)
_add("kernels", "as_nonlinearity", as_nonlinearity, {}, {"nonlinearity": OBJECTS})
_add("kernels", "as_nonlinearity", as_nonlinearity, {}, {"nonlinearity": CHOICES})

# ------------------------------------------------------------------------------------------ metrics

_COMPONENTS = {"mean": MEAN, "variance": VARIANCE}
for _name in ("mixture_log_density", "mixture_crps", "mixture_pit"):
    _add(
        "metrics",
        _name,
        getattr(metrics, _name),
        {"y": Y, **_COMPONENTS},
        dict.fromkeys(("y", "mean", "variance"), "array"),
    )
_add(
    "metrics",
    "mixture_moments",
    metrics.mixture_moments,
    _COMPONENTS,
    dict.fromkeys(_COMPONENTS, "array"),
)
_add(
    "metrics",
    "mixture_quantile",
    metrics.mixture_quantile,
    {"probability": 0.3, **_COMPONENTS},
    {**dict.fromkeys(_COMPONENTS, "array"), "probability": NUMBERS},
)
_add(
    "metrics",
    "rmse",
    metrics.rmse,
    {"y": Y, "mean": MEAN[0]},
    dict.fromkeys(("y", "mean"), "array"),
)
_add(
    "metrics",
    "coverage",
    metrics.coverage,
    {"y": Y, "lower": Y - 1, "upper": Y + 1},
    dict.fromkeys(("y", "lower", "upper"), "array"),
)
_add("metrics", "calibration_error", metrics.calibration_error, {"pit": PIT}, {"pit": "array"})
for _name in (
    "accuracy",
    "log_density",
    "brier_score",
    "expected_calibration_error",
):
    _add(
        "classification_metrics",
        _name,
        getattr(classification_metrics, _name),
        {"labels": LABEL_LIST, "probabilities": PROBABILITIES},
        {"labels": "array", "probabilities": "array"},
    )
# Its bins without a prediction hold NaN.
_add(
    "classification_metrics",
    "reliability",
    lambda **arguments: classification_metrics.reliability(**arguments).size,
    {"labels": LABEL_LIST, "probabilities": PROBABILITIES},
    {"labels": "array", "probabilities": "array", "num_bins": COUNTS},
)
_add(
    "classification_metrics",
    "predictive_entropy",
    classification_metrics.predictive_entropy,
    {"probabilities": PROBABILITIES},
    {"probabilities": "array"},
)
_add(
    "classification_metrics",
    "auroc",
    classification_metrics.auroc,
    {"inside": PIT, "outside": PIT + 1},
    dict.fromkeys(("inside", "outside"), "array"),
)

# --------------------------------------------------------------------------------------- estimators

_QUICK = {"num_inducing": 3, "steps": 2, "num_posterior_samples": 2, "random_state": 0}


@functools.cache
def fitted(kind: Any) -> Any:
    y = Y[:, 0] if "Regressor" in kind.__name__ else LABEL_LIST
    return kind(**_QUICK).fit(X, y)


def _fit_of(kind: Any) -> Callable[..., Any]:
    def fit(X: Any = X, y: Any = None, **parameters: Any) -> Any:
        if y is None:
            y = Y[:, 0] if "Regressor" in kind.__name__ else LABEL_LIST
        estimator = kind(**{**_QUICK, **parameters}).fit(X, y)
        return estimator.predict(X)

    return fit


for _kind in (DeepGPRegressor, BNNRegressor, DeepGPClassifier, BNNClassifier):
    _is_regressor = "Regressor" in _kind.__name__
    _name, _y = _kind.__name__, Y[:, 0] if _is_regressor else LABEL_LIST
    _add(
        "estimators",
        f"{_name}.fit",
        _fit_of(_kind),
        {"X": X},
        {"X": "array"},
        few=True,
        of_estimator=True,
    )
    _add(
        "estimators",
        f"{_name}.fit",
        _fit_of(_kind),
        {"y": _y},
        {"y": "array"},
        few=True,
        of_estimator=True,
        left_out=("None",),
    )
    if not _is_regressor:
        _add("estimators", f"{_name}.fit", _fit_of(_kind), {}, {"y": LABELS}, of_estimator=True)
    _add(
        "estimators",
        f"{_name}.predict",
        lambda X, kind=_kind: fitted(kind).predict(X),
        {"X": X},
        {"X": "array"},
        of_estimator=True,
    )
    _add(
        "estimators",
        f"{_name}.score",
        lambda X, y, kind=_kind: fitted(kind).score(X, y),
        {"X": X, "y": _y},
        {"X": "array", "y": "array"},
        few=True,
        of_estimator=True,
    )
    _add(
        "estimators",
        f"{_name}.log_density",
        lambda X, y, kind=_kind: fitted(kind).log_density(X, y),
        {"X": X, "y": _y},
        {"X": "array", "y": "array"},
        of_estimator=True,
    )
    _add(
        "estimators",
        f"{_name}.predict before fit",
        lambda X, kind=_kind: kind().predict(X),
        {"X": X},
        {"X": "array"},
        few=True,
        of_estimator=True,
    )
_add(
    "estimators",
    "DeepGPRegressor.sample_y",
    lambda n_samples=2, random_state=0: fitted(DeepGPRegressor).sample_y(
        X, n_samples, random_state
    ),
    {},
    {"n_samples": COUNTS, "random_state": SEEDS},
    of_estimator=True,
)
_add(
    "estimators",
    "DeepGPRegressor",
    _fit_of(DeepGPRegressor),
    {},
    {
        "num_layers": COUNTS,
        "inference": CHOICES,
        "num_inducing": COUNTS,
        "kernel": OBJECTS,
        "steps": COUNTS,
        "batch_size": COUNTS,
        "learning_rate": NUMBERS,
        "num_posterior_samples": COUNTS,
        "likelihood": CHOICES,
        "preprocess": CHOICES,
        "warm_start": FLAGS,
        "random_state": SEEDS,
    },
    of_estimator=True,
)
_add(
    "estimators",
    "BNNClassifier",
    _fit_of(BNNClassifier),
    {},
    {
        "widths": OBJECTS,
        "inference": CHOICES,
        "prior": CHOICES,
        "prior_scale": NUMBERS,
        "nonlinearity": CHOICES,
    },
    of_estimator=True,
)

# ----------------------------------------------------------------------------------------- datasets


def table(**arguments: Any) -> Any:
    good = {"name": "t", "X": X, "Y": Y, "input_names": ("a", "b"), "target_name": "c"}
    return datasets.Table(**{**good, **arguments})


_scaling = datasets.Standardiser.fit(X)
_add("datasets", "Standardiser.fit", datasets.Standardiser.fit, {"values": X}, {"values": "array"})
for _name in ("transform", "inverse", "inverse_variance", "inverse_log_density"):
    _add(
        "datasets",
        f"Standardiser.{_name}",
        getattr(_scaling, _name),
        {("values" if _name == "transform" else "standardised"): X},
        {("values" if _name == "transform" else "standardised"): "array"},
    )
_add("datasets", "Table", table, {"X": X, "Y": Y}, {"X": "array", "Y": "array"})
_add("datasets", "Table", table, {}, {"input_names": OBJECTS})
_add("datasets", "Table.rows", lambda index: table().rows(index), {}, {"index": OBJECTS})
_add(
    "datasets",
    "Table.split",
    lambda train, test: table().split(train, test),
    {"train": np.arange(3), "test": np.arange(3, 5)},
    {"train": OBJECTS, "test": OBJECTS},
)
_add(
    "datasets",
    "train_test_split",
    datasets.train_test_split,
    {"table": table()},
    {"table": OBJECTS, "test_fraction": NUMBERS, "seed": SEEDS},
)
_add(
    "datasets",
    "standard_split",
    datasets.standard_split,
    {"table": table(), "split": 0},
    {"table": OBJECTS, "split": COUNTS},
    left_out=("31 digits",),
)
_add(
    "datasets",
    "rows_in_both",
    datasets.rows_in_both,
    {"train": table(), "test": table()},
    {"train": OBJECTS, "test": OBJECTS, "inputs_only": FLAGS},
)
_add(
    "datasets",
    "elevation",
    datasets.elevation,
    {"num_train": 5, "seed": 0},
    {"num_train": COUNTS, "seed": SEEDS},
)
_add("datasets", "airline", datasets.airline, {}, {"path": PATHS})
for _name in ("uci_table", "uci_set", "num_splits", "images"):
    _add("datasets", _name, getattr(datasets, _name), {}, {"name": NAMES})
_add(
    "datasets", "uci", datasets.uci, {"name": "yacht", "split": 0}, {"name": NAMES, "split": COUNTS}
)
_add(
    "datasets",
    "as_images",
    datasets.as_images,
    {"X": PIXELS, "labels": CLASSES},
    {"X": "array", "labels": "array"},
)
_add(
    "datasets",
    "as_images",
    datasets.as_images,
    {"X": PIXELS, "labels": CLASSES},
    {"class_names": OBJECTS, "labels": LABELS},
)


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp())


@functools.cache
def csv_file() -> Path:
    path = _folder() / "table.csv"
    path.write_text("a,b,c\n1,2,3\n2,3,5\n3,5,8\n4,1,1\n")
    return path


_add(
    "datasets",
    "read_csv",
    datasets.read_csv,
    {"path": _Fresh(csv_file), "target": "c"},
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

# ------------------------------------------------------------------------ files and other libraries


@functools.cache
def model_file() -> Path:
    path = _folder() / "model"
    gi.save(model(), path)
    return path


# Nothing is written into the folder of the tests.
_WRITABLE = ("a string", "a name of 5000 letters", "a Python file", "not UTF-8")
_add(
    "persistence",
    "save",
    lambda path: gi.save(model(), path),
    {},
    {"path": PATHS},
    left_out=_WRITABLE,
)
_add("persistence", "save", lambda model: gi.save(model, _folder() / "x"), {}, {"model": OBJECTS})
_add("persistence", "load", gi.load, {}, {"path": PATHS})


@functools.cache
def table_model() -> Any:
    preprocessing = datasets.preprocessing.Preprocessing.of_numbers(["a", "b"])
    inputs, targets = datasets.Standardiser.fit(X), datasets.Standardiser.fit(Y)
    return gi.persistence.TableModel(model(), preprocessing, inputs, "y", targets, S)


_add("persistence", "TableModel.load", gi.persistence.TableModel.load, {}, {"path": PATHS})
_add(
    "persistence",
    "TableModel.save",
    lambda path: table_model().save(path),
    {},
    {"path": PATHS},
    left_out=_WRITABLE,
)
_add(
    "persistence",
    "TableModel.predict",
    lambda rows, quantiles=(0.5,): table_model().predict(rows, quantiles).to_numpy(),
    {"rows": pd.DataFrame(X, columns=["a", "b"])},
    {"rows": OBJECTS, "quantiles": OBJECTS},
)
_add(
    "persistence",
    "load",
    lambda custom_objects: gi.load(model_file(), custom_objects=custom_objects),
    {},
    {"custom_objects": OBJECTS},
)
_add(
    "persistence",
    "export",
    lambda path: gi.export(network_model(), path),
    {},
    {"path": PATHS},
    left_out=_WRITABLE,
)
_add(
    "persistence", "export", lambda model: gi.export(model, _folder() / "y"), {}, {"model": OBJECTS}
)
_add(
    "persistence",
    "export",
    lambda num_samples=1, seed=0: gi.export(
        network_model(), tempfile.mkdtemp(dir=_folder()), num_samples=num_samples, seed=seed
    ),
    {},
    {"num_samples": COUNTS, "seed": SEEDS},
)
_add(
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
    _add(
        "interop",
        f"KerasDeepGP.{_name}",
        _keras(_name),
        {"X": X, "Y": Y},
        {"X": "array", "Y": "array"},
        few=True,
    )
_add("interop", "KerasDeepGP.predict", _keras("predict"), {"X": X}, {"X": "array"}, few=True)
_add(
    "interop",
    "KerasDeepGP.compile",
    lambda optimizer: as_keras_model(network()).compile(optimizer),
    {},
    {"optimizer": OBJECTS},
)
_add("interop", "from_gpflux", from_gpflux, {}, {"model": OBJECTS})

# ----------------------------------------------------------------------------- bounds and inference

_add(
    "bounds",
    "estimate_elbo",
    lambda X, Y: bounds.estimate_elbo(network(), (X, Y), 2),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
_add(
    "bounds",
    "estimate_elbo",
    lambda model=None, num_samples=2, seed=0: bounds.estimate_elbo(
        model or network(), (X, Y), num_samples, seed=seed
    ),
    {},
    {"model": OBJECTS, "num_samples": COUNTS, "seed": SEEDS},
    left_out=("31 digits", "None", "an empty string", "an empty list", "a dict", "a large array"),
)
_add(
    "bounds",
    "estimate_iwbo",
    lambda X, Y: bounds.estimate_iwbo(model(), (X, Y), 2, num_repeats=2),
    {"X": X, "Y": Y},
    {"X": "array", "Y": "array"},
    few=True,
)
_add(
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


_add(
    "inference",
    "nuts",
    _nuts,
    {"X": X, "Y": Y, "inputs": X},
    {"X": "array", "Y": "array", "inputs": "array"},
    few=True,
)
_add(
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
    _add(
        "inference", _name, _found(_name), {"X": X, "Y": Y}, dict.fromkeys("XY", "array"), few=True
    )
    _add(
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
    _add(
        "inference",
        _name,
        lambda _name=_name, _usual=_usual, **arguments: _found(_name)(**{**_usual, **arguments}),
        {"X": X, "Y": Y},
        dict.fromkeys("XY", "array"),
        few=True,
    )
    _add(
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
    _add(
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
_add(
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
_add(
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


_add(
    "bounds",
    "pareto_smoothed",
    lambda model=None, num_samples=25, seed=0: bounds.pareto_smoothed(
        network() if model is None else model, (X, Y), num_samples, seed=seed
    ),
    {},
    {"model": OBJECTS, "num_samples": COUNTS, "seed": SEEDS},
    left_out=("31 digits", "None", "400 digits"),
)
_add(
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


_add(
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


_add(
    "inference",
    "Samples",
    _weights_of("Samples"),
    {"theta": np.zeros((2, _SIZE))},
    {"theta": "array", "num_samples": COUNTS},
)
_add(
    "inference",
    "Gaussian",
    _weights_of("Gaussian"),
    {"mean": np.zeros(_SIZE), "root": np.eye(_SIZE), "diagonal": np.ones(_SIZE)},
    {"mean": "array", "root": "array", "diagonal": "array", "num_samples": COUNTS},
    left_out=("None",),
)
_add(
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
    _add(
        "inference",
        _name,
        _weights_of(_name),
        _arguments,
        {**_tried, "num_samples": COUNTS},
        left_out=("None",),
    )
_add(
    "inference",
    "Implicit",
    _weights_of("Implicit"),
    {"sampler": lambda S, seed: tf.random.stateless_normal([S, _SIZE], seed, dtype=tf.float64)},
    {"sampler": OBJECTS, "num_samples": COUNTS},
    left_out=("a class of kernels",),  # whose own error it shows
)
_add("inference", "WeightSpace", gi.inference.WeightSpace, {}, {"model": OBJECTS})
_add("inference", "Mixture", gi.inference.Mixture, {}, {"components": OBJECTS})
_add("inference", "Linearised", gi.inference.Linearised, {}, {"posterior": OBJECTS})

# ----------------------------------------------------------------------------------------- plotting


def _plot(name: str) -> Callable[..., Any]:
    def call(**arguments: Any) -> None:
        from matplotlib import pyplot

        try:
            getattr(plotting, name)(**arguments)
            pyplot.gcf().canvas.draw()
        finally:
            pyplot.close("all")

    return call


_FIGURES: dict[str, dict[str, Any]] = {
    "predictions_with_intervals": {"y": Y, "mean": Y, "lower": Y - 1, "upper": Y + 1},
    "residuals": {"y": Y, "mean": Y, "variance": np.ones_like(Y)},
    "predictive_bands": {"X": X[:, :1], "mean": MEAN, "variance": VARIANCE},
    "function_draws": {"X": X[:, :1], "draws": MEAN},
    "density": {"X": X[:, :1], "mean": MEAN, "variance": VARIANCE},
    "pit_histogram": {"pit": PIT},
    "coverage_curve": {"pit": PIT},
    "reliability_diagram": {
        "edges": np.array([0.0, 0.5, 1.0]),
        "confidence": np.array([0.2, 0.8]),
        "accuracy": np.array([0.3, 0.7]),
    },
}
for _name, _arguments in _FIGURES.items():
    _add("plotting", _name, _plot(_name), _arguments, dict.fromkeys(_arguments, "array"), few=True)
    _add("plotting", _name, _plot(_name), _arguments, {"ax": OBJECTS})
_add(
    "plotting",
    "pit_histogram",
    _plot("pit_histogram"),
    {"pit": PIT},
    {"bins": COUNTS},
    left_out=("31 digits",),
)
_add(
    "plotting",
    "predictive_bands",
    _plot("predictive_bands"),
    _FIGURES["predictive_bands"],
    {"probabilities": OBJECTS},
)
for _name, _argument in (
    ("training_curves", "records"),
    ("bound_terms", "record"),
    ("inducing_points", "activations"),
):
    _add("plotting", _name, _plot(_name), {}, {_argument: OBJECTS})

# ------------------------------------------------------------------------------------------- design

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
    _add(
        "design",
        _name,
        lambda _name=_name, **arguments: getattr(gi.design, _name)(model(), **arguments),
        {**_AT, **_more},
        {**_TRIED_AT, **_tried},
        few=True,
    )
    _add(
        "design",
        f"{_name} of a model",
        lambda model, _name=_name, _more=_more: getattr(gi.design, _name)(model, X, **_more),
        {},
        {"model": OBJECTS},
    )
_add(
    "design",
    "sample_optima",
    lambda **arguments: gi.design.sample_optima(model(), **arguments),
    {"candidates": X, "num_draws": 2, "seed": 0},
    {"candidates": "array", "num_draws": COUNTS, "maximise": FLAGS, "seed": SEEDS},
    few=True,
)
_BOX: dict[str, Any] = {"lower": np.zeros(D), "upper": np.ones(D), "num_candidates": 4}
_add(
    "design",
    "search",
    lambda **arguments: gi.design.search(lambda X: X[:, 0], **arguments),
    {**_BOX, "num_starts": 1},
    {"lower": "array", "upper": "array", "num_candidates": COUNTS, "num_starts": COUNTS},
    few=True,
)
_add(
    "design",
    "search",
    lambda acquisition: gi.design.search(acquisition, **_BOX),
    {"acquisition": lambda X: X[:, 0]},
    {"acquisition": OBJECTS},
    left_out=("a function that fails", "a function that gives NaN"),
)
_add(
    "design",
    "thompson_batch",
    lambda **arguments: gi.design.thompson_batch(network_model(), **arguments),
    {**_BOX, "batch_size": 2},
    {"lower": "array", "upper": "array", "batch_size": COUNTS, "maximise": FLAGS},
    few=True,
)

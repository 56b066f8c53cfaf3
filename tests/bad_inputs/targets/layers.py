"""Layers, posteriors, priors and kernels."""

from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

from gpflow_gi.implicit import (
    EmpiricalMean,
    KernelProcess,
    NetworkProcess,
    NeuralSampler,
    PriorProcess,
    empirical_gp,
)
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
from tests.bad_inputs.examples import D, M, N, X, Y, deep_gp, gp_layer, latent_model
from tests.bad_inputs.target import Fresh, add
from tests.bad_inputs.values import CHOICES, COUNTS, FLAGS, NUMBERS, OBJECTS, SEEDS

_OF_LAYERS = {"output_dim": COUNTS, "posterior": OBJECTS}


def _gp_layer(kernel: Any = None, output_dim: Any = 1, posterior: Any = "good", **more: Any) -> Any:
    posterior = (
        GlobalInducing(M, 1) if isinstance(posterior, str) and posterior == "good" else posterior
    )
    return GPLayer(
        gpflow.kernels.Matern52() if kernel is None else kernel, output_dim, posterior, **more
    )


add(
    "layers",
    "GPLayer",
    _gp_layer,
    {},
    {**_OF_LAYERS, "kernel": OBJECTS, "mean_function": OBJECTS},
    left_out=("None",),
)
add(
    "layers",
    "DenseLayer",
    DenseLayer,
    {"input_dim": D, "output_dim": 1, "posterior": Fresh(lambda: Factorised())},
    {**_OF_LAYERS, "input_dim": COUNTS, "prior": OBJECTS, "bias": FLAGS},
    left_out=("unsigned two",),
)
add(
    "layers",
    "Conv2DLayer",
    Conv2DLayer,
    {"input_shape": (4, 4, 1), "filters": 2, "kernel_size": 2, "posterior": Fresh(Prior)},
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
add(
    "layers",
    "Residual",
    Residual,
    {"layers": [tf.nn.tanh]},
    {"layers": OBJECTS, "shortcut": OBJECTS},
)
add(
    "layers",
    "Deterministic",
    lambda function: Deterministic(function)(tf.constant(X)),
    {},
    {"function": OBJECTS},
    # Functions of the user's own, whose errors and numbers are theirs.
    left_out=("a function", "a function that fails", "a likelihood", "a function that gives NaN"),
)
add(
    "layers",
    "LatentVariableLayer",
    LatentVariableLayer,
    {"latent_dim": 1, "num_data": N},
    {"latent_dim": COUNTS, "num_data": COUNTS},
)
add(
    "layers",
    "LatentVariableLayer",
    lambda encoder: LatentVariableLayer(1, encoder=encoder),
    {"encoder": lambda rows: rows[:, :2]},
    {"encoder": OBJECTS},
    left_out=("a function", "a function that fails", "a likelihood", "a function that gives NaN"),
)
add(
    "layers",
    "UncertainInputs",
    UncertainInputs,
    {"variance": np.ones(D)},
    {"variance": "array"},
)
add(
    "layers",
    "GPLayer",
    lambda mixing: GPLayer(gpflow.kernels.Matern52(), 2, GlobalInducing(M, 1), mixing=mixing),
    {"mixing": np.ones((2, 1))},
    {"mixing": "array"},
    left_out=("None",),
)
add(
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
add(
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
    add(
        "models",
        f"{_name} with latent variables",
        lambda X, Y, _name=_name, **more: getattr(latent_model(), _name)((X, Y), **more),
        {"X": X, "Y": Y, **_more},
        {"X": "array", "Y": "array", **dict.fromkeys(_more, COUNTS)},
        few=True,
    )

V = np.random.default_rng(1).normal(size=(M, 1))
add(
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
add(
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
add(
    "posteriors",
    "Factorised",
    lambda **start: DenseLayer(D, 1, Factorised(**start)),
    {"mean": np.zeros((D + 1, 1)), "standard_deviation": np.ones((D + 1, 1))},
    {"mean": "array", "standard_deviation": "array"},
)
add(
    "posteriors",
    "RecordedInducing",
    lambda **values: gp_layer(1, RecordedInducing(**values)),
    {"inducing_inputs": np.zeros((3, D)), "values": np.ones((4, 3, 1))},
    {"inducing_inputs": "array", "values": "array"},
)
add("posteriors", "Recorded", Recorded, {"weights": np.ones((4, D + 1, 1))}, {"weights": "array"})
add(
    "posteriors",
    "Optimal",
    Optimal,
    {"X": X, "Y": Y, "likelihood": gpflow.likelihoods.Gaussian()},
    {"X": "array", "Y": "array", "likelihood": OBJECTS},
)
add(
    "posteriors",
    "FullGaussian",
    lambda **start: DenseLayer(D, 1, FullGaussian(**start)),
    {"q_mu": np.zeros((D + 1, 1)), "q_sqrt": np.eye(D + 1)[None]},
    {"q_mu": "array", "q_sqrt": "array"},
)
add(
    "posteriors",
    "FullGaussian of a GPLayer",
    lambda **values: gp_layer(1, FullGaussian(**values)),
    {"num_inducing": M, "q_mu": V, "q_sqrt": np.eye(M)[None]},
    {"num_inducing": COUNTS, "q_mu": "array", "q_sqrt": "array"},
)
add(
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
add(
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
    add(
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
add(
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
add("implicit", "PriorProcess", PriorProcess, {}, {"model": OBJECTS})
add(
    "implicit",
    "Process.draw",
    lambda num_draws, seed, X: NetworkProcess(D, widths=(2,)).draw(num_draws, seed)(X),
    {"num_draws": 2, "seed": 0, "X": X},
    {"num_draws": COUNTS, "seed": SEEDS, "X": "array"},
)
add(
    "implicit",
    "empirical_gp",
    empirical_gp,
    {"process": NetworkProcess(D), "num_draws": 3},
    {"process": OBJECTS, "num_draws": COUNTS},
)
add(
    "implicit",
    "EmpiricalMean",
    EmpiricalMean,
    {"process": NetworkProcess(D), "num_draws": 3},
    {"process": OBJECTS, "num_draws": COUNTS},
)
add(
    "kernels",
    "EmpiricalKernel",
    EmpiricalKernel,
    {"process": NetworkProcess(D), "num_draws": 3},
    {"process": OBJECTS, "num_draws": COUNTS, "output": COUNTS},
)
add(
    "layers",
    "ImplicitLayer",
    ImplicitLayer,
    {"process": NetworkProcess(D), "output_dim": 1, "posterior": Fresh(lambda: FullGaussian())},
    {
        "process": OBJECTS,
        "output_dim": COUNTS,
        "posterior": OBJECTS,
        "num_draws": COUNTS,
        "mean_function": OBJECTS,
    },
    left_out=("None",),
)
add(
    "priors",
    "ARDPrior",
    ARDPrior,
    {"num_weights": 3},
    {"num_weights": COUNTS, "scale": NUMBERS, "learn_scales": FLAGS},
)


for _prior in (NealPrior, StandardPrior):
    add("priors", _prior.__name__, _prior, {}, {"scale": NUMBERS, "learn_scale": FLAGS})
add(
    "priors",
    "ScalePrior",
    ScalePrior,
    {},
    dict.fromkeys(("scale", "shape", "rate", "alpha", "beta"), NUMBERS),
)
add("priors", "ScalePrior.log_prior", lambda s: ScalePrior().log_prior(s), {}, {"s": NUMBERS})
add(
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
add(
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
add(
    "kernels",
    "BNNKernel.features",
    BNNKernel(D, "tanh").features,
    {"X": X},
    {"X": "array"},
    few=True,
)
add("kernels", "as_nonlinearity", as_nonlinearity, {}, {"nonlinearity": OBJECTS})
add("kernels", "as_nonlinearity", as_nonlinearity, {}, {"nonlinearity": CHOICES})

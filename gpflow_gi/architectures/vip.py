"""Variational implicit processes from data and a few settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import tensorflow as tf
from gpflow.likelihoods import Likelihood

from ..core.process import Process
from ..core.validation import integer, positive_integer
from ..layers import ImplicitLayer
from ..models import DeepGP
from ..posteriors import Factorised, FullGaussian, GlobalInducing, Posterior
from .processes import MakeProcess, check_start, new_process, process_maker
from .skip import linear_map, mean_function_of
from .start import (
    as_regression,
    centres,
    inference_of_layers,
    output_dim_for,
    some_rows,
    targets_near,
)

Inference: TypeAlias = Literal["full", "factorised", "global"]

HIDDEN_DEVIATION = 0.1
"""Initial standard deviation of a hidden layer's z: it stays near its mean function."""

HIDDEN_PRECISION = 1000.0
"""Initial precision of a hidden layer's pseudo-outputs."""

LARGEST_HIDDEN_DIM = 30
"""Largest default width of a hidden layer, as in Salimbeni & Deisenroth (2017)."""


def build_vip(
    X: Any,
    Y: Any,
    *,
    num_layers: int = 1,
    inference: Inference | Sequence[Inference] = "full",
    process: str | MakeProcess = "network",
    num_draws: int = 20,
    hidden_dim: int | None = None,
    num_inducing: int = 100,
    likelihood: Likelihood | None = None,
    num_samples: int = 1,
    seed: int = 0,
) -> DeepGP:
    """A variational implicit process, or a deep one.

    One layer is the model of Ma, Li & Hernandez-Lobato (2019), several are that of Ortega,
    Rodriguez Santana & Hernandez-Lobato (2023). Hidden layers have the mean functions of
    Salimbeni & Deisenroth (2017), and start near them. The last layer starts at the regression of
    the targets on the draws of its process. With "global", q(z) is given by pseudo-data at the
    inducing points from below.

    Columns of X and Y should be standardised (mean 0, standard deviation 1 over the training rows).

    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = build_vip(X, X**3, num_layers=2)
    >>> [type(layer.posterior).__name__ for layer in model.layers]
    ['FullGaussian', 'FullGaussian']

    :param X: inputs, [N, D].
    :param Y: targets, [N, Q].
    :param num_layers: number of implicit layers, at least 1.
    :param inference: "full" (a free Gaussian over the weights to each output), "factorised" or
        "global" for all layers, or a list with one per layer from the inputs up.
    :param process: "network" for Bayesian networks, "sampler" for neural samplers,
        "low-rank-sampler" for those of rank 50, whose steps are the fastest, or
        "low-rank-sampler-dropout" for the same with a dropout rate of 0.05, all with two hidden
        layers of 50 units; or a function from the number of inputs, the number of outputs and a
        seed to a process of :mod:`gpflow_gi.implicit`, called once for each layer.
    :param num_draws: S, the number of draws of each process, at least 2.
    :param hidden_dim: width of the hidden layers; D by default, but at most 30.
    :param num_inducing: M, for global layers; at most the number of different rows of X.
    :param likelihood: a GPflow likelihood; by default Gaussian, with a learned noise variance that
        starts at 0.1.
    :param num_samples: the number of samples of the bound in training.
    :param seed: for the processes and for k-means, an integer from 0 to 2^32 - 1.
    :return: the model, not trained yet.
    :raises ValueError: if an argument has the wrong shape, is not finite or not positive, or is
        unknown.
    :raises TypeError: if `likelihood` is not a GPflow likelihood, or `process` makes none.
    :warns UserWarning: if `num_inducing` exceeds the number of different rows of X, and is lowered
        to it; or if a column is far from standardised.
    """
    X, Y, likelihood, output_dim, seed = check_start(X, Y, likelihood, seed)
    num_layers = positive_integer("num_layers", num_layers)
    methods = inference_of_layers(inference, num_layers, ("full", "factorised", "global"))
    num_draws = integer("num_draws", num_draws, 2)
    make = process_maker(process)
    D = X.shape[1]
    width = min(D, LARGEST_HIDDEN_DIM) if hidden_dim is None else hidden_dim
    width = positive_integer("hidden_dim", width)
    num_inducing = positive_integer("num_inducing", num_inducing)
    U = centres(X, num_inducing, seed) if "global" in methods else X[:0]

    layers = []
    F, Z = X, U  # rows and inducing points below a layer, if every layer were its mean
    for i, method in enumerate(methods[:-1]):
        skip = mean_function_of(linear_map(F, width))
        prior = new_process(make, F.shape[1], width, seed, i)
        posterior = _hidden_posterior(method, num_draws, width, len(U))
        layer = ImplicitLayer(prior, width, posterior, num_draws=num_draws, mean_function=skip)
        layers.append(layer)
        q = layer.condition(tf.constant(Z))
        F, Z = q.predict(tf.constant(F))[0].numpy(), q.predict(tf.constant(Z))[0].numpy()
    prior = new_process(make, F.shape[1], output_dim, seed, num_layers - 1)
    posterior = _last_posterior(methods[-1], prior, num_draws, F, Y, Z, likelihood)
    layers.append(ImplicitLayer(prior, output_dim, posterior, num_draws=num_draws))
    return DeepGP(
        layers,
        likelihood,
        num_data=len(X),
        inducing_inputs=U if "global" in methods else None,
        num_samples=num_samples,
    )


def _hidden_posterior(method: Inference, K: int, P: int, M: int) -> Posterior:
    if method == "full":
        return FullGaussian(q_sqrt=np.tile(HIDDEN_DEVIATION * np.eye(K), (P, 1, 1)))
    if method == "factorised":
        return Factorised(standard_deviation=HIDDEN_DEVIATION)
    return GlobalInducing(M, P, pseudo_precision=HIDDEN_PRECISION)


def _last_posterior(
    method: Inference,
    prior: Process,
    num_draws: int,
    F: np.ndarray,
    Y: np.ndarray,
    Z: np.ndarray,
    likelihood: Likelihood,
) -> Posterior:
    """The posterior given the targets, or given pseudo-data at Z for a global layer.

    :param F: rows below the layer, [N, D].
    :param Z: inducing points below the layer, [M, D].
    """
    P = output_dim_for(likelihood, Y.shape[1])
    if method == "global":
        V, Lambda = targets_near(F, Y, Z, likelihood)
        V = V - prior.draw(num_draws)(Z).numpy().mean(axis=0)
        return GlobalInducing(
            len(Z), P, pseudo_outputs=V, pseudo_precision=Lambda, precision="full"
        )
    regression = as_regression(likelihood, Y, P)
    if regression is None:
        return FullGaussian() if method == "full" else Factorised()
    targets, noise = regression
    rows = some_rows(len(F), 100 * num_draws, seed=0)
    values = prior.draw(num_draws)(F[rows]).numpy()
    centred = (values - values.mean(axis=0)) / np.sqrt(num_draws)
    means, roots = [], []
    for p in range(P):
        # q(z) = N(B^-1 Phi^T (Y - m) / noise, B^-1), B = I + Phi^T Phi / noise
        own = min(p, prior.output_dim - 1)
        Phi, m = centred[..., own], values[..., own].mean(axis=0)
        weight = len(F) / len(rows) / noise
        B = np.eye(num_draws) + weight * Phi @ Phi.T
        means.append(np.linalg.solve(B, weight * Phi @ (targets[rows, p] - m)))
        roots.append(np.linalg.cholesky(np.linalg.inv(B)))
    mean, root = np.stack(means, axis=1), np.stack(roots)
    if method == "full":
        return FullGaussian(q_mu=mean, q_sqrt=root)
    return Factorised(mean=mean, standard_deviation=np.sqrt(np.sum(root**2, axis=2)).T)

"""Bayesian neural networks from data and a few words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
import tensorflow as tf
from gpflow.likelihoods import Gaussian, Likelihood

from ..layers import DenseLayer
from ..models import DeepGP
from ..models.targets import check_likelihood
from ..nonlinearities import Nonlinearity, as_nonlinearity
from ..posteriors import Factorised, GlobalInducing, LocalInducing, Posterior, Prior
from ..posteriors.pseudo_data import largest_precision
from ..priors import NealPrior, ScalePrior, StandardPrior, WeightPrior
from ..seeds import as_seed
from ..validation import finite_array, positive_integer, positive_number
from .start import (
    NOISE_VARIANCE,
    as_regression,
    centres,
    check_numpy_seed,
    check_rows,
    output_dim_for,
)

Method: TypeAlias = Literal["global", "local", "factorised", "prior"]

METHODS: tuple[Method, ...] = ("global", "local", "factorised", "prior")
"""What a layer can have."""

INFERENCE = (
    "global",
    "local",
    "factorised",
    "factorised -> global",
    "local -> global",
    "prior -> global",
)
"""What a network can have. Before an arrow stand all layers but for the last."""

PRIORS: dict[str, Callable[[float], WeightPrior]] = {
    "neal": NealPrior,
    "standard": StandardPrior,
    "scale": lambda scale: ScalePrior(scale=scale),
}

HIDDEN_PRECISION = 1.0
"""Of a hidden layer's pseudo-outputs at the start, in units of their mean square."""

FACTORISED_DEVIATION = 0.5
"""Of factorised weights at the start, in units of the prior's standard deviation."""


def build_bnn(
    X: Any,
    Y: Any,
    *,
    widths: Sequence[int] = (50, 50),
    inference: str | Sequence[Method] = "global",
    prior: str | Callable[[], WeightPrior] = "neal",
    prior_scale: float = 1.0,
    nonlinearity: str | Nonlinearity = "relu",
    bias: bool = True,
    num_inducing: int = 100,
    inducing_inputs: Any = None,
    likelihood: Likelihood | None = None,
    num_samples: int = 1,
    seed: int = 0,
) -> DeepGP:
    """A Bayesian neural network that trains from the first step on.

    It starts at a network drawn from the prior, through which the inducing points are pushed: their
    activations are the pseudo-outputs of hidden layers (and the inducing inputs of local ones), and
    the weights are the means of factorised ones. The last layer starts as the regression of the
    targets on what comes up: its pseudo-outputs are the targets' means around each inducing point,
    with the precision of so many observations; it has a full precision matrix, hidden layers a
    diagonal one.

    Columns of X and Y should be standardised (mean 0, standard deviation 1 over the training rows):
    the priors and the noise's start are made for that scale.

    >>> X = np.linspace(-1.0, 1.0, 50)[:, None]
    >>> model = build_bnn(X, X**3, widths=(20,), inference="factorised -> global", num_inducing=10)
    >>> [type(layer).__name__ for layer in model.layers]
    ['DenseLayer', 'Deterministic', 'DenseLayer']
    >>> mean, variance = model.predict_y(X)
    >>> mean.shape
    TensorShape([50, 1])

    :param X: inputs, [N, D].
    :param Y: targets, [N, Q].
    :param widths: of the hidden layers.
    :param inference: "global", "local", "factorised", or one of these or "prior" for the hidden
        layers and global for the last: "factorised -> global", "local -> global",
        "prior -> global" (the paper's section 3). Or a list with one method per layer.
    :param prior: "neal", "standard" or "scale" (the paper's section 2.3), or a function that makes
        a prior of :mod:`gpflow_gi.priors` for each layer.
    :param prior_scale: the factor on the weights' standard deviation, where `prior` is a name.
    :param nonlinearity: after each hidden layer: a name, or an elementwise function; see
        :func:`gpflow_gi.nonlinearities.as_nonlinearity`.
    :param bias: whether every layer has a unit that is always one.
    :param num_inducing: M, of the model and of every local layer; at most the number of different
        rows of X.
    :param inducing_inputs: where the inducing points start, [M, D], in the units of X, instead of
        at centres of k-means. They may be more than the rows of X, and lie where there are none;
        `num_inducing` is not looked at then.
    :param likelihood: a GPflow likelihood; Gaussian by default.
    :param num_samples: S, the samples of the bound in training.
    :param seed: of k-means and of the network that is drawn, an integer.
    :raises ValueError: if an argument has the wrong shape, is not finite, or is unknown.
    :raises TypeError: if an argument is of the wrong kind.
    """
    X, Y = check_rows(X, Y)
    widths = _check_widths(widths)
    methods = _methods_of_layers(inference, len(widths) + 1)
    make_prior = _prior_maker(prior, prior_scale)
    function = as_nonlinearity(nonlinearity)
    if likelihood is None:
        likelihood = Gaussian(NOISE_VARIANCE)
    check_likelihood(likelihood)
    check_numpy_seed(seed)
    num_inducing = positive_integer("num_inducing", num_inducing)
    if inducing_inputs is not None:
        U = finite_array("inducing_inputs", inducing_inputs, (None, X.shape[1]))
    else:
        if not {"global", "local"} & set(methods):
            num_inducing = min(num_inducing, len(np.unique(X, axis=0)))  # none will be kept
        U = centres(X, num_inducing, seed)
    V, Lambda = _regression_on_targets(X, Y, U, likelihood)

    rng = np.random.default_rng(seed)
    dims = [X.shape[1], *widths, output_dim_for(likelihood, Y.shape[1])]
    layers: list[Any] = []
    Z = U  # the inducing points below a layer
    for i, method in enumerate(methods):
        weight_prior = make_prior()
        if not isinstance(weight_prior, WeightPrior):
            raise TypeError(
                f"prior must be a function that makes one of gpflow_gi.priors, but it made "
                f"{weight_prior!r}."
            )
        if method == "prior":
            weight_prior.follow_prior()  # a random scale too is drawn from its prior
        A = np.hstack([Z, np.ones((len(Z), 1))]) if bias else Z
        K = A.shape[1]
        deviation = np.median(weight_prior.draw(K, 101, as_seed(seed)).standard_deviation)
        if i < len(widths):
            W = deviation * rng.normal(size=(K, dims[i + 1]))
            outputs = A @ W
            # Units that are all zero, as dead ReLUs leave them, have no scale.
            precision = np.full(len(Z), HIDDEN_PRECISION / (np.mean(outputs**2) or 1.0))
            precision = _within_bounds(precision)
            posterior = _posterior(method, Z, W, deviation, outputs, precision, "diagonal")
        else:
            # The mean of the weights given the pseudo-data (the paper's eq. 8 and 9).
            B = np.eye(K) / deviation**2 + (A.T * Lambda) @ A
            W = np.linalg.solve(B, (A.T * Lambda) @ V)
            posterior = _posterior(method, Z, W, deviation, V, Lambda, "full")
        layers.append(DenseLayer(dims[i], dims[i + 1], posterior, prior=weight_prior, bias=bias))
        if i < len(widths):
            layers.append(function)
            Z = function(tf.constant(outputs, X.dtype)).numpy()
    return DeepGP(
        layers,
        likelihood,
        num_data=len(X),
        inducing_inputs=U if "global" in methods else None,
        num_samples=num_samples,
    )


def _check_widths(widths: Any) -> list[int]:
    if not isinstance(widths, list | tuple):
        raise ValueError(
            f"widths must be a list with the width of each hidden layer, but is {widths!r}."
        )
    return [positive_integer(f"widths[{i}]", width) for i, width in enumerate(widths)]


def _methods_of_layers(inference: Any, num_layers: int) -> list[Method]:
    if isinstance(inference, str):
        lower, arrow, last = inference.partition(" -> ")
        if inference not in INFERENCE:
            known = ", ".join(f'"{name}"' for name in INFERENCE)
            raise ValueError(
                f"inference must be one of {known}, or a list with one method per layer, but is "
                f"{inference!r}."
            )
        methods: list[Any] = [lower] * (num_layers - 1) + [last if arrow else lower]
        return methods
    methods = list(inference) if isinstance(inference, list | tuple) else [inference]
    for method in methods:
        if method not in METHODS:
            known = ", ".join(f'"{name}"' for name in METHODS)
            raise ValueError(f"inference may hold {known}, but holds {method!r}.")
    if len(methods) != num_layers:
        raise ValueError(
            f"inference names {len(methods)} layers, but there are {num_layers}: one for each of "
            "widths and the last."
        )
    return methods


def _prior_maker(prior: Any, prior_scale: float) -> Callable[[], WeightPrior]:
    prior_scale = positive_number("prior_scale", prior_scale)
    if isinstance(prior, str):
        if prior not in PRIORS:
            known = ", ".join(f'"{name}"' for name in PRIORS)
            raise ValueError(f"prior must be one of {known}, or a function, but is {prior!r}.")
        return lambda: PRIORS[prior](prior_scale)
    if isinstance(prior, WeightPrior) or not callable(prior):
        raise TypeError(
            "prior must be a name, or a function without arguments that makes a new prior for each "
            f"layer, but is {prior!r}."
        )
    if prior_scale != 1.0:
        raise ValueError(
            f"prior_scale is {prior_scale:g}, but prior is a function; set the scale there."
        )
    return prior


def _regression_on_targets(
    X: np.ndarray, Y: np.ndarray, U: np.ndarray, likelihood: Likelihood
) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-outputs [M, P] at U and their precisions [M]: each row counts for the nearest."""
    from sklearn.metrics import pairwise_distances_argmin

    M = len(U)
    P = output_dim_for(likelihood, Y.shape[1])
    regression = as_regression(likelihood, Y, P)
    if regression is None:
        return np.zeros((M, P)), np.ones(M)
    values, noise = regression
    nearest = pairwise_distances_argmin(X, U)
    counts = np.bincount(nearest, minlength=M)
    sums = np.zeros((M, P))
    np.add.at(sums, nearest, values)
    # An inducing point to which no row is nearest counts for a hundredth of one.
    Lambda = np.maximum(counts, 0.01) / noise
    return sums / np.maximum(counts, 1)[:, None], _within_bounds(Lambda)


def _within_bounds(Lambda: np.ndarray) -> np.ndarray:
    return np.clip(Lambda, 2 / largest_precision(), largest_precision() / 2)


def _posterior(
    method: Method,
    Z: np.ndarray,
    W: np.ndarray,
    deviation: float,
    V: np.ndarray,
    Lambda: np.ndarray,
    precision: Literal["diagonal", "full"],
) -> Posterior:
    """A posterior that starts at weights W [K, P], or at pseudo-data V [M, P], Lambda [M] at Z."""
    if method == "prior":
        return Prior()
    if method == "factorised":
        return Factorised(mean=W, standard_deviation=FACTORISED_DEVIATION * deviation)
    pseudo: dict[str, Any] = {
        "pseudo_outputs": V,
        "pseudo_precision": Lambda,
        "precision": precision,
    }
    if method == "global":
        return GlobalInducing(*V.shape, **pseudo)
    return LocalInducing(Z, V.shape[1], **pseudo)

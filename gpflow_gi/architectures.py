"""Whole models from data and a few words."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import gpflow
import numpy as np
import tensorflow as tf
from gpflow.functions import MeanFunction
from gpflow.kernels import Kernel, SquaredExponential
from gpflow.likelihoods import Gaussian, Likelihood, SwitchedLikelihood

from .kernels import KernelBasis
from .layers import GPLayer
from .models import DeepGP
from .posteriors import GlobalInducing, LocalInducing, Posterior, Prior
from .regression import RegressionPosterior
from .validation import finite_array, positive_integer

Inference: TypeAlias = Literal["global", "local", "prior"]

NOISE_VARIANCE = 0.1
"""Of a Gaussian likelihood at the start, in units of the targets' variance."""

HIDDEN_VARIANCE = 0.1
"""Of a hidden layer's default kernel at the start: what it adds to its mean function is small."""

HIDDEN_PRECISION = 1e4
"""Of a hidden layer's pseudo-outputs at the start: they hold the layer to its mean function."""

LARGEST_HIDDEN_DIM = 30
"""Of the default width, as in Salimbeni & Deisenroth (2017)."""


def build_deep_gp(
    X: Any,
    Y: Any,
    *,
    num_layers: int = 2,
    inference: Inference | Sequence[Inference] = "global",
    num_inducing: int = 100,
    hidden_dim: int | None = None,
    kernel: Kernel | Callable[[int], Kernel] | Sequence[Kernel] | None = None,
    likelihood: Likelihood | None = None,
    num_samples: int = 1,
    seed: int = 0,
) -> DeepGP:
    """A deep Gaussian process that trains from the first step on.

    Inducing inputs are k-means centres of X. Hidden layers have the mean functions of Salimbeni &
    Deisenroth (2017): the identity, or where the widths differ a projection onto the leading
    principal components, or padding with zeros. They start close to it: their posteriors know that
    the process around it is small. The last layer starts as the regression onto the targets, each
    inducing point standing for its cluster of rows: with a Gaussian likelihood its pseudo-outputs
    are the clusters' mean targets, with the precision that the clusters' sizes and the noise give.
    Local layers start with the same Gaussian q(z) as global ones.

    Columns of X and Y should be standardised (mean 0, standard deviation 1 over the training rows):
    the kernels' and the noise's start are made for that scale.

    :param X: inputs, [N, D].
    :param Y: targets, [N, Q].
    :param num_layers: number of GP layers, at least 1.
    :param inference: "global", "local" or "prior" for all layers, or a list with one per layer from
        the inputs up.
    :param num_inducing: M, in every layer; at most the number of different rows of X.
    :param hidden_dim: width of the hidden layers; D by default, but at most 30.
    :param kernel: for every layer: a function from the number of inputs to a GPflow kernel, a
        kernel to be copied, or a list with one kernel per layer. By default a squared exponential
        with one lengthscale per input.
    :param likelihood: a GPflow likelihood; Gaussian by default.
    :param num_samples: S, the samples of the bound in training.
    :param seed: of k-means, an integer.
    :raises ValueError: if an argument has the wrong shape, is not finite, or is unknown.
    """
    X = finite_array("X", X, (None, None))
    Y = finite_array("Y", Y, (X.shape[0], None))
    if X.size == 0:
        raise ValueError(f"X must have at least one row and one column, but has shape {X.shape}.")
    num_layers = positive_integer("num_layers", num_layers)
    methods = _inference_of_layers(inference, num_layers)
    if likelihood is None:
        likelihood = Gaussian(NOISE_VARIANCE)
    output_dim = _output_dim(likelihood, Y.shape[1])
    D = X.shape[1]
    width = min(D, LARGEST_HIDDEN_DIM) if hidden_dim is None else hidden_dim
    width = positive_integer("hidden_dim", width)
    kernels = _kernels_of_layers(kernel, [D] + [width] * (num_layers - 1))

    U, clusters = _cluster(X, positive_integer("num_inducing", num_inducing), seed)
    V, Lambda = _regression_targets(Y, clusters, len(U), likelihood, output_dim)
    layers = []
    F, Z = X, U  # the rows and inducing points as they arrive at a layer, if all layers are means
    for i, (method, layer_kernel) in enumerate(zip(methods, kernels, strict=True)):
        if i + 1 < num_layers:
            W = _linear_map(F, width)
            posterior = _posterior(
                method,
                layer_kernel,
                Z,
                np.zeros((len(U), width)),
                np.full(len(U), HIDDEN_PRECISION),
            )
            mean_function = _mean_function(W)
            layers.append(GPLayer(layer_kernel, width, posterior, mean_function=mean_function))
            F, Z = F @ W, Z @ W
        else:
            posterior = _posterior(method, layer_kernel, Z, V, Lambda)
            layers.append(GPLayer(layer_kernel, output_dim, posterior))
    return DeepGP(
        layers,
        likelihood,
        num_data=len(X),
        inducing_inputs=U if "global" in methods else None,
        num_samples=num_samples,
    )


def _inference_of_layers(inference: Any, num_layers: int) -> list[Inference]:
    methods: list[Any] = [inference] * num_layers if isinstance(inference, str) else list(inference)
    if len(methods) != num_layers:
        raise ValueError(f"inference names {len(methods)} layers, but num_layers is {num_layers}.")
    for method in methods:
        if method not in ("global", "local", "prior"):
            raise ValueError(
                f'inference must be "global", "local", "prior" or a list of these, one per layer, '
                f"but holds {method!r}."
            )
    return methods


def _output_dim(likelihood: Likelihood, num_targets: int) -> int:
    """The number of latent functions that targets of so many columns need."""
    if likelihood.latent_dim is not None:
        return int(likelihood.latent_dim)
    if isinstance(likelihood, SwitchedLikelihood):
        return num_targets - 1  # the last column says which likelihood is meant
    return num_targets


def _kernels_of_layers(kernel: Any, input_dims: list[int]) -> list[Kernel]:
    if kernel is None:
        hidden = [_default_kernel(D, HIDDEN_VARIANCE) for D in input_dims[:-1]]
        return [*hidden, _default_kernel(input_dims[-1], 1.0)]
    if isinstance(kernel, Kernel):
        kernels = [gpflow.utilities.deepcopy(kernel) for _ in input_dims]
    elif callable(kernel):
        kernels = [kernel(D) for D in input_dims]
    else:
        kernels = list(kernel)
    if len(kernels) != len(input_dims):
        raise ValueError(
            f"kernel holds {len(kernels)} kernels, but there are {len(input_dims)} layers."
        )
    for i, (one, D) in enumerate(zip(kernels, input_dims, strict=True), start=1):
        if not isinstance(one, Kernel):
            raise ValueError(f"The kernel of layer {i} must be a GPflow kernel, but is {one!r}.")
        lengthscales = getattr(one, "lengthscales", None)
        if lengthscales is not None and lengthscales.shape not in ((), (D,)):
            raise ValueError(
                f"The kernel of layer {i} has {lengthscales.shape[0]} lengthscales, but the layer "
                f"has {D} inputs. Give a function of the number of inputs as the kernel."
            )
    return kernels


def _default_kernel(input_dim: int, variance: float) -> Kernel:
    # Squared distances between standardised rows grow with the number of columns.
    return SquaredExponential(variance, lengthscales=np.full(input_dim, np.sqrt(input_dim)))


def _cluster(X: np.ndarray, num_inducing: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Inducing inputs [M, D], and for every row the number of the one it belongs to, [N]."""
    from sklearn.cluster import KMeans

    unique, inverse = np.unique(X, axis=0, return_inverse=True)
    if num_inducing >= len(unique):
        if num_inducing > len(unique):
            warnings.warn(
                f"num_inducing is {num_inducing}, but X has only {len(unique)} different rows; "
                f"{len(unique)} inducing points are used, one at each.",
                stacklevel=3,
            )
        return unique, inverse.ravel()
    # k-means takes time in N M; a sample of rows places M centres as well as all of them.
    generator = np.random.default_rng(seed)
    sample = X if len(X) <= 100 * num_inducing else generator.choice(X, 100 * num_inducing, False)
    kmeans = KMeans(num_inducing, n_init=1, random_state=seed).fit(sample)
    return kmeans.cluster_centers_.astype(X.dtype), kmeans.predict(X)


def _regression_targets(
    Y: np.ndarray, clusters: np.ndarray, M: int, likelihood: Likelihood, output_dim: int
) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-outputs [M, P] and their precision [M] that stand for the rows of each cluster."""
    if not isinstance(likelihood, Gaussian) or likelihood.variance is None:
        # The targets of other likelihoods are not values of f.
        return np.zeros((M, output_dim)), np.ones(M)
    sizes = np.bincount(clusters, minlength=M).astype(Y.dtype)
    sums = np.stack([np.bincount(clusters, column, minlength=M) for column in Y.T], axis=1)
    V = sums / np.maximum(sizes, 1)[:, None]
    return V, np.maximum(sizes, 0.1) / float(likelihood.variance.numpy())


def _linear_map(F: np.ndarray, width: int) -> np.ndarray:
    """From D columns to `width`: the leading principal components, or padding, [D, width]."""
    W = np.eye(F.shape[1], width, dtype=F.dtype)
    if width < F.shape[1]:
        _, _, components = np.linalg.svd(F - F.mean(0), full_matrices=False)
        # With fewer rows than `width` there are fewer components; the rest stays zero.
        W = np.zeros_like(W)
        W[:, : len(components)] = components[:width].T
    return W


def _mean_function(W: np.ndarray) -> MeanFunction:
    if W.shape[0] == W.shape[1]:
        return gpflow.functions.Identity()
    mean_function = gpflow.functions.Linear(W, np.zeros(W.shape[1], W.dtype))
    gpflow.set_trainable(mean_function, False)
    return mean_function


def _posterior(
    method: Inference, kernel: Kernel, Z: np.ndarray, V: np.ndarray, Lambda: np.ndarray
) -> Posterior:
    """The posterior whose q(z) is the regression on pseudo-outputs V at inputs Z."""
    M, P = V.shape
    if method == "global":
        return GlobalInducing(M, P, pseudo_outputs=V, pseudo_precision=Lambda)
    if method == "prior":
        return Prior()
    T = np.sqrt(Lambda)
    q = RegressionPosterior(KernelBasis(kernel, tf.constant(Z)).at_inputs() * T, T[:, None] * V)
    covariance = tf.linalg.cholesky_solve(q.C, tf.eye(M, dtype=q.C.dtype))
    q_sqrt = tf.linalg.cholesky(covariance).numpy()
    return LocalInducing(Z, P, q_mu=q.mean.numpy(), q_sqrt=np.tile(q_sqrt, (P, 1, 1)))

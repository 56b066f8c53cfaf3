"""The start of the layers of a deep Gaussian process: q(z) as a regression on pseudo-outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import tensorflow as tf
from gpflow.kernels import Kernel
from gpflow.likelihoods import Likelihood

from ..core.validation import all_finite
from ..kernels import KernelBasis
from ..layers import GPLayer
from ..posteriors import FullGaussian, GlobalInducing, LocalInducing, Posterior, Prior
from ..posteriors.pseudo_data import largest_precision
from .skip import linear_map, mean_function_of
from .start import as_regression, some_rows

Inference: TypeAlias = Literal["global", "local", "full", "prior", "optimal"]

HIDDEN_PRECISION = 1000.0
"""Initial precision of a hidden layer's pseudo-outputs: large, to stay near its mean function."""

IDENTITY_PRECISION = 50.0
"""The same of layers that start as the identity and have mean zero: large enough to pass values on,
small enough for a low KL divergence."""

LONG = 5.0
"""Standard deviation and lengthscale of their kernels, a prior of almost linear functions."""

LESS_LONG = 3.0
"""The same of the last layer, which is to bend sooner."""


@dataclass(frozen=True)
class GlobalForm:
    """The form of layers with global inducing points."""

    shared: bool = True
    """True if all units share one pseudo-precision."""

    whiten: bool = False
    """True for whitened pseudo-outputs."""

    num_own: int = 0
    """J, the number of a layer's own inducing points, the last of its M."""


def own_of(Z: np.ndarray, num_own: int) -> np.ndarray | None:
    """The last J of a layer's inducing inputs [M, D]; None if there are no points of its own."""
    return Z[-num_own:] if num_own else None


_NO_START = (
    "The kernel matrix of the inducing points cannot be factorised: rounding makes it singular, as "
    "where columns of X lie far from zero. Standardise them (gpflow_gi.datasets.Standardiser), or "
    "set a larger jitter (gpflow.config.set_default_jitter)."
)


def hidden_from_inputs(
    methods: Sequence[Inference],
    kernels: Sequence[Kernel],
    F: np.ndarray,
    Z: np.ndarray,
    width: int,
    form: GlobalForm,
    *,
    has_mean: bool,
) -> tuple[list[GPLayer], np.ndarray, np.ndarray]:
    """Hidden layers that start near a linear map of their inputs.

    :param F: rows below them, [N, D].
    :param Z: inducing points below them, [M, D].
    :param form: the form of global layers.
    :param has_mean: True if the map is the mean function, False if pseudo-outputs stand for it.
    :return: the layers; rows [N, width] and inducing points [M, width] above them.
    """
    layers: list[GPLayer] = []
    for method, kernel in zip(methods, kernels, strict=True):
        W = linear_map(F, width)
        V = np.zeros((len(Z), width)) if has_mean else Z @ W
        Lambda = HIDDEN_PRECISION * np.eye(len(Z))
        posterior = posterior_of(method, kernel, Z, V, Lambda, "diagonal", form)
        mean_function = mean_function_of(W) if has_mean else None
        layers.append(GPLayer(kernel, width, posterior, mean_function=mean_function))
        F, Z = F @ W, Z @ W
    return layers, F, Z


def hidden_from_targets(
    methods: Sequence[Inference],
    kernels: Sequence[Kernel],
    F: np.ndarray,
    Z: np.ndarray,
    Y: np.ndarray,
    likelihood: Likelihood,
    output_dim: int,
    form: GlobalForm,
) -> tuple[list[GPLayer], np.ndarray, np.ndarray]:
    """Hidden layers of mean zero: the regression onto the targets, then the identity.

    What a layer of mean zero passes on costs KL divergence, so that the rest of the inputs is not
    passed on at all: the first layer is the whole model at the start, and those above it cost
    little.

    :param F: rows below them, [N, D].
    :param Z: inducing points below them, [M, D].
    :param form: the form of global layers.
    :return: the layers; rows [N, P] and inducing points [M, P] above them.
    """
    layers: list[GPLayer] = []
    for method, kernel in zip(methods, kernels, strict=True):
        if not layers:
            V, Lambda = regression_on_targets(kernel, Z, F, Y, likelihood, output_dim)
            posterior = posterior_of(method, kernel, Z, V, Lambda, "full", form)
            start = GlobalInducing(
                *V.shape, pseudo_outputs=V, pseudo_precision=Lambda, precision="full"
            )
            F, Z = _means(kernel, Z, start, F, Z)
        else:
            Lambda = IDENTITY_PRECISION * np.eye(len(Z))
            posterior = posterior_of(method, kernel, Z, Z, Lambda, "diagonal", form)
        layers.append(GPLayer(kernel, output_dim, posterior))
    return layers, F, Z


def _means(
    kernel: Kernel, Z: np.ndarray, posterior: GlobalInducing, *rows: np.ndarray
) -> list[np.ndarray]:
    """E f at each of several arrays of rows, for the layer with inducing points Z."""
    basis = KernelBasis(kernel, tf.constant(Z))
    q = posterior.q(basis, slice(0, posterior.output_dim))
    means = [q.predict(basis, tf.constant(each))[0].numpy() for each in rows]
    if not all(map(all_finite, means)):
        raise ValueError(_NO_START)
    return means


def regression_on_targets(
    kernel: Kernel,
    Z: np.ndarray,
    F: np.ndarray,
    Y: np.ndarray,
    likelihood: Likelihood,
    output_dim: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Pseudo-outputs [M, P] at Z and their precision [M, M] that stand for all rows.

    With W = K_uu^-1 K_uf, the optimal q(u) of a single layer (Titsias 2009) has the precision
    K_uu^-1 + W W^T / noise: that of the prior plus Lambda = W W^T / noise; Lambda V = W Y / noise.
    """
    M = len(Z)
    regression = as_regression(likelihood, Y, output_dim)
    if regression is None:
        return np.zeros((M, output_dim)), np.eye(M)
    targets, noise = regression
    rows = some_rows(len(F), 100 * M, seed=0)  # enough to describe the rows around Z
    basis = KernelBasis(kernel, tf.constant(Z))
    A = basis(tf.constant(F[rows]))
    W = tf.linalg.triangular_solve(basis.L, A, adjoint=True).numpy()
    if not all_finite(W):
        raise ValueError(_NO_START)
    # A hundredth of an observation at each point keeps Lambda positive definite.
    gram = (W @ W.T) * (len(F) / len(rows)) + 0.01 * np.eye(M)
    V = np.linalg.solve(gram, (W @ targets[rows]) * (len(F) / len(rows)))
    # Where the kernel's variance at Z is almost zero, W is unbounded.
    values, vectors = np.linalg.eigh(gram / noise)
    Lambda = (
        vectors * np.clip(values, 2 / largest_precision(), largest_precision() / 2)
    ) @ vectors.T
    return V, (Lambda + Lambda.T) / 2


def posterior_of(
    method: Inference,
    kernel: Kernel,
    Z: np.ndarray,
    V: np.ndarray,
    Lambda: np.ndarray,
    precision: Literal["diagonal", "full"],
    form: GlobalForm,
) -> Posterior:
    """The posterior whose q(z) is the regression on pseudo-outputs V [M, P] at inputs Z [M, D].

    :param Lambda: their precision, [M, M]; outputs of a global layer that do not share it start
        with a copy each.
    :param form: the form of global layers.
    """
    M, P = V.shape
    own = own_of(Z, form.num_own)
    if method == "prior":
        return Prior()
    if method == "global":
        if form.whiten:
            V = np.linalg.solve(_factor(kernel, Z), V)
        start = Lambda if precision == "full" else np.diag(Lambda)
        if not form.shared:
            start = np.tile(start, (P, *[1] * start.ndim))
        return GlobalInducing(
            M,
            P,
            pseudo_outputs=V,
            pseudo_precision=start,
            precision=precision,
            shared=form.shared,
            whiten=form.whiten,
            inducing_inputs=own,
        )
    # q(z) = N(B^-1 L^T Lambda V, B^-1) with B = I + L^T Lambda L
    L = _factor(kernel, Z)
    B = np.eye(M) + L.T @ Lambda @ L
    try:
        q_sqrt = np.linalg.cholesky(np.linalg.inv(B))
    except np.linalg.LinAlgError:
        raise ValueError(_NO_START) from None
    q_mu = np.linalg.solve(B, L.T @ Lambda @ V)
    roots = np.tile(q_sqrt, (P, 1, 1))
    if method == "full":
        return FullGaussian(M, q_mu=q_mu, q_sqrt=roots, inducing_inputs=own)
    return LocalInducing(Z, P, q_mu=q_mu, q_sqrt=roots)


def _factor(kernel: Kernel, Z: np.ndarray) -> np.ndarray:
    """The Cholesky factor L of the kernel matrix at Z, [M, M].

    :raises ValueError: if there is none.
    """
    L: np.ndarray = KernelBasis(kernel, tf.constant(Z)).L.numpy()
    if not all_finite(L):
        raise ValueError(_NO_START)
    return L

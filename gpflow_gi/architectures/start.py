"""Initial values of models, and the checks of the data that all architectures share."""

import warnings
from typing import Any

import numpy as np
from gpflow.likelihoods import (
    Bernoulli,
    Gaussian,
    Likelihood,
    MultiClass,
    Softmax,
    StudentT,
    SwitchedLikelihood,
)

from ..core.noise import constant_variance
from ..core.validation import check_rank, finite_array, is_one_of, shown, tensor_with_missing
from .networks import within_bounds

NOISE_VARIANCE = 0.1
"""Initial noise variance of a Gaussian likelihood, in units of the targets' variance."""


def check_rows(X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
    """X [N, D] and Y [N, Q] as arrays.

    :raises ValueError: if they are not finite or of another shape, have no rows, or hold numbers
        so large that no start can be computed from them.
    """
    X = finite_array("X", X, (None, None))
    Y = finite_array("Y", Y, (X.shape[0], None))
    check_size(X=X, Y=Y)
    return X, Y


def with_means(Y: Any) -> np.ndarray:
    """Targets in which the mean of its column stands for NaN.

    :raises ValueError: if they are no numbers, or if nothing in a column was observed.
    """
    Y = tensor_with_missing("Y", Y).numpy()
    check_rank("Y", Y)
    is_seen = ~np.isnan(Y)
    if not is_seen.any(axis=0).all():
        empty = int(np.flatnonzero(~is_seen.any(axis=0))[0])
        raise ValueError(f"Y[:, {empty}] holds nothing but NaN. Leave the column out.")
    return np.where(is_seen, Y, np.nanmean(Y, axis=0))


def check_size(**arrays: np.ndarray) -> None:
    """Check that squares of the data, summed over rows and columns, do not overflow.

    :raises ValueError: if they overflow.
    """
    for name, array in arrays.items():
        # 3e150 in float64, 4e15 in float32
        largest = 2e-4 * np.sqrt(np.finfo(array.dtype).max)
        worst = np.max(np.abs(array))
        if worst > largest:
            raise ValueError(
                f"{name} holds numbers as large as {worst:.3g}, whose squares overflow in "
                f"{array.dtype.name}: standardise its columns (gpflow_gi.datasets.Standardiser)."
            )


LARGEST, SMALLEST = 10.0, 0.05
"""Largest root mean square and smallest standard deviation of a column that give a good start."""


def warn_of_scale(X: np.ndarray, Y: np.ndarray, likelihood: Likelihood) -> None:
    """Warn of columns that are not standardised; of Y's only if the likelihood has a scale."""
    names = {"X": X, "Y": Y} if isinstance(likelihood, Gaussian | StudentT) else {"X": X}
    for name, array in names.items():
        mean, deviation = array.mean(axis=0), array.std(axis=0)
        far = (np.hypot(mean, deviation) > LARGEST) | (deviation < SMALLEST)
        for column in np.flatnonzero(far & (np.ptp(array, axis=0) > 0))[:1]:
            warnings.warn(
                f"{name}[:, {column}] has mean {mean[column]:.3g} and standard deviation "
                f"{deviation[column]:.3g}, but models start as for columns with 0 and 1: train on "
                "standardised data (gpflow_gi.datasets.Standardiser).",
                stacklevel=3,
            )


LABEL_SCALE = 2.0
"""Initial distance from zero of a class's latent function at an inducing point among its labels:
large enough to separate the classes, small enough that the likelihood's gradient is not zero."""

LABEL_NOISE = 1.0
"""Variance of a label that is treated as an observation of that value."""


def as_regression(
    likelihood: Likelihood, Y: np.ndarray, output_dim: int
) -> tuple[np.ndarray, float] | None:
    """Targets as noisy values of f, [N, P], and the variance of their noise.

    :param Y: targets, [N, Q].
    :return: None if the targets of this likelihood do not give values of f.
    """
    variance = constant_variance(likelihood)
    if variance is not None:
        return Y, float(np.mean(variance))  # of a noise for each output, their mean
    if isinstance(likelihood, Bernoulli):
        return LABEL_SCALE * (2.0 * Y - 1.0), LABEL_NOISE
    if isinstance(likelihood, MultiClass | Softmax) and np.all(np.isin(Y, range(output_dim))):
        return LABEL_SCALE * (2.0 * (Y == np.arange(output_dim)) - 1.0), LABEL_NOISE
    return None


def output_dim_for(likelihood: Likelihood, num_targets: int) -> int:
    """Number of latent functions for targets with this number of columns."""
    if likelihood.latent_dim is not None:
        return int(likelihood.latent_dim)
    if isinstance(likelihood, SwitchedLikelihood):
        return num_targets - 1  # the last column is the index of the likelihood
    return num_targets


def centres(X: np.ndarray, num_inducing: int, seed: int) -> np.ndarray:
    """Centres of k-means, [M, D]; or all different rows if there are at most M of them."""
    from sklearn.cluster import KMeans

    unique = np.unique(X, axis=0)
    if num_inducing >= len(unique):
        if num_inducing > len(unique):
            warnings.warn(
                f"num_inducing is {num_inducing}, but X has only {len(unique)} different rows; "
                f"{len(unique)} inducing points are used, one at each.",
                stacklevel=4,
            )
        return unique
    rows = some_rows(len(X), 100 * num_inducing, seed)
    centres = KMeans(num_inducing, n_init=1, random_state=seed).fit(X[rows]).cluster_centers_
    return centres.astype(X.dtype)


def some_rows(num_rows: int, at_most: int, seed: int) -> np.ndarray:
    """Indices of at most this many rows, without repetition."""
    if num_rows <= at_most:
        return np.arange(num_rows)
    return np.random.default_rng(seed).choice(num_rows, at_most, replace=False)


def targets_near(
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
    # An inducing point that is nearest to no row counts as a hundredth of an observation.
    Lambda = np.maximum(counts, 0.01) / noise
    return sums / np.maximum(counts, 1)[:, None], within_bounds(Lambda)


def inference_of_layers(
    inference: Any, num_layers: int, known: tuple[str, ...], known_last: tuple[str, ...] = ()
) -> list[Any]:
    """The name of each layer's posterior.

    :param inference: one name for all layers, or a list with one for each.
    :param known: the names that there are.
    :param known_last: more names, for the last layer only.
    :raises ValueError: if there are more or fewer names than layers, or if one is unknown.
    """
    methods = list(inference) if isinstance(inference, list | tuple) else [inference] * num_layers
    if len(methods) != num_layers:
        raise ValueError(f"inference names {len(methods)} layers, but num_layers is {num_layers}.")
    for i, method in enumerate(methods, start=1):
        if not is_one_of(method, known + (known_last if i == num_layers else ())):
            names = ", ".join(f'"{name}"' for name in known)
            last = "".join(f', and "{name}" for the last layer' for name in known_last)
            raise ValueError(
                f"inference must be {names} or a list of these, one per layer{last}, but holds "
                f"{shown(method)}."
            )
    return methods

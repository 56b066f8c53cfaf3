"""The tail of importance weights: a measure of the distance from a proposal to its target."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.floating]

_LEAST = float(np.sqrt(np.finfo(float).eps))

LEAST_SAMPLES = 25
"""Least number of weights: with fewer, the tail has fewer than five."""


def k_hat(log_weights: Array) -> float:
    """The shape k of a generalised Pareto distribution of the largest weights.

    Vehtari, Simpson, Gelman, Yao & Gabry (2024), "Pareto smoothed importance sampling":
    of S weights, the largest min(S / 5, 3 sqrt(S)) above the next one.

    :param log_weights: [S].
    :return: k; 0 if all weights of the tail are equal up to the rounding of their type, as for
        exact posteriors.
    :raises ValueError: if there are fewer than 25 weights, or one is NaN.
    """
    weights, tail = _sorted(log_weights)
    exceedances = weights[-tail:] - weights[-tail - 1]
    return generalised_pareto_shape(exceedances, _rounding(log_weights))


def smoothed(log_weights: Array) -> tuple[Array, float]:
    """Weights whose largest are replaced by what is expected of the fitted distribution.

    Vehtari, Simpson, Gelman, Yao & Gabry (2024), section 2.4: the weight of rank z of n in the
    tail becomes the quantile (z - 1/2) / n, and at most the largest weight.

    :param log_weights: [S].
    :return: the logarithms of the weights [S], in their order, and k.
    :raises ValueError: as :func:`k_hat`.
    """
    weights, tail = _sorted(log_weights)
    cut = weights[-tail - 1]
    exceedances = weights[-tail:] - cut
    k = generalised_pareto_shape(exceedances, _rounding(log_weights))
    if exceedances[-1] > _rounding(log_weights):
        before_prior, b = _fit(exceedances)
        scale = -before_prior / b
        p = (np.arange(tail) + 0.5) / tail
        # The quantile function sigma [(1 - p)^-k - 1] / k
        quantiles = scale * np.expm1(-k * np.log1p(-p)) / k if k else -scale * np.log1p(-p)
        weights[-tail:] = np.minimum(cut + quantiles, 1.0)
    order = np.argsort(log_weights, kind="stable")
    with np.errstate(divide="ignore"):
        values = np.log(weights)
    # Weights below the tail stay, those too small for a number too.
    log_weights = log_weights.astype(float)
    values[:-tail] = (np.sort(log_weights) - log_weights.max())[:-tail]
    result = np.empty_like(values)
    result[order] = values + log_weights.max()
    return result, k


def _sorted(log_weights: Array) -> tuple[Array, int]:
    """Weights relative to the largest, in ascending order, and the number of those in the tail."""
    S = len(log_weights)
    if S < LEAST_SAMPLES:
        raise ValueError(f"num_samples must be at least {LEAST_SAMPLES} for k_hat, but is {S}.")
    if np.isnan(log_weights).any():
        raise ValueError("A log weight is NaN.")
    log_weights = np.sort(log_weights).astype(float)
    # Relative to the largest weight, so that exp cannot overflow.
    return np.exp(log_weights - log_weights[-1]), int(np.ceil(min(0.2 * S, 3 * np.sqrt(S))))


def _rounding(log_weights: Array) -> float:
    """The largest difference of weights that rounding makes, in units of the largest weight."""
    eps = np.finfo(log_weights.dtype).eps
    largest = np.max(np.abs(log_weights), where=np.isfinite(log_weights), initial=0.0)
    return float(max(np.sqrt(eps), 10 * eps * largest))


def generalised_pareto_shape(exceedances: Array, rounding: float = _LEAST) -> float:
    """The shape k of a generalised Pareto distribution, from a sample.

    Zhang & Stephens (2009), "A new and efficient estimation method for the generalized Pareto
    distribution", with the weakly informative prior of Vehtari et al. (2024): ten observations of
    k = 0.5.

    :param exceedances: [n], not negative, in ascending order.
    :param rounding: the size up to which they count as zero.
    :return: k, with the opposite sign of Zhang & Stephens'.
    """
    n = len(exceedances)
    if exceedances[-1] <= rounding:
        return 0.0
    k_mean, _ = _fit(exceedances)
    return (n * k_mean + 10 * 0.5) / (n + 10)


def _fit(exceedances: Array) -> tuple[float, float]:
    """Zhang & Stephens' estimates of k, without the prior, and of b = -k / sigma."""
    n = len(exceedances)
    # A grid of b = k / sigma, with the sign of Zhang & Stephens, around the first quartile's scale.
    m = 30 + int(np.sqrt(n))
    quartile = max(exceedances[int(n / 4 + 0.5) - 1], np.finfo(float).tiny)
    grid = 1 - np.sqrt(m / (np.arange(1, m + 1) - 0.5))
    b = 1 / exceedances[-1] + grid / (3 * quartile)
    with np.errstate(divide="ignore", invalid="ignore"):
        # The profile log likelihood of b: n [ log(-b / k) - k - 1 ], k = mean log(1 - b x)
        k = np.mean(np.log1p(-b[:, None] * exceedances), axis=1)
        log_likelihood = n * (np.log(-b / k) - k - 1)
    log_likelihood = np.where(np.isfinite(log_likelihood), log_likelihood, -np.inf)
    weights = np.exp(log_likelihood - log_likelihood.max())
    b_mean = np.sum(b * weights) / weights.sum()
    return float(np.mean(np.log1p(-b_mean * exceedances))), float(b_mean)

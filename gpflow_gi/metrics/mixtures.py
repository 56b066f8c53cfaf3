"""Measures of predictive distributions, in numpy.

A prediction is an equal-weight mixture of S Gaussians. That is the prediction of a deep Gaussian
process with a Gaussian likelihood: one component for each draw of the layers below the last. S = 1
is a Gaussian. Everything is elementwise: `y` has any shape [...], `mean` and `variance` have the
shape [S, ...]. Arrays, lists and tensors are accepted, such as the result of
``model.predict_y_components(X)``. Values that are empty, masked, NaN or infinite are refused, and
so are negative variances.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import erf, logsumexp, ndtr, ndtri

from ..core import validation
from ..core.validation import finite_floats, shares

Array = NDArray[np.float64]

_CHUNK = 500_000
"""Largest number of elements of an intermediate array (4 MB)."""


def rmse(y: ArrayLike, mean: ArrayLike) -> float:
    """Root mean squared error, in the unit of `y`.

    :param y: [...], observations.
    :param mean: [...], predictions.
    :raises ValueError: if shapes differ, or if an argument is empty or not finite.
    """
    y, mean = _same_shape(y=y, mean=mean)
    return float(np.sqrt(np.mean(np.square(y - mean))))


def mixture_moments(mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
    """Mean and variance of the mixture.

    :param mean: [S, ...].
    :param variance: [S, ...].
    :return: mean [...] and variance [...], in the unit of `mean` and its square.
    :raises ValueError: if shapes do not match, if there is no component, if an argument is empty or
        not finite, or if a variance is negative.
    """
    mean, variance = _components(mean, variance)
    return mean.mean(axis=0), variance.mean(axis=0) + mean.var(axis=0)


def mixture_log_density(y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
    """The mixture's log density log p(y), in nats.

    :param y: [...].
    :param mean: [S, ...].
    :param variance: [S, ...], positive.
    :return: [...].
    :raises ValueError: if shapes do not match, if there is no component, if an argument is empty or
        not finite, or if a variance is not positive.

    >>> y, mean, variance = np.zeros(1), np.array([[-1.0], [1.0]]), np.ones((2, 1))
    >>> mixture_log_density(y, mean, variance)
    array([-1.41893853])
    """
    mean, variance = _components(mean, variance)
    if not np.all(variance > 0):
        raise ValueError(
            f"variance must be positive, since a density is asked for, but one is {variance.min()}."
        )
    y = _observed(y, mean)
    components = -0.5 * (np.log(2 * np.pi * variance) + np.square(y - mean) / variance)
    return logsumexp(components, axis=0) - np.log(len(mean))


def mixture_crps(y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
    """Continuous ranked probability score, in the unit of `y`; lower is better.

    It is the integral over t of (P(Y <= t) - 1[y <= t])^2, which is E|Y - y| - E|Y - Y'| / 2. Both
    expectations have a closed form for a mixture of Gaussians: Grimit, Gneiting, Berrocal &
    Johnson, "The continuous ranked probability score for circular variables and its application to
    mesoscale forecast ensemble verification", QJRMS 2006, eq. 5 and 6. For a point prediction it is
    the absolute error.

    The time is proportional to S^2; memory is bounded.

    :param y: [...].
    :param mean: [S, ...].
    :param variance: [S, ...], not negative.
    :return: [...].
    :raises ValueError: if shapes do not match, if there is no component, if an argument is empty or
        not finite, or if a variance is negative.
    """
    mean, variance = _components(mean, variance)
    y = _observed(y, mean)
    num_components = len(mean)
    first, second = np.triu_indices(num_components, k=1)

    def crps(y: Array, mean: Array, variance: Array) -> Array:
        to_observation = _mean_absolute_value(y - mean, variance).mean(axis=0)
        # All S^2 ordered pairs of components: each with itself once, and each other pair twice.
        with_itself = _mean_absolute_value(np.zeros_like(mean), 2 * variance).sum(axis=0)
        between = _mean_absolute_value(
            mean[first] - mean[second], variance[first] + variance[second]
        ).sum(axis=0)
        return to_observation - 0.5 * (with_itself + 2 * between) / num_components**2

    return _in_chunks(crps, max(len(first), num_components), y, mean, variance)


def mixture_quantile(probability: float, mean: ArrayLike, variance: ArrayLike) -> Array:
    """The quantile of the mixture at the given probability.

    It is found by bisection of the distribution function, to double precision.

    :param probability: in (0, 1).
    :param mean: [S, ...].
    :param variance: [S, ...], not negative.
    :return: [...], in the unit of `mean`.
    :raises ValueError: if `probability` is not in (0, 1), and as :func:`mixture_moments`.
    """
    probability = validation.probability("probability", probability)
    mean, variance = _components(mean, variance)

    def quantile(mean: Array, variance: Array) -> Array:
        # The mixture's quantile is between the smallest and the largest quantile of its components.
        deviation = np.sqrt(variance)
        quantiles = mean + ndtri(probability) * deviation
        low, high = quantiles.min(axis=0), quantiles.max(axis=0)
        for _ in range(60):
            middle = 0.5 * (low + high)
            below = ndtr(_standardised(middle - mean, deviation)).mean(axis=0) < probability
            low, high = np.where(below, middle, low), np.where(below, high, middle)
        return 0.5 * (low + high)

    return _in_chunks(quantile, len(mean), mean, variance)


def mixture_pit(y: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> Array:
    """The probability integral transform: the mixture's distribution function at the observation.

    It is uniform over [0, 1] if predictions are calibrated (Dawid, "Statistical theory: the
    prequential approach", JRSS A 1984).

    :param y: [...].
    :param mean: [S, ...].
    :param variance: [S, ...], not negative.
    :return: [...], in [0, 1].
    :raises ValueError: if shapes do not match, if there is no component, if an argument is empty or
        not finite, or if a variance is negative.
    """
    mean, variance = _components(mean, variance)
    y = _observed(y, mean)
    return ndtr(_standardised(y - mean, np.sqrt(variance))).mean(axis=0)


def calibration_error(pit: ArrayLike) -> float:
    """The distance of PIT values from uniform: the mean distance of their quantiles.

    It is the Wasserstein-1 distance between the distribution of the values and the uniform
    distribution, the area between the two distribution functions: 0 if calibrated, at most 1/2.
    For n uniform values, about 0.31 / sqrt(n) is expected.

    :param pit: [...], in [0, 1], at least one value.
    :raises ValueError: if there are none, or if one is outside [0, 1].
    """
    values = np.sort(shares("pit", pit))
    n = len(values)
    # The i-th value is the quantile for all u in [i/n, (i+1)/n]: the integral of |value - u|.
    low, high = np.arange(n) / n, np.arange(1, n + 1) / n
    at = np.clip(values, low, high)
    areas = (at - low) * (values - 0.5 * (low + at)) + (high - at) * (0.5 * (at + high) - values)
    return float(np.sum(areas))


def coverage(y: ArrayLike, lower: ArrayLike, upper: ArrayLike) -> float:
    """The share of observations inside their intervals, from 0 to 1.

    :param y: [...], observations.
    :param lower: [...], lower ends of the intervals; may be minus infinity.
    :param upper: [...], upper ends of the intervals; may be infinity.
    :raises ValueError: if shapes differ, if an argument is empty or NaN, or if `y` is not finite.
    """
    finite_floats("y", y)
    y, lower, upper = _same_shape(True, y=y, lower=lower, upper=upper)
    return float(np.mean((lower <= y) & (y <= upper)))


def _mean_absolute_value(mean: Array, variance: Array) -> Array:
    """The mean E|x| for x ~ N(mean, variance): Grimit et al. 2006, eq. 6; of the same shape."""
    deviation = np.sqrt(variance)
    z = _standardised(mean, deviation)
    density = np.exp(-0.5 * np.square(z)) / np.sqrt(2 * np.pi)
    return 2 * deviation * density + np.abs(mean) * erf(np.abs(z) / np.sqrt(2))


def _standardised(difference: Array, deviation: Array) -> Array:
    """The quotient; at deviation zero its limit, infinity with the sign of `difference`."""
    limit = np.where(difference == 0, 0.0, np.copysign(np.inf, difference))
    return np.divide(difference, deviation, out=limit, where=deviation > 0)


def _in_chunks(function: Callable[..., Array], width: int, *arrays: Array) -> Array:
    """Apply an elementwise function to a bounded number of elements at a time.

    :param function: function of arrays that end in [n]; returns [n].
    :param width: number of intermediate numbers for one element.
    :param arrays: arrays of shape [...] or [S, ...]; the last one has the axis S.
    """
    shape = arrays[-1].shape[1:]
    flat = [array.reshape(*array.shape[: array.ndim - len(shape)], -1) for array in arrays]
    size = flat[-1].shape[-1]
    step = max(1, _CHUNK // width)
    chunks = [
        function(*(array[..., start : start + step] for array in flat))
        for start in range(0, size, step)
    ]
    return np.concatenate(chunks).reshape(shape) if chunks else np.zeros(shape)


def _components(mean: ArrayLike, variance: ArrayLike) -> tuple[Array, Array]:
    mean, variance = _same_shape(mean=mean, variance=variance)
    if mean.ndim == 0:
        raise ValueError(f"mean must have shape [S, ...] with S >= 1, but has {mean.shape}.")
    if np.any(variance < 0):
        raise ValueError(f"variance must not be negative, but one is {variance.min()}.")
    return mean, variance


def _observed(y: ArrayLike, mean: Array) -> Array:
    y = finite_floats("y", y)
    if y.shape != mean.shape[1:]:
        raise ValueError(
            f"y must have the shape of one component, {mean.shape[1:]}, but has {y.shape}."
        )
    return y


def _same_shape(infinite: bool = False, **values: ArrayLike) -> list[Array]:
    arrays = [finite_floats(name, one, infinite=infinite) for name, one in values.items()]
    shapes = [array.shape for array in arrays]
    if len(set(shapes)) > 1:
        raise ValueError(f"Shapes must be equal, but are {' and '.join(map(str, shapes))}.")
    return arrays

"""The distance between two predictive distributions, input by input."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import wasserstein_distance

Array = NDArray[np.float64]


def wasserstein_1(first: Array, second: Array) -> Array:
    """The Wasserstein-1 distance between the distributions of two sets of draws.

    It is the mean over all probabilities of the absolute difference of the two quantiles, in the
    unit of the draws: the least mean distance by which one distribution has to be moved to become
    the other. Between S and T draws of the same Gaussian it is about 1.25 sqrt(1/S + 1/T) standard
    deviations.

    :param first: [S, N], S draws at each of N inputs.
    :param second: [T, N].
    :return: [N].
    """
    pairs = zip(first.T, second.T, strict=True)
    return np.array([wasserstein_distance(one, other) for one, other in pairs])

"""Predictions of classes and of counts for held-out rows, and measures of them."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from . import classification
from .mixtures import rmse

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class HeldOutClasses:
    """Classes and their predicted probabilities for n rows.

    :param Y: [n, 1], numbers of the classes, from 0.
    :param probabilities: [n, C].
    """

    Y: Array
    probabilities: Array

    @cached_property
    def log_density(self) -> Array:
        """Log probability of the class, [n], in nats."""
        return classification.log_density(self.Y, self.probabilities)

    @cached_property
    def brier(self) -> Array:
        """The Brier score, [n]."""
        return classification.brier_score(self.Y, self.probabilities)

    @cached_property
    def is_right(self) -> Array:
        """1 where the most probable class is the class, [n]."""
        return (self.probabilities.argmax(axis=1) == self.Y[:, 0]).astype(float)

    @cached_property
    def ece(self) -> float:
        """The expected calibration error."""
        return classification.expected_calibration_error(self.Y, self.probabilities)


@dataclass(frozen=True, eq=False)
class HeldOutCounts:
    """Counts and draws of predicted ones for n rows.

    :param Y: [n, 1].
    :param mean: [n], the predictive mean.
    :param log_density: [n], log probabilities of the counts, in nats.
    :param draws: [T, n], T >= 2 draws from the predictive distributions.
    """

    Y: Array
    mean: Array
    log_density: Array
    draws: Array

    @cached_property
    def crps(self) -> Array:
        """CRPS, [n]: E |y - Y'| - E |Y' - Y''| / 2, unbiased if the draws are independent."""
        T = len(self.draws)
        ordered = np.sort(self.draws, axis=0)
        place = (2 * np.arange(1, T + 1) - T - 1)[:, None]
        spread = np.sum(place * ordered, axis=0) * 2 / (T * (T - 1))
        return np.mean(np.abs(self.draws - self.Y[:, 0]), axis=0) - spread / 2

    @cached_property
    def rmse(self) -> float:
        """Root mean squared error of the mean."""
        return rmse(self.Y[:, 0], self.mean)

    def interval(self, probability: float) -> tuple[Array, Array]:
        """Ends of the central intervals of the draws, both [n]."""
        tail = (1 - probability) / 2
        low, high = np.quantile(self.draws, [tail, 1 - tail], axis=0, method="inverted_cdf")
        return low, high

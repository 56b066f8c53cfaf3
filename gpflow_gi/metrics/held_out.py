"""Predictions for held-out rows, and measures of them, in the target's own unit.

A prediction is a mixture of Gaussians for the standardised target. Measures are computed on that
scale, where no square overflows, and then transformed to the original scale.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..datasets import Standardiser
from . import mixtures as metrics

Array = NDArray[np.float64]


def predictive_components(
    model: Any, X: Array, num_samples: int | None, seed: int = 0
) -> tuple[Array, Array]:
    """The Gaussian components of the predictive mixture at `X`.

    :param model: a model with a Gaussian likelihood.
    :param X: [N, D].
    :param num_samples: S; None for a model whose prediction is one Gaussian.
    :param seed: seed of the samples.
    :return: mean and variance of p(y | x, sample), each [S, N, P].
    """
    if num_samples is None:
        mean, variance = model.predict_y(X)
        return mean.numpy()[None], variance.numpy()[None]
    mean, variance = model.predict_y_components(X, num_samples=num_samples, seed=seed)
    return mean.numpy(), variance.numpy()


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Observations and predictions for n rows.

    :param Y: [n, 1], in the target's own unit.
    :param component_means: [S, n, 1], for the standardised target.
    :param component_variances: [S, n, 1], for the standardised target.
    :param targets: standardiser of the target.
    """

    Y: Array
    component_means: Array
    component_variances: Array
    targets: Standardiser

    @cached_property
    def mean(self) -> Array:
        """Mean of the mixture, [n], in the target's own unit."""
        return self.targets.inverse(self._standardised_mean)[:, 0]

    @cached_property
    def deviation(self) -> Array:
        """Standard deviation of the mixture, [n], in the target's own unit."""
        variance = metrics.mixture_moments(*self._components)[1]
        return np.sqrt(self.targets.inverse_variance(variance))[:, 0]

    @cached_property
    def log_density(self) -> Array:
        """Log density of the mixture, [n], in nats, for the target in its own unit."""
        standardised = metrics.mixture_log_density(self._y, *self._components)[:, 0]
        return self.targets.inverse_log_density(standardised)

    @cached_property
    def crps(self) -> Array:
        """CRPS, [n], in the target's own unit; see :func:`gpflow_gi.metrics.mixture_crps`."""
        return float(self.targets.scale[0]) * metrics.mixture_crps(self._y, *self._components)[:, 0]

    @cached_property
    def rmse(self) -> float:
        """Root mean squared error of the mean, in the target's own unit."""
        return float(self.targets.scale[0]) * metrics.rmse(self._y, self._standardised_mean)

    @cached_property
    def pit(self) -> Array:
        """PIT values, [n], in [0, 1]; see :func:`gpflow_gi.metrics.mixture_pit`."""
        return metrics.mixture_pit(self._y, *self._components)[:, 0]

    def interval(self, probability: float) -> tuple[Array, Array]:
        """Ends of the central intervals, both [n], in the target's own unit.

        :param probability: probability that the target is inside, in (0, 1).
        """
        tail = (1 - probability) / 2
        low, high = (
            self.targets.inverse(metrics.mixture_quantile(end, *self._components))[:, 0]
            for end in (tail, 1 - tail)
        )
        return low, high

    @property
    def _y(self) -> Array:
        return self.targets.transform(self.Y)

    @property
    def _components(self) -> tuple[Array, Array]:
        return self.component_means, self.component_variances

    @property
    def _standardised_mean(self) -> Array:
        return metrics.mixture_moments(*self._components)[0]

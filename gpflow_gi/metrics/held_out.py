"""Predictions for rows held out, and how good they are, in the target's own unit.

A prediction is a mixture of Gaussians for the standardised target. Measures are taken on that
scale, where no square overflows, and then brought to the original one.
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
    """The Gaussians whose mixture predicts the targets at `X`.

    :param model: with a Gaussian likelihood.
    :param X: [N, D].
    :param num_samples: S; None for a model whose prediction is one Gaussian.
    :param seed: of the samples.
    :return: mean and variance of p(y | x, sample), each [S, N, P].
    """
    if num_samples is None:
        mean, variance = model.predict_y(X)
        return mean.numpy()[None], variance.numpy()[None]
    mean, variance = model.predict_y_components(X, num_samples=num_samples, seed=seed)
    return mean.numpy(), variance.numpy()


@dataclass(frozen=True, eq=False)
class HeldOut:
    """What was observed in n rows, and what was predicted.

    :param Y: [n, 1], in the target's own unit.
    :param component_means: [S, n, 1], for the standardised target.
    :param component_variances: [S, n, 1], for the standardised target.
    :param targets: how the target was standardised.
    """

    Y: Array
    component_means: Array
    component_variances: Array
    targets: Standardiser

    @cached_property
    def mean(self) -> Array:
        """[n], of the mixture, in the target's own unit."""
        return self.targets.inverse(self._standardised_mean)[:, 0]

    @cached_property
    def log_density(self) -> Array:
        """[n], of the mixture, in nats, for the target in its own unit."""
        standardised = metrics.mixture_log_density(self._y, *self._components)[:, 0]
        return self.targets.inverse_log_density(standardised)

    @cached_property
    def crps(self) -> Array:
        """[n], in the target's own unit; see :func:`gpflow_gi.metrics.mixture_crps`."""
        return float(self.targets.scale[0]) * metrics.mixture_crps(self._y, *self._components)[:, 0]

    @cached_property
    def rmse(self) -> float:
        """Of the mean, in the target's own unit."""
        return float(self.targets.scale[0]) * metrics.rmse(self._y, self._standardised_mean)

    @cached_property
    def pit(self) -> Array:
        """[n], in [0, 1]; see :func:`gpflow_gi.metrics.mixture_pit`."""
        return metrics.mixture_pit(self._y, *self._components)[:, 0]

    def interval(self, probability: float) -> tuple[Array, Array]:
        """Where the central intervals begin and end, both [n], in the target's own unit.

        :param probability: that the target is inside, in (0, 1).
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

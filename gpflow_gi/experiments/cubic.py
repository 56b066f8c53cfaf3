"""The cubic toy data: y = x^3 + noise, with a gap in the inputs.

The paper's section 3.1, after Hernández-Lobato & Adams (2015), with a gap in the inputs as in Foong
et al. (2019), to show the posterior where nothing was observed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gpflow_gi.datasets import Standardiser

Array = NDArray[np.float64]

RANGE = (-4.0, 4.0)
"""Range of the inputs, in their own unit."""

GAP = (-2.0, 2.0)
"""Range inside RANGE that has no inputs."""

NOISE_DEVIATION = 3.0
"""Standard deviation of the noise, in the targets' own unit."""


@dataclass(frozen=True, eq=False)
class Cubic:
    """Rows of the data, standardised: columns have mean 0 and standard deviation 1.

    :param X: [N, 1].
    :param Y: [N, 1].
    :param noise_deviation: known standard deviation of the noise in `Y`.
    :param inputs: the map from x to X.
    :param targets: the map from y to Y.
    """

    X: Array
    Y: Array
    noise_deviation: float
    inputs: Standardiser
    targets: Standardiser

    @classmethod
    def draw(cls, num_rows: int, seed: int) -> Cubic:
        """Draw x uniformly from [-4, -2] and [2, 4], and y = x^3 + 3 eps.

        :param num_rows: N, at least 2.
        :param seed: for NumPy's generator.
        """
        rng = np.random.default_rng(seed)
        half = GAP[1]
        # Uniform from -2 to 2, then split at 0 and moved apart.
        x = rng.uniform(RANGE[0] + half, RANGE[1] - half, size=(num_rows, 1))
        x += np.where(x < 0, -half, half)
        y = _targets(x, rng)
        inputs, targets = Standardiser.fit(x), Standardiser.fit(y)
        noise_deviation = NOISE_DEVIATION / float(targets.scale[0])
        return cls(inputs.transform(x), targets.transform(y), noise_deviation, inputs, targets)

    def everywhere(self, num_rows: int, seed: int) -> tuple[Array, Array]:
        """Draw further rows with x uniform from -4 to 4, the gap included, in the same units.

        :param num_rows: N, the number of rows.
        :param seed: for NumPy's generator.
        :return: X and Y, [N, 1] each.
        """
        rng = np.random.default_rng(seed)
        x = rng.uniform(*RANGE, size=(num_rows, 1))
        return self.inputs.transform(x), self.targets.transform(_targets(x, rng))

    def evenly(self, num: int, low: float = RANGE[0], high: float = RANGE[1]) -> Array:
        """Inputs at even distances from `low` to `high`, the gap included.

        :param num: number of inputs; a single one is in the middle.
        :param low: in the inputs' own unit.
        :param high: in the same unit.
        :return: [num, 1], standardised.
        """
        x = np.linspace(low, high, num) if num > 1 else np.array([0.5 * (low + high)])
        return self.inputs.transform(x[:, None])


def _targets(x: Array, rng: np.random.Generator) -> Array:
    return x**3 + NOISE_DEVIATION * rng.normal(size=x.shape)

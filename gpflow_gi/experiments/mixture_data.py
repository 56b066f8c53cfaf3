"""Data whose noise is not Gaussian around one function: two branches, or a noise that varies.

Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), section 5.1 and equation (6) of the
supplement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gpflow_gi.datasets import Standardiser

Array = NDArray[np.float64]

RANGE = (-4.0, 4.0)
"""Range of the inputs."""

PROBLEMS = ("bimodal", "heteroscedastic")


def branches(x: Array) -> tuple[Array, Array]:
    """The two means of the bimodal data at x, each of the shape of x."""
    return 10 * np.cos(x - 0.5), 10 * np.sin(x - 0.5)


def draw(problem: str, num_rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw x uniformly from [-4, 4], and y given x.

    "bimodal": y = 10 cos(x - 0.5) + e or 10 sin(x - 0.5) + e with equal probability, e ~ N(0, 1).
    "heteroscedastic": y = 7 sin(x) + e sin(x) + 10, e of standard deviation 2, as the text gives
    it: without noise where sin(x) is zero.

    :param problem: one of :data:`PROBLEMS`.
    :param num_rows: the number of rows, N.
    :param rng: NumPy's generator.
    :return: x and y, each [N, 1].
    """
    x = rng.uniform(*RANGE, size=(num_rows, 1))
    if problem == "heteroscedastic":
        e = 2.0 * rng.normal(size=x.shape)
        return x, 7 * np.sin(x) + e * np.sin(x) + 10
    first, second = branches(x)
    mean = np.where(rng.random(x.shape) < 0.5, first, second)
    return x, mean + rng.normal(size=x.shape)


def log_density(problem: str, x: Array, y: Array) -> Array:
    """The true log p(y | x) in nats, of the shape of x."""
    if problem == "heteroscedastic":
        deviation = np.abs(2.0 * np.sin(x))
        return np.asarray(_log_normal(y, 7 * np.sin(x) + 10, deviation))
    first, second = branches(x)
    return np.logaddexp(_log_normal(y, first, 1.0), _log_normal(y, second, 1.0)) - np.log(2)


def _log_normal(y: Any, mean: Any, deviation: Any) -> Array:
    return -0.5 * np.square((y - mean) / deviation) - np.log(deviation * np.sqrt(2 * np.pi))


@dataclass(frozen=True, eq=False)
class Rows:
    """Training and test rows of a problem, and the maps to mean zero and standard deviation one.

    :param problem: its name.
    :param train: x and y in their own units, each [N, 1].
    :param test: the same for the test.
    :param inputs: the map of x.
    :param targets: the map of y.
    """

    problem: str
    train: tuple[Array, Array]
    test: tuple[Array, Array]
    inputs: Standardiser
    targets: Standardiser

    @classmethod
    def draw(cls, problem: str, num_rows: int, seed: int) -> Rows:
        """Draw as many rows for training as for the test."""
        rng = np.random.default_rng(seed)
        train, test = (draw(problem, num_rows, rng) for _ in range(2))
        return cls.of(problem, train, test)

    @classmethod
    def of(cls, problem: str, train: tuple[Array, Array], test: tuple[Array, Array]) -> Rows:
        """Standardise rows by those for training."""
        return cls(problem, train, test, Standardiser.fit(train[0]), Standardiser.fit(train[1]))

    @property
    def standardised(self) -> tuple[Array, Array]:
        """The training rows, standardised."""
        return self.inputs.transform(self.train[0]), self.targets.transform(self.train[1])

"""Data and networks of the experiment with every posterior: the cubic in a gap, and small digits.

A task gives the rows to train on, a network, inputs at which its predictions are compared, and
measures of draws of f there. Each has two sets of inputs: test rows, and a line of inputs that
leaves the data, for the figure. On the cubic the line goes through the gap; of digits it is a six
that is turned, until it is a nine.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np
from gpflow.likelihoods import Softmax
from numpy.typing import NDArray
from scipy.special import softmax

from gpflow_gi import classification_metrics, metrics
from gpflow_gi.architectures import build_bnn
from gpflow_gi.datasets import images
from gpflow_gi.experiments.cubic import GAP, RANGE, Cubic
from gpflow_gi.experiments.cubic_network import untrained_network
from gpflow_gi.experiments.shift import NUM_BINS, NUM_CLASSES, rotated
from gpflow_gi.experiments.toy import SHOWN
from gpflow_gi.experiments.wasserstein import wasserstein_1
from gpflow_gi.models import DeepGP

Array = NDArray[np.float64]

BANDS = (0.025, 0.16, 0.84, 0.975)
"""Quantiles between which the bands of the figure lie: the outer ones, and the inner ones."""

LEVELS = [level / 20 for level in range(1, 20)]
"""Levels of central intervals, for the curve of calibration."""

MOST_COMPONENTS = 500
"""Draws of f for the CRPS, at most; its time goes with their square."""


class Task(Protocol):
    """A task; see the module."""

    without: tuple[str, ...]
    """Methods that the task cannot have."""
    rows: tuple[Array, Array]
    inputs: Array
    """Inputs [N, D] at which draws of f are measured."""
    watched: Array
    """Inputs [W, D] at which the convergence of NUTS is measured, besides the rows."""
    rates: dict[str, float]
    """Learning rates of "SWAG" and "SGHMC"."""
    batch_size: int
    """Rows of a step of SWAG."""
    line: dict[str, Any]
    """Contents of the figure: "x" [L] of the line, the names of curves, and the rows."""

    def network(self, inference: str) -> DeepGP:
        """The network at its start."""

    def measures(self, runs: Sequence[Array], chains: Sequence[Array]) -> dict[str, Any]:
        """Measures of draws of f, ready for JSON.

        :param runs: draws [S, N, P] of f at :attr:`inputs`; of NUTS its chains.
        :param chains: draws of f by NUTS.
        :return: "bands" [curve, 1 + len(BANDS), L], means and quantiles along the line; "distance"
            from NUTS for test rows, "distance_outside" along the line and "deviation_outside", the
            standard deviation there; "log_density" and "score" of test rows: of numbers the CRPS,
            of classes Brier's; "calibration_error", and the curve behind it, "calibration" [2, L]:
            levels of central intervals and the shares of rows in them, or the mean confidences and
            the accuracies of bins.
        """


class CubicTask:
    """The cubic in a gap: 40 rows, 2 x 50 ReLU units, the noise known; test rows in the gap too."""

    without: tuple[str, ...] = ("full-rank",)  # 2751 weights
    batch_size = 10

    def __init__(
        self, num_rows: int, num_inducing: int, num_inputs: int, num_test: int, seed: int
    ) -> None:
        self._num_inducing, self._seed = num_inducing, seed
        self._data = data = Cubic.draw(num_rows, seed)
        self.rows = data.X, data.Y
        grid = data.evenly(num_inputs, *SHOWN)
        x = data.inputs.inverse(grid)[:, 0]
        self._in_gap, self._in_range = ((low < x) & (x < high) for low, high in (GAP, RANGE))
        test_X, self._test_Y = data.everywhere(num_test, seed + 1)
        self.inputs = np.concatenate([grid, test_X])
        self.watched = data.evenly(num_inputs)
        # The curvature goes with 1 / noise, and so does the largest stable rate.
        rate = 0.02 * data.noise_deviation**2
        self.rates = {"SWAG": rate, "SGHMC": rate}
        self.line = {
            "x": grid[:, 0].tolist(),
            "names": ["f"],
            "rows": [data.X[:, 0].tolist(), data.Y[:, 0].tolist()],
        }

    def network(self, inference: str) -> DeepGP:
        return untrained_network(
            self._data, inference=inference, num_inducing=self._num_inducing, seed=self._seed
        )

    def measures(self, runs: Sequence[Array], chains: Sequence[Array]) -> dict[str, Any]:
        L = len(self.line["x"])
        distances = _distances(runs, chains, lambda f: f[:, :L, 0])
        everything = np.concatenate(runs)
        along, f = everything[:, :L, 0], everything[:, L:]
        noise = np.full_like(f, self._data.noise_deviation**2)
        pit = metrics.mixture_pit(self._test_Y, f, noise)
        step = -(-len(f) // MOST_COMPONENTS)
        return {
            "bands": [_bands(along)],
            "distance": float(distances[self._in_range].mean()),
            "distance_outside": float(distances[self._in_gap].mean()),
            "deviation_outside": float(along.std(axis=0)[self._in_gap].mean()),
            "log_density": float(metrics.mixture_log_density(self._test_Y, f, noise).mean()),
            "score": float(metrics.mixture_crps(self._test_Y, f[::step], noise[::step]).mean()),
            "calibration_error": metrics.calibration_error(pit),
            "calibration": [LEVELS, [float(np.mean(np.abs(2 * pit - 1) <= p)) for p in LEVELS]],
        }


class DigitsTask:
    """Digits of 4 x 4 pixels in ten classes, and one hidden layer of ten units: 280 weights."""

    without: tuple[str, ...] = ("random priors",)  # they need Gaussian noise
    batch_size = 50
    WIDTH = 10
    TURNED, TO = 6, 9
    """The digit that is turned, and what it is then."""

    def __init__(
        self, num_rows: int, num_inducing: int, num_inputs: int, num_test: int, seed: int
    ) -> None:
        self._num_inducing, self._seed = num_inducing, seed
        self.rates = {"SWAG": 1.0, "SGHMC": 0.5}
        train, test = images("digits")
        chosen = np.random.default_rng(seed).permutation(len(train.X))[:num_rows]
        pixels, labels = self._small(train.X[chosen, :, :, 0]), train.Y[chosen]
        mean, deviation = pixels.mean(), pixels.std()
        self.rows = (pixels - mean) / deviation, labels
        # Of the sixes, the one that is most like the mean of the nines when it is upside down.
        sixes = test.X[test.Y[:, 0] == self.TURNED, :, :, 0]
        nine = train.X[train.Y[:, 0] == self.TO, :, :, 0].mean(axis=0)
        nearest = np.argmin(np.square(rotated(sixes, 180) - nine).sum(axis=(1, 2)))
        angles = np.linspace(0, 180, num_inputs)
        turned = np.concatenate([rotated(sixes[[nearest]], angle) for angle in angles])
        self._test_Y = test.Y[:num_test].astype(int)
        everything = self._small(np.concatenate([turned, test.X[:num_test, :, :, 0]]))
        self.inputs = (everything - mean) / deviation
        self.watched = self.inputs[:num_inputs]
        shown = np.linspace(0, num_inputs - 1, 7).round().astype(int)
        self.line = {
            "x": angles.tolist(),
            "names": [str(self.TURNED), str(self.TO)],
            "images": turned[shown].tolist(),
        }

    @staticmethod
    def _small(X: Array) -> Array:
        """Means of 2 x 2 pixels: of [N, 8, 8], [N, 16]."""
        return X.reshape(len(X), 4, 2, 4, 2).mean(axis=(2, 4)).reshape(len(X), -1).astype(float)

    def network(self, inference: str) -> DeepGP:
        likelihood = Softmax(NUM_CLASSES)
        likelihood.num_monte_carlo_points = 20
        with warnings.catch_warnings():
            # All pixels share one scale, and so those that are mostly black have a small deviation.
            warnings.filterwarnings("ignore", "X.* standard deviation")
            return build_bnn(
                *self.rows,
                widths=(self.WIDTH,),
                inference=inference,
                num_inducing=self._num_inducing,
                likelihood=likelihood,
                prior_scale=2.0,
                seed=self._seed,
            )

    def measures(self, runs: Sequence[Array], chains: Sequence[Array]) -> dict[str, Any]:
        L, classes = len(self.line["x"]), [self.TURNED, self.TO]

        def along(f: Array) -> Array:
            """Probabilities of the two classes, one after the other, [S, 2 L]."""
            return np.concatenate([softmax(f[:, :L], axis=2)[..., c] for c in classes], axis=1)

        def of_labels(f: Array) -> Array:
            """Probabilities of the labels of test images, [S, num_test]."""
            P = softmax(f[:, L:], axis=2)
            return np.take_along_axis(P, self._test_Y[None], axis=2)[..., 0]

        everything = np.concatenate(runs)
        lines = along(everything)
        P = softmax(everything[:, L:], axis=2).mean(axis=0)
        labels = self._test_Y
        ece = classification_metrics.expected_calibration_error(labels, P, NUM_BINS)
        bins = classification_metrics.reliability(labels, P, NUM_BINS)
        full = bins.size > 0
        return {
            "bands": [_bands(part) for part in np.split(lines, len(classes), axis=1)],
            "distance": float(_distances(runs, chains, of_labels).mean()),
            "distance_outside": float(_distances(runs, chains, along).mean()),
            "deviation_outside": float(lines.std(axis=0).mean()),
            "log_density": float(classification_metrics.log_density(labels, P).mean()),
            "score": float(classification_metrics.brier_score(labels, P).mean()),
            "calibration_error": ece,
            "calibration": [bins.confidence[full].tolist(), bins.accuracy[full].tolist()],
            "accuracy": classification_metrics.accuracy(labels, P),
            "confidence": float(P.max(axis=1).mean()),
        }


def _distances(
    runs: Sequence[Array], chains: Sequence[Array], part: Callable[[Array], Array]
) -> Array:
    """Wasserstein-1 distances from NUTS, [n], mean over runs; of a chain, from the others.

    :param part: from draws of f to the values [S, n] whose distributions are compared.
    """
    distances = []
    for run in runs:
        others = np.concatenate([part(chain) for chain in chains if chain is not run])
        distances.append(wasserstein_1(part(run), others))
    return np.mean(distances, axis=0)


def _bands(values: Array) -> list[list[float]]:
    """The mean and the quantiles of :data:`BANDS`, of [S, L]."""
    return [values.mean(axis=0).tolist(), *np.quantile(values, BANDS, axis=0).tolist()]


TASKS: dict[str, type[CubicTask] | type[DigitsTask]] = {"cubic": CubicTask, "digits": DigitsTask}

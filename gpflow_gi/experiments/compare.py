"""Models side by side on one table: a sparse GP, and deep GPs or Bayesian neural networks.

The deep GPs have local and global inducing points, the networks factorised, local and global
posteriors. Within each kind all have the same prior, and those with inducing points the same number
of them; all are trained and measured on the same rows. The sparse GP is there to tell whether depth
helps at all.
"""

import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from gpflow_gi import metrics
from gpflow_gi.benchmark.records import described
from gpflow_gi.benchmark.train import train_method
from gpflow_gi.benchmark.trial import Measured, Rows
from gpflow_gi.datasets import Standardiser, Table
from gpflow_gi.experiments.settings import Settings
from gpflow_gi.training import FitRecord, NonFiniteError

Array = NDArray[np.float64]

INTERVAL = 0.95
"""The probability that the predictive intervals claim."""


@dataclass(frozen=True, eq=False)
class Result:
    """What became of one model.

    :param name: what the model is called in reports.
    :param record: of its training; an empty one if that was not by :func:`gpflow_gi.fit`.
    :param measured: on the rows trained on and those held out.
    :param seconds: of building and training it, compilation included.
    """

    name: str
    record: FitRecord
    measured: Measured
    seconds: float

    @cached_property
    def interval(self) -> tuple[Array, Array]:
        """Where the predictions' central intervals of probability `INTERVAL` begin and end, [n]."""
        return self.measured.held_out.interval(INTERVAL)

    @property
    def coverage(self) -> float:
        """The share of held-out targets inside their intervals."""
        return metrics.coverage(self.measured.held_out.Y[:, 0], *self.interval)


@dataclass(frozen=True, eq=False)
class Failure:
    """A model that could not be trained or measured.

    :param name: what the model is called in reports.
    :param error: its "type", "message" and "traceback".
    :param record: of its training, as far as it came; None if it had not begun.
    """

    name: str
    error: Mapping[str, str | None]
    record: FitRecord | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several models on the same rows.

    :param settings: as they were used: `num_inducing` and `batch_size` fit the data.
    :param train: the rows that the models were trained on, on their original scale.
    :param test: the rows held out.
    :param standardiser: of the target.
    :param outcomes: one for each model that has ended, in the order of their training.
    :param left: the names of the models that have not ended.
    """

    settings: Settings
    train: Table
    test: Table
    standardiser: Standardiser
    outcomes: list[Result | Failure]
    left: tuple[str, ...] = ()

    @property
    def results(self) -> list[Result]:
        """Of the models that did not fail."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Result)]

    @property
    def failures(self) -> list[Failure]:
        """Of the models that did."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Failure)]


def compare(
    train: Table,
    test: Table,
    settings: Settings,
    *,
    progress: bool = True,
    announce: Callable[[str], None] = lambda name: None,
    ended: Callable[[Comparison], None] = lambda comparison: None,
) -> Comparison:
    """Train and measure all models. One that fails is a :class:`Failure`; the others are trained.

    :param train: rows to train on; they alone decide how inputs and target are standardised.
    :param test: rows to measure on.
    :param settings: with no more inducing points, and no larger batches, than `train` has rows.
    :param progress: whether to show a progress bar.
    :param announce: called with the name of every model before it is trained.
    :param ended: called with all there is so far whenever a model has ended.
    """
    rows, budget, methods = Rows(train, test), settings.budget(), settings.methods()
    outcomes: list[Result | Failure] = []
    for i, method in enumerate(methods, 1):
        announce(method.title)
        record, started = None, time.perf_counter()
        try:
            trained = train_method(method, budget, rows.X, rows.Y, settings.seed, progress)
            record, seconds = trained.record, time.perf_counter() - started
            result = Result(method.title, record, Measured.of(trained, rows), seconds)
            _ = result.interval  # all that can fail, here
            outcomes.append(result)
        except Exception as error:
            if isinstance(error, NonFiniteError):
                record = error.record
            what = described(type(error).__name__, str(error), traceback.format_exc())
            outcomes.append(Failure(method.title, what, record))
        left = tuple(method.title for method in methods[i:])
        comparison = Comparison(settings, train, test, rows.targets, list(outcomes), left)
        ended(comparison)
    return comparison

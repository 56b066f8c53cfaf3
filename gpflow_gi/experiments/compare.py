"""A comparison of models on one table: a sparse GP, and deep GPs or Bayesian neural networks.

The deep GPs have local and global inducing points; the networks have factorised, local and global
posteriors. Within each kind all models have the same prior, and those with inducing points have the
same number of them. All are trained and measured on the same rows. The sparse GP shows whether
depth helps.
"""

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import gpflow
import numpy as np
from numpy.typing import NDArray

from gpflow_gi import metrics
from gpflow_gi.benchmark.labels import likelihood_of
from gpflow_gi.benchmark.records import described
from gpflow_gi.benchmark.train import Trained, train_method
from gpflow_gi.benchmark.trial import Measured, Rows
from gpflow_gi.datasets import Standardiser, Table
from gpflow_gi.experiments.settings import Settings
from gpflow_gi.metrics.held_out_labels import HeldOutClasses
from gpflow_gi.persistence import TableModel
from gpflow_gi.training import FitRecord, NonFiniteError

Array = NDArray[np.float64]

INTERVAL = 0.95
"""Probability of the predictive intervals."""


@dataclass(frozen=True, eq=False)
class Result:
    """Results of one model.

    :param name: name of the model in reports.
    :param record: record of its training; empty if that was not by :func:`gpflow_gi.fit`.
    :param measured: measures on the training rows and on the held-out rows.
    :param seconds: time of building and training it, including compilation.
    """

    name: str
    record: FitRecord
    measured: Measured
    seconds: float

    @cached_property
    def interval(self) -> tuple[Array, Array] | None:
        """Ends of the central predictive intervals of probability `INTERVAL`, two of [n].

        None for classes.
        """
        held_out = self.measured.held_out
        return None if isinstance(held_out, HeldOutClasses) else held_out.interval(INTERVAL)

    @property
    def coverage(self) -> float | None:
        """The share of held-out targets inside their intervals; None for classes."""
        if self.interval is None:
            return None
        return metrics.coverage(self.measured.held_out.Y[:, 0], *self.interval)


@dataclass(frozen=True, eq=False)
class Failure:
    """A model that could not be trained or measured.

    :param name: name of the model in reports.
    :param error: its "type", "message" and "traceback".
    :param record: record of its training up to the error; None if training had not begun.
    """

    name: str
    error: Mapping[str, str | None]
    record: FitRecord | None = None


@dataclass(frozen=True, eq=False)
class Comparison:
    """Several models on the same rows.

    :param settings: the settings used: `num_inducing` and `batch_size` fit the data.
    :param train: the training rows, on their original scale.
    :param test: the held-out rows.
    :param standardiser: standardiser of the target.
    :param outcomes: one for each model that has ended, in the order of training.
    :param left: names of the models that have not ended.
    """

    settings: Settings
    train: Table
    test: Table
    standardiser: Standardiser
    outcomes: list[Result | Failure]
    left: tuple[str, ...] = ()

    @property
    def results(self) -> list[Result]:
        """Results of the models that did not fail."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Result)]

    @property
    def failures(self) -> list[Failure]:
        """Failures of the models that failed."""
        return [outcome for outcome in self.outcomes if isinstance(outcome, Failure)]


@contextmanager
def _jitter(jitter: float | None) -> Iterator[None]:
    """Within this context, GPflow's jitter is another; None for no change."""
    with gpflow.config.as_context():
        if jitter is not None:
            gpflow.config.set_default_jitter(jitter)
        yield


def compare(
    train: Table,
    test: Table,
    settings: Settings,
    *,
    progress: bool = True,
    announce: Callable[[str], None] = lambda name: None,
    ended: Callable[[Comparison], None] = lambda comparison: None,
    keep_model: Callable[[str, TableModel], None] | None = None,
) -> Comparison:
    """Train and measure all models. A model that fails is a :class:`Failure`; the others go on.

    :param train: training rows; inputs and target are standardised with these alone.
    :param test: test rows.
    :param settings: with no more inducing points, and no larger batches, than `train` has rows.
    :param progress: True to show a progress bar.
    :param announce: called with the name of every model before it is trained.
    :param ended: called with the comparison so far after each model has ended.
    :param keep_model: called with the name of the method and the model, of each that has not
        failed, before `ended`.
    """
    rows, budget, methods = Rows(train, test), settings.budget(), settings.methods()
    outcomes: list[Result | Failure] = []
    for i, method in enumerate(methods, 1):
        announce(method.title)
        record, started = None, time.perf_counter()
        try:
            with _jitter(settings.jitter):
                trained = train_method(
                    method,
                    budget,
                    rows.X,
                    rows.Y,
                    settings.seed,
                    progress,
                    until_converged=settings.until_converged,
                    likelihood=likelihood_of(rows.task, len(rows.classes)),
                )
                record, seconds = trained.record, time.perf_counter() - started
                result = Result(method.title, record, Measured.of(trained, rows), seconds)
            _ = result.interval  # everything that can fail, fails here
            outcomes.append(result)
            if keep_model and trained.model:
                keep_model(method.name, _table_model(trained, train, rows, settings.seed))
        except Exception as error:
            if isinstance(error, NonFiniteError):
                record = error.record
            what = described(type(error).__name__, str(error), traceback.format_exc())
            outcomes.append(Failure(method.title, what, record))
        left = tuple(method.title for method in methods[i:])
        comparison = Comparison(settings, train, test, rows.targets, list(outcomes), left)
        ended(comparison)
    return comparison


def _table_model(trained: Trained, train: Table, rows: Rows, seed: int) -> TableModel:
    assert trained.model is not None
    return TableModel(
        trained.model(),
        train.preprocessing,
        rows.inputs,
        train.target_name,
        rows.targets,
        trained.num_samples,
        seed,
        train.task,
        train.classes,
    )

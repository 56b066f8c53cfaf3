"""One trial: one method on one split of one data set."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gpflow_gi import metrics
from gpflow_gi._version import __version__
from gpflow_gi.core.json_file import versions
from gpflow_gi.datasets import Standardiser, Table, standard_split, uci
from gpflow_gi.datasets.targets import CLASSIFICATION, REGRESSION
from gpflow_gi.metrics.held_out import HeldOut
from gpflow_gi.metrics.held_out_labels import HeldOutClasses, HeldOutCounts
from gpflow_gi.training.convergence import MADE_WORSE

from .budgets import BUDGETS, Budget
from .methods import METHODS, Method, settings_of
from .peak_memory import PeakMemory

if TYPE_CHECKING:
    from .train import Trained

LEVELS = (0.5, 0.9, 0.95)
"""Probabilities of the central intervals for coverage."""


class Rows:
    """Training rows and test rows, with columns standardised by the training rows.

    Classes and counts are not standardised.

    :param train: N training rows.
    :param test: n test rows.
    """

    def __init__(self, train: Table, test: Table) -> None:
        self.inputs = Standardiser.fit(train.X)
        self.targets = Standardiser(np.zeros(1), np.ones(1))
        if train.task == REGRESSION:
            self.targets = Standardiser.of_targets(train.Y)
        self.task, self.classes = train.task, train.classes
        self.X, self.Y = self.inputs.transform(train.X), self.targets.transform(train.Y)
        """Training inputs [N, D] and targets [N, 1], standardised."""
        self.X_test = self.inputs.transform(test.X)
        """Test inputs [n, D], standardised."""
        self.Y_test = test.Y
        """Test targets [n, 1], in their own unit."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Measures of a trained model.

    :param held_out: the held-out rows and their predictions.
    :param metrics: "elbo" per row, None if there is no bound, and measures on the held-out rows.
    :param standard_errors: over rows, for metrics that are means; for the bound over samples,
        and None if there is no bound.
    """

    held_out: HeldOut | HeldOutClasses | HeldOutCounts
    metrics: Mapping[str, float | None]
    standard_errors: Mapping[str, float | None]

    @classmethod
    def of(cls, trained: Trained, rows: Rows) -> Measured:
        """Measure a model.

        :param trained: from :func:`gpflow_gi.benchmark.train.train_method`.
        :param rows: training rows and test rows.
        """
        bound, N = trained.bound(), len(rows.X)
        elbo, error = (None, None) if bound is None else (number / N for number in bound)
        if rows.task != REGRESSION:
            return cls._of_labels(trained, rows, elbo, error)
        components = trained.predict(rows.X_test)
        if not all(np.isfinite(values).all() for values in components):
            raise ArithmeticError("predictions of held-out rows are not finite.")
        held_out = HeldOut(rows.Y_test, *components, rows.targets)
        by_row: dict[str, Any] = {"log_density": held_out.log_density, "crps": held_out.crps}
        inside = {f"coverage_{100 * p:.0f}": np.abs(held_out.pit - 0.5) <= p / 2 for p in LEVELS}
        means = {name: float(np.mean(values)) for name, values in (by_row | inside).items()}
        n = len(held_out.Y)
        errors = {
            name: float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
            for name, values in (by_row | inside).items()
        }
        metrics_ = {
            "elbo": elbo,
            **{name: means[name] for name in by_row},
            "rmse": held_out.rmse,
            "pit_error": metrics.calibration_error(held_out.pit),
            **{name: means[name] for name in inside},
        }
        return cls(held_out, metrics_, {"elbo": error, **errors})

    @classmethod
    def _of_labels(
        cls, trained: Trained, rows: Rows, elbo: float | None, error: float | None
    ) -> Measured:
        """Measure predictions of classes or counts."""
        from .labels import predict_labels

        held_out = predict_labels(trained, rows.task, rows.X_test, rows.Y_test)
        n = len(held_out.Y)
        by_row: dict[str, Any] = {"log_density": held_out.log_density}
        if isinstance(held_out, HeldOutClasses):
            by_row |= {"accuracy": held_out.is_right, "brier": held_out.brier}
            more = {"ece": held_out.ece}
        else:
            by_row["crps"] = held_out.crps
            more = {"rmse": held_out.rmse}
        means = {name: float(np.mean(values)) for name, values in by_row.items()}
        errors = {
            name: float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
            for name, values in by_row.items()
        }
        return cls(held_out, {"elbo": elbo, **means, **more}, {"elbo": error, **errors})


def run_trial(
    dataset: str | Table,
    split: int,
    method: str | Method,
    budget: str | Budget = "quick",
    seed: int = 0,
) -> dict[str, Any]:
    """Train a method on one split, and measure it on the held-out rows.

    Columns are standardised by the training rows. Bounds are per row and for the standardised
    target, in nats, and None if the posterior has no density; everything else is for the target in
    its own unit: the log density of the predictive mixture in nats, CRPS (closed form) and RMSE in
    the target's unit. "pit_error" is :func:`gpflow_gi.metrics.calibration_error`, "coverage_90" the
    share of targets in the central intervals of probability 0.9. Standard errors are over rows, for
    the bound over samples.

    :param dataset: a name of :func:`gpflow_gi.datasets.uci`, or a table of your own.
    :param split: number of the split; see :func:`gpflow_gi.datasets.standard_split`.
    :param method: a name of :data:`gpflow_gi.benchmark.METHODS`, or one of your own.
    :param budget: "quick", "standard", "paper", or one of your own.
    :param seed: seed of the start, of training and of predictions.
    :return: "trial" (all settings), "data", "version", "versions", "metrics", "standard_errors",
        "cost" ("seconds", which include "compile_seconds"; "cpu_seconds" of all threads, which
        other programs of the machine change less; "steps"; "peak_memory_mb" of the process,
        including TensorFlow and remains of earlier trials; "num_parameters", the number of trained
        parameters), "hyperparameters" (the small ones) and, if there are any, "notes":
        on categories of held-out rows that no training row has, on what training had to change to
        go on, and on a bound that is worse than at the start; ready for JSON except for numbers
        that are not finite.
    :raises ValueError: if a name is unknown, or if the target is classes or counts and the method
        has Gaussian noise alone.
    :raises gpflow_gi.datasets.DataError: if the data are not available, or if there is no such
        split.
    :raises gpflow_gi.training.NonFiniteError: if the bound stops being finite in training.
    :raises FloatingPointError: if the evidence of the method "gp" is not finite at the end of
        L-BFGS, from any of its starts.
    """
    chosen: Method = _named("method", method, METHODS, Method)
    numbers: Budget = _named("budget", budget, BUDGETS, Budget)
    if isinstance(dataset, Table):
        name, (train, test) = dataset.name, standard_split(dataset, split)
    else:
        name, (train, test) = dataset, uci(dataset, split)
    import gpflow

    from .labels import likelihood_of
    from .train import train_method

    if train.task != REGRESSION and not chosen.takes_likelihoods:
        kind = "classes" if train.task == CLASSIFICATION else "counts"
        raise ValueError(
            f"method {chosen.name!r} is for regression with Gaussian noise, and the target "
            f"{train.target_name!r} of {name} holds {kind}: take 'svgp' or 'dgp-global-2', for "
            "example."
        )
    with gpflow.config.as_context(), PeakMemory() as memory:
        gpflow.config.set_default_float(np.float64)
        started, cpu_started = time.perf_counter(), time.process_time()
        rows = Rows(train, test)
        likelihood = likelihood_of(rows.task, len(rows.classes))
        trained = train_method(chosen, numbers, rows.X, rows.Y, seed, likelihood=likelihood)
        measured = Measured.of(trained, rows)
        seconds = time.perf_counter() - started
        cpu_seconds = time.process_time() - cpu_started
    # Remarks on this split, and not those on the whole file, which the command has printed.
    known = dataset.notes if isinstance(dataset, Table) else ()
    notes = [note for note in train.notes if note not in known]
    notes += map(str, trained.record.recoveries)
    if MADE_WORSE in (shortcoming := trained.record.shortcoming or ""):
        notes.append(shortcoming)
    return {
        "trial": {
            "dataset": name,
            "split": int(split),
            "method": chosen.name,
            "budget": asdict(numbers),
            "seed": int(seed),
            "settings": settings_of(chosen),
        },
        "data": {
            "name": name,
            "num_train": len(train.X),
            "num_test": len(test.X),
            "num_inputs": train.X.shape[1],
            "target": train.target_name,
        },
        "version": __version__,
        "versions": versions(),
        "metrics": dict(measured.metrics),
        "standard_errors": dict(measured.standard_errors),
        "cost": {
            "seconds": seconds,
            "cpu_seconds": cpu_seconds,
            "compile_seconds": trained.record.compile_seconds,
            "steps": trained.steps,
            "peak_memory_mb": memory.peak / 1e6,
            "num_parameters": trained.num_parameters,
        },
        "hyperparameters": trained.hyperparameters,
        **({"notes": notes} if notes else {}),
    }


def _named(argument: str, value: Any, known: Mapping[str, Any], kind: type) -> Any:
    if isinstance(value, kind):
        return value
    if value not in known:
        raise ValueError(f"{argument} must be one of {', '.join(known)}, but is {value!r}.")
    return known[value]

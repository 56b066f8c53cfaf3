"""One trial: one method on one split of one data set."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from gpflow_gi import metrics
from gpflow_gi._version import __version__
from gpflow_gi.datasets import Standardiser, Table, standard_split, uci

from .budgets import BUDGETS, Budget
from .methods import METHODS, Method, settings_of
from .peak_memory import PeakMemory

LEVELS = (0.5, 0.9, 0.95)
"""Probabilities of the central intervals whose coverage is measured."""


def run_trial(
    dataset: str | Table,
    split: int,
    method: str | Method,
    budget: str | Budget = "quick",
    seed: int = 0,
) -> dict[str, Any]:
    """Train a method on one split, and measure it on the rows held out.

    Columns are standardised by the rows to train on. Bounds are per row and for the standardised
    target, in nats; all else is for the target in its own unit: the log density of the predictive
    mixture in nats, CRPS (closed form) and RMSE in the target's unit. "pit_error" is
    :func:`gpflow_gi.metrics.calibration_error`, "coverage_90" the share of targets in the central
    intervals of probability 0.9. Standard errors are over rows, that of the bound over samples.

    :param dataset: a name of :func:`gpflow_gi.datasets.uci`, or a table of your own.
    :param split: which split; see :func:`gpflow_gi.datasets.standard_split`.
    :param method: a name of :data:`gpflow_gi.benchmark.METHODS`, or one of your own.
    :param budget: "quick", "paper", or one of your own.
    :param seed: of the start, of training and of predictions.
    :return: "trial" (all settings), "data", "version", "versions", "metrics", "standard_errors",
        "cost" ("seconds", of which "compile_seconds"; "steps"; "peak_memory_mb" of the process,
        TensorFlow and what earlier trials left included; "num_parameters" that are trained),
        "hyperparameters" (those of the model that are few) and, if training had to change
        something to come to its end, "notes" of that; ready for JSON but for numbers that are not
        finite.
    :raises ValueError: if a name is unknown.
    :raises gpflow_gi.datasets.DataError: if the data cannot be had, or there is no such split.
    :raises gpflow_gi.training.NonFiniteError: if training meets a bound that is not finite.
    :raises FloatingPointError: if the evidence of the method "gp" is not finite where L-BFGS ends,
        from all of its starts.
    """
    chosen: Method = _named("method", method, METHODS, Method)
    numbers: Budget = _named("budget", budget, BUDGETS, Budget)
    if isinstance(dataset, Table):
        name, (train, test) = dataset.name, standard_split(dataset, split)
    else:
        name, (train, test) = dataset, uci(dataset, split)
    # Imported here: whoever plans a sweep, or reads its records, has no use for TensorFlow.
    import gpflow

    from gpflow_gi.benchmark.train import train_method
    from gpflow_gi.core.json_file import versions
    from gpflow_gi.metrics.held_out import HeldOut

    inputs, targets = Standardiser.fit(train.X), Standardiser.fit(train.Y)
    with gpflow.config.as_context(), PeakMemory() as memory:
        gpflow.config.set_default_float(np.float64)
        started = time.perf_counter()
        trained = train_method(
            chosen, numbers, inputs.transform(train.X), targets.transform(train.Y), seed
        )
        held_out = HeldOut(test.Y, *trained.predict(inputs.transform(test.X)), targets)
        measures, errors = _measures(held_out)
        seconds = time.perf_counter() - started
    return {
        "trial": {
            "dataset": name,
            "split": split,
            "method": chosen.name,
            "budget": asdict(numbers),
            "seed": seed,
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
        "metrics": {"elbo": trained.elbo, **measures},
        "standard_errors": {"elbo": trained.elbo_standard_error, **errors},
        "cost": {
            "seconds": seconds,
            "compile_seconds": trained.compile_seconds,
            "steps": trained.steps,
            "peak_memory_mb": memory.peak / 1e6,
            "num_parameters": trained.num_parameters,
        },
        "hyperparameters": trained.hyperparameters,
        **({"notes": list(trained.notes)} if trained.notes else {}),
    }


def _measures(held_out: Any) -> tuple[dict[str, float], dict[str, float]]:
    """The metrics of held-out rows, and standard errors over rows of those that are means."""
    by_row = {"log_density": held_out.log_density, "crps": held_out.crps}
    measures = {name: float(np.mean(values)) for name, values in by_row.items()}
    measures["rmse"] = held_out.rmse
    measures["pit_error"] = metrics.calibration_error(held_out.pit)
    for level in LEVELS:
        inside = np.abs(held_out.pit - 0.5) <= level / 2
        measures[f"coverage_{100 * level:.0f}"] = float(np.mean(inside))
        by_row[f"coverage_{100 * level:.0f}"] = inside
    n = len(held_out.Y)
    errors = {
        name: float(np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else float("nan")
        for name, values in by_row.items()
    }
    return measures, errors


def _named(argument: str, value: Any, known: Mapping[str, Any], kind: type) -> Any:
    if isinstance(value, kind):
        return value
    if value not in known:
        raise ValueError(f"{argument} must be one of {', '.join(known)}, but is {value!r}.")
    return known[value]

"""Sweeps of each method at its own best learning rate on each data set.

Rates are tried on one split, and the one with the best bound on the training rows is kept for all
others. Methods keep the budget's rate if they have no bound, if they do not train or predict by it,
or if their training has no rate or one of its own. All trials of such a sweep have budgets of one
name, which says so.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from .budgets import Budget
from .methods import BOUND, METHODS, Method, objective_of
from .records import DONE, Trial
from .sweep import plan

TRIED_ON = 0
"""The split on which learning rates are tried."""

_PHRASE = "best learning rate of"

CHOSEN = ("learning_rate", "last_learning_rate")
"""Numbers of a budget that the choice sets."""


def budgets_at(budget: Budget, rates: Sequence[float]) -> dict[float, Budget]:
    """The budget at its own rate and at others. The last rate keeps its ratio to the first one.

    :param rates: learning rates.
    :return: by rate, in rising order.
    """
    rates = sorted({*rates, budget.learning_rate})
    name = f"{budget.name}, {_PHRASE} {', '.join(f'{rate:g}' for rate in rates)}"
    ratio = budget.last_learning_rate / budget.learning_rate
    return {
        rate: replace(budget, name=name, learning_rate=rate, last_learning_rate=ratio * rate)
        for rate in rates
    }


def is_of_best_rates(budget: str) -> bool:
    """Return True if a budget's name is that of a sweep at best rates."""
    return re.search(rf", {_PHRASE} \d", budget) is not None


def is_ranked_by_bound(method: Method) -> bool:
    """Return True if a better bound means a better rate: if training maximises the bound."""
    return objective_of(method.settings) == BOUND


def best_rate(bounds: Mapping[float, float]) -> float | None:
    """The rate with the best bound, the lower one of two that tie; None if there is no bound.

    :param bounds: by rate; NaN where there is none.
    """
    known = {rate: bound for rate, bound in sorted(bounds.items()) if bound == bound}
    return max(known, key=lambda rate: known[rate]) if known else None


def run(
    data: Sequence[Mapping[str, Any]],
    splits: Iterable[int],
    methods: Mapping[str, Mapping[str, Any]],
    budget: Budget,
    rates: Sequence[float],
    seed: int,
    run_trials: Callable[[Sequence[Trial]], list[dict[str, Any]]],
) -> list[dict[str, Any]]:
    """Try the rates on split 0, which need not be among `splits`, choose, and run the others.

    :param data: as for :func:`gpflow_gi.benchmark.sweep.plan`, like `splits`, `methods` and `seed`.
    :param rates: learning rates, beside the budget's own.
    :param run_trials: runs trials that have no record, and returns the records of all.
    :return: the records of all trials.
    """
    at = {rate: asdict(one) for rate, one in budgets_at(budget, rates).items()}
    own = budget.learning_rate
    first = plan(data, [TRIED_ON], methods, at[own], seed)
    records = run_trials(first)
    others = [
        replace(trial, budget=at[rate])
        for trial, record in zip(first, records, strict=True)
        for method in [METHODS[trial.method]]
        if method.has_rate and is_ranked_by_bound(method) and may_have_bound(record)
        for rate in at
        if rate != own
    ]
    tried = [*first, *others]
    records = [*records, *run_trials(others)]
    bounds: dict[tuple[str, str], dict[float, float]] = defaultdict(dict)
    for trial, record in zip(tried, records, strict=True):
        rate = trial.budget["learning_rate"]
        bounds[trial.data["name"], trial.method][rate] = _bound(record)
    rest = [
        replace(trial, budget=at[best_rate(bounds[trial.data["name"], trial.method]) or own])
        for trial in plan(data, [k for k in splits if k != TRIED_ON], methods, at[own], seed)
    ]
    return [*records, *run_trials(rest)]


def may_have_bound(record: Mapping[str, Any]) -> bool:
    """Return True unless a trial is done and has no bound."""
    return record["status"] != DONE or record["metrics"]["elbo"] is not None


def _bound(record: Mapping[str, Any]) -> float:
    bound = record["metrics"]["elbo"] if record["status"] == DONE else None
    return float("nan") if bound is None else float(bound)

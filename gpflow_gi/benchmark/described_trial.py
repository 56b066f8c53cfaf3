"""A trial from its description by a sweep. Worker processes import TensorFlow with this module."""

from collections.abc import Mapping
from typing import Any

from . import train  # noqa: F401  (here, before the trial's clock runs
from .budgets import Budget
from .data import table_of
from .methods import METHODS
from .trial import run_trial


def run(
    data: Mapping[str, Any], split: int, method: str, budget: Mapping[str, Any], seed: int
) -> dict[str, Any]:
    """Run a trial: see :func:`gpflow_gi.benchmark.run_trial`.

    :param data: see :mod:`gpflow_gi.benchmark.data`.
    :param method: one of :data:`gpflow_gi.benchmark.METHODS`.
    :param budget: the numbers of a :class:`gpflow_gi.benchmark.Budget`.
    """
    return run_trial(table_of(data), split, METHODS[method], Budget(**budget), seed)

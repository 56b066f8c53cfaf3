"""Trials of named methods on standard data sets, sweeps over many of them, and reports.

:func:`run_trial` is imported on first use, so that the command line can list methods and data
without waiting.
"""

from typing import TYPE_CHECKING, Any

from .budgets import BUDGETS, Budget
from .methods import METHODS, Method

if TYPE_CHECKING:
    from .trial import run_trial

__all__ = ["BUDGETS", "METHODS", "Budget", "Method", "run_trial"]


def __getattr__(name: str) -> Any:
    if name == "run_trial":
        from .trial import run_trial

        return run_trial
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

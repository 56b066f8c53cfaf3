"""Trials of named methods on standard data sets, sweeps over many of them, and reports.

Only :func:`run_trial` needs TensorFlow, and imports it when it is called.
"""

from .budgets import BUDGETS, Budget
from .methods import METHODS, Method
from .trial import run_trial

__all__ = ["BUDGETS", "METHODS", "Budget", "Method", "run_trial"]

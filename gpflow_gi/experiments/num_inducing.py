"""The bounds against the number of inducing points: how many are enough.

From 1 to 100, with NealPrior of twice its standard deviation (see the experiment "prior-scale").
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from gpflow_gi.experiments import sweep

NAME = "inducing points"

USUAL = sweep.Settings(values=(1, 2, 5, *range(10, 101, 10)), arguments={"prior_scale": 2.0})
FAST = replace(USUAL, values=(2, 5, 10, 50), **sweep.FAST)


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Sweep over the number; see :mod:`gpflow_gi.experiments.study` and ``sweep``."""
    return sweep.sweep(
        "num_inducing", FAST if fast else USUAL, seed=seed, announce=announce, progress=progress
    )


def summary(results: Mapping[str, Any]) -> str:
    """The bounds at every number; see :mod:`gpflow_gi.experiments.study`."""
    return sweep.table(results, NAME)


def plot(results: Mapping[str, Any]) -> Figure:
    """The bounds against the number; see :mod:`gpflow_gi.experiments.study`."""
    return sweep.curves(results, NAME, ticks=(1, 2, 5, 10, 20, 50, 100))

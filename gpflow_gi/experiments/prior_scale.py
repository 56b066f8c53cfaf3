"""The bounds against the scale of the prior: which scale suits the data, if the bound can tell.

The factor on the standard deviation of NealPrior goes from 10^-0.5 to 10^0.5; 100 inducing points.
A bound that is tight has its maximum where the evidence has its own.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from matplotlib.figure import Figure

from gpflow_gi.experiments import sweep

NAME = "factor on the prior's standard deviation"

USUAL = sweep.Settings(
    values=tuple(10 ** (0.1 * i) for i in range(-5, 6)), arguments={"num_inducing": 100}
)
FAST = replace(USUAL, values=tuple(10 ** (0.25 * i) for i in range(-1, 3)), **sweep.FAST)


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Sweep over the scale; see :mod:`gpflow_gi.experiments.study` and ``sweep``."""
    return sweep.sweep(
        "prior_scale", FAST if fast else USUAL, seed=seed, announce=announce, progress=progress
    )


def summary(results: Mapping[str, Any]) -> str:
    """The bounds at every scale; see :mod:`gpflow_gi.experiments.study`."""
    return sweep.table(results, "prior scale")


def plot(results: Mapping[str, Any]) -> Figure:
    """The bounds against the scale; see :mod:`gpflow_gi.experiments.study`."""
    return sweep.curves(results, NAME, ticks=(0.3, 0.5, 1, 2, 3))

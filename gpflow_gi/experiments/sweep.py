"""The global posterior's bounds on the cubic data against one number: curves with bands.

One draw of 100 rows, a network of 2 x 50 ReLU units with known noise, and several runs of training
from different starts at each value of the number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.experiments.cubic import Cubic
from gpflow_gi.experiments.cubic_network import Evaluation, Training, bounds, trained_network
from gpflow_gi.experiments.estimates import mean_and_standard_error, written
from gpflow_gi.plotting import COLOURS

from .parts import Parts

BOUNDS = {"elbo": "ELBO", "iwbo": "IWBO"}

NATS_SHOWN = 30.0
"""Range of the figure's second panel below the best bound, in nats."""


@dataclass(frozen=True)
class Settings:
    """Settings of a sweep.

    :param values: values of the number.
    :param arguments: arguments of :func:`gpflow_gi.experiments.cubic_network.untrained_network`,
        the same for all values.
    :param training: training of each network.
    :param num_runs: number of runs at each value.
    :param num_rows: number of rows of data.
    :param evaluation: settings of the bounds' estimates.
    """

    values: tuple[float, ...]
    arguments: dict[str, Any]
    training: Training = field(default_factory=lambda: Training(steps=6000))
    num_runs: int = 3
    num_rows: int = 100
    evaluation: Evaluation = field(default_factory=Evaluation)


_FAST: dict[str, Any] = {
    "training": Training(steps=1000),
    "num_runs": 1,
    "evaluation": Evaluation(elbo_samples=200, iwbo_samples=200, iwbo_repeats=5),
}
"""Reduced settings of a sweep of a minute."""


@dataclass(frozen=True)
class Swept:
    """A number, and the settings of a sweep over it.

    :param name: name in the figure.
    :param heading: heading in the table.
    :param ticks: values with labels on the axis.
    :param usual: settings of the usual sweep.
    :param fast_values: values of a sweep of a minute.
    """

    name: str
    heading: str
    ticks: tuple[float, ...]
    usual: Settings
    fast_values: tuple[float, ...]

    def settings(self, fast: bool) -> Settings:
        """Settings of the usual sweep, or of a sweep of a minute."""
        return replace(self.usual, values=self.fast_values, **_FAST) if fast else self.usual


SWEPT = {
    # The best scale for the data, as far as the bound shows it: a tight bound has its maximum where
    # the evidence has its own.
    "prior_scale": Swept(
        name="factor on the prior's standard deviation",
        heading="prior scale",
        ticks=(0.3, 0.5, 1, 2, 3),
        usual=Settings(tuple(10 ** (0.1 * i) for i in range(-5, 6)), {"num_inducing": 100}),
        fast_values=tuple(10 ** (0.25 * i) for i in range(-1, 3)),
    ),
    # The number of inducing points that is enough, with NealPrior of twice its standard deviation.
    "num_inducing": Swept(
        name="inducing points",
        heading="inducing points",
        ticks=(1, 2, 5, 10, 20, 50, 100),
        usual=Settings((1, 2, 5, *range(10, 101, 10)), {"prior_scale": 2.0}),
        fast_values=(2, 5, 10, 50),
    ),
}
"""The sweeps by the number's name among the arguments of
:func:`gpflow_gi.experiments.cubic_network.untrained_network`."""


def run(
    *,
    parameter: str,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train and measure at every value; see :mod:`gpflow_gi.experiments.study`.

    :param parameter: one of :data:`SWEPT`.
    :param seed: seed of the data and of the first run at each value.
    :return: "settings", "parameter" and "points": at each "value" the bounds of all "runs", and
        "elbo" and "iwbo" with standard errors over runs (over samples, if there is one run). In
        nats, for standardised targets.
    """
    settings = SWEPT[parameter].settings(fast)
    data = Cubic.draw(settings.num_rows, seed)
    points = []
    announce = Parts(announce, len(settings.values))
    for value in settings.values:
        announce(f"{parameter} = {value:.3g}")
        runs = []
        for i in range(settings.num_runs):
            model = trained_network(
                data,
                settings.training,
                seed=seed + i,
                progress=progress,
                **{**settings.arguments, parameter: value},
            )
            runs.append(bounds(model, data, settings.evaluation, seed + i))
        points.append({"value": value, **_over_runs(runs), "runs": runs})
    return {"settings": asdict(settings), "parameter": parameter, "points": points}


def _over_runs(runs: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    if len(runs) == 1:
        return dict(runs[0])
    return {name: mean_and_standard_error([run[name]["mean"] for run in runs]) for name in BOUNDS}


def summary(results: Mapping[str, Any]) -> str:
    """Both bounds at every value; see :mod:`gpflow_gi.experiments.study`."""
    heading = SWEPT[results["parameter"]].heading
    rows = [
        (f"{point['value']:.3g}", *(written(point[bound]) for bound in BOUNDS))
        for point in results["points"]
    ]
    lines = tabulate(
        rows, (heading, *BOUNDS.values()), disable_numparse=True, colalign=3 * ("right",)
    )  # fmt: skip
    over = "samples" if results["settings"]["num_runs"] == 1 else "runs from different starts"
    return f"{lines}\n\nNats, for standardised targets.\n±: standard error over {over}."


def plot(results: Mapping[str, Any]) -> Figure:
    """Both bounds against the number, on a logarithmic axis: all of them, and those near the best.

    See :mod:`gpflow_gi.experiments.study`.
    """
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    everything, best = figure.subplots(1, 2)
    # The bound of one inducing point is thousands of nats below that of ten.
    everything.set_yscale("symlog", linthresh=100)
    everything.yaxis.set_major_formatter("{x:g}")
    for ax in (everything, best):
        _draw(results, SWEPT[results["parameter"]], ax)
    highest = max(point[bound]["mean"] for point in results["points"] for bound in BOUNDS)
    best.set_ylim(highest - NATS_SHOWN, highest + 0.05 * NATS_SHOWN)
    everything.set_title("all (logarithmic beyond 100 nats)", fontsize="medium")
    best.set_title(f"within {NATS_SHOWN:g} nats of the best", fontsize="medium")
    everything.set_ylabel("Bound (nats)")
    everything.legend(frameon=False, loc="lower right")
    return figure


def _draw(results: Mapping[str, Any], swept: Swept, ax: Axes) -> None:
    values = [point["value"] for point in results["points"]]
    for (bound, label), colour in zip(BOUNDS.items(), COLOURS, strict=False):
        estimates = [point[bound] for point in results["points"]]
        mean = np.array([estimate["mean"] for estimate in estimates])
        error = np.array([estimate["standard_error"] or 0.0 for estimate in estimates])
        ax.fill_between(
            values, mean - 2 * error, mean + 2 * error, color=colour, alpha=0.2, linewidth=0
        )
        ax.plot(values, mean, "o-", color=colour, markersize=4, linewidth=1.4, label=label)
    ax.set_xscale("log")
    ax.set_xticks(swept.ticks, [f"{tick:g}" for tick in swept.ticks])
    ax.minorticks_off()
    ax.set_xlim(min(values) / 1.1, 1.1 * max(values))
    ax.set_xlabel(swept.name)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)

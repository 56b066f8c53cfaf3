"""The global posterior's bounds on the cubic data against one number: curves with bands.

One draw of 100 rows, a network of 2 x 50 ReLU units with known noise, and several runs of training
from different starts at each value of the number.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.experiments.cubic import Cubic
from gpflow_gi.experiments.cubic_network import Evaluation, Training, bounds, trained_network
from gpflow_gi.experiments.estimates import mean_and_standard_error, written
from gpflow_gi.plotting import COLOURS

BOUNDS = {"elbo": "ELBO", "iwbo": "IWBO"}


@dataclass(frozen=True)
class Settings:
    """What a sweep takes.

    :param values: of the number.
    :param arguments: of :func:`gpflow_gi.experiments.cubic_network.untrained_network`, the same for
        all values.
    :param training: of each network.
    :param num_runs: at each value.
    :param num_rows: of data.
    :param evaluation: of the bounds.
    """

    values: tuple[float, ...]
    arguments: dict[str, Any]
    training: Training = field(default_factory=lambda: Training(steps=6000))
    num_runs: int = 3
    num_rows: int = 100
    evaluation: Evaluation = field(default_factory=Evaluation)


FAST: dict[str, Any] = {
    "training": Training(steps=1000),
    "num_runs": 1,
    "evaluation": Evaluation(elbo_samples=200, iwbo_samples=200, iwbo_repeats=5),
}
"""What is less in a sweep of a minute."""


def sweep(
    parameter: str,
    settings: Settings,
    *,
    seed: int,
    announce: Callable[[str], None],
    progress: bool,
) -> dict[str, Any]:
    """Train and measure at every value.

    :param parameter: the number's name among the arguments of
        :func:`gpflow_gi.experiments.cubic_network.untrained_network`.
    :param seed: of the data and of the first run at each value.
    :param announce: called with what comes next.
    :param progress: whether to show progress bars.
    :return: "settings", "parameter" and "points": at each "value" the bounds of all "runs", and
        "elbo" and "iwbo" with standard errors over runs (of samples, if there is one run). In nats,
        for standardised targets.
    """
    data = Cubic.draw(settings.num_rows, seed)
    points = []
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


def table(results: Mapping[str, Any], name: str) -> str:
    """Both bounds at every value.

    :param results: from :func:`sweep`.
    :param name: of the number.
    """
    rows = [
        (f"{point['value']:.3g}", *(written(point[bound]) for bound in BOUNDS))
        for point in results["points"]
    ]
    lines = tabulate(
        rows, (name, *BOUNDS.values()), disable_numparse=True, colalign=3 * ("right",)
    )  # fmt: skip
    over = "samples" if results["settings"]["num_runs"] == 1 else "runs from different starts"
    return f"{lines}\n\nNats, for standardised targets.\n±: standard error over {over}."


def curves(
    results: Mapping[str, Any], name: str, ticks: Sequence[float], nats_shown: float = 30.0
) -> Figure:
    """Both bounds against the number, on a logarithmic axis: all of them, and those near the best.

    :param results: from :func:`sweep`.
    :param name: of the number.
    :param ticks: values of the number to be named on the axis.
    :param nats_shown: how far the second panel goes down from the best bound.
    """
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    everything, best = figure.subplots(1, 2)
    # One inducing point is thousands of nats below ten.
    everything.set_yscale("symlog", linthresh=100)
    everything.yaxis.set_major_formatter("{x:g}")
    for ax in (everything, best):
        _draw(results, name, ticks, ax)
    highest = max(point[bound]["mean"] for point in results["points"] for bound in BOUNDS)
    best.set_ylim(highest - nats_shown, highest + 0.05 * nats_shown)
    everything.set_title("all (logarithmic beyond 100 nats)", fontsize="medium")
    best.set_title(f"within {nats_shown:g} nats of the best", fontsize="medium")
    everything.set_ylabel("Bound (nats)")
    everything.legend(frameon=False, loc="lower right")
    return figure


def _draw(results: Mapping[str, Any], name: str, ticks: Sequence[float], ax: Axes) -> None:
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
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    ax.minorticks_off()
    ax.set_xlim(min(values) / 1.1, 1.1 * max(values))
    ax.set_xlabel(name)
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(color="#E5E5E5", linewidth=0.6)
    ax.set_axisbelow(True)

"""Global against local inducing points at equal CPU time, where the choice should matter.

Rows of the elevation data, drawn anew in each run. Deep GPs of 50 inducing points per layer: two
layers; five; two with 10 inducing points; five without skip connections, where Salimbeni &
Deisenroth (2017, section 2) expect difficulties, and for which they add mean functions. And a
network of 2 x 50 ReLU units with 100 inducing points, with factorised weights beside the two.

A method's number of steps is the CPU time divided by its cost per step, measured at the start. Its
learning rate is the one with the best bound on a draw of the data that is not used again.
"""

import textwrap
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.architectures import build_bnn, build_deep_gp
from gpflow_gi.benchmark.trial import Rows
from gpflow_gi.bounds import estimate_elbo
from gpflow_gi.datasets import Table, elevation
from gpflow_gi.experiments.estimates import mean_and_standard_error, written
from gpflow_gi.metrics.held_out import HeldOut, predictive_components
from gpflow_gi.models import DeepGP
from gpflow_gi.plotting import COLOURS
from gpflow_gi.training import LinearTail, NonFiniteError, fit
from gpflow_gi.training.record import notes_not_warnings

from .parts import Parts

MEASURES = {"elbo": "ELBO per row", "log_density": "log density", "rmse": "RMSE"}
DIGITS = {"elbo": 3, "log_density": 3, "rmse": 1}
LINEAR = {"elbo": 0.05, "log_density": 0.05, "rmse": 5.0}
"""Differences beyond which a figure's axis is logarithmic."""

NETWORK = {"widths": (50, 50), "num_inducing": 100}
CASES: dict[str, dict[str, Any]] = {
    "2 layers": {"num_layers": 2, "num_inducing": 50},
    "5 layers": {"num_layers": 5, "num_inducing": 50},
    "10 points": {"num_layers": 2, "num_inducing": 10},
    "no skips": {"num_layers": 5, "num_inducing": 50, "mean_function": "zero"},
    "network": NETWORK,
}
"""Settings of the models, by the name of the case."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param cases: names of :data:`CASES`.
    :param cpu_seconds: CPU time of each training.
    :param num_runs: number of draws of the data, each with a start and a training of its own.
    :param num_rows: number of rows to train on.
    :param batch_size: rows of each step.
    :param learning_rates: rates to choose from; the rate is constant in the first half of the
        steps, and falls linearly to zero in the second.
    :param num_elbo_samples: samples of the reported bound.
    :param num_test_samples: samples of predictions.
    :param test_every: share of the held-out rows: 1 / `test_every`.
    :param least_steps: least number of steps.
    """

    cases: tuple[str, ...] = tuple(CASES)
    cpu_seconds: float = 8.0
    num_runs: int = 10
    num_rows: int = 1000
    batch_size: int = 250
    learning_rates: tuple[float, ...] = (0.01, 0.03, 0.1)
    num_elbo_samples: int = 20
    num_test_samples: int = 50
    test_every: int = 4
    least_steps: int = 100


USUAL = Settings()
FAST = Settings(
    cases=("10 points", "network"),
    cpu_seconds=0.5,
    num_runs=2,
    num_rows=200,
    batch_size=100,
    learning_rates=(0.03,),
    num_elbo_samples=5,
    num_test_samples=10,
    test_every=40,
    least_steps=30,
)


@dataclass
class Method:
    """One of the compared trainings.

    :param case: one of :data:`CASES`.
    :param inference: see :func:`gpflow_gi.architectures.build_bnn`.
    :param steps: number of steps that take the CPU time; 0 before it is measured.
    :param rate: learning rate; 0 before it is chosen.
    """

    case: str
    inference: str
    steps: int = 0
    rate: float = 0.0
    runs: list[dict[str, float | None]] = field(default_factory=list)

    def build(self, rows: Rows, seed: int) -> DeepGP:
        """The model at its start."""
        build: Any = build_bnn if self.case == "network" else build_deep_gp
        return build(rows.X, rows.Y, inference=self.inference, seed=seed, **CASES[self.case])


def methods(cases: Sequence[str]) -> list[Method]:
    """All that is compared: two methods a case, and one more for networks."""
    others = {"network": ("factorised",)}
    return [
        Method(case, inference)
        for case in cases
        for inference in (*others.get(case, ()), "local", "global")
    ]


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train and measure everything; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", and "methods": each with its "case", "inference", "steps", "rate", and
        "runs" with the measures of each, in which a training that failed has None.
    """
    settings = FAST if fast else USUAL
    compared = methods(settings.cases)
    rows = _rows(settings, seed + settings.num_runs)
    announce = Parts(announce, len(compared) * (1 + settings.num_runs), after=True)
    for method in compared:
        cost = _cpu_seconds_per_step(method, rows, settings)
        method.steps = max(round(settings.cpu_seconds / cost), settings.least_steps)
        bounds = {}
        for rate in settings.learning_rates:
            found = _train(method, rate, rows, settings, seed)["elbo"]
            bounds[rate] = -np.inf if found is None else found
        method.rate = max(bounds, key=lambda rate: bounds[rate])
        tried = ", ".join(f"{bound:.3f} at {rate:g}" for rate, bound in bounds.items())
        announce(
            f"{method.case}, {method.inference}: {1e3 * cost:.2f} ms per step, {method.steps} "
            f"steps; ELBO per row {tried}"
        )
    for i in range(settings.num_runs):
        rows = _rows(settings, seed + i)
        for method in compared:
            method.runs.append(_train(method, method.rate, rows, settings, seed + i))
            announce(f"Run {i + 1}, {method.case}, {method.inference}: {_said(method.runs[-1])}")
    return {"settings": asdict(settings), "methods": [asdict(method) for method in compared]}


def _said(measured: Mapping[str, float | None]) -> str:
    values = {name: measured[name] for name in MEASURES}
    return ", ".join(
        f"{MEASURES[name]} {'-' if value is None else f'{value:.{DIGITS[name]}f}'}"
        for name, value in values.items()
    )


def _rows(settings: Settings, seed: int) -> Rows:
    train, test = elevation(settings.num_rows, seed)
    return Rows(train, _thinned(test, settings.test_every))


def _thinned(table: Table, every: int) -> Table:
    return table.rows(np.arange(0, len(table.X), every))


def _cpu_seconds_per_step(method: Method, rows: Rows, settings: Settings) -> float:
    """CPU time of a step, without that of compiling."""
    model, data = method.build(rows, seed=0), (rows.X, rows.Y)
    options: Any = {"batch_size": settings.batch_size, "progress": False}
    steps = settings.least_steps
    with notes_not_warnings():
        fit(model, data, steps=steps, **options)
        began = time.process_time()
        fit(model, data, steps=2 * steps, **options)
    return (time.process_time() - began) / (2 * steps)


def _train(
    method: Method, rate: float, rows: Rows, settings: Settings, seed: int
) -> dict[str, float | None]:
    """Measures of one training, and its CPU time in seconds."""
    model = method.build(rows, seed)
    began = time.process_time()
    try:
        with notes_not_warnings():
            fit(
                model,
                (rows.X, rows.Y),
                steps=method.steps,
                batch_size=settings.batch_size,
                learning_rate=LinearTail(rate, method.steps),
                kl_warmup=method.steps // 4,
                progress=False,
                seed=seed,
            )
    except NonFiniteError:
        return {**dict.fromkeys(MEASURES), "cpu_seconds": None}
    cpu_seconds = time.process_time() - began
    elbo = estimate_elbo(model, (rows.X, rows.Y), settings.num_elbo_samples, seed=seed)
    components = predictive_components(model, rows.X_test, settings.num_test_samples, seed=seed)
    held_out = HeldOut(rows.Y_test, *components, rows.targets)
    return {
        "elbo": elbo.value / len(rows.X),
        "log_density": float(np.mean(held_out.log_density)),
        "rmse": held_out.rmse,
        "cpu_seconds": cpu_seconds,
    }


def differences(results: Mapping[str, Any], case: str, measure: str) -> list[float]:
    """Global minus local in each run in which neither failed."""
    of = {one["inference"]: one["runs"] for one in results["methods"] if one["case"] == case}
    pairs = zip(of["global"], of["local"], strict=True)
    return [
        mine[measure] - other[measure]
        for mine, other in pairs
        if mine[measure] is not None and other[measure] is not None
    ]


def summary(results: Mapping[str, Any]) -> str:
    """Means of all measures, and paired differences; see :mod:`gpflow_gi.experiments.study`."""
    lines: list[tuple[str, ...]] = []
    failed: list[str] = []
    for one in results["methods"]:
        found = {
            name: [each[name] for each in one["runs"] if each[name] is not None]
            for name in MEASURES
        }
        if lost := len(one["runs"]) - min(map(len, found.values())):
            failed.append(f"{lost} of {one['case']}, {one['inference']}")
        lines.append(
            (
                one["case"],
                one["inference"],
                f"{one['steps']}",
                *(_mean(found[name], DIGITS[name]) for name in MEASURES),
            )
        )
        if one["inference"] == "global":
            found = {name: differences(results, one["case"], name) for name in MEASURES}
            values = (_mean(found[name], DIGITS[name], "+") for name in MEASURES)
            lines.append(("", "difference", "", *values))
    headers = ("", "", "steps", *MEASURES.values())
    table = tabulate(
        lines, headers, disable_numparse=True, colalign=("left", "left", *4 * ("right",))
    )
    settings = results["settings"]
    note = (
        f"Means over {settings['num_runs']} draws of {settings['num_rows']} rows ± standard error. "
        "ELBO: nats, target standardised; log density of held-out rows: nats, target in metres; "
        "RMSE: metres. Difference: global minus local, run by run. Each training took about "
        f"{settings['cpu_seconds']:g} s of CPU time."
    )
    if failed:
        note += f" Failed, and in no mean: {'; '.join(failed)}."
    return f"{table}\n\n{textwrap.fill(note, 80)}"


def _mean(values: Sequence[float], digits: int, sign: str = "") -> str:
    if not values:
        return "-"
    text = written(mean_and_standard_error(values), digits)
    return f"+{text}" if sign and not text.startswith("-") else text


def plot(results: Mapping[str, Any]) -> Figure:
    """Differences between global and local, run by run, with their means.

    See :mod:`gpflow_gi.experiments.study`.
    """
    figure = Figure(figsize=(9, 3.4), layout="constrained")
    panels = figure.subplots(1, len(MEASURES), sharey=True)
    for ax, (measure, title) in zip(panels, MEASURES.items(), strict=True):
        _draw(ax, results, measure)
        better = "lower" if measure == "rmse" else "higher"
        ax.set_title(f"{title} ({better} is better)", fontsize="medium")
        ax.set_xlabel("global - local")
    cases = results["settings"]["cases"]
    panels[0].set_yticks(range(len(cases)), cases)
    panels[0].invert_yaxis()
    return figure


def _draw(ax: Axes, results: Mapping[str, Any], measure: str) -> None:
    ax.axvline(0.0, color="#888888", linewidth=1.0)
    for place, case in enumerate(results["settings"]["cases"]):
        values = differences(results, case, measure)
        if not values:
            continue
        ax.plot(values, [place] * len(values), "o", color=COLOURS[4], markersize=4, alpha=0.7)
        error = 2 * (mean_and_standard_error(values)["standard_error"] or 0.0)
        style: dict[str, Any] = {"fmt": "D", "color": "black", "markersize": 5, "capsize": 3}
        ax.errorbar([np.mean(values)], [place], xerr=[error], **style)
    # Networks differ by a hundred times as much as deep GPs.
    linear = LINEAR[measure]
    ax.set_xscale("symlog", linthresh=linear, linscale=1.5)
    ax.set_xticks([sign * size * linear for sign in (-1, 1) for size in (1, 10)] + [0.0])
    ax.xaxis.set_major_formatter("{x:g}")
    ax.minorticks_off()
    ax.grid(axis="x", color="#E5E5E5", linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)

"""Every posterior over the weights of one network, beside NUTS.

On the data and the network of :mod:`gpflow_gi.experiments.toy`, a cubic with a gap, or on digits of
few pixels in ten classes. For each method: its predictive band along a line of inputs that leaves
the data, its distance from NUTS, log density, score and calibration of test rows, its bounds and
k-hat where there is a density, and its time; and the evidence of the network, by annealing.
"""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.bounds import annealed_evidence, pareto_smoothed
from gpflow_gi.experiments.cubic_network import Training
from gpflow_gi.experiments.toy import diagnostics_of
from gpflow_gi.inference import nuts
from gpflow_gi.models import NoDensityError
from gpflow_gi.plotting import COLOURS

from .parts import Parts
from .posterior_methods import SAMPLES, find, methods_of
from .posterior_tasks import TASKS


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param num_rows: number of rows to train on.
    :param num_inducing: number of inducing points of the local and the global posterior.
    :param layerwise: training of the posteriors of layers.
    :param steps: steps of the methods for all weights.
    :param num_members: members of ensembles.
    :param num_predictive: number of draws of f from each posterior.
    :param num_weights: number of importance weights, for bound and k-hat.
    :param num_inputs: number of inputs along the line of the figure.
    :param num_test: number of test rows.
    :param nuts: arguments of :func:`gpflow_gi.inference.nuts`.
    :param annealed: arguments of :func:`gpflow_gi.bounds.annealed_evidence`.
    """

    num_rows: int
    num_inducing: int
    num_inputs: int
    num_test: int
    layerwise: Training = field(default_factory=lambda: Training(steps=10_000))
    steps: int = 10_000
    num_members: int = 20
    num_predictive: int = 2000
    num_weights: int = 2000
    nuts: Mapping[str, Any] = field(
        default_factory=lambda: {
            "num_chains": 4, "num_draws": 500, "num_adaptation_steps": 300, "max_tree_depth": 8,
        }
    )  # fmt: skip
    annealed: Mapping[str, Any] = field(
        default_factory=lambda: {"num_temperatures": 3000, "num_chains": 50}
    )


USUAL = {
    "cubic": Settings(num_rows=40, num_inducing=100, num_inputs=201, num_test=500),
    "digits": Settings(num_rows=200, num_inducing=50, num_inputs=61, num_test=359),
}

_FAST: dict[str, Any] = {
    "layerwise": Training(steps=500),
    "steps": 500,
    "num_members": 5,
    "num_predictive": 300,
    "num_weights": 200,
    "nuts": {"num_chains": 4, "num_draws": 75, "num_adaptation_steps": 75, "max_tree_depth": 6},
    "annealed": {"num_temperatures": 100, "num_chains": 20},
}

FAST = {
    "cubic": Settings(num_rows=40, num_inducing=100, num_inputs=101, num_test=500, **_FAST),
    "digits": Settings(num_rows=200, num_inducing=50, num_inputs=31, num_test=359, **_FAST),
}


def run(
    *,
    fast: bool = False,
    data: str = "cubic",
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Find and measure every posterior; see :mod:`gpflow_gi.experiments.study`.

    :param data: "cubic" or "digits".
    :return: "settings", "data", "line" (what the figure shows of the data), and "methods" with
        "name", the measures of :class:`gpflow_gi.experiments.posterior_tasks.Task`, "seconds", and,
        if there is a density, "elbo", "elbo_error", "iwbo", "log_evidence" (smoothed), "k_hat" and
        "num_weights". In units of the standardised data, probabilities, and nats. Those of
        "Laplace" are of the linearised network, which is another model. "evidence" has the log
        evidence of the network: "value" and "standard_error", and the "seconds" that it took.
    """
    settings = (FAST if fast else USUAL)[data]
    sizes = settings.num_rows, settings.num_inducing, settings.num_inputs, settings.num_test
    task = TASKS[data](*sizes, seed)
    names = methods_of(task)
    announce = Parts(announce, 2 + len(names), apart=2)
    network = task.network("factorised")
    announce("the evidence")
    evidence = _evidence(network, task.rows, settings.annealed, seed)
    announce("NUTS")
    exact = nuts(network, task.rows, inputs=task.watched, seed=seed, **settings.nuts)
    # This number of samples of the model is all the draws, chain after chain.
    num_draws = exact.num_chains * exact.num_draws
    f = exact.model.predict_f_samples(task.inputs, num_draws, full_cov=False, seed=0).numpy()
    chains = np.split(f, exact.num_chains)
    first = {"name": "NUTS", "seconds": exact.seconds, "diagnostics": diagnostics_of(exact)}
    methods = [{**first, **task.measures(chains, chains)}]
    model: Any = None
    for name in names:
        announce(name)
        started = time.perf_counter()
        if name == SAMPLES:
            model = model.posterior_of_weights  # of the Laplace approximation, the method before
        else:
            model = find(
                name,
                task,
                layerwise=settings.layerwise,
                steps=settings.steps,
                num_members=settings.num_members,
                seed=seed,
                progress=progress,
            )
            seconds = time.perf_counter() - started
        f = model.predict_f_samples(
            task.inputs, settings.num_predictive, full_cov=False, seed=seed
        ).numpy()
        methods.append(
            {
                "name": name,
                **task.measures([f], chains),
                **_weights(model, task.rows, settings.num_weights, seed),
                "seconds": seconds,
            }
        )
    return {
        "settings": asdict(settings),
        "data": data,
        "line": task.line,
        "evidence": evidence,
        "methods": methods,
    }


def _evidence(
    network: Any, rows: tuple[Any, Any], annealed: Mapping[str, Any], seed: int
) -> dict[str, float]:
    started = time.perf_counter()
    value, error = annealed_evidence(network, rows, seed=seed, **annealed)
    seconds = time.perf_counter() - started
    return {"value": value, "standard_error": error, "seconds": seconds}


def _weights(model: Any, rows: tuple[Any, Any], num_weights: int, seed: int) -> dict[str, Any]:
    try:
        found = pareto_smoothed(model, rows, num_weights, seed=seed)
    except NoDensityError:
        return {}
    return {
        "elbo": found.elbo.value,
        "elbo_error": found.elbo.standard_error,
        "iwbo": found.iwbo,
        "log_evidence": found.log_evidence,
        "k_hat": found.k_hat,
        "num_weights": num_weights,
    }


def _ranked(results: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """NUTS, then the others, the nearest to it first."""
    exact, *others = results["methods"]
    return [exact, *sorted(others, key=lambda one: float(one["distance_outside"]))]


NOTES = {
    "cubic": (
        "of the distribution of f from that of NUTS, mean over inputs from -4 to 4 and in the gap",
        "rows with x from -4 to 4",
        "Score: CRPS. Calibration error: of PIT values",
    ),
    "digits": (
        "of the distribution of probabilities from that of NUTS: of the right class, mean over "
        "test images, and of 6 and 9, mean over a turned six",
        "images",
        "Score: Brier's. Calibration error: ECE",
    ),
}


def summary(results: Mapping[str, Any]) -> str:
    """A row for each method, the nearest to NUTS first; see :mod:`gpflow_gi.experiments.study`."""
    measures: dict[str, tuple[str, int]] = {
        "distance": ("dist-\nance", 3),
        "distance_outside": ("out-\nside", 3),
        "deviation_outside": ("sd\nout", 3),
        "log_density": ("log\ndens.", 2),
        "score": ("score\n", 3),
        "calibration_error": ("cali-\nbr.", 3),
        "elbo": ("ELBO\n", 1),
        "iwbo": ("IWBO\n", 1),
        "log_evidence": ("PSIS\n", 1),
        "k_hat": ("k-hat\n", 2),
        "seconds": ("s\n", 0),
    }
    ranked = _ranked(results)
    rows = [
        (one["name"], *(_number(one.get(key), digits) for key, (_, digits) in measures.items()))
        for one in ranked
    ]
    headers = ("", *(header for header, _ in measures.values()))
    right = len(measures) * ("right",)
    lines = tabulate(rows, headers, disable_numparse=True, colalign=("left", *right))
    distance, test, error = NOTES[results["data"]]
    evidence = results["evidence"]
    num_test, num_weights = (results["settings"][name] for name in ("num_test", "num_weights"))
    notes = (
        f"Distance: Wasserstein-1, {distance} (outside, like the standard deviation); for "
        f"NUTS, of each chain from the others. Log density of {num_test} test {test}, in "
        f"nats. {error}. IWBO, the evidence by smoothed weights (PSIS) and k-hat are of "
        f"{num_weights} samples; the log evidence by annealing is {evidence['value']:.1f} +- "
        f"{evidence['standard_error']:.1f}. Laplace has the bounds and k-hat of the linearised "
        "network, which is another model. NUTS: largest R-hat of f "
        f"{_number(ranked[0]['diagnostics']['largest_r_hat_of_f'], 3)}."
    )
    return f"{lines}\n\n{textwrap.fill(notes, 80)}"


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def plot(results: Mapping[str, Any]) -> Figure:
    """A panel for each method, with NUTS in each; the nearest to NUTS first."""
    ranked, line = _ranked(results), results["line"]
    exact, x = ranked[0], np.array(line["x"])
    columns = 6
    rows = -(-len(ranked) // columns)
    figure = Figure(figsize=(2.5 * columns, 2.5 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True).ravel()
    for ax, method in zip(panels, ranked, strict=False):
        colours = COLOURS[:2] if len(line["names"]) > 1 or method is not exact else [COLOURS[3]]
        for name, colour, bands, of_nuts in zip(
            line["names"], colours, method["bands"], exact["bands"], strict=False
        ):
            mean, lowest, low, high, highest = bands
            ax.fill_between(x, lowest, highest, color=colour, alpha=0.18, linewidth=0)
            ax.fill_between(x, low, high, color=colour, alpha=0.26, linewidth=0)
            ax.plot(x, mean, color=colour, linewidth=1.4, label=name)
            for side in (of_nuts[1], of_nuts[-1]):
                ax.plot(x, side, color=COLOURS[3], linewidth=1, linestyle=(0, (4, 3)))
        if "rows" in line:
            ax.plot(*line["rows"], "o", color="#222222", markersize=2, markeredgewidth=0)
        ax.set_title(_title(method), fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.margins(x=0)
    for ax in panels[len(ranked) :]:
        ax.set_visible(False)
    if "images" in line:
        for ax in panels:
            _strip(ax, np.array(line["images"]), x)
        panels[0].set(ylim=(0, 1.3), yticks=(0, 0.5, 1), xticks=(0, 60, 120))
        panels[0].legend(frameon=False, fontsize="small", loc="center")
        below, beside, where = "turned by, in degrees", "probability of 6 and of 9", "here"
    else:
        low, high = np.min(exact["bands"]), np.max(exact["bands"])
        panels[0].set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
        below, beside, where = "x", "f", "in the gap"
    num_weights = results["settings"]["num_weights"]
    note = (
        f"bands: 68% and 95%; dashed: 95% of NUTS; distance: Wasserstein-1 from NUTS, {where}; "
        f"k-hat: of {num_weights} samples"
    )
    figure.supxlabel(f"{below}\n({note})", fontsize="small")
    figure.supylabel(beside, fontsize="small")
    return figure


def _title(method: Mapping[str, Any]) -> str:
    if "diagnostics" in method:
        return str(method["name"])
    k_hat = f", k-hat {method['k_hat']:.1f}" if "k_hat" in method else ""
    return f"{method['name']}\ndistance {method['distance_outside']:.3f}{k_hat}"


def _strip(ax: Axes, images: Any, x: Any) -> None:
    """The images [n, H, W] above the panel's curves, each at its input."""
    width = 0.8 * (x[-1] - x[0]) / len(images)
    at = np.linspace(x[0] + 0.6 * width, x[-1] - 0.6 * width, len(images))
    for image, middle in zip(images, at, strict=True):
        extent = (middle - width / 2, middle + width / 2, 1.06, 1.28)
        ax.imshow(image, extent=extent, aspect="auto", cmap="Greys", vmin=0, vmax=1)
    ax.set_xlim(x[0], x[-1])

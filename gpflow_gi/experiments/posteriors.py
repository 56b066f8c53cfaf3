"""Every posterior over the weights of one network, beside NUTS, on the cubic data with a gap.

The data and the network are those of :mod:`gpflow_gi.experiments.toy`: 40 rows, 2 x 50 ReLU units
with NealPrior, known noise. For each method: its predictive band, its distance from NUTS, its
bound and k-hat where there is a density, and its time.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.bounds import pareto_smoothed
from gpflow_gi.experiments.cubic import Cubic
from gpflow_gi.experiments.cubic_network import Training, trained_network, untrained_network
from gpflow_gi.experiments.toy import SHOWN, Places, chains_of, comparison, diagnostics_of
from gpflow_gi.inference import (
    ensemble,
    laplace,
    map_estimate,
    multi_swag,
    nuts,
    sghmc,
    swag,
    variational,
)
from gpflow_gi.models import NoDensityError
from gpflow_gi.plotting import COLOURS

from .parts import Parts


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param num_rows: number of rows of data.
    :param num_inducing: number of inducing points of the local and the global posterior.
    :param layerwise: training of the posteriors of layers.
    :param steps: steps of the methods for all weights.
    :param num_members: members of ensembles.
    :param num_predictive: number of draws of f from each posterior.
    :param num_weights: number of importance weights, for bound and k-hat.
    :param num_inputs: number of inputs at which predictions are made.
    :param nuts: arguments of :func:`gpflow_gi.inference.nuts`.
    """

    num_rows: int = 40
    num_inducing: int = 100
    layerwise: Training = field(default_factory=lambda: Training(steps=10_000))
    steps: int = 10_000
    num_members: int = 20
    num_predictive: int = 2000
    num_weights: int = 2000
    num_inputs: int = 201
    nuts: Mapping[str, Any] | None = None


USUAL = Settings(
    nuts={"num_chains": 4, "num_draws": 500, "num_adaptation_steps": 300, "max_tree_depth": 8}
)

FAST = Settings(
    layerwise=Training(steps=500),
    steps=500,
    num_members=5,
    num_predictive=300,
    num_weights=200,
    num_inputs=101,
    nuts={"num_chains": 4, "num_draws": 75, "num_adaptation_steps": 75, "max_tree_depth": 6},
)

LAYERWISE = ("factorised", "local", "global")
"""Posteriors of layers, from :func:`gpflow_gi.architectures.build_bnn`."""

SAMPLES = "Laplace, samples"
"""The Gaussian of "Laplace", with weights drawn from it in the network itself."""

NOT_A_LAYER = (
    "mean-field", "low-rank", "radial", "planar", "mixture of 5", "Laplace", SAMPLES,
    "SWAG", "MultiSWAG", "MAP", "ensemble", "random priors", "dropout", "SGHMC",
)  # fmt: skip
"""Posteriors over all weights, from :mod:`gpflow_gi.inference`."""


def find(method: str, network: Any, data: tuple[Any, Any], settings: Settings, seed: int) -> Any:
    """A posterior over all weights, by a method of :data:`NOT_A_LAYER`."""
    steps, T = settings.steps, settings.num_members
    most = min(2000, steps)  # of L-BFGS
    # The curvature goes with 1 / noise, and so does the largest stable rate.
    rate = 0.02 * float(network.likelihood.variance.numpy())
    of_ascent: dict[str, Any] = {
        "steps": steps,
        "interval": max(steps // 100, 1),
        "batch_size": 10,
        "learning_rate": rate,
        "seed": seed,
    }
    methods: dict[str, Callable[[], Any]] = {
        "mixture of 5": lambda: variational(
            network, data, ["mean-field"] * 5, steps=steps, seed=seed
        ),
        "Laplace": lambda: laplace(network, data, steps=most, seed=seed),
        "SWAG": lambda: swag(network, data, **of_ascent),
        "MultiSWAG": lambda: multi_swag(network, data, 5, **of_ascent),
        "MAP": lambda: map_estimate(network, data, steps=most, seed=seed),
        "ensemble": lambda: ensemble(network, data, T, steps=most, seed=seed),
        "random priors": lambda: ensemble(
            network, data, T, random_priors=True, steps=most, seed=seed
        ),
        "SGHMC": lambda: sghmc(
            network,
            data,
            num_draws=min(100, steps // 4),
            num_chains=4,
            steps=steps,
            batch_size=None,
            learning_rate=rate,
            seed=seed,
        ),
    }
    if method in methods:
        return methods[method]().model
    return variational(network, data, method, steps=steps, seed=seed).model


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Find and measure every posterior; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "data", "inputs", and "methods" with "name", the values of
        :func:`gpflow_gi.experiments.toy.comparison`, "seconds", and, if there is a density, "elbo",
        "elbo_error", "log_evidence" (smoothed), "k_hat" and "num_weights". In units of the
        standardised data, and nats. Those of "Laplace" are of the linearised network, which is
        another model.
    """
    settings = FAST if fast else USUAL
    data = Cubic.draw(settings.num_rows, seed)
    rows = data.X, data.Y
    inputs = data.evenly(settings.num_inputs, *SHOWN)
    places = Places.of(data, inputs)
    network = untrained_network(data, inference="factorised", seed=seed)
    announce = Parts(announce, 1 + len(LAYERWISE) + len(NOT_A_LAYER), apart=1)
    announce("NUTS")
    grid = data.evenly(settings.num_inputs)
    exact = nuts(network, rows, inputs=grid, seed=seed, **(settings.nuts or {}))
    chains = chains_of(exact, inputs)
    first = {"name": "NUTS", "seconds": exact.seconds, "diagnostics": diagnostics_of(exact)}
    methods = [{**first, **comparison(chains, chains, places)}]
    for method in (*LAYERWISE, *NOT_A_LAYER):
        announce(method)
        started = time.perf_counter()
        if method in LAYERWISE:
            model = trained_network(
                data,
                settings.layerwise,
                inference=method,
                num_inducing=settings.num_inducing,
                seed=seed,
                progress=progress,
            )
        elif method == SAMPLES:
            model = model.posterior_of_weights  # of the Laplace approximation, the method before
        else:
            model = find(method, network, rows, settings, seed)
        if method != SAMPLES:
            seconds = time.perf_counter() - started
        f = model.predict_f_samples(inputs, settings.num_predictive, full_cov=False, seed=seed)
        methods.append(
            {
                "name": method,
                **comparison([f.numpy()[..., 0]], chains, places),
                **_weights(model, rows, settings.num_weights, seed),
                "seconds": seconds,
            }
        )
    shown = {"x": data.X[:, 0].tolist(), "y": data.Y[:, 0].tolist()}
    return {
        "settings": asdict(settings),
        "data": shown,
        "inputs": inputs[:, 0].tolist(),
        "methods": methods,
    }


def _weights(model: Any, rows: tuple[Any, Any], num_weights: int, seed: int) -> dict[str, Any]:
    try:
        found = pareto_smoothed(model, rows, num_weights, seed=seed)
    except NoDensityError:
        return {}
    return {
        "elbo": found.elbo.value,
        "elbo_error": found.elbo.standard_error,
        "log_evidence": found.log_evidence,
        "k_hat": found.k_hat,
        "num_weights": num_weights,
    }


def summary(results: Mapping[str, Any]) -> str:
    """A row for each method, the nearest to NUTS first; see :mod:`gpflow_gi.experiments.study`."""
    exact, *others = results["methods"]
    others = sorted(others, key=lambda one: one["distance"]["mean"])
    rows = []
    for one in (exact, *others):
        rows.append(
            (
                one["name"],
                f"{one['distance']['mean']:.3f}",
                f"{one['distance_in_gap']['mean']:.3f}",
                f"{one['deviation_in_gap']['mean']:.3f}",
                _number(one.get("elbo"), 1),
                _number(one.get("k_hat"), 2),
                f"{one['seconds']:.0f}",
            )
        )
    headers = ("", "distance", "in the gap", "sd, gap", "ELBO", "k-hat", "s")
    lines = tabulate(rows, headers, disable_numparse=True, colalign=("left", *6 * ("right",)))
    S = results["settings"]["num_weights"]
    return (
        f"{lines}\n\n"
        "Distance: Wasserstein-1, of the predictive distribution of f from that of NUTS, mean\n"
        f"over inputs; for NUTS, of each chain from the others. k-hat of {S} samples.\n"
        "Laplace has the bound and k-hat of the linearised network, which is another model.\n"
        f"NUTS: largest R-hat of f {_number(exact['diagnostics']['largest_r_hat_of_f'], 3)}."
    )


def _number(value: float | None, digits: int) -> str:
    return "-" if value is None else f"{value:.{digits}f}"


def plot(results: Mapping[str, Any]) -> Figure:
    """A panel for each method, with NUTS in each; the nearest to NUTS first."""
    exact, *others = results["methods"]
    others = sorted(others, key=lambda one: one["distance"]["mean"])
    data, inputs = results["data"], np.array(results["inputs"])
    columns = 6
    rows = -(-(len(others) + 1) // columns)
    figure = Figure(figsize=(2.5 * columns, 2.4 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharex=True, sharey=True).ravel()
    sides = [np.array(exact["mean"]) + side * np.array(exact["deviation"]) for side in (-2, 2)]
    for ax, method in zip(panels, (exact, *others), strict=False):
        colour = COLOURS[3] if method is exact else COLOURS[0]
        mean, deviation = np.array(method["mean"]), np.array(method["deviation"])
        for width, alpha in [(2, 0.18), (1, 0.26)]:
            low, high = mean - width * deviation, mean + width * deviation
            ax.fill_between(inputs, low, high, color=colour, alpha=alpha, linewidth=0)
        ax.plot(inputs, mean, color=colour, linewidth=1.4)
        for side in sides:
            ax.plot(inputs, side, color=COLOURS[3], linewidth=0.9, linestyle=(0, (4, 3)))
        ax.plot(data["x"], data["y"], "o", color="#222222", markersize=2, markeredgewidth=0)
        distance = "" if method is exact else f"  {method['distance']['mean']:.3f}"
        ax.set_title(f"{method['name']}{distance}", fontsize="small")
        ax.spines[["top", "right"]].set_visible(False)
        ax.margins(x=0)
    low, high = min(map(np.min, sides)), max(map(np.max, sides))
    panels[0].set_ylim(low - 0.15 * (high - low), high + 0.15 * (high - low))
    for ax in panels[len(others) + 1 :]:
        ax.set_visible(False)
    figure.supxlabel("x", fontsize="small")
    figure.supylabel("f", fontsize="small")
    return figure

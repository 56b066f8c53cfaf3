"""Posteriors where nothing was observed: three approximations and NUTS, on the cubic data.

The paper's section 3.1 and Figure 1: 40 rows, a network of 2 x 50 ReLU units with NealPrior, 100
inducing points. The question is: which variational posterior is nearest to the exact one, from
which NUTS draws? Two numbers answer it: the predictive standard deviation in the gap between the
observed inputs, and the distance between predictive distributions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tabulate import tabulate

from gpflow_gi.bounds import estimate_elbo
from gpflow_gi.experiments.cubic import GAP, RANGE, Cubic
from gpflow_gi.experiments.cubic_network import Training, trained_network, untrained_network
from gpflow_gi.experiments.estimates import mean_and_standard_error, written
from gpflow_gi.experiments.wasserstein import wasserstein_1
from gpflow_gi.inference import NutsResult, nuts
from gpflow_gi.plotting import COLOURS

from .parts import Parts

Array = NDArray[np.float64]

METHODS = ("factorised", "local", "global")
"""Methods besides NUTS, in the order of the paper's figure."""

SHOWN = (-5.0, 5.0)
"""The inputs at which predictions are made, in the inputs' own unit."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param num_rows: number of rows of data.
    :param num_inducing: number of inducing points of the local and the global posterior.
    :param training: training of the variational posteriors, the same for all.
    :param num_runs: number of runs of each of them, from different starts.
    :param num_predictive: number of draws of f from each of them.
    :param num_elbo: number of samples for their bounds.
    :param num_inputs: number of inputs at which predictions are made.
    :param nuts: arguments of :func:`gpflow_gi.inference.nuts`.
    """

    num_rows: int
    num_inducing: int
    training: Training
    num_runs: int
    num_predictive: int
    num_elbo: int
    num_inputs: int
    nuts: dict[str, Any]


USUAL = Settings(
    num_rows=40,
    num_inducing=100,
    training=Training(steps=10_000),
    num_runs=3,
    num_predictive=4000,
    num_elbo=1000,
    num_inputs=201,
    nuts={"num_chains": 4, "num_draws": 1000, "num_adaptation_steps": 300, "max_tree_depth": 8},
)

FAST = Settings(
    num_rows=40,
    num_inducing=100,
    training=Training(steps=1500),
    num_runs=1,
    num_predictive=1000,
    num_elbo=200,
    num_inputs=101,
    nuts={"num_chains": 4, "num_draws": 200, "num_adaptation_steps": 100, "max_tree_depth": 8},
)


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train and sample everything; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "data", the "inputs" at which predictions are made, and "methods" with the
        values of :func:`comparison` for each. All values are in units of the standardised data;
        all predictions are of f, without noise, unless they are said to be of y.
    """
    settings = FAST if fast else USUAL
    data = Cubic.draw(settings.num_rows, seed)
    inputs = data.evenly(settings.num_inputs, *SHOWN)
    places = Places.of(data, inputs)

    announce = Parts(announce, 1 + len(METHODS) * settings.num_runs, apart=1)
    announce("NUTS")
    exact = nuts(
        untrained_network(data, inference="factorised", seed=seed),
        (data.X, data.Y),
        inputs=data.evenly(settings.num_inputs),
        seed=seed,
        **settings.nuts,
    )
    chains = chains_of(exact, inputs)
    methods = [
        {"name": "NUTS", **comparison(chains, chains, places), "diagnostics": diagnostics_of(exact)}
    ]
    for method in METHODS:
        draws, elbos = [], []
        for i in range(settings.num_runs):
            announce(f"{_title(method)}, run {i + 1} of {settings.num_runs}")
            model = trained_network(
                data,
                settings.training,
                inference=method,
                num_inducing=settings.num_inducing,
                seed=seed + i,
                progress=progress,
            )
            rows = data.X, data.Y
            elbos.append(estimate_elbo(model, rows, settings.num_elbo, seed=seed).value)
            predicted = model.predict_f_samples(
                inputs, settings.num_predictive, full_cov=False, seed=seed
            )
            draws.append(predicted.numpy()[..., 0])
        compared = comparison(draws, chains, places)
        methods.append({"name": method, **compared, "elbo": mean_and_standard_error(elbos)})
    return {
        "settings": asdict(settings),
        "data": {
            "x": data.X[:, 0].tolist(),
            "y": data.Y[:, 0].tolist(),
            "noise_deviation": data.noise_deviation,
        },
        "inputs": inputs[:, 0].tolist(),
        "gap": data.inputs.transform(np.array(GAP)).tolist(),
        "methods": methods,
    }


@dataclass(frozen=True, eq=False)
class Places:
    """Masks for the regions of the inputs, [N] each, and the noise variance."""

    gap: NDArray[np.bool_]
    range: NDArray[np.bool_]
    noise_variance: float

    @classmethod
    def of(cls, data: Cubic, inputs: Array) -> Places:
        x = data.inputs.inverse(inputs)[:, 0]
        gap, within = ((low < x) & (x < high) for low, high in (GAP, RANGE))
        return cls(gap, within, data.noise_deviation**2)


def chains_of(exact: NutsResult, inputs: Array) -> list[Array]:
    """Values of f, one array [T, N] for each chain."""
    num_draws = exact.num_chains * exact.num_draws
    # This number of samples of the model is all the draws, chain after chain.
    f = exact.model.predict_f_samples(inputs, num_draws, full_cov=False, seed=0).numpy()[..., 0]
    return list(np.split(f, exact.num_chains))


def comparison(runs: list[Array], chains: list[Array], places: Places) -> dict[str, Any]:
    """A method's predictions, in curves and in numbers with standard errors.

    The curves are those of all runs together. The numbers are means over runs, with standard errors
    from the spread between runs. For NUTS the runs are chains, and each chain is compared with the
    others; the remaining distance comes from the finite number of draws.

    :param runs: draws of f, [S, N] each.
    :param chains: draws of f by NUTS, [T, N] each.
    """
    distances = [
        wasserstein_1(run, np.concatenate([chain for chain in chains if chain is not run]))
        for run in runs
    ]
    variances = [run.var(axis=0) for run in runs]

    def estimate(values: list[Array], where: NDArray[np.bool_]) -> dict[str, float | None]:
        return mean_and_standard_error([float(value[where].mean()) for value in values])

    deviations_of_y = [np.sqrt(variance + places.noise_variance) for variance in variances]
    everything = np.concatenate(runs)
    return {
        "mean": everything.mean(axis=0).tolist(),
        "deviation": everything.std(axis=0).tolist(),
        "deviation_in_gap": estimate([np.sqrt(variance) for variance in variances], places.gap),
        "deviation_of_y_in_gap": estimate(deviations_of_y, places.gap),
        "distance_in_gap": estimate(distances, places.gap),
        "distance": estimate(distances, places.range),
    }


def diagnostics_of(exact: NutsResult) -> dict[str, float]:
    """Convergence diagnostics of the chains, at the data and in the gap."""
    return {
        "largest_r_hat_of_f": float(np.max(exact.r_hat["f"])),
        "smallest_effective_sample_size_of_f": float(np.min(exact.effective_sample_size["f"])),
        "r_hat_of_log_density": float(exact.r_hat["log density"]),
        "divergences": exact.divergences,
        "acceptance": exact.acceptance,
        "leapfrog_steps": exact.leapfrog_steps,
        "seconds": exact.seconds,
    }


def _title(method: str) -> str:
    titles = {"local": "local inducing", "global": "global inducing"}
    return titles.get(method, method)


def summary(results: Mapping[str, Any]) -> str:
    """The numbers of all methods; see :mod:`gpflow_gi.experiments.study`."""
    methods = results["methods"]
    rows = [
        (label, *(written(method[name], digits) if name in method else "" for method in methods))
        for label, name, digits in [
            ("sd of f, gap", "deviation_in_gap", 3),
            ("sd of y, gap", "deviation_of_y_in_gap", 3),
            ("distance, gap", "distance_in_gap", 3),
            ("distance, all", "distance", 3),
            ("ELBO", "elbo", 1),
        ]
    ]
    lines = tabulate(
        rows,
        ("", *(method["name"] for method in methods)),
        disable_numparse=True,
        colalign=("left", *len(methods) * ("right",)),
    )
    diagnostics = methods[0]["diagnostics"]
    return (
        f"{lines}\n\n"
        "In units of the standardised data. Distance: Wasserstein-1, of the predictive\n"
        "distribution of f from that of NUTS, mean over inputs in the gap and in the\n"
        "whole range; for NUTS, of each chain from the others. ±: standard error, over\n"
        "runs from different starts or over chains.\n"
        f"NUTS: largest R-hat of f {diagnostics['largest_r_hat_of_f']:.3f}, "
        f"least effective sample size {diagnostics['smallest_effective_sample_size_of_f']:.0f}, "
        f"divergences {diagnostics['divergences']}."
    )


def plot(results: Mapping[str, Any]) -> Figure:
    """A panel for each method, as in the paper's Figure 1.

    See :mod:`gpflow_gi.experiments.study`.
    """
    exact, *others = results["methods"]
    data, inputs = results["data"], np.array(results["inputs"])
    figure = Figure(figsize=(13, 4), layout="constrained")
    panels = figure.subplots(1, len(results["methods"]), sharex=True, sharey=True)
    for ax, method in zip(panels, [*others, exact], strict=True):
        colour = COLOURS[3] if method is exact else COLOURS[0]
        mean, deviation = np.array(method["mean"]), np.array(method["deviation"])
        ax.axvspan(*results["gap"], color="#F4F4F4", linewidth=0, zorder=0)
        for width, alpha in [(2, 0.16), (1, 0.24)]:
            ax.fill_between(
                inputs,
                mean - width * deviation,
                mean + width * deviation,
                color=colour,
                alpha=alpha,
                linewidth=0,
            )
        ax.plot(inputs, mean, color=colour, linewidth=1.6)
        if method is not exact:
            for side in (-2, 2):
                ax.plot(
                    inputs,
                    np.array(exact["mean"]) + side * np.array(exact["deviation"]),
                    color=COLOURS[3],
                    linewidth=0.9,
                    linestyle=(0, (4, 3)),
                    label="NUTS, two standard deviations" if side > 0 else None,
                )
        ax.plot(data["x"], data["y"], "o", color="#222222", markersize=3, markeredgewidth=0)
        title = _title(method["name"])
        if method is not exact:
            title += f"\ndistance from NUTS: {written(method['distance'], 3)}"
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("x")
        ax.spines[["top", "right"]].set_visible(False)
        ax.margins(x=0)
    panels[0].set_ylabel("f")
    panels[0].legend(frameon=False, loc="upper left", fontsize="small")
    return figure

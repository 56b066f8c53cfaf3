"""Uncertainty of the layers of a deep GP, and of their composition: the paper's appendix J.

Two GP layers with known kernels and noise, on 1-D data with a step. Many pairs of layers have the
same composition. A posterior that is independent over layers, as that of local inducing points,
cannot hold several such pairs: it has to make the layers certain instead, says Ustyuzhaninov et al.
(2020), "Compositional uncertainty in deep Gaussian processes". The reference is NUTS, on the exact
posterior; SGHMC draws from the best q(v) of local inducing points, without independence.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import gpflow
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tabulate import tabulate

from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.bounds import estimate_elbo
from gpflow_gi.inference import sghmc_inducing
from gpflow_gi.inference.convergence import Convergence
from gpflow_gi.models import DeepGP
from gpflow_gi.plotting import COLOURS
from gpflow_gi.plotting.style import tidy
from gpflow_gi.training import fit
from gpflow_gi.training.learning_rate import falling_rate

from .composition import (
    Layers,
    draw_exact,
    draw_layers,
    exact_posterior,
    mutual_information,
    shapes,
    spread,
)
from .parts import Parts

Array = NDArray[np.float64]

METHODS = ("local", "global", "SGHMC", "NUTS")
LENGTHSCALES, NOISE_VARIANCE = (1.0, 1.0), 0.01
RANGE = (-2.0, 2.0)
NUM_SHOWN = 25
"""Draws in the figure."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param num_rows: number of rows.
    :param num_inducing: inducing points of each layer.
    :param steps: steps of Adam for the local and the global posterior.
    :param num_samples: samples of the bound in a step.
    :param num_draws: draws of each posterior.
    :param sghmc: arguments of :func:`gpflow_gi.inference.sghmc_inducing`.
    :param nuts: arguments of :func:`gpflow_gi.inference.nuts`.
    """

    num_rows: int
    num_inducing: int
    steps: int
    num_samples: int
    num_draws: int
    sghmc: Mapping[str, int]
    nuts: Mapping[str, int]


USUAL = Settings(
    num_rows=30,
    num_inducing=15,
    steps=6000,
    num_samples=10,
    num_draws=2000,
    sghmc={"num_chains": 40, "num_draws": 50, "burn_in": 5000, "steps": 10_000},
    nuts={"num_chains": 4, "num_draws": 500, "num_adaptation_steps": 500, "max_tree_depth": 8},
)
FAST = Settings(
    num_rows=30,
    num_inducing=15,
    steps=1000,
    num_samples=5,
    num_draws=400,
    sghmc={"num_chains": 20, "num_draws": 20, "burn_in": 500, "steps": 1000},
    nuts={"num_chains": 4, "num_draws": 100, "num_adaptation_steps": 150, "max_tree_depth": 6},
)


def draw_data(num_rows: int, seed: int) -> tuple[Array, Array]:
    """A smooth step with noise: X [N, 1] and Y [N, 1]."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(*RANGE, size=(num_rows, 1)), axis=0)
    return X, np.tanh(6.0 * X) + math.sqrt(NOISE_VARIANCE) * rng.normal(size=X.shape)


def untrained_model(data: tuple[Array, Array], inference: str, num_inducing: int) -> DeepGP:
    """Two layers of mean zero, whose kernels and noise are known."""
    kernels = [gpflow.kernels.SquaredExponential(lengthscales=one) for one in LENGTHSCALES]
    likelihood = gpflow.likelihoods.Gaussian(NOISE_VARIANCE)
    for known in (*kernels, likelihood):
        gpflow.set_trainable(known, False)
    return build_deep_gp(
        *data,
        inference=inference,  # type: ignore[arg-type]
        num_inducing=num_inducing,
        mean_function="zero",
        kernel=kernels,
        likelihood=likelihood,
    )


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train, draw and measure; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "data", "inputs" x and "hidden_values" h of the functions, and "methods":
        each with its "name", "elbo" (None if it has none), what :func:`measured` returns, and some
        draws.
    """
    settings = FAST if fast else USUAL
    data = draw_data(settings.num_rows, seed)
    x, h = np.linspace(*RANGE, 81), np.linspace(-2.0, 2.0, 41)
    announce = Parts(announce, len(METHODS))
    methods, diagnostics = [], {}
    models: dict[str, DeepGP] = {}
    for name in METHODS:
        announce(name)
        elbo = None
        if name == "NUTS":
            exact = exact_posterior(*data, LENGTHSCALES, NOISE_VARIANCE, settings.nuts, seed)
            z = exact.model.theta.numpy()
            at = (*data, LENGTHSCALES, NOISE_VARIANCE, x, h)
            layers = draw_exact(z, *at, np.random.default_rng(seed))
            aligned = layers.aligned(x, h)
            identified = {"hidden": aligned.hidden, "whole": aligned.whole}
            convergence = Convergence.of(identified, exact.num_chains)
            diagnostics = {
                "r_hat": convergence.worst_r_hat()[0],
                "effective_sample_size": convergence.worst_effective_sample_size()[0],
                "divergences": int(exact.divergences),
            }
        elif name == "SGHMC":
            chains = sghmc_inducing(
                models["local"], data, learning_rate=0.0, seed=seed, **settings.sghmc
            )
            number = settings.sghmc["num_chains"] * settings.sghmc["num_draws"]
            layers = draw_layers(chains.model, x, h, number, seed)
        else:
            model = models[name] = untrained_model(data, name, settings.num_inducing)
            fit(
                model,
                data,
                steps=settings.steps,
                learning_rate=falling_rate(0.02, 0.0002, settings.steps, smoothly=True),
                num_samples=settings.num_samples,
                progress=progress,
                seed=seed,
            )
            elbo = estimate_elbo(model, data, 200, seed=seed).value
            layers = draw_layers(model, x, h, settings.num_draws, seed)
        methods.append({"name": name, "elbo": elbo, **measured(layers, x, h, seed)})
    return {
        "settings": asdict(settings),
        "data": {"x": data[0][:, 0].tolist(), "y": data[1][:, 0].tolist()},
        "inputs": x.tolist(),
        "hidden_values": h.tolist(),
        "methods": methods,
        "nuts": diagnostics,
    }


def measured(layers: Layers, x: Array, h: Array, seed: int) -> dict[str, Any]:
    """The spread of the layers and of the whole, how far they depend on each other, and draws.

    :return: "hidden", "shape", "outer" and "whole": spreads; "information" between f1 and f2, and
        "information_of_independent", its standard deviation if there were none; and "draws".
    """
    aligned = layers.aligned(x, h)
    rng = np.random.default_rng(seed)
    information, noise = mutual_information(aligned.hidden, aligned.outer, rng)
    shown = np.linspace(0, len(layers.hidden) - 1, NUM_SHOWN).astype(int)
    return {
        "hidden": spread(aligned.hidden),
        "shape": spread(shapes(aligned.hidden)),
        "outer": spread(aligned.outer),
        "whole": spread(aligned.whole),
        "information": information,
        "information_of_independent": noise,
        "draws": {name: part[shown].tolist() for name, part in vars(aligned).items()},
    }


def summary(results: Mapping[str, Any]) -> str:
    """A row for each method; see :mod:`gpflow_gi.experiments.study`."""
    rows = [
        (
            one["name"],
            *(f"{one[name]:.3f}" for name in ("hidden", "shape", "outer", "whole")),
            f"{_positive(one['information'])} ± {one['information_of_independent']:.2f}",
            "" if one["elbo"] is None else f"{one['elbo']:.1f}",
        )
        for one in results["methods"]
    ]
    headers = ("", "sd of\nhidden", "sd of its\nshape", "sd of\nouter", "sd of\nwhole",
               "information", "ELBO")  # fmt: skip
    lines = tabulate(rows, headers, disable_numparse=True, colalign=("left", *6 * ("right",)))
    notes = (
        "sd: over draws, root mean square over inputs, of the hidden function f1 after a choice of "
        "its sign, of f1 with mean 0 and sd 1 over inputs, of the outer function f2 and of the "
        "whole f2(f1(x)). Information: mutual, between f1 and f2, in nats, of a Gaussian with "
        "the correlations of three components of each; ±: its sd for independent functions. "
        f"NUTS: largest R-hat of f1 and the whole {results['nuts']['r_hat']:.2f}, least effective "
        f"sample size {results['nuts']['effective_sample_size']:.0f}, divergences "
        f"{results['nuts']['divergences']}."
    )
    return f"{lines}\n\n{textwrap.fill(notes, 80)}"


def _positive(information: float) -> str:
    # Of independent layers the estimate is zero up to its noise; "-0.00" would puzzle.
    return f"{information if abs(information) >= 0.005 else 0.0:.2f}"


def plot(results: Mapping[str, Any]) -> Figure:
    """A column for each method: draws of the hidden function, the outer one and the whole."""
    methods = results["methods"]
    inputs = {
        "hidden": results["inputs"],
        "outer": results["hidden_values"],
        "whole": results["inputs"],
    }
    figure = Figure(figsize=(3.1 * len(methods), 7.5), layout="constrained")
    panels = figure.subplots(3, len(methods), sharey="row", squeeze=False)
    for column, one, colour in zip(panels.T, methods, COLOURS, strict=False):
        for ax, (name, x) in zip(column, inputs.items(), strict=True):
            draws = np.array(one["draws"][name])
            ax.plot(x, draws.T, color=colour, linewidth=0.8, alpha=0.45)
            ax.set_xlabel("h" if name == "outer" else "x")
            ax.margins(x=0)
            tidy(ax)
            ax.set_title(f"sd {one[name]:.2f}", fontsize="small")
        column[2].plot(
            results["data"]["x"], results["data"]["y"], "o", color="#222222", markersize=3,
            markeredgewidth=0,
        )  # fmt: skip
        information = _positive(one["information"])
        column[0].set_title(
            f"{one['name']}\ninformation {information} nats\nsd {one['hidden']:.2f}",
            fontsize="medium",
        )
    for ax, label in zip(panels[:, 0], ("hidden f1(x)", "outer f2(h)", "f2(f1(x))"), strict=True):
        ax.set_ylabel(label)
    return figure

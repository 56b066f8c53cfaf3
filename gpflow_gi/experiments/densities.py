"""Densities of y given x that are not Gaussian: deep GPs with and without latent variables.

Three data sets: two branches (Rodriguez Santana, Zaldivar & Hernandez-Lobato 2022, section 5.1), a
step with noise of two widths, and the second coordinate of two moons given the first. The models
with a latent input are those of Salimbeni, Dutordoir, Hensman & Deisenroth (ICML 2019).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import make_moons
from tabulate import tabulate

from gpflow_gi import bounds
from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.experiments.mixture_data import RANGE, Array, Rows
from gpflow_gi.metrics.held_out import HeldOut, predictive_components
from gpflow_gi.objectives import ImportanceWeighted
from gpflow_gi.plotting import COLOURS
from gpflow_gi.plotting.density import draw, relative_density
from gpflow_gi.training import LinearTail, fit

from .parts import Parts


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param num_rows: rows for training, and as many for the test.
    :param num_layers: GP layers.
    :param num_inducing: inducing points.
    :param steps: steps of Adam.
    :param batch_size: rows of each step.
    :param learning_rate: of Adam.
    :param num_weights: samples of the importance weighted bound.
    :param num_predictive: components of predictions.
    :param num_inputs: columns of the figure, and its rows.
    """

    num_rows: int = 300
    num_layers: int = 2
    num_inducing: int = 50
    steps: int = 2500
    batch_size: int = 100
    learning_rate: float = 0.03
    num_weights: int = 10
    num_predictive: int = 500
    num_inputs: int = 100


FAST = Settings(num_inducing=20, num_layers=1, steps=300, num_predictive=100, num_inputs=50)

PROBLEMS = ("bimodal", "step", "moons")

METHODS = {
    f"{inference}{name}": (inference, latent_dim, weighted)
    for inference in ("global", "local")
    for name, latent_dim, weighted in (
        ("", 0, False),
        (", latent, ELBO", 1, False),
        (", latent, IW", 1, True),
    )
}
"""Inference of the layers, latent variables of each row, and whether the bound is weighted."""


def rows_of(problem: str, num_rows: int, seed: int) -> Rows:
    """Rows for training and for the test.

    :param problem: one of :data:`PROBLEMS`.
    :param num_rows: of each.
    :param seed: an integer.
    """
    if problem == "bimodal":
        return Rows.draw(problem, num_rows, seed)
    rng = np.random.default_rng(seed)
    if problem == "step":
        return Rows.of(problem, step(num_rows, rng), step(num_rows, rng))
    table = make_moons(2 * num_rows, noise=0.08, random_state=seed)[0]
    x, y = table[:, :1], table[:, 1:]
    return Rows.of(problem, (x[:num_rows], y[:num_rows]), (x[num_rows:], y[num_rows:]))


def step(num_rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """A jump from -1 to 1 at zero, with noise of deviation 0.05 before it and 0.5 after it."""
    x = rng.uniform(*RANGE, size=(num_rows, 1))
    return x, np.sign(x) + np.where(x < 0, 0.05, 0.5) * rng.normal(size=x.shape)


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train and measure every model on all data; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings" and "problems", each with "name", "data" ("x", "y"), "inputs" and "outputs"
        of the figure, and "methods" with "name", "bound" (the one that was maximised, per row),
        "log_density" and "crps" of the test rows, means, "density" [outputs, inputs] relative to
        each input's largest, and "seconds".
    """
    settings = FAST if fast else Settings()
    parts = Parts(announce, len(PROBLEMS) * len(METHODS))
    problems = []
    for problem in PROBLEMS:
        rows = rows_of(problem, settings.num_rows, seed)
        (x, y), T = rows.train, settings.num_inputs
        inputs = np.linspace(x.min(), x.max(), T)
        margin = 0.15 * (y.max() - y.min())
        outputs = np.linspace(y.min() - margin, y.max() + margin, T)
        found = []
        for name in METHODS:
            parts(f"{problem}: {name}")
            one = measure(name, rows, inputs, outputs, settings, seed, progress)
            found.append({"name": name, **one})
        problems.append(
            {
                "name": problem,
                "data": {"x": x[:, 0].tolist(), "y": y[:, 0].tolist()},
                "inputs": inputs.tolist(),
                "outputs": outputs.tolist(),
                "methods": found,
            }
        )
    return {"settings": asdict(settings), "problems": problems}


def measure(
    name: str,
    rows: Rows,
    inputs: Array,
    outputs: Array,
    settings: Settings,
    seed: int,
    progress: bool,
) -> dict[str, Any]:
    """Train one of the models, and measure it; see :func:`run`."""
    inference, latent_dim, weighted = METHODS[name]
    data = rows.standardised
    model = build_deep_gp(
        *data,
        num_layers=settings.num_layers,
        num_inducing=settings.num_inducing,
        inference=inference,  # type: ignore[arg-type]
        latent_dim=latent_dim,
        seed=seed,
    )
    started = time.perf_counter()
    fit(
        model,
        data,
        steps=settings.steps,
        batch_size=settings.batch_size,
        learning_rate=LinearTail(settings.learning_rate, settings.steps),
        objective=ImportanceWeighted(settings.num_weights) if weighted else None,
        seed=seed,
        progress=progress,
    )
    seconds = time.perf_counter() - started
    if weighted:
        K = settings.num_weights
        bound = sum(float(model.iwbo(data, K, seed=i)) for i in range(10)) / 10
    else:
        bound = bounds.estimate_elbo(model, data, 20).value
    S = settings.num_predictive
    held_out = HeldOut(
        rows.test[1],
        *predictive_components(model, rows.inputs.transform(rows.test[0]), S, seed),
        rows.targets,
    )
    at = predictive_components(model, rows.inputs.transform(inputs[:, None]), S, seed)
    y = rows.targets.transform(outputs[:, None])[:, 0]
    return {
        # Of y in its own unit, as the log density.
        "bound": float(bound) / settings.num_rows - float(np.log(rows.targets.scale[0])),
        "log_density": float(np.mean(held_out.log_density)),
        "crps": float(np.mean(held_out.crps)),
        "density": relative_density(y, *(m[..., 0] for m in at)).round(3).tolist(),
        "seconds": seconds,
    }


def summary(results: Mapping[str, Any]) -> str:
    """A row for each model and data set; see :mod:`gpflow_gi.experiments.study`."""
    rows = [
        (
            problem["name"],
            one["name"],
            f"{one['bound']:.2f}",
            f"{one['log_density']:.3f}",
            f"{one['crps']:.3f}",
            f"{one['seconds']:.0f}",
        )
        for problem in results["problems"]
        for one in problem["methods"]
    ]
    headers = ("data", "", "bound", "log density", "CRPS", "s")
    align = ("left", "left", *4 * ("right",))
    lines = tabulate(rows, headers, disable_numparse=True, colalign=align)
    N = results["settings"]["num_rows"]
    return (
        f"{lines}\n\nMeans over {N} test rows, in units of y; the bound that was maximised, on "
        f"average\nover the rows of training. IW: importance weighted, of "
        f"{results['settings']['num_weights']} samples."
    )


def plot(results: Mapping[str, Any]) -> Figure:
    """The density of y given x for each model and data set, with the rows."""
    problems = results["problems"]
    height, width = len(problems[0]["methods"]), len(problems)
    figure = Figure(figsize=(3.4 * width, 2.0 * height), layout="constrained")
    grid = figure.subplots(height, width, sharex="col", sharey="col", squeeze=False)
    for column, problem in zip(grid.T, problems, strict=True):
        for ax, one in zip(column, problem["methods"], strict=True):
            draw(ax, problem["inputs"], problem["outputs"], one["density"])
            ax.plot(problem["data"]["x"], problem["data"]["y"], ".", color=COLOURS[1], markersize=1)
            ax.set_title(f"{one['name']}: {one['log_density']:.2f}", fontsize="small")
        column[-1].set_xlabel(f"{problem['name']}: x", fontsize="small")
    return figure

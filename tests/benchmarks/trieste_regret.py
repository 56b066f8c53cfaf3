"""Bayesian optimisation in Trieste: this library's deep GP, Trieste's GPR, and GPflux's deep GP.

python -m tests.benchmarks.trieste_regret [--out FOLDER] [--fast] [--seeds NUMBER]

Runs in the environment of `make trieste`. Every run is added to trieste_regret.jsonl in the folder
as it ends, and is not repeated; the table and the figure are of all runs in it. All models see the
same first points, observations standardised by these, and expected improvement. The regret is the
lowest observation minus the function's minimum, in units of the function.
"""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gpflow
import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import tensorflow as tf
import trieste
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator
from trieste.acquisition.rule import EfficientGlobalOptimization
from trieste.models.gpflow import GaussianProcessRegression, build_gpr
from trieste.models.gpflux import DeepGaussianProcess, build_vanilla_deep_gp
from trieste.objectives import Hartmann6, ScaledBranin

import gpflow_gi as gi

from .report import Table, machine, parser, write

matplotlib.use("Agg")

NOISE_VARIANCE = 0.01
"""At the start, in the unit of standardised observations; Trieste's own for GPflux's deep GP."""


@dataclass(frozen=True)
class Problem:
    """A function on the unit box.

    :param objective: from [N, D] to [N, 1].
    :param minimum: its least value.
    :param dim: D.
    :param first: number of first points.
    :param steps: number of further ones.
    """

    objective: Callable[[Any], Any]
    minimum: float
    dim: int
    first: int
    steps: int


def cliff(X: Any) -> Any:
    """A bowl whose bottom is on the upper side of a step of 2: the minimum is at the step's foot.

    The line x1 + x2 / 2 = 0.7 is 0.05 / sqrt(1.25) from the bottom (0.6, 0.3), so that the minimum
    is 4 * 0.05^2 / 1.25 = 0.008.
    """
    bowl = 4.0 * tf.reduce_sum(tf.square(X - tf.constant([0.6, 0.3], X.dtype)), 1, keepdims=True)
    return bowl + 2.0 * tf.cast(X[:, :1] + 0.5 * X[:, 1:] > 0.7, X.dtype)


PROBLEMS = {
    "Branin": Problem(ScaledBranin.objective, float(ScaledBranin.minimum[0]), 2, 6, 15),
    "step": Problem(cliff, 0.008, 2, 6, 15),
    "Hartmann-6": Problem(Hartmann6.objective, float(Hartmann6.minimum[0]), 6, 12, 20),
}


def with_gi(data: Any, box: Any, num_inducing: int, seed: int) -> Any:
    """Two global layers; inducing points beyond the first rows start at Sobol points of the box."""
    X, Y = data.query_points.numpy(), data.observations.numpy()
    more = box.sample_sobol(num_inducing - len(X), skip=1000 * (1 + seed)).numpy()
    model = gi.architectures.build_deep_gp(
        np.vstack([X, more]),
        np.vstack([Y, np.full((len(more), 1), np.nan)]),
        num_inducing=num_inducing,
        likelihood=gpflow.likelihoods.Gaussian(NOISE_VARIANCE),
        missing="ignore",
        seed=seed,
    )
    return gi.interop.as_trieste_model(
        model, steps=300, num_samples=20, learning_rate=0.02, seed=seed
    )


def with_gpflux(data: Any, box: Any, num_inducing: int, seed: int) -> Any:
    """Trieste's own deep GP, of two layers."""
    return DeepGaussianProcess(
        lambda: build_vanilla_deep_gp(data, box, num_inducing_points=num_inducing)
    )


def with_gpr(data: Any, box: Any, num_inducing: int, seed: int) -> Any:
    """Trieste's GP regression, with a Matern kernel; the functions have no noise."""
    return GaussianProcessRegression(build_gpr(data, box, likelihood_variance=1e-5))


MODELS = {"gpflow_gi": with_gi, "GPR": with_gpr, "GPflux": with_gpflux}


def run(problem: Problem, build: Callable[..., Any], seed: int, steps: int) -> dict[str, Any]:
    """One optimisation: the regret after each observation, from the first design on."""
    tf.random.set_seed(seed)
    np.random.seed(seed)  # Trieste draws from it
    box = trieste.space.Box([0.0] * problem.dim, [1.0] * problem.dim)
    X = box.sample(problem.first, seed=seed)
    Y = problem.objective(X)
    mean, scale = tf.reduce_mean(Y), tf.math.reduce_std(Y)

    def observe(points: Any) -> Any:
        points = tf.cast(points, tf.float64)
        values = (problem.objective(points) - mean) / scale
        return trieste.data.Dataset(points, values)

    first = observe(X)
    start = time.perf_counter()
    model = build(first, box, problem.first + steps, seed)
    optimizer = trieste.bayesian_optimizer.BayesianOptimizer(observe, box)
    result = optimizer.optimize(
        steps, first, model, EfficientGlobalOptimization(), track_state=False
    )
    values = result.try_get_final_dataset().observations.numpy()[:, 0] * scale.numpy()
    regret = np.minimum.accumulate(values + mean.numpy() - problem.minimum)
    return {
        "regret": regret[problem.first - 1 :].tolist(),
        "seconds": time.perf_counter() - start,
    }


def main() -> None:
    """Run what is missing, seed by seed, and write the table."""
    made = parser(__doc__)
    made.add_argument("--seeds", type=int, default=10, help="number of seeds (default: 10)")
    options = made.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    name = "trieste_regret-fast" if options.fast else "trieste_regret"
    path = options.out / f"{name}.jsonl"
    seeds = range(1 if options.fast else options.seeds)
    for seed in seeds:
        for problem in PROBLEMS:
            for model in MODELS:
                if (problem, model, seed) in finished(path):
                    continue
                steps = 2 if options.fast else PROBLEMS[problem].steps
                found = run(PROBLEMS[problem], MODELS[model], seed, steps)
                row = {"problem": problem, "model": model, "seed": seed, **found}
                with path.open("a") as file:
                    file.write(json.dumps(row) + "\n")
                print(f"{problem}, {model}, seed {seed}: {found['regret'][-1]:.4g}", flush=True)
    report(options.out, name, path)


def finished(path: Path) -> dict[tuple[str, str, int], Any]:
    """The runs in a file, by problem, model and seed."""
    rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return {(row["problem"], row["model"], row["seed"]): row for row in rows}


def report(out: Path, name: str, path: Path) -> None:
    """Write the table and the figure: quartiles of the regret over seeds, seconds of a run."""
    rows = []
    runs = finished(path)
    for problem in PROBLEMS:
        for model in MODELS:
            own = [row for (p, m, _), row in runs.items() if (p, m) == (problem, model)]
            last = np.quantile([row["regret"][-1] for row in own], [0.25, 0.5, 0.75])
            seconds = np.mean([row["seconds"] for row in own])
            quartiles = [f"{value:.3g}" for value in last]
            rows.append([problem, model, str(len(own)), *quartiles, f"{seconds:.0f}"])
    columns = ["function", "model", "seeds", "first quartile", "median", "third", "s per run"]
    parts = [machine("gpflow", "tensorflow", "trieste"), Table(columns, rows)]
    write(out, name, "Regret in Trieste", parts, {})
    figure(runs).savefig(out / f"{name}.png", dpi=120)


def figure(runs: dict[tuple[str, str, int], Any]) -> Figure:
    """The median regret over seeds after each observation, and its quartiles."""
    drawn, axes = plt.subplots(1, len(PROBLEMS), figsize=(12, 3.6), layout="constrained")
    for ax, (title, problem) in zip(axes, PROBLEMS.items(), strict=True):
        for model in MODELS:
            own = [row["regret"] for (p, m, _), row in runs.items() if (p, m) == (title, model)]
            low, median, high = np.quantile(own, [0.25, 0.5, 0.75], axis=0)
            observations = problem.first + np.arange(len(median))
            ax.plot(observations, median, label=model)
            ax.fill_between(observations, low, high, alpha=0.2)
        ax.set(title=title, xlabel="observations", yscale="log")
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes[0].set_ylabel("regret: best observation - minimum")
    axes[0].legend()
    return drawn


if __name__ == "__main__":
    main()

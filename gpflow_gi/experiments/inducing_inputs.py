"""Movement of the inducing inputs of a sparse implicit process in training.

Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), section 5.1.1 with Figure 2, and section 5.3
of the supplement with Figure 6. There the first has the data of Snelson & Ghahramani (2005), which
are not shipped here: as many rows of a function of one input stand for them.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import gpflow
import numpy as np
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.architectures import build_sip
from gpflow_gi.metrics.held_out import HeldOut, predictive_components
from gpflow_gi.objectives import DensityRatioKL
from gpflow_gi.plotting import COLOURS
from gpflow_gi.posteriors import NoiseNetwork
from gpflow_gi.training import fit

from .mixture_data import Array, Rows

PLACES = 50
"""Number of times in training at which the inducing inputs are kept, about."""


def waves(x: Array) -> Array:
    """A smooth function of x, of the shape of x."""
    return np.asarray(np.sin(2.2 * x) + 0.5 * np.cos(4.5 * x + 1.0) - 0.3 * x * np.cos(x))


def piecewise(x: Array) -> Array:
    """The mean of the supplement's equation (7), of the shape of x."""
    return np.where(x < 0, 10.0, 10.0 * (1.0 + np.sin(x)))


@dataclass(frozen=True)
class Problem:
    """Data and a start of the inducing inputs.

    :param mean: the function without noise.
    :param range: least and largest x.
    :param num_rows: rows for training, and as many for the test.
    :param deviation: standard deviation of the noise.
    :param num_inducing: the number of inducing inputs, M.
    :param together: True if all inducing inputs start at one place, and q(u) is not trained.
    """

    mean: Callable[[Array], Array]
    range: tuple[float, float]
    num_rows: int
    deviation: float
    num_inducing: int
    together: bool

    def draw(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """Draw x and y, each [N, 1]."""
        x = rng.uniform(*self.range, size=(self.num_rows, 1))
        return x, self.mean(x) + self.deviation * rng.normal(size=x.shape)

    def start(self, rng: np.random.Generator) -> Array:
        """Inducing inputs before training, [M, 1]: at one place, or uniform over the range."""
        M = (self.num_inducing, 1)
        if self.together:
            # Not quite the same: equal inputs of equal values would stay together for ever.
            return np.mean(self.range) + 1e-3 * rng.normal(size=M)
        return rng.uniform(*self.range, size=M)


PROBLEMS = {
    "together": Problem(waves, (0.0, 6.0), 200, 0.3, 15, together=True),
    "piecewise": Problem(piecewise, (-4.0, 5.0), 1000, 2.0, 50, together=False),
}


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param steps: steps of Adam.
    :param batch_size: rows of each step.
    :param learning_rate: of Adam.
    :param num_draws: draws of the process in its mean and covariance.
    :param num_samples: samples of u in each step.
    :param num_predictive: components of predictions.
    :param num_inputs: inputs of the figure.
    """

    steps: int = 40_000
    batch_size: int = 10
    learning_rate: float = 0.01
    num_draws: int = 50
    num_samples: int = 50
    num_predictive: int = 500
    num_inputs: int = 161


FAST = Settings(
    steps=2000, learning_rate=0.02, num_draws=20, num_samples=20, num_predictive=100, num_inputs=61
)


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    data: str = "together",
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train a sparse implicit process; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "problem", "data" ("x", "y"), "steps" and "places", the inducing inputs
        after each of them, [T, M], in units of x, "inputs", "mean" and "prediction" draws [draws,
        inputs] there, "log_density" and "rmse" of the test rows, "true_log_density", all in units
        of y, "noise_deviation", and "seconds".
    """
    settings, problem = FAST if fast else Settings(), PROBLEMS[data]
    rng = np.random.default_rng(seed)
    rows = Rows.of(data, problem.draw(rng), problem.draw(rng))
    model = build_sip(
        *rows.standardised,
        inducing_inputs=rows.inputs.transform(problem.start(rng)),
        num_draws=settings.num_draws,
        num_samples=settings.num_samples,
        seed=seed,
    )
    posterior, M = model.layers[0].posterior, problem.num_inducing
    if problem.together:
        # Of one mean, that of the targets at the start, all points would stay where it is theirs.
        posterior.sampler = NoiseNetwork(M, mean=rng.normal(size=M), seed=seed)
        gpflow.set_trainable(posterior.sampler, False)
    steps, places = [0], [_places(posterior, rows)]

    def keep(report: Any) -> None:
        if report.step - steps[-1] >= settings.steps // PLACES or report.step == settings.steps:
            steps.append(report.step)
            places.append(_places(posterior, rows))

    announce(data)
    started = time.perf_counter()
    fit(
        model,
        rows.standardised,
        objective=DensityRatioKL(symmetrised=True, alpha=1.0, num_draws=settings.num_samples),
        steps=settings.steps,
        batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        callbacks=[keep],
        seed=seed,
        progress=progress,
    )
    seconds = time.perf_counter() - started
    x, y = rows.test
    S = settings.num_predictive
    held_out = HeldOut(
        y, *predictive_components(model, rows.inputs.transform(x), S, seed), rows.targets
    )
    inputs = np.linspace(*problem.range, settings.num_inputs)[:, None]
    mean, variance = predictive_components(model, rows.inputs.transform(inputs), S, seed)
    drawn = mean + np.sqrt(variance) * rng.normal(size=mean.shape)
    residual = (y - problem.mean(x)) / problem.deviation
    true = -0.5 * np.square(residual) - np.log(problem.deviation * np.sqrt(2 * np.pi))
    return {
        "settings": asdict(settings),
        "problem": data,
        "data": {"x": rows.train[0][:, 0].tolist(), "y": rows.train[1][:, 0].tolist()},
        "steps": steps,
        "places": places,
        "inputs": inputs[:, 0].tolist(),
        "mean": rows.targets.inverse(mean.mean(0))[:, 0].tolist(),
        "prediction": [rows.targets.inverse(one)[:, 0].tolist() for one in drawn[:100]],
        "log_density": float(np.mean(held_out.log_density)),
        "rmse": held_out.rmse,
        "true_log_density": float(np.mean(true)),
        "noise_deviation": float(
            np.sqrt(model.likelihood.variance.numpy()) * rows.targets.scale[0]
        ),
        "seconds": seconds,
    }


def _places(posterior: Any, rows: Rows) -> list[float]:
    return [float(x) for x in rows.inputs.inverse(posterior.inducing_inputs.numpy())[:, 0]]


def widest_gap(places: Any, data_range: tuple[float, float]) -> float:
    """The longest part of the range without an inducing input, as a share of the range."""
    low, high = data_range
    inside = np.clip(np.sort(np.asarray(places)), low, high)
    return float(np.max(np.diff([low, *inside, high])) / (high - low))


def parts(places: Any, data_range: tuple[float, float]) -> list[float]:
    """Shares of inducing inputs in the range below -1, from -1 to 1, above, and out of range."""
    x, (low, high) = np.asarray(places), data_range
    is_in = (x >= low) & (x <= high)
    regions = is_in & (x < -1), is_in & (np.abs(x) <= 1), is_in & (x > 1), ~is_in
    return [float(np.mean(region)) for region in regions]


def summary(results: Mapping[str, Any]) -> str:
    """Places of the inducing inputs in training; see :mod:`gpflow_gi.experiments.study`."""
    problem = PROBLEMS[results["problem"]]
    steps, places = np.array(results["steps"]), results["places"]
    total = steps[-1]
    shown = sorted({int(np.argmin(np.abs(steps - share * total))) for share in (0, 0.25, 0.5, 1)})
    header = ["steps", "least", "largest", "gap"]
    header += [] if problem.together else ["x < -1", "-1 to 1", "x > 1", "out"]
    rows = []
    for i in shown:
        Z = np.array(places[i])
        row = [f"{steps[i]}", *(f"{x:.2f}" for x in (Z.min(), Z.max()))]
        row.append(f"{100 * widest_gap(Z, problem.range):.0f}%")
        if not problem.together:
            row += [f"{100 * share:.0f}%" for share in parts(Z, problem.range)]
        rows.append(row)
    table = tabulate(rows, header, disable_numparse=True, colalign=("right",) * len(header))
    low, high = problem.range
    out = "" if problem.together else "; out: beyond it"
    return (
        f"{table}\n\n"
        f"Places of {problem.num_inducing} inducing inputs, in the unit of x, from {low:g} to "
        f"{high:g}.\nGap: the longest part of that range without one{out}.\n"
        f"Test log density {results['log_density']:.3f} (true function and noise: "
        f"{results['true_log_density']:.3f}),\nRMSE {results['rmse']:.3f}, noise "
        f"{results['noise_deviation']:.2f} (true: {problem.deviation:g}), "
        f"{results['seconds']:.0f} s."
    )


def plot(results: Mapping[str, Any]) -> Figure:
    """The prediction with the first and last inducing inputs, above their movement."""
    figure = Figure(figsize=(7.0, 6.4), layout="constrained")
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(3, 2))
    x, steps, places = results["inputs"], results["steps"], np.array(results["places"])
    y = np.array(results["prediction"])
    upper.plot(
        np.tile(x, len(y)), y.ravel(), "o", color=COLOURS[0], markersize=1.0, markeredgewidth=0,
        alpha=0.35, label="draws of y",
    )  # fmt: skip
    data = results["data"]
    upper.plot(data["x"], data["y"], "o", color="#222222", markersize=2.2, label="data")
    upper.plot(x, results["mean"], color=COLOURS[1], label="mean")
    low, high = upper.get_ylim()
    edge = 0.06 * (high - low)
    for Z, height, label in ((places[0], high + edge, "first"), (places[-1], low - edge, "last")):
        upper.plot(Z, np.full(len(Z), height), "x", color=COLOURS[2], markersize=5)
        upper.annotate(
            f"{label} inducing inputs", (1.0, height), xycoords=("axes fraction", "data"),
            ha="right", va="bottom", fontsize="small", xytext=(0, 4), textcoords="offset points",
        )  # fmt: skip
    upper.set_ylim(low - 2 * edge, high + 3 * edge)
    lower.plot(places, steps, color=COLOURS[2], linewidth=0.8)
    lower.set_ylim(0, steps[-1])
    lower.set_ylabel("step of training")
    lower.set_xlabel("x")
    upper.set_ylabel("y")
    upper.legend(frameon=False, fontsize="small", loc="best", markerscale=3)
    for ax in (upper, lower):
        ax.spines[["top", "right"]].set_visible(False)
    return figure

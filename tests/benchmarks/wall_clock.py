"""Held-out log density against seconds of training, for global and local deep GPs.

python -m tests.benchmarks.wall_clock [--out FOLDER] [--fast]
"""

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from gpflow_gi.plotting import COLOURS

from . import uci_runs
from .report import Table, machine, parser, write
from .uci_runs import Run

METHODS = ("global", "local")
SETS = ("energy", "kin8nm")
KL_WARMUP = 500
TURN = 0.5
"""Seconds."""


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--seconds", type=float, default=120.0, help="of training, for each run")
    made.add_argument("--splits", type=int, default=3, help="of each data set")
    options = made.parse_args()
    tf.random.set_seed(0)
    seconds, num_splits = (2.0, 1) if options.fast else (options.seconds, options.splits)
    sets = SETS[:1] if options.fast else SETS
    times = np.geomspace(1.0, seconds, 3 if options.fast else 13)
    # Of each set, method: [splits, times]
    curves: dict[str, dict[str, np.ndarray]] = {}
    steps: dict[str, dict[str, list[int]]] = {}
    for name in sets:
        of_method: dict[str, list[list[float]]] = defaultdict(list)
        steps[name] = defaultdict(list)
        for split in range(num_splits):
            runs = {
                method: uci_runs.start(name, split, inference=method, kl_warmup=KL_WARMUP)
                for method in METHODS
            }
            for method, values in race(runs, times).items():
                of_method[method].append(values)
                steps[name][method].append(runs[method].num_steps)
        curves[name] = {method: np.array(values) for method, values in of_method.items()}

    parts: list[str | Table] = [
        machine("gpflow", "tensorflow", "numpy"),
        f"{uci_runs.DESCRIPTION} KL warm-up over {KL_WARMUP} steps, the default optimizer. Seconds "
        "are those spent in training steps, without compilation and evaluation; the methods take "
        f"turns of {TURN} s.",
    ]
    for name, of_set in curves.items():
        counted = ", ".join(f"{np.mean(steps[name][m]):,.0f} {m}" for m in METHODS)
        parts += [f"### {name}", table(times, of_set), f"Steps in all, mean: {counted}."]
    parts.append(
        f"Means over {num_splits} splits, with the standard error of the paired difference. "
        "![Held-out log density against seconds](wall-clock.png)"
    )
    numbers = {
        "seconds": times.tolist(),
        "log_density": {
            name: {method: values.tolist() for method, values in of_set.items()}
            for name, of_set in curves.items()
        },
        "steps": steps,
    }
    title = "Held-out log density against seconds of training"
    write(options.out, "wall-clock", title, parts, numbers)
    draw(times, curves, options.out / "wall-clock.png")


def race(runs: Mapping[str, Run], times: np.ndarray) -> dict[str, list[float]]:
    """Train all until each has had its time.

    :param times: seconds of training after which log densities are taken, in ascending order.
    :return: the mean log densities, as many as `times`.
    """
    values: dict[str, list[float]] = {name: [] for name in runs}
    # Of the last turn; the first step of a graph takes longer than all others.
    per_step = {name: run.train(2)[0] for name, run in runs.items()}
    for end in times:
        while any(run.seconds < end for run in runs.values()):
            for name, run in runs.items():
                left = min(TURN, end - run.seconds)
                if left > 0:
                    num_steps = max(1, round(left / per_step[name]))
                    per_step[name], _ = run.train(num_steps)
        for name, run in runs.items():
            values[name].append(float(run.log_density().mean()))
    return values


def table(times: np.ndarray, curves: Mapping[str, np.ndarray]) -> Table:
    """:param curves: [splits, times] of each method."""
    rows = []
    for i, seconds in enumerate(times):
        difference = curves["global"][:, i] - curves["local"][:, i]
        n = len(difference)
        error = f" ± {difference.std(ddof=1) / np.sqrt(n):.3f}" if n > 1 else ""
        rows.append(
            [
                f"{seconds:.1f}",
                *(f"{curves[method][:, i].mean():.3f}" for method in METHODS),
                f"{difference.mean():.3f}{error}",
            ]
        )
    return Table(("seconds", *METHODS, "global - local"), rows)


def draw(times: np.ndarray, curves: Mapping[str, Mapping[str, np.ndarray]], path: Path) -> None:
    """A panel for each data set; dark on white, which suits light and dark pages."""
    figure = Figure(figsize=(4.2 * len(curves), 3.6), layout="constrained", facecolor="white")
    panels = figure.subplots(1, len(curves), squeeze=False)[0]
    for ax, (name, of_set) in zip(panels, curves.items(), strict=True):
        for method, colour in zip(METHODS, COLOURS, strict=False):
            values = of_set[method]
            ax.plot(times, values.T, color=colour, linewidth=0.7, alpha=0.5)
            ax.plot(times, values.mean(axis=0), color=colour, linewidth=2, label=method)
        settled = np.concatenate([values[:, len(times) // 4 :] for values in of_set.values()])
        low, high = settled.min(), settled.max()  # the first seconds would flatten all the rest
        ax.set_ylim(low - 0.05 * (high - low), high + 0.05 * (high - low))
        ax.set_xscale("log")
        ticks = [tick for tick in (1, 2, 5, 10, 20, 50, 100, 200, 500) if tick <= 1.01 * times[-1]]
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.set_title(name, fontsize="medium")
        ax.set_xlabel("Seconds of training")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#E5E5E5", linewidth=0.6)
        ax.set_axisbelow(True)
    panels[0].set_ylabel("Held-out log density per row (nats)")
    panels[-1].legend(frameon=False, loc="lower right")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()

"""The bound against CPU seconds of training: ours, GPflux and GPyTorch, on UCI sets.

python -m tests.benchmarks.time_to_quality [--environment FOLDER] [--out FOLDER] [--fast]
"""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, NullLocator, StrMethodFormatter

from . import uci_runs
from .gpytorch_process import environment
from .other_runs import GpfluxRun, GpytorchRun
from .report import Table, machine, parser, write
from .uci_runs import Run

SETS = ("energy", "kin8nm")
YARDSTICK = "GPflux, same start"
COLOURS = {
    "global": "#0072B2",
    "local": "#56B4E9",
    YARDSTICK: "#D55E00",
    "GPflux, its own start": "#E69F00",
    "GPyTorch, same start": "#777777",
}
METHODS = tuple(COLOURS)
TURN = 0.5
"""Seconds."""


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--environment", type=Path, metavar="FOLDER", help="made if it is missing")
    made.add_argument("--seconds", type=float, default=30.0, help="of training, for each run")
    made.add_argument("--splits", type=int, default=1, help="of each data set")
    options = made.parse_args()
    tf.random.set_seed(0)
    python = environment((options.environment or options.out / "environment").absolute())
    seconds, num_splits = (1.0, 1) if options.fast else (options.seconds, options.splits)
    times = np.geomspace(0.5, seconds, 3 if options.fast else 14)
    bounds: dict[str, dict[str, np.ndarray]] = {}
    parts: list[str | Table] = [
        f"2 layers, M={uci_runs.NUM_INDUCING}, S={uci_runs.NUM_SAMPLES}, batches of "
        f"{uci_runs.BATCH_SIZE} rows, columns standardised, float64, Adam at the rate 0.01 for "
        "all, no warm-up. Ours are build_deep_gp's, in the loop of gi.fit; GPflux has a "
        "compiled step per call, which is faster than Keras' fit. The same start is that of our "
        "local layers: kernels, noise, inducing inputs and q(z); GPflux's own is that of "
        "gpflux.architectures.build_constant_input_dim_deep_gp, with inner_layer_qsqrt_factor=1e-5 "
        "and noise 0.01. Bounds are means over ten draws on all training rows, in nats per row. "
        "CPU seconds are those of training steps, without compilation and evaluation; the methods "
        f"take turns of {TURN} s. Held-out log densities are those of the mixture over "
        f"{uci_runs.NUM_TEST_SAMPLES} samples, per row, for the target in its own unit."
    ]
    numbers: dict[str, object] = {"seconds": times.tolist(), "bounds": {}, "log_densities": {}}
    for name in SETS[:1] if options.fast else SETS:
        curves = {method: np.zeros((num_splits, len(times))) for method in METHODS}
        densities = {method: np.zeros(num_splits) for method in METHODS}
        steps = {method: np.zeros(num_splits) for method in METHODS}
        for split in range(num_splits):
            runs = competitors(python, name, split)
            for method, values in race(runs, times).items():
                curves[method][split] = values
                densities[method][split] = runs[method].log_density().mean()
                steps[method][split] = runs[method].num_steps
            versions = runs["GPyTorch, same start"].close()
        bounds[name] = {method: curve.mean(axis=0) for method, curve in curves.items()}
        parts += [
            f"### {name}",
            curve_table(times, bounds[name]),
            summary_table(times, bounds[name], densities, steps),
        ]
        numbers["bounds"][name] = {m: curve.tolist() for m, curve in curves.items()}  # type: ignore[index]
        numbers["log_densities"][name] = {m: d.tolist() for m, d in densities.items()}  # type: ignore[index]
    parts.insert(0, machine("gpflow", "gpflux", "tensorflow", "numpy") + versions)
    splits = f"Means over {num_splits} splits" if num_splits > 1 else "The first published split"
    parts.append(f"{splits}. ![Bound against CPU seconds](time-to-quality.png)")
    write(options.out, "time-to-quality", "Time to quality", parts, numbers)
    draw(times, bounds, options.out / "time-to-quality.png")


AnyRun = Run | GpfluxRun | GpytorchRun


def competitors(python: Path, name: str, split: int) -> dict[str, AnyRun]:
    """Models ready to train, in the order of METHODS."""
    own = {method: uci_runs.start(name, split, inference=method) for method in ("global", "local")}
    local = own["local"]
    runs = (
        *own.values(),
        GpfluxRun.from_start_of(local),
        GpfluxRun.from_its_own_start(local),
        GpytorchRun(python, local),
    )
    return dict(zip(METHODS, runs, strict=True))


def race(runs: Mapping[str, AnyRun], times: np.ndarray) -> dict[str, list[float]]:
    """Train all until each has had its time.

    :param times: CPU seconds of training after which bounds are taken, in ascending order.
    :return: the bounds, as many as `times`.
    """
    values: dict[str, list[float]] = {name: [] for name in runs}
    per_step = {}
    for name, run in runs.items():
        run.train(2)  # the first steps compile
        run.cpu_seconds = 0.0
        per_step[name] = run.train(2)[1]
    for end in times:
        while any(run.cpu_seconds < end for run in runs.values()):
            for name, run in runs.items():
                left = min(TURN, end - run.cpu_seconds)
                if left > 0:
                    per_step[name] = run.train(max(1, round(left / per_step[name])))[1]
        for name, run in runs.items():
            values[name].append(run.bound())
    return values


def curve_table(times: np.ndarray, bounds: Mapping[str, np.ndarray]) -> Table:
    """:param bounds: [times] of each method."""
    rows = [
        [f"{seconds:.1f}", *(f"{bounds[method][i]:.3f}" for method in METHODS)]
        for i, seconds in enumerate(times)
    ]
    return Table(("CPU seconds", *METHODS), rows)


def summary_table(
    times: np.ndarray,
    bounds: Mapping[str, np.ndarray],
    densities: Mapping[str, np.ndarray],
    steps: Mapping[str, np.ndarray],
) -> Table:
    """Measures of each method at its end, and its time to the yardstick's last bound."""
    goal = bounds[YARDSTICK].max()
    rows = []
    for method in METHODS:
        reached = reaches(times, bounds[method], goal)
        rows.append(
            [
                method,
                "not reached" if reached is None else f"{reached:.1f}",
                f"{bounds[method][-1]:.3f}",
                f"{densities[method].mean():.3f}",
                f"{steps[method].mean():,.0f}",
            ]
        )
    until = f"CPU seconds until {goal:.3f}, the best of {YARDSTICK}"
    return Table(("", until, "last bound", "held-out log density", "steps"), rows)


def reaches(times: np.ndarray, curve: np.ndarray, goal: float) -> float | None:
    """When the curve first has this value, between points linear in log time; None for never."""
    above = np.flatnonzero(curve >= goal)
    if not len(above):
        return None
    after = above[0]
    if after == 0:
        return float(times[0])
    pair = slice(after - 1, after + 1)
    return float(np.exp(np.interp(goal, curve[pair], np.log(times[pair]))))


def draw(times: np.ndarray, bounds: Mapping[str, Mapping[str, np.ndarray]], path: Path) -> None:
    """A panel for each data set; dark on white, which suits light and dark pages."""
    figure = Figure(figsize=(4.4 * len(bounds), 4.0), layout="constrained", facecolor="white")
    panels = figure.subplots(1, len(bounds), squeeze=False)[0]
    for ax, (name, curves) in zip(panels, bounds.items(), strict=True):
        for method, colour in COLOURS.items():
            label = method if "," in method else f"gpflow_gi, {method}"
            ax.plot(times, curves[method], color=colour, linewidth=2, label=label)
        last = [curve[-1] for curve in curves.values()]
        # The first seconds of some would flatten all the rest.
        low = min(min(last), curves["global"][0], curves["local"][0])
        ax.set_ylim(low - 0.05 * (max(last) - low), max(last) + 0.05 * (max(last) - low))
        ax.set_xscale("log")
        ticks = [tick for tick in (0.5, 1, 2, 5, 10, 20, 50, 100) if tick <= 1.01 * times[-1]]
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_minor_locator(NullLocator())
        ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
        ax.set_title(name, fontsize="medium")
        ax.set_xlabel("CPU seconds of training")
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#E5E5E5", linewidth=0.6)
        ax.set_axisbelow(True)
    panels[0].set_ylabel("Bound per row (nats)")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, frameon=False, loc="outside lower center", ncols=3, fontsize="small")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()

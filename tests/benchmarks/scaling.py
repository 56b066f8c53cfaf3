"""Growth of the time of a training step, and its ratio to the floor.

python -m tests.benchmarks.scaling [--out FOLDER] [--fast]
"""

from dataclasses import asdict, dataclass, replace

import numpy as np
import tensorflow as tf

from .deep_gps import global_deep_gp, toy_data
from .floor import empty_loop, floor_of_step, program
from .interleaved import Times, measure, milliseconds
from .programs import float_type, through_fit
from .report import Table, machine, parser, write


@dataclass(frozen=True)
class Size:
    """The size of a deep GP of global layers with diagonal precisions, and of its data."""

    num_inducing: int = 100
    num_samples: int = 1
    num_rows: int = 1000
    input_dim: int = 8
    num_layers: int = 2


SWEEPS = {
    "num_inducing": ("M", (50, 100, 200, 500, 1000)),
    "num_samples": ("S", (1, 2, 5, 10, 20, 50)),
    "num_layers": ("layers", (1, 2, 3, 5, 10)),
    "num_rows": ("rows", (100, 1000, 10_000, 100_000)),
}
"""Names of the symbols in tables, and values."""

GOALS = {Size(num_samples=10): "at most 2.5"}


def main() -> None:
    options = parser(__doc__).parse_args()
    tf.random.set_seed(0)
    rounds, seconds = (2, 0.01) if options.fast else (9, 0.1)
    base = Size(num_inducing=20, num_rows=100, input_dim=2) if options.fast else Size()
    parts: list[str | Table] = [
        machine("gpflow", "tensorflow", "numpy"),
        "Global layers with diagonal precisions and squared exponential ARD kernels, hidden layers "
        "as wide as the inputs, float64, all rows in every step, the compiled loop of gi.fit. What "
        f"a table does not vary: M={base.num_inducing}, S={base.num_samples}, {base.num_layers} "
        f"layers, {base.num_rows} rows x {base.input_dim}. The floor is the time of the Cholesky "
        "factors, matrix products, triangular solves and kernel evaluations of the bound and its "
        "gradient, each measured at the same shapes in a loop of its own, less the time of an "
        "empty loop, in the same rounds (tests/benchmarks/floor.py lists them).",
    ]
    numbers = []
    columns = ("", "ms", "quartiles", "floor, ms", "quartiles", "step / floor", "goal")
    for name, (symbol, values) in SWEEPS.items():
        if options.fast:
            values = {"num_inducing": (10, 20), "num_rows": (50, 100)}.get(name, (1, 2))
        rows, steps, floors = [], [], []
        for value in values:
            size = replace(base, **{name: value})
            step, floor = step_and_floor(size, rounds, seconds)
            above = np.median(step.wall / floor.wall)
            goal = GOALS.get(size, "")
            rows.append(
                [f"{value:,}", *milliseconds(step), *milliseconds(floor), f"{above:.2f}", goal]
            )
            steps.append(np.median(step.wall))
            floors.append(np.median(floor.wall))
            numbers.append({"size": asdict(size), "step": step.to_dict(), "floor": floor.to_dict()})
        parts.append(Table((symbol, *columns[1:]), rows))
        parts.append(
            f"Fitted by least squares in logarithms: step time grows as {symbol}^"
            f"{exponent(values, steps):.2f}, the floor as {symbol}^{exponent(values, floors):.2f}."
        )
    write(
        options.out,
        "scaling",
        "Scaling of a training step, and its floor",
        [
            *parts,
            "Medians, with quartiles over rounds in which the step and all operations of its floor "
            "took turns; step / floor is taken within each round, then the median.",
        ],
        {"sizes": numbers},
    )


def step_and_floor(size: Size, rounds: int, seconds: float) -> tuple[Times, Times]:
    """Times of a step and of its floor, from the same rounds."""
    with float_type("float64"):
        data = toy_data(size.num_rows, size.input_dim)
        model = global_deep_gp(data, num_layers=size.num_layers, num_inducing=size.num_inducing)
        operations = floor_of_step(**asdict(size))
        programs = {str(operation): program(operation) for operation in operations}
        step = through_fit(model, data, size.num_samples)
        times = measure(
            {"step": step, "empty": empty_loop(), **programs}, rounds=rounds, seconds=seconds
        )
    floor = times["empty"] * -operations.total()
    for operation, count in operations.items():
        floor += times[str(operation)] * count
    return times["step"], floor


def exponent(values: tuple[int, ...], seconds: list[float]) -> float:
    """The slope of log seconds over log values."""
    return float(np.polyfit(np.log(values), np.log(seconds), 1)[0])


if __name__ == "__main__":
    main()

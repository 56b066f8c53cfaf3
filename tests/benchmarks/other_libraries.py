"""The time of a training step of deep GPs, against GPyTorch's, in an environment of its own.

python -m tests.benchmarks.other_libraries [--environment FOLDER] [--out FOLDER] [--fast]
"""

from pathlib import Path

import numpy as np
import tensorflow as tf

import gpflow_gi as gi

from .deep_gps import NUM_INDUCING, global_deep_gp, gpflux_deep_gp, toy_data
from .equal_means import check_equal_draws
from .gpytorch_process import Gpytorch, environment, start_of
from .interleaved import NOTES, Program, measure, ratios, rows
from .programs import float_type, step_by_step, through_fit
from .report import Table, machine, parser, write

GPYTORCH = "GPyTorch"
CASES = [(300, 6, 2, 1), (300, 6, 2, 10), (1000, 8, 2, 1), (1000, 8, 2, 10), (300, 6, 5, 1)]
"""Rows, columns, layers and samples."""


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--environment", type=Path, metavar="FOLDER", help="made if it is missing")
    options = made.parse_args()
    python = environment((options.environment or options.out / "environment").absolute())
    tf.random.set_seed(0)
    rounds, seconds = (2, 0.01) if options.fast else (9, 0.5)
    parts: list[str | Table] = []
    numbers = {}
    for case in CASES[:1] if options.fast else CASES:
        num_rows, input_dim, num_layers, S = case
        with float_type("float64"):
            programs, other, equal = competitors(python, case, draws=10 if options.fast else 50)
            times = measure(programs, rounds=rounds, seconds=seconds)
        other.close()
        base = times[GPYTORCH]
        table = rows(times, lambda _, own, base=base: ratios(base, own), {})  # type: ignore[misc]
        columns = ("step", "ms", "quartiles", "GPyTorch / it", "cpu ratio", "")
        title = f"{num_rows} rows x {input_dim}, {num_layers} layers, S={S}"
        parts += [f"### {title}", equal, Table(columns[:-1], [row[:-1] for row in table])]
        numbers[title] = {name: own.to_dict() for name, own in times.items()}
    about = [
        machine("gpflow", "gpflux", "tensorflow", "numpy")
        + "".join(f", {name} {version}" for name, version in other.versions.items()),
        f"M={NUM_INDUCING}, hidden layers as wide as the inputs with identity mean functions, "
        "squared exponential ARD kernels, float64, all rows in every step, Adam. GPyTorch's layers "
        "are DeepGPLayer with a VariationalStrategy; they share kernel and inducing inputs "
        "between their outputs, as ours do, but compute with them once for each output. It trains "
        "in a process of its own, and its CPU time is that of its process. GPyTorch, GPflux (one "
        "compiled step per call) and local layers have the same bound; gi.fit is the compiled loop "
        "that gi.fit calls.",
    ]
    write(
        options.out,
        "other-libraries",
        "Training step against GPyTorch",
        [*about, *parts, NOTES],
        {"seconds_per_step": numbers},
    )


def competitors(
    python: Path, case: tuple[int, int, int, int], draws: int
) -> tuple[dict[str, Program], Gpytorch, str]:
    """The programs, GPyTorch's process, and a sentence on the bounds."""
    num_rows, input_dim, num_layers, S = case
    data = toy_data(num_rows, input_dim)
    X, Y = (tf.constant(array) for array in data)
    local = gi.interop.from_gpflux(gpflux_deep_gp(data[0], num_layers))
    bound = tf.function(lambda: local.elbo((X, Y), 1))
    other = Gpytorch(python, start_of(local, data, data), S)
    equal = check_equal_draws(
        {
            "local": np.array([bound().numpy() for _ in range(draws)]),
            GPYTORCH: num_rows * other.bounds(draws),
        }
    )
    other.train(3)
    gpflux = gpflux_deep_gp(data[0], num_layers, S)
    default = gi.architectures.build_deep_gp(
        *data, num_layers=num_layers, num_inducing=NUM_INDUCING
    )
    programs: dict[str, Program] = {
        GPYTORCH: other.train,
        "GPflux": step_by_step(gpflux, lambda: gpflux.elbo((X, Y))),
        "local, gi.fit": through_fit(local, data, S),
        "global, gi.fit": through_fit(global_deep_gp(data, num_layers=num_layers), data, S),
        "default model, gi.fit": through_fit(default, data, S),
    }
    return programs, other, equal


if __name__ == "__main__":
    main()

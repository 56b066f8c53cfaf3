"""The time of a training step with XLA (`jit_compile=True`) and without, and that of compiling it.

python -m tests.benchmarks.xla [--out FOLDER] [--fast]
"""

import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

import gpflow_gi as gi

from . import deep_gps, networks
from .interleaved import NOTES, measure, ratios, rows
from .programs import float_type, through_fit
from .report import Table, machine, parser, write


def main() -> None:
    options = parser(__doc__).parse_args()
    tf.random.set_seed(0)
    rounds, seconds = (2, 0.01) if options.fast else (9, 0.5)
    parts: list[str | Table] = [
        machine("gpflow", "tensorflow", "numpy"),
        "Steps in the compiled loop of gi.fit, on the CPU; M=100, all rows in every step.",
    ]
    numbers: dict[str, Any] = {}
    for name, (dtype, num_samples, build) in cases(options.fast).items():
        with float_type(dtype):
            model, data = build()
            programs, compiling = {}, {}
            for competitor, jit_compile in (("without XLA", False), ("XLA", True)):
                start = time.perf_counter()
                programs[competitor] = through_fit(model, data, num_samples, jit_compile)
                compiling[competitor] = time.perf_counter() - start
            times = measure(programs, rounds=rounds, seconds=seconds)
        base = times["without XLA"]
        table = [
            [*row[:-1], f"{compiling[row[0]]:.1f}"]
            for row in rows(times, lambda _, own, base=base: ratios(own, base), {})
        ]
        columns = ("step", "ms", "quartiles", "ratio", "cpu ratio", "s to compile")
        parts += [f"### {name}", Table(columns, table)]
        numbers[name] = {
            "seconds_per_step": {each: own.to_dict() for each, own in times.items()},
            "seconds_to_compile": compiling,
        }
    write(options.out, "xla", "XLA", [*parts, NOTES], numbers)


Build = Callable[[], tuple[gi.models.DeepGP, Any]]


def cases(fast: bool) -> dict[str, tuple[str, int, Build]]:
    """Name: the float type, the samples, and what makes a model and its data."""

    def deep_gp() -> tuple[gi.models.DeepGP, Any]:
        data = deep_gps.toy_data(300, 6)
        return deep_gps.global_deep_gp(data), data

    def network() -> tuple[gi.models.DeepGP, Any]:
        return networks.network("global", 100), networks.toy_data()

    found: dict[str, tuple[str, int, Build]] = {
        "Network of 2 x 50 units, 100 rows, S=1, float32": ("float32", 1, network)
    }
    if not fast:
        for S in (1, 10):
            name = f"Deep GP of 2 layers, 300 rows x 6, S={S}, float64"
            found[name] = ("float64", S, deep_gp)
    return found


if __name__ == "__main__":
    main()

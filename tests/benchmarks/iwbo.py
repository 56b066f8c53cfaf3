"""The time of an importance weighted bound of a Bayesian neural network, against Python loops.

python -m tests.benchmarks.iwbo [--out FOLDER] [--fast]
"""

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from . import plain_bnn
from .fresh_process import in_fresh_process, print_time_and_memory
from .interleaved import NOTES, measure, milliseconds, ratios, repeated
from .networks import DESCRIPTION, NOISE, check_equal_bounds, network, toy_data
from .programs import float_type
from .report import Table, machine, parser, write

NUM_WEIGHTS = 1000
NUM_INDUCING = 100
BATCH = 10
LOOP, BATCHED = "loop, plain", f"loop, plain, {BATCH} at a time"
GOALS = {LOOP: "at least 17"}


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = made.parse_args()
    tf.random.set_seed(0)
    with float_type("float32"):
        if options.memory is not None:
            model = network("global", NUM_INDUCING)
            print_time_and_memory(lambda: model.iwbo(toy_data(), options.memory, seed=0))
            return
        parts, numbers = compared(options.fast)
    parts += [memory_line((100, 1000) if options.fast else (100, 1000, 10_000)), NOTES]
    write(options.out, "iwbo", "Importance weighted bound", parts, numbers)


def compared(fast: bool) -> tuple[list[str | Table], dict[str, Any]]:
    """The report's text, and its numbers."""
    num_weights = 200 if fast else NUM_WEIGHTS
    model = network("global", NUM_INDUCING, "diagonal")
    data = tuple(tf.constant(array) for array in toy_data())
    parameters = plain_bnn.parameters_of(model)
    seed = tf.constant([0, 0])
    one = tf.function(lambda seed: model.log_importance_weights(data, 1, seed=seed))

    def plain(at_once: int, by_hand: bool = False) -> Any:
        return plain_bnn.log_weights(parameters, toy_data(), NOISE, at_once, by_hand)

    def loop(calls: int, weights: Callable[..., tf.Tensor], *arguments: tf.Tensor) -> Any:
        return lambda: np.logaddexp.reduce(
            np.concatenate([weights(*arguments).numpy() for _ in range(calls)])
        )

    few, calls = num_weights // 20, num_weights // BATCH  # few of those that are not compiled
    ours = f"iwbo(data, {num_weights})"
    programs = {
        "loop, plain, not compiled": (few, loop(few, plain(1).python_function)),
        f"{BATCHED}, not compiled": (few, loop(few // BATCH, plain(BATCH).python_function)),
        LOOP: (num_weights, loop(num_weights, plain(1))),
        BATCHED: (num_weights, loop(calls, plain(BATCH))),
        "loop, plain by hand": (num_weights, loop(num_weights, plain(1, by_hand=True))),
        f"loop, plain by hand, {BATCH} at a time": (
            num_weights,
            loop(calls, plain(BATCH, by_hand=True)),
        ),
        "loop, ours": (num_weights, loop(num_weights, one, seed)),
        ours: (num_weights, lambda: model.iwbo(data, num_weights, seed=seed).numpy()),
    }
    times = measure(
        {name: repeated(program) for name, (_, program) in programs.items()},
        rounds=2 if fast else 7,
        seconds=0.0,
    )
    times = {name: own * (num_weights / programs[name][0]) for name, own in times.items()}
    rows = [
        [name, *milliseconds(own), *ratios(own, times[ours]), GOALS.get(name, "")]
        for name, own in times.items()
    ]
    columns = ("bound", f"ms for {num_weights} samples", "quartiles", "it / iwbo", "cpu", "goal")
    parts: list[str | Table] = [
        machine("gpflow", "tensorflow", "tf_keras", "numpy"),
        DESCRIPTION,
        f"{check_equal_bounds(NUM_INDUCING, 10 if fast else 20)} The importance weights are those "
        "of which these are the mean logarithms.",
        f"{num_weights} samples, M={NUM_INDUCING}; the loops that are not compiled were timed over "
        f"{few} samples.",
        Table(columns, rows),
    ]
    return parts, {"seconds_per_bound": {name: own.to_dict() for name, own in times.items()}}


def memory_line(nums_samples: tuple[int, ...]) -> str:
    """Peak memory of processes that compute an IWBO with few samples and with many."""
    peaks = []
    for num_samples in nums_samples:
        peak = in_fresh_process("iwbo", "--memory", str(num_samples))["peak_mb"]
        peaks.append(f"{peak:.0f} MB with {num_samples} samples")
    return f"Peak memory of a process that computes an IWBO: {', '.join(peaks)}."


if __name__ == "__main__":
    main()

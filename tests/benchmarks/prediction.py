"""Time, rate and peak memory of predictions of deep GPs, against GPflux's.

python -m tests.benchmarks.prediction [--out FOLDER] [--fast]
"""

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.compiled import EAGER_CALLS

from .deep_gps import NUM_INDUCING, global_deep_gp, gpflux_deep_gp, toy_data
from .equal_means import check_equal
from .fresh_process import in_fresh_process, print_time_and_memory
from .interleaved import NOTES, measure, ratios, repeated, rows
from .programs import float_type
from .report import Table, machine, parser, write

INPUT_DIM, NUM_SAMPLES = 10, 100
NUM_TRAINED = 1000
CHUNK = 10_000
"""Samples times rows of a call of GPflux: the fastest of 2,000, 10,000, 50,000 and 200,000."""

SIZES = {10_000: 3, 100_000: 2, 1_000_000: 1}
"""Rows to rounds, each with all samples."""

CALLS = {"100 rows, S=100": (100, 100), "20,000 rows, S=10": (20_000, 10)}
"""Rows and samples of calls that are repeated."""

CALL_GOALS = {
    "100 rows, S=100": {"global": "under 20 ms"},
    "20,000 rows, S=10": {"global": "at most 0.60 of one call", "local": "at most 0.60"},
}

MODELS = ("global", "local", "GPflux")
MOST_MEMORY = 2048
"""MB, at a million rows."""


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--predict", nargs=3, help=argparse.SUPPRESS)
    options = made.parse_args()
    with float_type("float64"):
        if options.predict is not None:
            name, num_rows, num_samples = options.predict
            predict_once(name, int(num_rows), int(num_samples))
            return
        equal = check_equal_predictions(10 if options.fast else 30)
        repeated_calls, call_times = calls(options.fast)
    sizes = {1000: 1} if options.fast else SIZES
    numbers = measured(sizes, 2 if options.fast else NUM_SAMPLES)
    parts = [
        machine("gpflow", "gpflux", "tensorflow", "numpy"),
        f"predict_y of 2 layers, widths {INPUT_DIM} and 1, M={NUM_INDUCING}, rows x {INPUT_DIM}, "
        "float64. GPflux is GPLayer(num_samples=S), which computes its first layer once for all "
        "samples, in a compiled call that returns the moments of the mixture.",
        equal,
        "### Calls that are repeated",
        "In one process; ours is compiled after its second call. GPflux takes all rows in one "
        f"call, or, in chunks, {CHUNK:,} / S rows a call.",
        *repeated_calls,
        "### Large predictions",
        f"S={NUM_SAMPLES}, each prediction in a fresh process, the processes of one round one "
        "after the other in a shuffled order. Ours are single calls that chunk the rows "
        f"themselves, with what they compile counted. GPflux takes {CHUNK:,} / S rows a call; "
        "what it compiles is not counted.",
        table(numbers, sizes, options.fast),
        "A rate counts rows, each predicted with all samples. Peak memory is that of the whole "
        "process, of which the memory before the prediction is TensorFlow, the model and the rows, "
        "and of GPflux's what its compiled call has taken before; "
        "medians, with quartiles over rounds.",
    ]
    write(
        options.out,
        "prediction",
        "Prediction",
        parts,
        {"calls": call_times, "predictions": numbers},
    )


def calls(fast: bool) -> tuple[list[str | Table], dict[str, Any]]:
    """Times of calls that are repeated: the tables, and the numbers."""
    rounds, seconds = (2, 0.01) if fast else (9, 1.0)
    data = toy_data(NUM_TRAINED, INPUT_DIM)
    own = {name: own_model(name, data) for name in ("local", "global")}
    parts: list[str | Table] = []
    numbers: dict[str, Any] = {}
    for case, (num_rows, S) in CALLS.items():
        X = np.random.default_rng(2).normal(size=(20 if fast else num_rows, INPUT_DIM))
        moments = compiled_gpflux(data[0], S)
        functions: dict[str, Callable[[], object]] = {
            "GPflux, one call": lambda f=moments, X=X: f(tf.constant(X)),  # type: ignore[misc]
            "GPflux, chunks": lambda f=moments, X=X, S=S: gpflux_in_chunks(f, X, S),  # type: ignore[misc]
            **{
                name: lambda model=model, X=X, S=S: model.predict_y(X, S)  # type: ignore[misc]
                for name, model in own.items()
            },
        }
        programs = {}
        for name, function in functions.items():
            for _ in range(EAGER_CALLS):
                function()
            programs[name] = repeated(function)
        times = measure(programs, rounds=rounds, seconds=seconds)
        whole, chunks = times["GPflux, one call"], times["GPflux, chunks"]
        table = rows(
            times,
            lambda _, own, whole=whole, chunks=chunks: [  # type: ignore[misc]
                ratios(own, whole)[1],
                ratios(own, chunks)[1],
            ],
            {} if fast else CALL_GOALS[case],
        )
        columns = ("call", "ms", "quartiles", "cpu / one call", "cpu / chunks", "goal")
        parts += [f"{case}:", Table(columns, list(table))]
        numbers[case] = {name: one.to_dict() for name, one in times.items()}
    return [*parts, NOTES], numbers


def measured(sizes: dict[int, int], num_samples: int) -> list[dict[str, Any]]:
    """One record for each process."""
    order = np.random.default_rng(0)
    records = []
    for num_rows, rounds in sizes.items():
        for _ in range(rounds):
            for name in order.permutation(MODELS):
                record = in_fresh_process(
                    "prediction", "--predict", str(name), str(num_rows), str(num_samples)
                )
                rate = num_rows / record["seconds"]
                records.append({"model": str(name), "rows": num_rows, "rate": rate, **record})
    return records


def table(records: list[dict[str, Any]], sizes: dict[int, int], fast: bool) -> Table:
    def of(name: str, num_rows: int, key: str) -> np.ndarray:
        return np.array(
            [each[key] for each in records if each["model"] == name and each["rows"] == num_rows]
        )

    lines = []
    for name, num_rows in product(MODELS, sizes):
        rate = of(name, num_rows, "rate")
        low, median, high = np.percentile(rate, [25, 50, 75])
        goal = ""
        if name == "global" and num_rows == max(sizes) and not fast:
            slowest = np.median(of(name, min(sizes), "rate"))
            goal = f"under {MOST_MEMORY} MB, at least {slowest:.0f} rows/s"
        lines.append(
            [
                name,
                f"{num_rows:,}",
                f"{median:.0f}",
                f"{low:.0f} to {high:.0f}" if len(rate) > 1 else "",
                f"{np.median(rate / of('GPflux', num_rows, 'rate')):.2f}",
                f"{np.median(of(name, num_rows, 'peak_mb')):.0f}",
                f"{np.median(of(name, num_rows, 'before_mb')):.0f}",
                goal,
            ]
        )
    columns = (
        "model",
        "rows",
        "rows/s",
        "quartiles",
        "it / GPflux",
        "peak MB",
        "MB before",
        "goal",
    )
    return Table(columns, lines)


def predict_once(name: str, num_rows: int, num_samples: int) -> None:
    """The work of each process."""
    data = toy_data(NUM_TRAINED, INPUT_DIM)
    X = np.random.default_rng(2).normal(size=(num_rows, INPUT_DIM))
    predict: Callable[[], object]
    if name == "GPflux":
        moments = compiled_gpflux(data[0], num_samples)
        chunk = CHUNK // num_samples
        for size in {min(chunk, num_rows), num_rows % chunk} - {0}:
            moments(tf.constant(X[:size]))
        predict = lambda: gpflux_in_chunks(moments, X, num_samples)  # noqa: E731
    else:
        model = own_model(name, data)
        predict = lambda: model.predict_y(X, num_samples)  # noqa: E731
    print_time_and_memory(predict)


def own_model(name: str, data: tuple[np.ndarray, np.ndarray]) -> gi.models.DeepGP:
    if name == "global":
        return global_deep_gp(data)
    return gi.interop.from_gpflux(gpflux_deep_gp(data[0]))


Moments = Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]


def compiled_gpflux(X: np.ndarray, num_samples: int) -> Moments:
    """Mean and variance of the targets, as moments of the mixture over samples: two of [N, 1]."""
    model = gpflux_deep_gp(X, num_samples=num_samples)

    @tf.function
    def moments(X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        outputs = model.call(X)
        means, variances = outputs.y_mean, outputs.y_var
        mean = tf.reduce_mean(means, axis=0)
        return mean, tf.reduce_mean(variances + means**2, axis=0) - mean**2

    return moments


def gpflux_in_chunks(
    moments: Moments, X: np.ndarray, num_samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the mixture over samples, two of [N, 1]."""
    size = CHUNK // num_samples
    chunks = [moments(tf.constant(X[start : start + size])) for start in range(0, len(X), size)]
    means, variances = zip(*chunks, strict=True)
    return np.concatenate(means), np.concatenate(variances)


def check_equal_predictions(draws: int) -> str:
    """GPflux's predictions, and those of our local layers.

    :raises RuntimeError: if the mean over some rows of E y^2 differs.
    """
    data = toy_data(NUM_TRAINED, INPUT_DIM)
    X = tf.constant(data[0][:100])
    S = 10
    moments, local = compiled_gpflux(data[0], S), own_model("local", data)

    def mean_square(predicted: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        mean, variance = predicted
        return tf.reduce_mean(variance + mean**2)

    sentence = check_equal(
        {
            "GPflux": lambda: mean_square(moments(X)),
            "local": lambda: mean_square(local.predict_y(X, S)),
        },
        draws,
        "mean of E y² over 100 rows",
    )
    return sentence


if __name__ == "__main__":
    main()

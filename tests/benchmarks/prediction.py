"""Rate and peak memory of predictions of deep GPs, against GPflux's.

python -m tests.benchmarks.prediction [--out FOLDER] [--fast]
"""

import argparse
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import tensorflow as tf

import gpflow_gi as gi

from .deep_gps import NUM_INDUCING, global_deep_gp, gpflux_deep_gp, toy_data
from .equal_means import check_equal
from .fresh_process import in_fresh_process, print_time_and_memory
from .programs import float_type
from .report import Table, machine, parser, write

INPUT_DIM, NUM_SAMPLES = 10, 100
NUM_TRAINED = 1000
CHUNK = 10_000
"""Rows of a call of GPflux, whose arrays of rows x M would grow with the rows."""

SIZES = {10_000: (5, NUM_SAMPLES), 100_000: (3, NUM_SAMPLES), 1_000_000: (1, 10)}
"""Rows to rounds, and to the hidden samples that GPflux is timed for."""

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
    sizes = {1000: (1, 2)} if options.fast else SIZES
    numbers = measured(sizes, own_samples=2 if options.fast else NUM_SAMPLES)
    parts = [
        machine("gpflow", "gpflux", "tensorflow", "numpy"),
        f"predict_y of 2 layers, widths {INPUT_DIM} and 1, M={NUM_INDUCING}, S={NUM_SAMPLES}, "
        f"rows x {INPUT_DIM}, float64, each prediction in a fresh process, the processes of one "
        "round one after the other in a shuffled order. Ours are single calls that chunk the rows "
        "themselves, with what they compile counted. GPflux's compiled model draws its hidden "
        f"layer once in a call: it is called for each of the samples, on {CHUNK} rows at a time "
        "(all rows at once would need arrays of rows x M), and the moments are added up; what it "
        "compiles is not counted. "
        + " ".join(
            f"Of {num_rows} rows it was timed for {num_samples} samples; its rate is that for "
            f"{NUM_SAMPLES}, which take as many times as long."
            for num_rows, (_, num_samples) in sizes.items()
            if num_samples < NUM_SAMPLES
        ),
        equal,
        table(numbers, sizes, options.fast),
        "A rate counts rows, each predicted with all samples. Peak memory is that of the whole "
        "process, of which the memory before the prediction is TensorFlow, the model and the rows, "
        "and of GPflux's what its compiled call has taken before; "
        "medians, with quartiles over rounds.",
    ]
    write(options.out, "prediction", "Prediction", parts, {"predictions": numbers})


def measured(sizes: dict[int, tuple[int, int]], own_samples: int) -> list[dict[str, Any]]:
    """One record for each process."""
    order = np.random.default_rng(0)
    records = []
    for num_rows, (rounds, gpflux_samples) in sizes.items():
        for _ in range(rounds):
            for name in order.permutation(MODELS):
                samples = gpflux_samples if name == "GPflux" else own_samples
                record = in_fresh_process(
                    "prediction", "--predict", str(name), str(num_rows), str(samples)
                )
                rate = num_rows / record["seconds"] * samples / own_samples
                records.append({"model": str(name), "rows": num_rows, "rate": rate, **record})
    return records


def table(records: list[dict[str, Any]], sizes: dict[int, tuple[int, int]], fast: bool) -> Table:
    def of(name: str, num_rows: int, key: str) -> np.ndarray:
        return np.array(
            [each[key] for each in records if each["model"] == name and each["rows"] == num_rows]
        )

    rows = []
    for name, num_rows in product(MODELS, sizes):
        rate = of(name, num_rows, "rate")
        low, median, high = np.percentile(rate, [25, 50, 75])
        goal = ""
        if name == "global" and num_rows == max(sizes) and not fast:
            slowest = np.median(of(name, min(sizes), "rate"))
            goal = f"under {MOST_MEMORY} MB, at least {slowest:.0f} rows/s"
        rows.append(
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
    return Table(columns, rows)


def predict_once(name: str, num_rows: int, num_samples: int) -> None:
    """The work of each process."""
    data = toy_data(NUM_TRAINED, INPUT_DIM)
    X = np.random.default_rng(2).normal(size=(num_rows, INPUT_DIM))
    predict: Callable[[], object]
    if name == "GPflux":
        component = compiled_gpflux(data[0])
        component(tf.constant(X[:CHUNK]))
        if num_rows % CHUNK:
            component(tf.constant(X[: num_rows % CHUNK]))
        predict = lambda: gpflux_moments(component, X, num_samples)  # noqa: E731
    else:
        model = own_model(name, data)
        predict = lambda: model.predict_y(X, num_samples)  # noqa: E731
    print_time_and_memory(predict)


def own_model(name: str, data: tuple[np.ndarray, np.ndarray]) -> gi.models.DeepGP:
    if name == "global":
        return global_deep_gp(data)
    return gi.interop.from_gpflux(gpflux_deep_gp(data[0]))


def compiled_gpflux(X: np.ndarray) -> Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]:
    """Mean and variance of the targets, given one draw of the hidden layer."""
    model = gpflux_deep_gp(X)

    @tf.function
    def component(X: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        outputs = model.call(X)
        return outputs.y_mean, outputs.y_var

    return component


def gpflux_moments(
    component: Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]], X: np.ndarray, num_samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the mixture over samples, two of [N, 1]."""
    means, variances = [], []
    for start in range(0, len(X), CHUNK):
        rows = tf.constant(X[start : start + CHUNK])
        total = square = 0.0
        for _ in range(num_samples):
            mean, variance = component(rows)
            total, square = total + mean, square + variance + mean**2
        means.append(total / num_samples)
        variances.append(square / num_samples - means[-1] ** 2)
    return np.concatenate(means), np.concatenate(variances)


def check_equal_predictions(draws: int) -> str:
    """GPflux's predictions, and those of our local layers.

    :raises RuntimeError: if the mean over some rows of E y^2 differs.
    """
    data = toy_data(NUM_TRAINED, INPUT_DIM)
    X = tf.constant(data[0][:100])
    component, local = compiled_gpflux(data[0]), own_model("local", data)

    def mean_square(moments: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        mean, variance = moments
        return tf.reduce_mean(variance + mean**2)

    sentence = check_equal(
        {
            "GPflux": lambda: mean_square(component(X)),
            "local": lambda: mean_square(local.predict_y(X, 1)),
        },
        draws,
        "mean of E y² over 100 rows",
    )
    return sentence


if __name__ == "__main__":
    main()

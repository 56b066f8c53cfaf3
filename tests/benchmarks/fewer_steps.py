"""The bound that settings of training reach after so many steps, on UCI sets.

python -m tests.benchmarks.fewer_steps [--out FOLDER] [--fast]
"""

import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.training.adam import Adam
from gpflow_gi.training.learning_rate import falling_rate

from .deep_gps import toy_data
from .report import Table, machine, parser, write

NUM_INDUCING = 50
BATCH_SIZE = 250
MOST_ROWS = 10_000
SETS = ("yacht", "energy", "kin8nm", "protein")
STEPS = (750, 1500)
MANY_STEPS = 6000


@dataclass(frozen=True)
class Training:
    """Settings of Adam.

    :param rate: learning rate in the first half of the steps.
    :param linear: True if it falls linearly to zero in the second; otherwise it is a tenth there.
    :param beta_2: Adam's.
    :param full: True for a full pseudo-precision in all layers of a deep GP.
    """

    rate: float = 0.02
    linear: bool = False
    beta_2: float = 0.999
    full: bool = False

    def __str__(self) -> str:
        shape = "linear to zero" if self.linear else "then a tenth"
        beta = "" if self.beta_2 == 0.999 else f", beta_2 {self.beta_2:g}"
        return f"rate {self.rate:g}, {shape}{beta}{', full precision' if self.full else ''}"

    def arguments(self, steps: int) -> dict[str, Any]:
        """Arguments of gi.fit."""
        rate: Any = falling_rate(self.rate, self.rate / 10, steps)
        if self.linear:
            rate = gi.training.LinearTail(self.rate, steps)
        optimizer = Adam(self.rate, beta_2=self.beta_2, jit_compile=False)
        return {"learning_rate": rate, "optimizer": optimizer}


USUAL = Training()
FAST = Training(0.05, linear=True, beta_2=0.99)
CHOSEN = Training(0.03, linear=True, beta_2=0.99)
"""The estimators'."""

EACH = (USUAL, Training(linear=True, beta_2=0.99), Training(0.05, linear=True), FAST, CHOSEN)
OF_DEEP_GPS = (
    USUAL,
    Training(0.05),
    Training(linear=True),
    Training(0.05, linear=True),
    Training(0.1, linear=True),
    Training(full=True),
    FAST,
    CHOSEN,
    Training(0.05, linear=True, beta_2=0.99, full=True),
)
MODELS = {
    "2 layers, global": OF_DEEP_GPS,
    "2 layers, local": EACH,
    "5 layers, global": EACH,
    "network, global": EACH,
    "network, factorised": EACH,
}


def main() -> None:
    options = parser(__doc__).parse_args()
    path = options.out / "fewer-steps-records.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    records = list(read(path))
    done = {(r["data"], r["model"], r["training"], r["steps"]) for r in records}
    for name, model, training, steps in runs(options.fast):
        if (name, model, str(training), steps) not in done:
            records.append({"data": name, **trained(model, training, *rows_of(name), steps)})
            with path.open("a") as file:
                file.write(json.dumps(records[-1]) + "\n")
    parts: list[str | Table] = [
        machine("gpflow", "tensorflow", "numpy"),
        f"The ELBO per row on the first split, in nats, and the CPU seconds of the steps. "
        f"M={NUM_INDUCING}, S=1, {BATCH_SIZE} rows a step, KL warm-up over a sixth of the steps, "
        f"at most {MOST_ROWS:,} rows. Records are kept in {path.name}: the same command goes on "
        "where it was stopped.",
    ]
    for model in MODELS:
        parts += [f"### {model}", *tables(records, model)]
    write(options.out, "fewer-steps", "Fewer steps", parts, {"records": records})


def runs(fast: bool) -> Iterator[tuple[str, str, Training, int]]:
    """Data, model, training and number of steps of every run."""
    if fast:
        yield from (("toy", model, USUAL, 2) for model in MODELS)
        return
    for steps, name, (model, trainings) in product(STEPS, SETS, MODELS.items()):
        yield from ((name, model, training, steps) for training in trainings)
    models = ("2 layers, global", "network, global")
    for name, model, training in product(SETS[:2], models, (USUAL, FAST, CHOSEN)):
        yield name, model, training, MANY_STEPS


def read(path: Path) -> Iterator[dict[str, Any]]:
    if path.is_file():
        yield from map(json.loads, path.read_text().splitlines())


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised rows."""
    if name == "toy":
        return toy_data(50, 3)
    train, _ = gi.datasets.uci(name, 0)
    X, Y = np.asarray(train.X), np.asarray(train.Y)
    if len(X) > MOST_ROWS:
        index = np.random.default_rng(0).permutation(len(X))[:MOST_ROWS]
        X, Y = X[index], Y[index]
    X = X[:, X.std(axis=0) > 0]
    return (X - X.mean(axis=0)) / X.std(axis=0), (Y - Y.mean(axis=0)) / Y.std(axis=0)


def trained(
    model: str, training: Training, X: np.ndarray, Y: np.ndarray, steps: int
) -> dict[str, Any]:
    """Train one model, and estimate its bound."""
    built = build(model, X, Y, training.full)
    seconds = fitted(built, (X, Y), steps, kl_warmup=steps // 6, **training.arguments(steps))
    return {
        "model": model,
        "training": str(training),
        "steps": steps,
        **bound_of(built, X, Y),
        "cpu_seconds": seconds,
    }


def fitted(
    model: gi.models.DeepGP,
    data: tuple[np.ndarray, np.ndarray],
    steps: int,
    *,
    callbacks: Sequence[Callable[[Any], Any]] = (),
    **settings: Any,
) -> float:
    """Train a model; return the CPU seconds of its steps, without compilation."""
    points: list[tuple[int, float]] = []
    gi.fit(
        model,
        data,
        steps=steps,
        batch_size=BATCH_SIZE,
        progress=False,
        callbacks=[lambda report: points.append((report.step, time.process_time())), *callbacks],
        **settings,
    )
    (first, begun), (last, ended) = points[0], points[-1]
    return (ended - begun) / max(last - first, 1) * steps


def bound_of(model: gi.models.DeepGP, X: np.ndarray, Y: np.ndarray) -> dict[str, float]:
    """The bound per row, with its standard error, on at most 2000 rows."""
    some = np.random.default_rng(0).permutation(len(X))[:2000]
    bounds = [float(model.elbo((X[some], Y[some]), 10, seed=s)) / len(X) for s in range(8)]
    return {
        "bound": float(np.mean(bounds)),
        "standard_error": float(np.std(bounds, ddof=1) / np.sqrt(len(bounds))),
    }


def build(model: str, X: np.ndarray, Y: np.ndarray, full: bool) -> gi.models.DeepGP:
    kind, inference = model.split(", ")
    if kind == "network":
        return gi.architectures.build_bnn(
            X, Y, widths=(50, 50), num_inducing=NUM_INDUCING, inference=inference
        )
    layers = int(kind.split()[0])
    built = gi.architectures.build_deep_gp(
        X, Y, num_layers=layers, num_inducing=NUM_INDUCING, inference=inference
    )
    for layer in built.layers[:-1] if full else ():
        start = layer.posterior
        layer.posterior = gi.posteriors.GlobalInducing(
            NUM_INDUCING,
            layer.output_dim,
            pseudo_outputs=start.pseudo_outputs.numpy(),
            pseudo_precision=start.pseudo_precision.numpy(),
            precision="full",
        )
    return built


def tables(records: list[dict[str, Any]], model: str) -> Iterator[Table]:
    """A table of bounds for each number of steps."""
    of_model = [record for record in records if record["model"] == model]
    sets = list(dict.fromkeys(record["data"] for record in of_model))
    rows = []
    for training in dict.fromkeys(record["training"] for record in of_model):
        for steps in sorted({record["steps"] for record in of_model}):
            row = [training, f"{steps:,}"]
            for name in sets:
                place = (name, training, steps)
                found = [r for r in of_model if (r["data"], r["training"], r["steps"]) == place]
                row += [f"{r['bound']:.3f} ({r['cpu_seconds']:.1f} s)" for r in found] or [""]
            if any(row[2:]):
                rows.append(row)
    yield Table(("training", "steps", *sets), rows)


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    main()

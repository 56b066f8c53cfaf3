"""Other ways to start and to train a deep GP, by the bound that they reach on UCI sets.

python -m tests.benchmarks.levers [--out FOLDER] [--fast]
"""

import json
from collections.abc import Callable
from itertools import product
from typing import Any, cast

import gpflow
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

import gpflow_gi as gi
from gpflow_gi.kernels import KernelBasis
from gpflow_gi.training.adam import Adam

from .fewer_steps import BATCH_SIZE, NUM_INDUCING, SETS, bound_of, build, fitted, read, rows_of
from .report import Table, machine, parser, write

SEEDS = (0, 1)
RATE, STEPS = 0.03, 1500

Data = tuple[np.ndarray, np.ndarray]
Trained = tuple[gi.models.DeepGP, float]


def main() -> None:
    options = parser(__doc__).parse_args()
    path = options.out / "levers-records.jsonl"
    options.out.mkdir(parents=True, exist_ok=True)
    records = list(read(path))
    done = {(record["seed"], record["data"], record["way"]) for record in records}
    sets, seeds, scale = (("toy",), (0,), 750) if options.fast else (SETS, SEEDS, 1)
    for seed, name, (way, train) in product(seeds, sets, WAYS.items()):
        if (seed, name, way) in done:
            continue
        data = rows_of(name)
        model, cpu_seconds = train(data, seed, scale)
        record = {"seed": seed, "data": name, "way": way, "cpu_seconds": cpu_seconds}
        records.append({**record, **bound_of(model, *data)})
        with path.open("a") as file:
            file.write(json.dumps(records[-1]) + "\n")
    columns = ("way", *sets)
    rows = [[way, *(_cell(records, way, name) for name in sets)] for way in WAYS]
    parts: list[str | Table] = [
        machine("gpflow", "tensorflow", "numpy"),
        f"Two layers, global. The ELBO per row on the first split, in nats, and the CPU seconds of "
        f"the steps; means over {len(seeds)} seeds of training. M={NUM_INDUCING}, {BATCH_SIZE} "
        f"rows a step. The usual way is {STEPS} steps of one sample at the rate {RATE:g}, which "
        "falls linearly to zero in the second half, beta_2 0.99, KL warm-up over a sixth; the "
        f"others differ from it as they say. Records are kept in {path.name}.",
        Table(columns, rows),
    ]
    write(options.out, "levers", "Other ways to train", parts, {"records": records})


def _cell(records: list[dict[str, Any]], way: str, name: str) -> str:
    found = [record for record in records if (record["way"], record["data"]) == (way, name)]
    if not found:
        return ""
    bound, seconds = (
        np.mean([record[key] for record in found]) for key in ("bound", "cpu_seconds")
    )
    return f"{bound:.3f} ({seconds:.1f} s)"


def _fitted(
    model: gi.models.DeepGP,
    data: Data,
    seed: int,
    steps: int,
    *,
    rate: Any = None,
    samples: int = 1,
    beta_2: float = 0.99,
    warmup: float = 1 / 6,
    optimizer: Any = None,
    callbacks: tuple[Callable[[Any], Any], ...] = (),
) -> Trained:
    seconds = fitted(
        model,
        data,
        steps,
        num_samples=samples,
        kl_warmup=int(steps * warmup),
        learning_rate=gi.training.LinearTail(RATE, steps) if rate is None else rate,
        optimizer=optimizer or Adam(RATE, beta_2=beta_2, jit_compile=False),
        callbacks=callbacks,
        seed=seed,
    )
    return model, seconds


def usual(steps: int = STEPS, **settings: Any) -> Callable[[Data, int, int], Trained]:
    """One call of gi.fit."""

    def train(data: Data, seed: int, scale: int) -> Trained:
        return _fitted(_two_layers(data), data, seed, steps // scale, **settings)

    return train


def samples_raised(data: Data, seed: int, scale: int) -> Trained:
    """One sample for two thirds of the steps, then five, then ten; one schedule of the rate."""
    model = _two_layers(data)
    optimizer = Adam(RATE, beta_2=0.99, jit_compile=False)
    tail = gi.training.LinearTail(RATE, STEPS)
    done, seconds = 0, 0.0
    for steps, samples in ((1000, 1), (300, 5), (200, 10)):
        _, more = _fitted(
            model,
            data,
            seed + 10 * samples,
            max(1, steps // scale),
            rate=lambda step, done=done: tail(step + done),
            samples=samples,
            warmup=0.0 if done else 1 / 4,
            optimizer=optimizer,
        )
        done, seconds = done + steps, seconds + more
    return model, seconds


def averaged(data: Data, seed: int, scale: int) -> Trained:
    """A constant rate, and the mean of the parameters at the reports of the last quarter."""
    model, taken = _two_layers(data), []
    steps = STEPS // scale

    def take(report: gi.training.Report) -> None:
        if report.step >= 0.75 * steps:
            taken.append([variable.numpy() for variable in model.trainable_variables])

    _, seconds = _fitted(model, data, seed, steps, rate=RATE, callbacks=(take,))
    for variable, *values in zip(model.trainable_variables, *taken, strict=True):
        variable.assign(np.mean(values, axis=0))
    return model, seconds


def pseudo_outputs(factor: float) -> Callable[[Data, int, int], Trained]:
    """Pseudo-outputs that move `factor` times as far in a step of Adam."""

    def train(data: Data, seed: int, scale: int) -> Trained:
        model = _two_layers(data)
        for layer in model.layers:
            q = layer.posterior
            transform = tfp.bijectors.Scale(gpflow.utilities.to_default_float(factor))
            q.pseudo_outputs = gpflow.Parameter(q.pseudo_outputs.numpy(), transform=transform)
        return _fitted(model, data, seed, STEPS // scale)

    return train


def one_layer_first(data: Data, seed: int, scale: int) -> Trained:
    """A third of the steps for one layer, which the last of two layers then starts from."""
    one = gi.architectures.build_deep_gp(*data, num_layers=1, num_inducing=NUM_INDUCING)
    _, seconds = _fitted(one, data, seed, STEPS // 3 // scale or 1)
    two = _two_layers(data)
    gpflow.utilities.multiple_assign(
        two.layers[1].kernel, gpflow.utilities.parameter_dict(one.layers[0].kernel)
    )
    two.likelihood.variance.assign(one.likelihood.variance)
    cast(Any, two).inducing_inputs.assign(one.inducing_inputs)
    start, trained = two.layers[1].posterior, one.layers[0].posterior
    start.pseudo_outputs.assign(trained.pseudo_outputs)
    start.pseudo_precision.assign(trained.pseudo_precision)
    _, more = _fitted(two, data, seed, STEPS * 2 // 3 // scale or 1)
    return two, seconds + more


class _NaturalPseudoOutputs(Adam):
    """Adam, but for natural-gradient steps of the hidden layer's pseudo-outputs.

    With K and Lambda held, q(u) = N(S Lambda V, S) for S^-1 = K^-1 + Lambda. The Fisher information
    of V is Lambda S Lambda, so a step is along (Lambda^-1 + Lambda^-1 K^-1 Lambda^-1) dL/dV.
    """

    def __init__(self, model: Any, size: float) -> None:
        super().__init__(RATE, beta_2=0.99, jit_compile=False)
        self._inputs, self._size = model.inducing_inputs, size
        self._kernel, self._posterior = model.layers[0].kernel, model.layers[0].posterior

    def update_step(self, gradient: Any, variable: tf.Variable) -> None:
        if variable is not self._posterior.pseudo_outputs.unconstrained_variable:
            super().update_step(gradient, variable)
            return
        L = KernelBasis(self._kernel, tf.convert_to_tensor(self._inputs)).L
        noise = 1.0 / tf.convert_to_tensor(self._posterior.pseudo_precision)[:, None]
        scaled = noise * gradient
        size = self._size * tf.cast(self.learning_rate, L.dtype) / RATE  # it falls as Adam's does
        variable.assign_sub(size * (scaled + noise * tf.linalg.cholesky_solve(L, scaled)))


def natural_pseudo_outputs(size: float) -> Callable[[Data, int, int], Trained]:
    """Natural gradients for the hidden layer's pseudo-outputs, in steps of this size at first."""

    def train(data: Data, seed: int, scale: int) -> Trained:
        model = _two_layers(data)
        optimizer = _NaturalPseudoOutputs(model, size)
        return _fitted(model, data, seed, STEPS // scale, optimizer=optimizer)

    return train


def _two_layers(data: Data) -> gi.models.DeepGP:
    return build("2 layers, global", *data, full=False)


WAYS: dict[str, Callable[[Data, int, int], Trained]] = {
    "750 steps": usual(STEPS // 2),
    "the usual way": usual(),
    "3,000 steps": usual(2 * STEPS),
    "five samples": usual(samples=5),
    "one sample, then five, then ten (1000, 300, 200 steps)": samples_raised,
    "constant rate 0.01": usual(rate=0.01),
    "constant rate 0.03, mean of the last quarter": averaged,
    "beta_2 0.9": usual(beta_2=0.9),
    "beta_2 0.95": usual(beta_2=0.95),
    "beta_2 0.999": usual(beta_2=0.999),
    "pseudo-outputs at 3 times the rate": pseudo_outputs(3.0),
    "pseudo-outputs at 10 times the rate": pseudo_outputs(10.0),
    "hidden pseudo-outputs by natural gradients, 0.03": natural_pseudo_outputs(0.03),
    "hidden pseudo-outputs by natural gradients, 0.1": natural_pseudo_outputs(0.1),
    "one layer for 500 steps, then two for 1,000": one_layer_first,
    "no KL warm-up": usual(warmup=0.0),
}


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    main()

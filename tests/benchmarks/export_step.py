"""Training steps as programs for accelerators, to be timed where JAX is.

python -m tests.benchmarks.export_step --out FOLDER [--fast]

Writes for each step NAME.mlir (StableHLO, with bound, gradient and Adam), NAME.npz (its inputs, and
the outputs that TensorFlow's XLA gave for them on this CPU) and NAME.json, and beside them
run_exported.py, which needs JAX and nothing else:

    python run_exported.py FOLDER
"""

import argparse
import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from gpflow_gi.objectives import Elbo

from .deep_gps import global_deep_gp, gpflux_deep_gp, toy_data
from .programs import adam, float_type

RUNNER = Path(__file__).with_name("run_exported.py")
LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Case:
    """A step to export.

    :param rows: number of rows of a step, and of inputs.
    :param num_samples: S.
    :param num_inducing: M.
    :param dtype: "float64" or "float32".
    :param library: "gpflow_gi" or "gpflux".
    """

    rows: tuple[int, int]
    num_samples: int
    num_inducing: int
    dtype: str
    library: str = "gpflow_gi"

    @property
    def name(self) -> str:
        """Name of the files."""
        N, D = self.rows
        return f"{self.library}-{N}x{D}-S{self.num_samples}-M{self.num_inducing}-{self.dtype}"


def cases() -> Iterator[Case]:
    """The steps of the table of training steps, and larger ones."""
    for dtype in ("float64", "float32"):
        for rows in ((300, 6), (1000, 8)):
            for S in (1, 10):
                for library in ("gpflow_gi", "gpflux"):
                    yield Case(rows, S, 100, dtype, library)
        for M in (500, 1000):
            yield Case((1000, 8), 1, M, dtype)
        yield Case((10_000, 8), 1, 100, dtype)


def main() -> None:
    made = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    made.add_argument("--out", type=Path, required=True, metavar="FOLDER")
    made.add_argument("--fast", action="store_true", help="two tiny steps only")
    options = made.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    shutil.copy(RUNNER, options.out)
    tiny = [Case((20, 2), 2, 5, "float64", library) for library in ("gpflow_gi", "gpflux")]
    for case in tiny if options.fast else cases():
        with float_type(case.dtype):
            export(case, options.out)
        print(options.out / f"{case.name}.mlir", flush=True)


def export(case: Case, out: Path) -> None:
    """Write one step's files."""
    step, assigned = step_of(case)
    function = tf.function(step, jit_compile=True, autograph=False)
    text = function.experimental_get_compiler_ir()(stage="stablehlo")
    captured = function.get_concrete_function().captured_inputs
    before = [_value(tensor) for tensor in captured]
    loss = function().numpy()
    after = [_value(tensor) for tensor in captured]
    # The program takes what was captured, and gives the loss and all variables that it assigns;
    # among them the counts that GPflux keeps of its terms.
    places = [
        i
        for i, tensor in enumerate(captured)
        if id(tensor) in assigned or not np.array_equal(before[i], after[i])
    ]
    (out / f"{case.name}.mlir").write_text(text)
    arrays = {f"in{i}": value for i, value in enumerate(before)}
    arrays |= {f"out{i}": value for i, value in enumerate([loss, *(after[i] for i in places)])}
    np.savez(out / f"{case.name}.npz", **arrays)
    described = {
        "name": case.name,
        "num_inputs": len(before),
        # Output i + 1 is input places[i] of the next step.
        "state": places,
        # GPflux draws from TensorFlow's own generator, whose state is not an input.
        "is_deterministic": case.library == "gpflow_gi",
        "learning_rate": LEARNING_RATE,
    }
    (out / f"{case.name}.json").write_text(json.dumps(described, indent=1) + "\n")


def step_of(case: Case) -> tuple[Callable[[], tf.Tensor], set[int]]:
    """A step that returns its loss, and the ids of the handles of variables that it trains."""
    N, D = case.rows
    data = toy_data(N, D)
    X, Y = (tf.Variable(rows, trainable=False) for rows in data)
    count = tf.Variable(0, dtype=tf.int64, trainable=False)
    model: Any
    if case.library == "gpflux":
        model = gpflux_deep_gp(data[0], num_samples=case.num_samples)
        bound = lambda: model.elbo((X.read_value(), Y.read_value()))  # noqa: E731
    else:
        model = global_deep_gp(data, num_inducing=min(case.num_inducing, N))

        def bound() -> tf.Tensor:
            # The seed of a step is its number, so that each has samples of its own.
            seed = tf.stack([tf.cast(count, tf.int32), 0])
            batch = (X.read_value(), Y.read_value())
            first, kl = Elbo().terms(model, batch, case.num_samples, seed)
            return first - kl

    variables = list(model.trainable_variables)
    optimizer = adam()
    optimizer.build(variables)

    def step() -> tf.Tensor:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = -bound()
        gradients = tape.gradient(loss, variables)
        optimizer.apply_gradients(zip(gradients, variables, strict=True))
        count.assign_add(1)
        return loss

    assigned = [*variables, *optimizer.variables, count]
    return step, {id(variable.handle) for variable in assigned}


def _value(captured: tf.Tensor) -> np.ndarray:
    """The value of a tensor, or of the variable whose handle it is."""
    if captured.dtype != tf.resource:
        return np.asarray(captured)
    dtype = tf.as_dtype(captured._handle_data.shape_and_type[0].dtype)
    return np.asarray(tf.raw_ops.ReadVariableOp(resource=captured, dtype=dtype))


if __name__ == "__main__":
    main()

"""Ideas for goals of speed that are missed: their times as shares of the library's own.

python -m tests.benchmarks.ideas [--out FOLDER] [--fast]

Each idea replaces a part of the library while its program is compiled and while it runs.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from typing import Any
from unittest import mock

import gpflow
import numpy as np
import tensorflow as tf

from gpflow_gi.core import compiled
from gpflow_gi.core.once import values_once
from gpflow_gi.models import DeepGP, chunks, importance
from gpflow_gi.training import compiled_loop
from gpflow_gi.training.steps import TrainingSteps

from . import networks, programs
from .deep_gps import NUM_INDUCING, global_deep_gp, toy_data
from .interleaved import NOTES, Program, measure, milliseconds, ratios
from .prediction import CALLS, INPUT_DIM, NUM_TRAINED, own_model
from .programs import float_type
from .report import Table, machine, parser, write

Idea = Callable[[], AbstractContextManager[Any]]

_stateless_normal = tf.random.stateless_normal


def _in_single_precision(shape: Any, seed: Any, dtype: Any = tf.float32, **_: Any) -> tf.Tensor:
    return tf.cast(_stateless_normal(shape, seed, dtype=tf.float32), dtype)


def _box_muller(shape: Any, seed: Any, dtype: Any = tf.float32, **_: Any) -> tf.Tensor:
    """Normals from uniforms in single precision, by operations that are vectorised."""
    size = tf.reduce_prod(shape)
    uniforms = tf.random.stateless_uniform([2, (size + 1) // 2], seed, dtype=tf.float32)
    radius, angle = tf.sqrt(-2.0 * tf.math.log(1.0 - uniforms[0])), 2.0 * np.pi * uniforms[1]
    both = tf.concat([radius * tf.cos(angle), radius * tf.sin(angle)], axis=0)
    return tf.cast(tf.reshape(both[:size], shape), dtype)


def _drawn_before(shape: Any, seed: Any, dtype: Any = tf.float32, **_: Any) -> tf.Tensor:
    known = tf.get_static_value(shape)
    if known is None:
        return tf.fill(shape, tf.constant(0.5, dtype))
    return tf.constant(np.random.default_rng(0).normal(size=known), dtype)


def _apply(steps: TrainingSteps, gradients: list[Any]) -> tf.Tensor:
    pairs = [
        (gradient, variable)
        for gradient, variable in zip(gradients, steps.variables, strict=True)
        if gradient is not None
    ]
    with values_once():
        steps._optimizer.apply_gradients(pairs, skip_gradients_aggregation=True)
    return tf.constant(True)


@contextmanager
def _own_kind(change: Idea) -> Iterator[None]:
    """Keep a changed training loop apart from those of other ideas."""
    kind_of = compiled_loop.kind_of

    def own(model: Any, parts: dict[str, Any], *arguments: Any) -> Any:
        return kind_of(model, {**parts, "idea": repr(change)}, *arguments)

    with change(), mock.patch.object(programs, "kind_of", own):
        yield


SINGLE = "normals drawn in single precision"
BOX_MULLER = "normals by vectorised operations"
FREE = "constants in place of normals"
UNTRANSFORMED = "parameters without transforms"
CHUNKS = "chunks of a quarter"

IDEAS: dict[str, Idea] = {
    "the library": nullcontext,
    SINGLE: partial(mock.patch.object, tf.random, "stateless_normal", _in_single_precision),
    BOX_MULLER: partial(mock.patch.object, tf.random, "stateless_normal", _box_muller),
    FREE: partial(mock.patch.object, tf.random, "stateless_normal", _drawn_before),
    "gradients not checked": partial(mock.patch.object, TrainingSteps, "_update", _apply),
    UNTRANSFORMED: nullcontext,
    "TensorFlow rewrites the graph": partial(
        mock.patch.object, compiled, "_as_written", nullcontext
    ),
    CHUNKS: partial(mock.patch.object, chunks, "TARGET_SIZE", chunks.TARGET_SIZE // 4),
    "four times the samples at once": partial(
        mock.patch.multiple,
        importance,
        CACHED_SIZE=4 * importance.CACHED_SIZE,
        MOST_SAMPLES_AT_ONCE=4 * importance.MOST_SAMPLES_AT_ONCE,
    ),
    "a quarter of the samples at once": partial(
        mock.patch.object, importance, "CACHED_SIZE", importance.CACHED_SIZE // 4
    ),
}

OF_STEPS = (SINGLE, BOX_MULLER, FREE, "gradients not checked", UNTRANSFORMED)
OF_PREDICTIONS = (SINGLE, BOX_MULLER, FREE, "TensorFlow rewrites the graph", CHUNKS)
OF_BOUNDS = (BOX_MULLER, FREE, "four times the samples at once", "a quarter of the samples at once")


def main() -> None:
    options = parser(__doc__).parse_args()
    rounds, seconds = (2, 0.01) if options.fast else (15, 0.4)
    columns = ("", "ms", "quartiles", "wall / the library's", "cpu ratio")
    parts: list[str | Table] = [
        machine("gpflow", "tensorflow", "numpy"),
        "Ideas for goals that are missed, most of them without regard to what they would break. "
        "Constants in place of normals show the most that a faster generator could gain, "
        "parameters without transforms the most that batches of them could, gradients that are "
        "not checked the most that a cheaper check could.",
    ]
    numbers = {}
    for case, (dtype, made) in cases(options.fast).items():
        with float_type(dtype):
            times = measure(made(), rounds=rounds, seconds=seconds)
        whole = times["the library"]
        rows = [[name, *milliseconds(own), *ratios(own, whole)] for name, own in times.items()]
        parts += [f"### {case}", Table(columns, rows)]
        numbers[case] = {name: own.to_dict() for name, own in times.items()}
    write(options.out, "ideas", "Ideas for speed", [*parts, NOTES], {"seconds": numbers})


def cases(fast: bool) -> Mapping[str, tuple[str, Callable[[], dict[str, Program]]]]:
    """For each case its type of numbers, and a function that makes its programs."""

    def deep_gp(rows: int, columns: int, num_layers: int, S: int) -> dict[str, Program]:
        data = toy_data(rows, columns)
        return steps(lambda: global_deep_gp(data, num_layers=num_layers), data, S)

    def network(inference: str, M: int) -> dict[str, Program]:
        return steps(lambda: networks.network(inference, M), networks.toy_data(), 1, (SINGLE,))

    found: dict[str, tuple[str, Callable[[], dict[str, Program]]]] = {}
    for rows, columns, num_layers, S in ((300, 6, 2, 1), (300, 6, 2, 10), (300, 6, 5, 1)):
        name = f"Step of a deep GP, {rows} rows x {columns}, {num_layers} layers, S={S}"
        found[name] = ("float64", partial(deep_gp, rows, columns, num_layers, S))
    for inference, M in (("global", 20), ("global", 100), ("factorised", 20)):
        name = f"Step of a network, {inference}, M={M}, S=1"
        found[name] = ("float32", partial(network, inference, M))
    for kind, size in (("global", "100 rows, S=100"), ("local", "20,000 rows, S=10")):
        name = f"Prediction, {kind}, {size}"
        found[name] = ("float64", partial(predictions, kind, *CALLS[size]))
    found["Importance weighted bound of a network, 1000 samples"] = (
        "float32",
        partial(bounds, 100 if fast else 1000),
    )
    return found


def steps(
    build: Callable[[], DeepGP],
    data: tuple[np.ndarray, np.ndarray],
    S: int,
    left_out: Sequence[str] = (),
) -> dict[str, Program]:
    """Training of one model by each idea; that of others is left out."""

    def program(name: str) -> Program:
        model = build()
        if name == UNTRANSFORMED:
            remove_transforms(model)
        with _own_kind(IDEAS[name]):
            # Without transforms, steps of the usual size make variances negative.
            return programs.through_fit(model, data, S, learning_rate=1e-9)

    names = [name for name in ("the library", *OF_STEPS) if name not in left_out]
    return {name: program(name) for name in names}


def remove_transforms(model: tf.Module) -> None:
    """Leave the transforms of full precisions, whose parameters have another shape."""
    for module in (model, *model.submodules):
        for name, value in list(vars(module).items()):
            if not isinstance(value, gpflow.Parameter) or not value.trainable:
                continue
            if value.shape == value.unconstrained_variable.shape:
                setattr(module, name, gpflow.Parameter(value.numpy(), dtype=value.dtype))


def predictions(kind: str, num_rows: int, S: int) -> dict[str, Program]:
    data = toy_data(NUM_TRAINED, INPUT_DIM)
    X = np.random.default_rng(2).normal(size=(num_rows, INPUT_DIM))

    def program(name: str) -> Program:
        model = own_model(kind, data)
        return changed(IDEAS[name], lambda: model.predict_y(X, S))

    return {name: program(name) for name in ("the library", *OF_PREDICTIONS)}


def bounds(num_samples: int) -> dict[str, Program]:
    data = networks.toy_data()

    def program(name: str) -> Program:
        model = networks.network("global", NUM_INDUCING, "diagonal")
        return changed(IDEAS[name], lambda: model.iwbo(data, num_samples, seed=0).numpy())

    return {name: program(name) for name in ("the library", *OF_BOUNDS)}


def changed(idea: Idea, function: Callable[[], Any]) -> Program:
    """A program of calls of a function, with the library changed."""

    def run(calls: int) -> None:
        with idea():
            for _ in range(calls):
                function()

    run(compiled.EAGER_CALLS + 1)
    return run


if __name__ == "__main__":
    main()

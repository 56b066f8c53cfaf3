"""The time of a training step of deep GPs, against GPflux's.

python -m tests.benchmarks.training_step [--only TEXT] [--out FOLDER] [--fast]

BENCH_THREADS=2 in the environment takes two threads, and the cases in double precision alone.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import tensorflow as tf

import gpflow_gi as gi

from . import THREADS
from .deep_gps import NUM_INDUCING, global_deep_gp, gpflux_deep_gp, keras_fit, toy_data
from .equal_means import check_equal
from .interleaved import NOTES, Program, measure, ratios, rows
from .programs import float_type, step_by_step, through_fit
from .report import Table, machine, parser, write

GPFLUX = "GPflux"
DEFAULT = "default model"


@dataclass(frozen=True)
class Case:
    """One table: competitors on data of one size.

    :param goals: competitor to the most that its step may take, relative to GPflux's.
    """

    num_rows: int
    input_dim: int
    num_samples: int
    num_layers: int = 2
    dtype: str = "float64"
    goals: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        return (
            f"{self.num_rows} rows x {self.input_dim}, {self.num_layers} layers, "
            f"S={self.num_samples}, {self.dtype}"
        )


def _goals(**pairs: tuple[float, float]) -> dict[str, float]:
    """:param pairs: the goals of one step per call, and of the loop of gi.fit."""
    return {
        name: goal
        for method, (by_step, by_fit) in pairs.items()
        for name, goal in ((method, by_step), (f"{method}, gi.fit", by_fit))
    }


CASES = [
    Case(300, 6, 1, goals=_goals(**{"global": (0.36, 0.25)}, local=(0.80, 0.60))),
    Case(300, 6, 10, goals=_goals(**{"global": (0.70, 0.58)}, local=(0.80, 0.65))),
    Case(1000, 8, 1, goals=_goals(**{"global": (0.22, 0.20)})),
    Case(1000, 8, 10, goals=_goals(**{"global": (0.55, 0.46)})),
    *(
        Case(num_rows, input_dim, num_samples, dtype="float32")
        for num_rows, input_dim in ((300, 6), (1000, 8))
        for num_samples in (1, 10)
    ),
    Case(300, 6, 1, num_layers=5, goals=_goals(**{"global": (0.25, 0.27)})),
    Case(1000, 8, 10, num_layers=5, goals=_goals(**{"global": (0.21, 0.19)})),
]


def main() -> None:
    made = parser(__doc__)
    made.add_argument("--only", metavar="TEXT", default="", help="cases with this in their name")
    options = made.parse_args()
    tf.random.set_seed(0)
    cases = CASES[:1] if options.fast else [case for case in CASES if options.only in str(case)]
    if THREADS != "1":  # goals are of one thread
        cases = [replace(case, goals={}) for case in cases if case.dtype == "float64"]
    rounds, seconds = (2, 0.01) if options.fast else (9, 0.4)

    parts: list[str | Table] = [
        machine("gpflow", "gpflux", "tensorflow", "tf_keras", "numpy"),
        f"M={NUM_INDUCING}, hidden layers as wide as the inputs, squared exponential ARD kernels, "
        "all rows in every step, the same Adam for all (gpflow_gi's, which is faster than Keras' "
        'for GPflux too). A name alone is one compiled step per Python call; "gi.fit" is the '
        f'compiled loop that gi.fit calls, "model.fit" a call of Keras\' for {seconds} s of steps '
        'on GPflux\'s as_training_model(). "global" and "global, full precision" have diagonal and '
        "full pseudo-precisions in all layers, and the same start; the default model of "
        "build_deep_gp has a full one in the last layer alone, and a better start.",
        compare_ways_to_ten_samples(rounds, seconds),
        "Bounds can differ by as much as jitter makes of them, which is absolute in GPflux and "
        "relative to the kernel's variance in ours: 1e-6 in float64, 1e-4 in float32.",
    ]
    numbers = {}
    columns = ("step", "ms", "quartiles", "it / GPflux", "cpu ratio", "goal")
    for case in cases:
        with float_type(case.dtype):
            programs, equal = competitors(case, draws=20 if options.fast else 200)
            times = measure(programs, rounds=rounds, seconds=seconds)
        base = times[GPFLUX]
        goals = {name: f"at most {goal:.2f}" for name, goal in case.goals.items()}
        table = rows(times, lambda _, own, base=base: ratios(own, base), goals)
        parts += [f"### {case}", equal, Table(columns, list(table))]
        numbers[str(case)] = {name: own.to_dict() for name, own in times.items()}
    write(
        options.out,
        "training-step",
        "Training step of deep Gaussian processes",
        [*parts, NOTES],
        {"seconds_per_step": numbers},
    )


def competitors(case: Case, draws: int) -> tuple[dict[str, Program], str]:
    """The programs, and a sentence on their bounds, which are compared before they train."""
    S, L = case.num_samples, case.num_layers
    data = toy_data(case.num_rows, case.input_dim)
    X, Y = (tf.constant(array) for array in data)

    def gpflux_model() -> tf.Module:
        return gpflux_deep_gp(data[0], L, S)

    def own(method: str) -> gi.models.DeepGP:
        if method == "local":
            return gi.interop.from_gpflux(gpflux_deep_gp(data[0], L))
        if method == DEFAULT:
            return gi.architectures.build_deep_gp(*data, num_layers=L, num_inducing=NUM_INDUCING)
        precision = "full" if method == "global, full precision" else "diagonal"
        return global_deep_gp(data, precision, num_layers=L)

    methods = ["global", DEFAULT]
    if L == 2:
        methods = ["local", "global", "global, full precision", DEFAULT]
    gpflux = gpflux_model()

    def bound_of(model: gi.models.DeepGP) -> Callable[[], tf.Tensor]:
        return lambda: model.elbo((X, Y), S)

    def gpflux_bound() -> tf.Tensor:
        return gpflux.elbo((X, Y))

    sentence = "No two of these have the same bound."
    if "local" in methods:
        few = max(draws // S, 10)  # one draw in S of as many samples: as precise, and no slower
        same = [
            check_equal({GPFLUX: gpflux_bound, "local": bound_of(own("local"))}, few),
            check_equal({method: bound_of(own(method)) for method in methods[1:3]}, few),
        ]
        sentence = " ".join(same)

    programs = {
        GPFLUX: step_by_step(gpflux, gpflux_bound),
        f"{GPFLUX}, model.fit": keras_fit(gpflux_model(), data),
    }
    for method in methods:
        model = own(method)
        programs[method] = step_by_step(model, bound_of(model))
        programs[f"{method}, gi.fit"] = through_fit(own(method), data, S)
    return programs, sentence


def compare_ways_to_ten_samples(rounds: int, seconds: float) -> str:
    """GPflux can draw ten times from its hidden layer, or take every row ten times.

    :raises RuntimeError: if the second, which is compared with nothing here, is the faster one.
    """
    data = toy_data(300, 6)
    drawn, tiled = "GPLayer(num_samples=10)", "X and Y tiled ten times"

    def step(copies: int, num_samples: int) -> Program:
        # The scale N/B of the data term takes any number of rows.
        X, Y = (tf.constant(np.tile(array, [copies, 1])) for array in data)
        model = gpflux_deep_gp(data[0], num_samples=num_samples)
        return step_by_step(model, lambda: model.elbo((X, Y)))

    times = measure(
        {drawn: step(1, 10), tiled: step(10, 1)}, rounds=min(rounds, 5), seconds=seconds
    )
    ratio = np.median(times[tiled].cpu / times[drawn].cpu)
    if ratio < 1.0:
        raise RuntimeError(f"GPflux is faster at S=10 with {tiled}: compare with that.")
    return f"GPflux, S=10 is {drawn}; {tiled} take {ratio:.1f} times as long (300 rows x 6)."


if __name__ == "__main__":
    main()

"""The time of a training step of Bayesian neural networks, against the plain way to write one.

python -m tests.benchmarks.bnn_step [--out FOLDER] [--fast]
"""

import tensorflow as tf

from .interleaved import NOTES, Program, Times, measure, ratios, rows
from .networks import DESCRIPTION, check_equal_bounds, network, plain_step, toy_data
from .programs import float_type, step_by_step, through_fit
from .report import Table, machine, parser, write

OURS = {
    "global, diagonal precision": ("global", "diagonal"),
    "global": ("global", None),
    "local": ("local", None),
    "factorised": ("factorised", None),
}


def main() -> None:
    options = parser(__doc__).parse_args()
    tf.random.set_seed(0)
    rounds, seconds = (2, 0.01) if options.fast else (15, 0.2)
    parts: list[str | Table] = [
        machine("gpflow", "tensorflow", "tf_keras", "numpy"),
        f'{DESCRIPTION} A name alone is one compiled step per Python call; "gi.fit" is the '
        "compiled loop that gi.fit calls. The plain network's Adam is Keras' own.",
    ]
    numbers = {}
    for M in (20,) if options.fast else (20, 100):
        with float_type("float32"):
            equal = check_equal_bounds(M, draws=10 if options.fast else 20)
            times = measure(competitors(M), rounds=rounds, seconds=seconds)
        parts += [f"### M={M}", equal]
        parts += [table(times, S) for S in (1, 10)]
        parts.append(ten_samples_at_once(times))
        numbers[f"M={M}"] = {name: own.to_dict() for name, own in times.items()}
    write(
        options.out,
        "bnn-step",
        "Training step of Bayesian neural networks",
        [*parts, NOTES],
        {"seconds_per_step": numbers},
    )


def competitors(M: int) -> dict[str, Program]:
    programs = {}
    data = toy_data()
    for S in (1, 10):
        programs[f"plain, S={S}"] = plain_step(M, S)
        programs[f"plain by hand, S={S}"] = plain_step(M, S, by_hand=True)
        for name, (inference, precision) in OURS.items():
            model = network(inference, M, precision)
            programs[f"{name}, S={S}"] = step_by_step(
                model, lambda model=model, S=S: model.elbo(data, S)
            )
            model = network(inference, M, precision)
            programs[f"{name}, gi.fit, S={S}"] = through_fit(model, data, S)
    return programs


def table(times: dict[str, Times], S: int) -> Table:
    """The steps with one number of samples."""
    own = {name: each for name, each in times.items() if name.endswith(f", S={S}")}
    plain = times[f"plain, S={S}"]
    goals = {"global, S=1": "at least 3", "global, gi.fit, S=1": "at least 3.2"}
    goals["factorised, gi.fit, S=1"] = "0.3 ms"
    columns = ("step", "ms", "quartiles", "plain / it", "cpu ratio", "goal")
    return Table(columns, list(rows(own, lambda _, each: ratios(plain, each), goals)))


def ten_samples_at_once(times: dict[str, Times]) -> Table:
    """Ten plain steps of one sample against one of ours with ten."""
    ten = times["plain, S=1"] * 10
    goals = {"global, S=10": "at least 7", "global, gi.fit, S=10": "at least 8"}
    return Table(
        ("ten plain steps with S=1 / one of", "ratio", "cpu ratio", "goal"),
        [[name, *ratios(ten, times[name]), goal] for name, goal in goals.items()],
    )


if __name__ == "__main__":
    main()

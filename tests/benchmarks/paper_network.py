"""Fifty training steps of the paper's network on images of CIFAR-10's size: seconds and memory.

python -m tests.benchmarks.paper_network [--out FOLDER] [--fast] [--method NAME]

The settings are those of `gpflow-gi experiment images --data cifar10`, and the images are random:
a step costs the same. Each posterior has a process of its own; --method runs one in this process.
"""

import gpflow
import numpy as np

from gpflow_gi import fit
from gpflow_gi.experiments.images import FAST, FLOAT, JITTER, METHODS, USUAL, build_model

from .fresh_process import in_fresh_process, print_time_and_memory
from .report import Table, machine, parser, write

NUM_IMAGES, NUM_EPOCH = 1000, 50_000
"""Images here, and in CIFAR-10."""


def main() -> None:
    options = parser(__doc__ or "")
    options.add_argument("--method", choices=METHODS, help="run this posterior alone, here")
    chosen = options.parse_args()
    if chosen.method:
        train(chosen.method, chosen.fast)
        return
    settings = (FAST if chosen.fast else USUAL)["cifar10"]
    fast = ["--fast"] if chosen.fast else []
    runs = {name: in_fresh_process("paper_network", "--method", name, *fast) for name in METHODS}
    number = runs[METHODS[0]]["found"]["steps"]
    rows = []
    for name, run in runs.items():
        found = run["found"]
        minutes = found["seconds_per_step"] * NUM_EPOCH / settings.batch_size / 60
        rows.append(
            (
                name,
                f"{found['seconds_per_step']:.2f}",
                f"{minutes:.1f}",
                f"{found['compile_seconds']:.1f}",
                f"{run['peak_mb'] / 1024:.1f}",
                f"{found['first']:.2f}",
                f"{found['last']:.2f}",
            )
        )
    columns = (
        "", "s per step", "min per epoch", "compilation, s", "peak memory, GiB",
        "log likelihood at the first step", "at the last",
    )  # fmt: skip
    write(
        chosen.out,
        "paper_network",
        "The paper's network on images of CIFAR-10's size",
        [
            f"{number} steps of `build_resnet`: {settings.width} channels, "
            f"{settings.num_inducing} inducing images, {settings.batch_size} images of 32 x 32 x 3 "
            "in a step, float32. Log likelihoods are expected ones, per image, in nats.",
            Table(columns, rows),
            machine("tensorflow", "gpflow"),
        ],
        {"runs": runs},
    )


def train(method: str, fast: bool) -> None:
    settings = (FAST if fast else USUAL)["cifar10"]
    steps = 2 if fast else 50
    rng = np.random.default_rng(0)
    X = rng.normal(size=(NUM_IMAGES, 32, 32, 3)).astype(FLOAT)
    Y = np.arange(NUM_IMAGES)[:, None] % 10
    gpflow.config.set_default_float(FLOAT)
    gpflow.config.set_default_jitter(JITTER)
    model = build_model((X, Y), method, settings, seed=0)

    found: dict[str, float] = {}

    def trained() -> None:
        record = fit(
            model,
            (X, Y),
            steps=steps,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            kl_warmup=settings.kl_warmup,
            progress=False,
        )
        first, *_, last = record.reports
        found.update(
            steps=steps,
            compile_seconds=record.compile_seconds,
            seconds_per_step=record.seconds_per_step,
            first=first.expected_log_likelihood / NUM_IMAGES,
            last=last.expected_log_likelihood / NUM_IMAGES,
        )

    print_time_and_memory(trained, found=found)


if __name__ == "__main__":
    main()

"""float32 against float64 on UCI sets: held-out log density, and the time of a step.

python -m tests.benchmarks.float32 [--out FOLDER] [--fast]
"""

from typing import Any

import numpy as np
import tensorflow as tf

from . import uci_runs
from .interleaved import NOTES, Times, milliseconds, ratios, times_of
from .programs import JITTER
from .report import Table, machine, parser, write

SETS = ("energy", "boston", "kin8nm")
TYPES = ("float64", "float32")
NUM_STEPS, KL_WARMUP, NUM_SPLITS = 5000, 500, 3
RATES = (0.01, 0.001)
"""In the first half of the steps, and in the second."""

GOAL = 0.6


def main() -> None:
    options = parser(__doc__).parse_args()
    tf.random.set_seed(0)
    sets, num_splits = (SETS[:1], 1) if options.fast else (SETS, NUM_SPLITS)
    num_steps, turn = (20, 10) if options.fast else (NUM_STEPS, 50)

    rows, numbers = [], {}
    for name in sets:
        times, densities = trained(name, num_splits, num_steps, turn)
        wide, narrow = (np.concatenate(densities[dtype]) for dtype in TYPES)
        error = wide.std(ddof=1) / np.sqrt(len(wide))
        rows.append(
            [
                name,
                f"{len(wide):,}",
                f"{wide.mean():.3f} ± {error:.3f}",
                f"{narrow.mean():.3f}",
                f"{narrow.mean() - wide.mean():.3f}",
                f"at most {error:.3f} apart",
                *(cell for dtype in TYPES for cell in milliseconds(times[dtype])),
                *ratios(times["float32"], times["float64"]),
                f"at most {GOAL}",
            ]
        )
        numbers[name] = {
            dtype: {
                "seconds_per_step": times[dtype].to_dict(),
                "log_density_of_splits": [float(each.mean()) for each in densities[dtype]],
            }
            for dtype in TYPES
        }
    columns = (
        "set",
        "held-out rows",
        *(f"log density, {dtype}" for dtype in TYPES),
        "difference",
        "goal",
        *(cell for dtype in TYPES for cell in (f"ms, {dtype}", "quartiles")),
        "ratio",
        "cpu ratio",
        "goal",
    )
    parts = [
        machine("gpflow", "tensorflow", "numpy"),
        f"Global layers; {uci_runs.DESCRIPTION} {num_steps} steps, at the rate {RATES[0]} and in "
        f"the second half {RATES[1]}, KL warm-up over {KL_WARMUP}; {num_splits} splits. Jitter: "
        f"{', '.join(f'{JITTER[dtype]:g} in {dtype}' for dtype in TYPES)}. Rounds are turns of "
        f"{turn} steps. The standard error is that of the mean over held-out rows.",
        Table(columns, rows),
        NOTES,
    ]
    write(options.out, "float32", "float32 against float64", parts, {"sets": numbers})


def trained(
    name: str, num_splits: int, num_steps: int, turn: int
) -> tuple[dict[str, Times], dict[str, list[np.ndarray]]]:
    """Times of all turns, and held-out log densities of each split, by type."""

    def rate(step: tf.Tensor) -> Any:
        return tf.where(step < num_steps // 2, *RATES)

    turns: dict[str, list[tuple[float, float]]] = {dtype: [] for dtype in TYPES}
    densities: dict[str, list[np.ndarray]] = {dtype: [] for dtype in TYPES}
    for split in range(num_splits):
        runs = {
            dtype: uci_runs.start(name, split, dtype=dtype, learning_rate=rate, kl_warmup=KL_WARMUP)
            for dtype in TYPES
        }
        for i in range(num_steps // turn):
            for dtype in TYPES if i % 2 else reversed(TYPES):
                took = runs[dtype].train(turn)
                if i > 0:  # the first step of a graph takes longer than all others
                    turns[dtype].append(took)
        for dtype in TYPES:
            densities[dtype].append(runs[dtype].log_density())
    return {dtype: times_of(pairs) for dtype, pairs in turns.items()}, densities


if __name__ == "__main__":
    main()

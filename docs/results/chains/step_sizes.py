"""Chains of two layers by the step size.

python docs/results/chains/step_sizes.py SET OUT.jsonl [--splits 0 1 2 3 4] [--factors 0.25]

As `dgp-sghmc-2` of the benchmark at the budget `standard`, with the default step size times each
factor. Appends a line for each split and factor; chains that diverge have no scores.
"""

import argparse
import json
import time
from pathlib import Path

from gpflow_gi import __version__
from gpflow_gi.benchmark import train
from gpflow_gi.benchmark.budgets import BUDGETS
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.trial import Measured, Rows
from gpflow_gi.datasets import uci
from gpflow_gi.inference.sghmc_inducing import default_step_size

BUDGET, METHOD, SEED = BUDGETS["standard"], METHODS["dgp-sghmc-2"], 0

FRICTION = 0.1
"""The default of `sghmc_inducing`."""


def trial(name: str, split: int, factors: list[float]) -> list[dict]:
    """Scores of chains from one start, by the factor of the step size."""
    rows = Rows(*uci(name, split))
    X, Y = rows.X, rows.Y
    start = train._by_adam(METHOD, BUDGET, X, Y, SEED, False, False, None)
    default = default_step_size(len(X), BUDGET.batch_size, FRICTION)
    lines = []
    for factor in factors:
        began = time.perf_counter()
        line = {"set": name, "split": split, "factor": factor, "step_size": factor * default}
        settings = METHOD.settings["chains"] | {"step_size": factor * default}
        try:
            found = train._by_chains(start, settings, BUDGET, X, Y, SEED)
        except ValueError as error:
            line["error"] = str(error)
        else:
            scores = Measured.of(found, rows).metrics
            line |= {name: scores[name] for name in ("log_density", "crps", "rmse")}
        line |= {"seconds": time.perf_counter() - began, "version": __version__}
        lines.append(line)
    return lines


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("set")
    parser.add_argument("out", type=Path)
    parser.add_argument("--splits", type=int, nargs="+", default=list(range(5)))
    parser.add_argument("--factors", type=float, nargs="+", default=[0.25])
    asked = parser.parse_args()
    for split in asked.splits:
        for line in trial(asked.set, split, asked.factors):
            with asked.out.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")

"""Global inducing points whose four draws share the rows of a step.

python docs/results/standard/divided_rows.py OUT.jsonl [--sets NAME ...] [--rates X ...]

The first split at the budget `standard`, with four samples and `Elbo(divide_rows=True)` in place of
one sample; to be compared with the trials of the same methods in records.csv.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.train import build, inducing_for, train_by

FORMS = {"concrete": "-full", "kin8nm": "-unshared", "power": "-unshared", "protein": "-unshared"}
"""The form of global inducing points with the best bound on split 0, with two layers."""


def run(name: str, rate: float) -> dict[str, float | str]:
    """The bound per row after training, and the CPU time of training in seconds."""
    train, _ = gi.datasets.uci(name, 0)
    X, Y = (gi.datasets.Standardiser.fit(rows).transform(rows) for rows in (train.X, train.Y))
    method = f"dgp-global-2{FORMS[name]}"
    model = build(METHODS[method], X, Y, inducing_for(X, STANDARD.num_inducing), 0)
    numbers = replace(STANDARD, num_samples=4, learning_rate=rate)
    start = time.process_time()
    train_by(numbers, model, (X, Y), seed=0, objective=gi.objectives.Elbo(divide_rows=True))
    seconds = time.process_time() - start
    bound = gi.bounds.estimate_elbo(model, (X, Y), 100, seed=0).value / len(X)
    return {"set": name, "method": method, "rate": rate, "bound": bound, "seconds": seconds}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(FORMS))
    parser.add_argument("--rates", nargs="+", type=float, default=[0.015, 0.03, 0.06])
    options = parser.parse_args()
    for name in options.sets:
        for rate in options.rates:
            with options.out.open("a") as file:
                file.write(json.dumps(run(name, rate)) + "\n")

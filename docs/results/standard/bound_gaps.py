"""Gaps of trained deep GPs to the importance weighted bound, of local and of global ones.

python docs/results/standard/bound_gaps.py OUT.jsonl [--sets NAME ...] [--methods NAME ...]

Split 0, budget `standard`, each method at its best rate in records.csv here or in ../optimal-gp. A
line for each: the bound and the importance weighted bound of 1000 draws, per row, with their
standard errors, and the noise variance.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import pandas as pd

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.train import inducing_for, train_by

HERE = Path(__file__).resolve().parent

NUM_DRAWS, REPEATS = 1000, 5


def best_rate(dataset: str, method: str) -> float:
    """The rate with the best bound on split 0."""
    tables = [pd.read_csv(HERE / name / "records.csv") for name in (".", "../optimal-gp")]
    table = pd.concat(tables).query(
        "dataset == @dataset and method == @method and split == 0 and used"
    )
    (rate,) = table["learning_rate"].unique()
    return float(rate)


def run(dataset: str, method: str) -> dict:
    """Train a model and estimate both bounds."""
    train, _ = gi.datasets.uci(dataset, 0)
    X, Y = (gi.datasets.Standardiser.fit(rows).transform(rows) for rows in (train.X, train.Y))
    M = inducing_for(X, STANDARD.num_inducing)
    model = gi.architectures.build_deep_gp(X, Y, num_inducing=M, **METHODS[method].settings)
    rate = best_rate(dataset, method)
    train_by(replace(STANDARD, learning_rate=rate), model, (X, Y), seed=0)
    elbo = gi.bounds.estimate_elbo(model, (X, Y), NUM_DRAWS, seed=1)
    iwbo = pd.Series(
        [float(model.iwbo((X, Y), NUM_DRAWS, seed=seed)) for seed in range(2, 2 + REPEATS)]
    )
    return {
        "set": dataset,
        "method": method,
        "rate": rate,
        "rows": len(X),
        "bound": elbo.value / len(X),
        "bound_error": elbo.standard_error / len(X),
        "iwbo": iwbo.mean() / len(X),
        "iwbo_error": iwbo.sem() / len(X),
        "noise": float(model.likelihood.variance.numpy()),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["concrete"])
    names = ["dgp-local-2", "dgp-global-2", "dgp-global-2-full"]
    parser.add_argument("--methods", nargs="+", default=names)
    options = parser.parse_args()
    for dataset in options.sets:
        for method in options.methods:
            with options.out.open("a") as file:
                file.write(json.dumps(run(dataset, method)) + "\n")

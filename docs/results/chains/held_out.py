"""Log densities of training rows that were held out, by E log p(y | f) and by log E p(y | f).

python docs/results/chains/held_out.py OUT.jsonl [--sets NAME ...] [--methods NAME ...]

Split 0, budget `standard`; a fifth of the training rows is held out, by seed 0. The test rows are
not used: a choice between the two terms may rest on these numbers.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import tensorflow as tf
from densities import log_densities

import gpflow_gi as gi
from gpflow_gi.datasets.uci_sets import UCI_SETS

SETS = sorted(UCI_SETS)

METHODS = {
    f"dgp-{inference}-2{ending}": (inference, alpha)
    for inference in ("local", "global")
    for ending, alpha in (("", 0.0), ("-alpha-1", 1.0))
}
"""Methods of the benchmark: their inference, and alpha of the data term."""

SHARE = 0.2
"""Share of the training rows that are held out."""


def run(dataset: str, method: str) -> dict:
    """Train a model, and return its log density of the rows held out, in the target's unit."""
    train, _ = gi.datasets.uci(dataset, 0)
    order = np.random.default_rng(0).permutation(len(train.X))
    held, kept = np.split(order, [int(SHARE * len(order))])
    kept_rows, held_rows = ((train.X[rows], train.Y[rows]) for rows in (kept, held))
    inference, alpha = METHODS[method]
    densities, noise = log_densities(kept_rows, held_rows, alpha=alpha, inference=inference)
    return {
        "set": dataset,
        "method": method,
        "kept": len(kept),
        "held": len(held),
        "log_density": float(densities.mean()),
        "error": float(densities.std(ddof=1) / np.sqrt(len(held))),
        "noise_variance": noise,
    }


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    options = parser.parse_args()
    for dataset in options.sets:
        for method in options.methods:
            with options.out.open("a") as file:
                file.write(json.dumps(run(dataset, method)) + "\n")

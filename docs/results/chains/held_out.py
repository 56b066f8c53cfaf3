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

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.train import inducing_for, train_by
from gpflow_gi.datasets.uci_sets import UCI_SETS

SETS = sorted(UCI_SETS)

METHODS = {
    "dgp-local-2": ("local", gi.objectives.Elbo()),
    "dgp-local-2-alpha-1": ("local", gi.objectives.AlphaEnergy(1.0)),
    "dgp-global-2": ("global", gi.objectives.Elbo()),
    "dgp-global-2-alpha-1": ("global", gi.objectives.AlphaEnergy(1.0)),
}

SHARE = 0.2
"""Share of the training rows that are held out."""


def run(dataset: str, method: str) -> dict:
    """Train a model, and return its log density of the rows held out, in the target's unit."""
    train, _ = gi.datasets.uci(dataset, 0)
    order = np.random.default_rng(0).permutation(len(train.X))
    held, kept = np.split(order, [int(SHARE * len(order))])
    of_x, of_y = (gi.datasets.Standardiser.fit(rows[kept]) for rows in (train.X, train.Y))
    X, Y = of_x.transform(train.X), of_y.transform(train.Y)
    inference, objective = METHODS[method]
    model = gi.architectures.build_deep_gp(
        X[kept],
        Y[kept],
        inference=inference,
        num_inducing=inducing_for(X[kept], STANDARD.num_inducing),
    )
    train_by(STANDARD, model, (X[kept], Y[kept]), seed=0, objective=objective)
    densities = model.predict_log_density((X[held], Y[held]), 100, seed=0)
    densities = np.asarray(densities) - np.log(of_y.scale[0])
    return {
        "set": dataset,
        "method": method,
        "kept": len(kept),
        "held": len(held),
        "log_density": float(densities.mean()),
        "error": float(densities.std(ddof=1) / np.sqrt(len(held))),
        "noise_variance": float(model.likelihood.variance.numpy()),
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

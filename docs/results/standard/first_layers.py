"""First layers of trained deep GPs of two layers: their kernel, and their KL divergence.

python docs/results/standard/first_layers.py OUT.jsonl [--sets NAME ...] [--methods NAME ...]

Split 0, budget `standard`, standardised data.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.train import inducing_for, train_by


def run(dataset: str, method: str) -> dict:
    """Train a model of two layers, and measure its first one."""
    train, _ = gi.datasets.uci(dataset, 0)
    X, Y = (gi.datasets.Standardiser.fit(rows).transform(rows) for rows in (train.X, train.Y))
    settings = dict(METHODS[method].settings)
    M = inducing_for(X, STANDARD.num_inducing)
    model = gi.architectures.build_deep_gp(X, Y, num_inducing=M, **settings)
    train_by(STANDARD, model, (X, Y), seed=0)
    first = model.layers[0]
    U = np.zeros((0, X.shape[1])) if model.inducing_inputs is None else model.inducing_inputs
    q = first.condition(tf.convert_to_tensor(U))
    return {
        "set": dataset,
        "method": method,
        "bound": gi.bounds.estimate_elbo(model, (X, Y), 100, seed=1).value / len(X),
        "noise": float(model.likelihood.variance.numpy()),
        "standard_deviation": float(np.sqrt(first.kernel.variance.numpy())),
        "lengthscales": first.kernel.lengthscales.numpy().tolist(),
        "kl": float(q.kl()) / len(X),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["energy"])
    names = ["dgp-local-2", "dgp-global-2-whitened", "dgp-global-2-full"]
    parser.add_argument("--methods", nargs="+", default=names)
    options = parser.parse_args()
    for dataset in options.sets:
        for method in options.methods:
            with options.out.open("a") as file:
                file.write(json.dumps(run(dataset, method)) + "\n")

"""Test log densities of single rows, by E log p(y | f) and by log E p(y | f).

python docs/results/chains/rows.py OUT.jsonl [--sets NAME ...] [--splits SPLIT ...]

A sparse GP and a deep GP of two local layers, budget `standard`, standardised data.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.train import inducing_for, train_by

WORST = 5
"""Rows whose log density is the worst, without which the mean is told too."""


def run(dataset: str, split: int, num_layers: int, alpha: float) -> dict:
    """Train a model, and return means of its test log density, in the target's unit."""
    train, test = gi.datasets.uci(dataset, split)
    of_x, of_y = (gi.datasets.Standardiser.fit(rows) for rows in (train.X, train.Y))
    X, Y = of_x.transform(train.X), of_y.transform(train.Y)
    M = inducing_for(X, STANDARD.num_inducing)
    model = gi.architectures.build_deep_gp(
        X, Y, num_layers=num_layers, inference="local", num_inducing=M
    )
    objective = gi.objectives.AlphaEnergy(alpha) if alpha else gi.objectives.Elbo()
    train_by(STANDARD, model, (X, Y), seed=0, objective=objective)
    rows = of_x.transform(test.X), of_y.transform(test.Y)
    densities = np.sort(model.predict_log_density(rows, 100, seed=0) - np.log(of_y.scale[0]))
    return {
        "set": dataset,
        "split": split,
        "layers": num_layers,
        "alpha": alpha,
        "rows": len(densities),
        "log_density": float(densities.mean()),
        "without_worst": float(densities[WORST:].mean()),
        "worst": densities[:WORST].tolist(),
        "noise_variance": float(model.likelihood.variance.numpy()),
    }


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["power"])
    parser.add_argument("--splits", nargs="+", type=int, default=[0, 1])
    options = parser.parse_args()
    for dataset in options.sets:
        for split in options.splits:
            for num_layers in (1, 2):
                for alpha in (0.0, 1.0):
                    with options.out.open("a") as file:
                        file.write(json.dumps(run(dataset, split, num_layers, alpha)) + "\n")

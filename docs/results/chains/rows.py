"""Test log densities of single rows, by E log p(y | f) and by log E p(y | f).

python docs/results/chains/rows.py OUT.jsonl [--sets NAME ...] [--splits SPLIT ...]

A sparse GP and a deep GP of two local layers, budget `standard`, standardised data.
"""

import argparse
import json
from pathlib import Path

import numpy as np
import tensorflow as tf
from densities import log_densities

import gpflow_gi as gi

WORST = 5
"""Rows whose log density is the worst, without which the mean is told too."""


def run(dataset: str, split: int, num_layers: int, alpha: float) -> dict:
    """Train a model, and return means of its test log density, in the target's unit."""
    train, test = gi.datasets.uci(dataset, split)
    densities, noise = log_densities(
        (train.X, train.Y), (test.X, test.Y), alpha=alpha, num_layers=num_layers
    )
    densities = np.sort(densities)
    return {
        "set": dataset,
        "split": split,
        "layers": num_layers,
        "alpha": alpha,
        "rows": len(densities),
        "log_density": float(densities.mean()),
        "without_worst": float(densities[WORST:].mean()),
        "worst": densities[:WORST].tolist(),
        "noise_variance": noise,
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

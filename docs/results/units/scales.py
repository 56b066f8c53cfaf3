"""Networks with an exact last layer: learned scales of the prior, and numbers of hidden layers.

python docs/results/units/scales.py OUT.jsonl [--sets NAME ...]

Bounds per row and test log densities of split 0 at the budget `quick`. Hidden layers have 50 units
and global inducing points, with a precision of each unit. Priors: "neal", with a fixed scale;
"learned", with one for each layer that maximises the bound; "ard", with one for each input and
unit.
"""

import argparse
import json
from pathlib import Path

import numpy as np

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import QUICK
from gpflow_gi.benchmark.train import inducing_for, train_by

CASES = [(prior, depth) for prior in ("neal", "learned", "ard") for depth in (1, 2, 3)]
"""Priors, and numbers of hidden layers."""


def run(dataset: str, prior: str, depth: int) -> dict:
    """Train a network; its bound per row, and the test log density in the target's unit."""
    train, test = gi.datasets.uci(dataset, 0)
    of_x, of_y = (gi.datasets.Standardiser.fit(rows) for rows in (train.X, train.Y))
    data = of_x.transform(train.X), of_y.transform(train.Y)
    model = gi.architectures.build_bnn(
        *data,
        widths=[50] * depth,
        inference="global -> optimal",
        prior=prior,
        shared_precision=False,
        num_inducing=inducing_for(data[0], QUICK.num_inducing),
    )
    train_by(QUICK, model, data, seed=0)
    bound = gi.bounds.estimate_elbo(model, data, 100, seed=1).value / len(data[0])
    rows = of_x.transform(test.X), of_y.transform(test.Y)
    densities = model.predict_log_density(rows, 100, seed=0) - np.log(of_y.scale[0])
    return {
        "set": dataset,
        "prior": prior,
        "hidden_layers": depth,
        "bound": bound,
        "log_density": float(np.mean(densities)),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["boston", "energy", "yacht"])
    options = parser.parse_args()
    for dataset in options.sets:
        for case in CASES:
            with options.out.open("a") as file:
                file.write(json.dumps(run(dataset, *case)) + "\n")

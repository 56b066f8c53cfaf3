"""Networks with an exact last layer: learned scales of the prior, and more hidden layers.

python docs/results/units/scales.py OUT.jsonl [--sets NAME ...]

Bounds per row and test log densities of split 0 at the budget `quick`. Hidden layers have global
inducing points and a precision of each unit. "scales": of the prior, fixed, one learned for each
layer, or one learned for each input of a layer, which is an input of the network or a unit of the
layer below. Those multiply the inputs of the layer, as scales of the rows of its weights do; biases
keep the fixed scale.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import QUICK
from gpflow_gi.benchmark.train import inducing_for, train_by

CASES = [("fixed", 2), ("layer", 2), ("unit", 2), *(("fixed", depth) for depth in (1, 3, 4))]
"""Scales, and the number of hidden layers."""


class Scales(gpflow.Module):
    """A positive factor on each input."""

    def __init__(self, num_inputs: int) -> None:
        super().__init__()
        self.factors = gpflow.Parameter(np.ones(num_inputs), transform=gpflow.utilities.positive())

    def __call__(self, X: tf.Tensor) -> tf.Tensor:
        return X * self.factors


def network(X: np.ndarray, Y: np.ndarray, scales: str, depth: int) -> gi.models.DeepGP:
    """A network at its start."""
    model = gi.architectures.build_bnn(
        X,
        Y,
        widths=[50] * depth,
        inference="global -> optimal",
        shared_precision=False,
        num_inducing=inducing_for(X, QUICK.num_inducing),
    )
    dense = [layer for layer in model.layers if isinstance(layer, gi.layers.DenseLayer)]
    if scales == "layer":
        for layer in dense:
            gpflow.set_trainable(layer.prior.scale, True)
    if scales != "unit":
        return model
    layers: list[Any] = []
    for layer in model.layers:
        if layer in dense:
            layers.append(Scales(50 if layers else X.shape[1]))
        layers.append(layer)
    return gi.models.DeepGP(
        layers, model.likelihood, num_data=len(X), inducing_inputs=model.inducing_inputs.numpy()
    )


def run(dataset: str, scales: str, depth: int) -> dict:
    """Train a network; its bound per row, and the test log density in the target's unit."""
    train, test = gi.datasets.uci(dataset, 0)
    of_x, of_y = (gi.datasets.Standardiser.fit(rows) for rows in (train.X, train.Y))
    data = of_x.transform(train.X), of_y.transform(train.Y)
    model = network(*data, scales, depth)
    train_by(QUICK, model, data, seed=0)
    bound = gi.bounds.estimate_elbo(model, data, 100, seed=1).value / len(data[0])
    rows = of_x.transform(test.X), of_y.transform(test.Y)
    densities = model.predict_log_density(rows, 100, seed=0) - np.log(of_y.scale[0])
    return {
        "set": dataset,
        "scales": scales,
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

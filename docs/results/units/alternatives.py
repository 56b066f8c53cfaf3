"""Networks with an exact last layer: starts at trained weights, and groups of units.

python docs/results/units/alternatives.py OUT.jsonl [--sets NAME ...]

Bounds per row of split 0 at the budget `quick`. Hidden layers have global inducing points. "start":
the network at which training starts, which is a draw of the prior, a trained network with
factorised weights, or the most probable weights, with its noise variance (at least 0.01 for the
last); and the initial pseudo-precision times the mean square of the pseudo-outputs, 1 in the
library. CPU seconds are those of the training after the start. "groups": the number of groups of
units; the units of a group share one pseudo-precision.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import QUICK
from gpflow_gi.benchmark.train import inducing_for, train_by
from gpflow_gi.core.basis import Basis
from gpflow_gi.core.gaussians import WhitenedGaussian
from gpflow_gi.core.regression import regress
from gpflow_gi.posteriors import GlobalInducing

Data = tuple[np.ndarray, np.ndarray]
STARTS = [(name, scale) for name in ("draw", "factorised", "map") for scale in (0.1, 1.0, 10.0)]
GROUPS = [1, 2, 5, 10, 25, 50]


class InGroups(GlobalInducing):
    """Global inducing points with one diagonal pseudo-precision for each group of units."""

    def __init__(self, start: GlobalInducing, num_groups: int) -> None:
        M, P = start.pseudo_outputs.shape
        super().__init__(M, P, pseudo_outputs=start.pseudo_outputs.numpy())
        gpflow.set_trainable(self.pseudo_precision, False)
        self.precisions = gpflow.Parameter(
            np.tile(start.pseudo_precision.numpy(), (num_groups, 1)),
            transform=start.pseudo_precision.transform,
        )
        self.group = np.arange(P) * num_groups // P

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        # As many factorisations as units: the bound is the same, the time is not.
        roots = tf.gather(tf.sqrt(self.precisions), self.group)
        return regress(basis, roots, tf.convert_to_tensor(self.pseudo_outputs), shared=False)


def network(data: Data, inference: str, **settings: Any) -> gi.models.DeepGP:
    """A network at its usual start."""
    M = inducing_for(data[0], QUICK.num_inducing)
    return gi.architectures.build_bnn(*data, inference=inference, num_inducing=M, **settings)


def hidden_layers(model: gi.models.DeepGP) -> list[gi.layers.DenseLayer]:
    """The layers of weights below the last."""
    return [layer for layer in model.layers if isinstance(layer, gi.layers.DenseLayer)][:-1]


def weights(start: str, data: Data) -> tuple[list[np.ndarray], float] | None:
    """Weights [K, P] of the hidden layers at a start, and its noise variance; None for a draw."""
    if start == "draw":
        return None
    model = network(data, "factorised")
    if start == "factorised":
        train_by(QUICK, model, data, seed=0)
        means = [layer.posterior.mean.numpy() for layer in hidden_layers(model)]
        return means, float(model.likelihood.variance.numpy())
    found = gi.inference.map_estimate(model, data, steps=QUICK.steps, train_likelihood=True)
    theta = tf.constant(found.theta)[None]
    layers = list(gi.inference.WeightSpace(model).coordinates.values())[:-1]
    # The noise of the most probable weights can be nearly zero.
    noise = max(float(found.model.likelihood.variance.numpy()), 0.01)
    return [layer.weights(theta)[0].numpy() for layer in layers], noise


def start_at(
    model: gi.models.DeepGP, place: tuple[list[np.ndarray], float] | None, scale: float
) -> None:
    """Set the pseudo-outputs to the activations under these weights, and the precisions."""
    Z = model.inducing_inputs.numpy()
    for i, layer in enumerate(hidden_layers(model)):
        q = layer.posterior
        if place is not None:
            q.pseudo_outputs.assign(np.hstack([Z, np.ones((len(Z), 1))]) @ place[0][i])
        V = q.pseudo_outputs.numpy()
        q.pseudo_precision.assign(np.full(q.pseudo_precision.shape, scale / np.mean(V**2)))
        Z = np.maximum(V, 0.0)
    if place is not None:
        model.likelihood.variance.assign(place[1])


def trained(model: gi.models.DeepGP, data: Data) -> dict[str, float]:
    """Train a model; its bound per row, and the CPU time of training."""
    began = time.process_time()
    train_by(QUICK, model, data, seed=0)
    seconds = time.process_time() - began
    bound = gi.bounds.estimate_elbo(model, data, 100, seed=1).value / len(data[0])
    return {"bound": bound, "cpu_seconds": seconds}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["boston", "energy", "yacht"])
    options = parser.parse_args()

    def write(**result: Any) -> None:
        """Add a line to the file."""
        with options.out.open("a") as file:
            file.write(json.dumps(result) + "\n")

    for name in options.sets:
        train, _ = gi.datasets.uci(name, 0)
        X, Y = (gi.datasets.Standardiser.fit(rows).transform(rows) for rows in (train.X, train.Y))
        data = X, Y
        places = {start: weights(start, data) for start in ("draw", "factorised", "map")}
        for start, scale in STARTS:
            model = network(data, "global -> optimal", shared_precision=False)
            start_at(model, places[start], scale)
            write(set=name, start=start, precision=scale, **trained(model, data))
        for number in GROUPS:
            model = network(data, "global -> optimal")
            for layer in hidden_layers(model):
                layer.posterior = InGroups(layer.posterior, number)
            write(set=name, groups=number, **trained(model, data))

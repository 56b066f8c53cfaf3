"""A trained deep GP with local inducing points, with its upper inducing inputs drawn instead.

python docs/results/standard/drawn_inputs.py OUT.jsonl [--sets NAME ...]

Two layers are trained with local inducing points. The same q(z) are then put at global inducing
points: those of the first layer, drawn through it and shifted, so that their means are the inputs
that the second layer has learned. The difference of the two bounds is the price of drawing them;
training goes on from there, over all parameters and the shift.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import gpflow
import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.benchmark.train import inducing_for, train_by
from gpflow_gi.core.basis import Basis
from gpflow_gi.core.gaussians import FreeGaussian
from gpflow_gi.posteriors.base import Posterior


class Shifted(Posterior):
    """A free Gaussian q(z) at the activations from below plus a shift."""

    uses_global_inducing = True

    def __init__(self, q_mu: np.ndarray, q_sqrt: np.ndarray, shift: np.ndarray | None) -> None:
        super().__init__()
        self.num_inducing, self.output_dim = q_mu.shape
        self.q_mu = gpflow.Parameter(q_mu)
        self.q_sqrt = gpflow.Parameter(q_sqrt, transform=gpflow.utilities.triangular())
        self.shift = None if shift is None else gpflow.Parameter(shift)

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        return U if self.shift is None else U + tf.convert_to_tensor(self.shift)

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> FreeGaussian:
        return FreeGaussian(self.q_mu[:, outputs], self.q_sqrt[outputs])


def drawn(model: gi.models.DeepGP) -> gi.models.DeepGP:
    """The model with the second layer's inducing inputs drawn through the first."""
    below, above = model.layers
    U, Z = (layer.posterior.inducing_inputs.numpy() for layer in model.layers)
    means, _ = below.condition(tf.constant(U)).predict(tf.constant(U))
    layers = [
        gi.layers.GPLayer(
            gpflow.utilities.deepcopy(layer.kernel),
            layer.output_dim,
            Shifted(layer.posterior.q_mu.numpy(), layer.posterior.q_sqrt.numpy(), shift),
            mean_function=layer.mean_function,
        )
        for layer, shift in ((below, None), (above, Z - means.numpy()))
    ]
    likelihood = gpflow.utilities.deepcopy(model.likelihood)
    return gi.models.DeepGP(layers, likelihood, num_data=model.num_data, inducing_inputs=U)


def run(name: str) -> dict[str, float | str]:
    """Bounds per row of the first split: local, drawn, and both after more training."""
    train, _ = gi.datasets.uci(name, 0)
    X, Y = (gi.datasets.Standardiser.fit(rows).transform(rows) for rows in (train.X, train.Y))
    M = inducing_for(X, STANDARD.num_inducing)
    local = gi.architectures.build_deep_gp(X, Y, num_layers=2, inference="local", num_inducing=M)
    train_by(STANDARD, local, (X, Y), seed=0)
    other = drawn(local)

    def bound(model: gi.models.DeepGP) -> float:
        return gi.bounds.estimate_elbo(model, (X, Y), 100, seed=1).value / len(X)

    result: dict[str, float | str] = {"set": name, "local": bound(local), "drawn": bound(other)}
    more = replace(STANDARD, learning_rate=0.01, kl_warmup=0)
    for key, model in (("local, trained on", local), ("drawn, trained on", other)):
        train_by(more, model, (X, Y), seed=0)
        result[key] = bound(model)
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["concrete", "wine", "energy"])
    options = parser.parse_args()
    for name in options.sets:
        with options.out.open("a") as file:
            file.write(json.dumps(run(name)) + "\n")

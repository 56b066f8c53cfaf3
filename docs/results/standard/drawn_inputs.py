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


class Drawn(Posterior):
    """A free Gaussian q(z) at c + a u, with the activations u from below."""

    uses_global_inducing = True

    def __init__(
        self, q_mu: np.ndarray, q_sqrt: np.ndarray, centre: np.ndarray, factor: np.ndarray
    ) -> None:
        super().__init__()
        self.num_inducing, self.output_dim = q_mu.shape
        self.q_mu = gpflow.Parameter(q_mu)
        self.q_sqrt = gpflow.Parameter(q_sqrt, transform=gpflow.utilities.triangular())
        self.centre = gpflow.Parameter(centre)
        self.factor = gpflow.Parameter(factor, trainable=False)

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        return tf.convert_to_tensor(self.centre) + tf.convert_to_tensor(self.factor) * U

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> FreeGaussian:
        return FreeGaussian(self.q_mu[:, outputs], self.q_sqrt[outputs])


def trained_local(name: str) -> tuple[gi.models.DeepGP, tuple[np.ndarray, np.ndarray]]:
    """Two trained layers with local inducing points, and the training rows of split 0."""
    train, _ = gi.datasets.uci(name, 0)
    X, Y = (gi.datasets.Standardiser.fit(rows).transform(rows) for rows in (train.X, train.Y))
    M = inducing_for(X, STANDARD.num_inducing)
    local = gi.architectures.build_deep_gp(X, Y, num_layers=2, inference="local", num_inducing=M)
    train_by(STANDARD, local, (X, Y), seed=0)
    return local, (X, Y)


def drawn(model: gi.models.DeepGP, factor: float) -> gi.models.DeepGP:
    """The model with the second layer's inducing inputs at c + a u, at first with the mean Z."""
    below, above = model.layers
    U, Z = (layer.posterior.inducing_inputs.numpy() for layer in model.layers)
    means, _ = below.condition(tf.constant(U)).predict(tf.constant(U))
    layers = [
        gi.layers.GPLayer(
            gpflow.utilities.deepcopy(layer.kernel),
            layer.output_dim,
            Drawn(layer.posterior.q_mu.numpy(), layer.posterior.q_sqrt.numpy(), centre, a),
            mean_function=layer.mean_function,
        )
        for layer, centre, a in (
            (below, np.zeros_like(U), np.ones_like(U)),
            (above, Z - factor * means.numpy(), np.full_like(Z, factor)),
        )
    ]
    gpflow.set_trainable(layers[0].posterior.centre, False)  # U are parameters of the model
    likelihood = gpflow.utilities.deepcopy(model.likelihood)
    return gi.models.DeepGP(layers, likelihood, num_data=model.num_data, inducing_inputs=U)


def bound(model: gi.models.DeepGP, data: tuple[np.ndarray, np.ndarray]) -> float:
    """The bound per row."""
    return gi.bounds.estimate_elbo(model, data, 100, seed=1).value / len(data[0])


MORE = replace(STANDARD, learning_rate=0.01, kl_warmup=0)
"""The budget of further training."""


def run(name: str) -> dict[str, float | str]:
    """Bounds per row of the first split: local, drawn, and both after more training."""
    local, data = trained_local(name)
    other = drawn(local, 1.0)
    result: dict[str, float | str] = {
        "set": name,
        "local": bound(local, data),
        "drawn": bound(other, data),
    }
    for key, model in (("local, trained on", local), ("drawn, trained on", other)):
        train_by(MORE, model, data, seed=0)
        result[key] = bound(model, data)
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["concrete", "wine", "energy"])
    options = parser.parse_args()
    for name in options.sets:
        with options.out.open("a") as file:
            file.write(json.dumps(run(name)) + "\n")

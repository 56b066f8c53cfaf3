"""Inducing inputs that are drawn in part, after a trained deep GP with local inducing points.

python docs/results/standard/partly_drawn.py OUT.jsonl [--sets NAME ...]

Two layers are trained with local inducing points. The second layer's inducing inputs are then c + a
u, with u those drawn through the first layer, a learned c, and a factor a of each coordinate of
each point. At a = 0 this is the local posterior, with rows that share the draws of u; a = 1 with
c = 0 is a global one. Training goes on at a = 0 ("fixed") or with a learned a from there, at the
rate 0.01 without KL warm-up, with S = 1 and S = 4 samples; and of the local model, with S = 1.
"Fixed" minus local is the price of shared draws in training, "learned" minus "fixed" what
correlated layers gain.
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


class PartlyDrawn(Posterior):
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
        self.factor = gpflow.Parameter(factor)

    def basis_inputs(self, U: tf.Tensor) -> tf.Tensor:
        return tf.convert_to_tensor(self.centre) + tf.convert_to_tensor(self.factor) * U

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> FreeGaussian:
        return FreeGaussian(self.q_mu[:, outputs], self.q_sqrt[outputs])


def partly_drawn(model: gi.models.DeepGP, *, learned: bool) -> gi.models.DeepGP:
    """The model with the factor 0 in the second layer, learned or not."""
    U, Z = (layer.posterior.inducing_inputs.numpy() for layer in model.layers)
    layers = []
    places = ((np.zeros_like(U), np.ones_like(U)), (Z, np.zeros_like(Z)))
    for i, (layer, place) in enumerate(zip(model.layers, places, strict=True)):
        q = layer.posterior
        posterior = PartlyDrawn(q.q_mu.numpy(), q.q_sqrt.numpy(), *place)
        gpflow.set_trainable(posterior.factor, learned and i == 1)
        gpflow.set_trainable(posterior.centre, i == 1)  # the first layer's are the model's own
        layers.append(
            gi.layers.GPLayer(
                gpflow.utilities.deepcopy(layer.kernel),
                layer.output_dim,
                posterior,
                mean_function=layer.mean_function,
            )
        )
    likelihood = gpflow.utilities.deepcopy(model.likelihood)
    return gi.models.DeepGP(layers, likelihood, num_data=model.num_data, inducing_inputs=U)


def run(name: str) -> dict[str, float | str]:
    """Bounds per row of the first split, and the mean size of the learned factor."""
    train, _ = gi.datasets.uci(name, 0)
    X, Y = (gi.datasets.Standardiser.fit(rows).transform(rows) for rows in (train.X, train.Y))
    M = inducing_for(X, STANDARD.num_inducing)
    local = gi.architectures.build_deep_gp(X, Y, num_layers=2, inference="local", num_inducing=M)
    train_by(STANDARD, local, (X, Y), seed=0)

    def bound(model: gi.models.DeepGP) -> float:
        return gi.bounds.estimate_elbo(model, (X, Y), 100, seed=1).value / len(X)

    result: dict[str, float | str] = {"set": name, "local": bound(local)}
    more = replace(STANDARD, learning_rate=0.01, kl_warmup=0)
    for S in (1, 4):
        for word, learned in (("fixed", False), ("learned", True)):
            model = partly_drawn(local, learned=learned)
            train_by(replace(more, num_samples=S), model, (X, Y), seed=0)
            result[f"{word}, S = {S}"] = bound(model)
            if learned:
                factor = model.layers[1].posterior.factor.numpy()
                result[f"mean factor, S = {S}"] = float(np.abs(factor).mean())
    train_by(more, local, (X, Y), seed=0)
    result["local, trained on"] = bound(local)
    return result


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=["concrete", "wine", "energy"])
    options = parser.parse_args()
    for name in options.sets:
        with options.out.open("a") as file:
            file.write(json.dumps(run(name)) + "\n")

"""A last layer for minibatches: trained, or by running natural parameters, or by some of the rows.

python docs/results/optimal-gp/running.py OUT.jsonl [--sets NAME ...] [--ways NAME ...] [--steps N]

Deep GPs with two layers, split 0, budget `standard` but for the number of steps; each step has 500
rows. The hidden layer has global inducing points, with a precision of each unit. The last layer's
q(z) has B = I + G and c, the natural parameters of `gpflow_gi.posteriors.Optimal`, whose sums over
all N rows are

    G = A A^T / variance,    c = A (Y - m) / variance.

- "trained": V and Lambda of a GlobalInducing layer, by Adam.
- "running": the sums are estimated by the rows of each step, times N / 500, and averaged over steps
  with the weight RATE of the new one, which falls with the learning rate. They are kept for u, the
  layer's values at the inducing inputs, whose coordinates do not change with the draw:
  G_u = L^-T G L^-1, c_u = L^-T c.
- "running, whitened": the same, for z.
- "subset": the sums over 2000 rows, always the same, times N / 2000, for each draw.
- "optimal": the sums over all rows, for each draw.
"""

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.benchmark.budgets import STANDARD
from gpflow_gi.core.basis import Basis
from gpflow_gi.core.gaussians import WhitenedGaussian
from gpflow_gi.core.linalg import product
from gpflow_gi.core.regression import WeightSpaceRegression
from gpflow_gi.models.propagation import propagate_inducing
from gpflow_gi.posteriors import Optimal
from gpflow_gi.posteriors.base import Posterior
from gpflow_gi.training.learning_rate import LinearTail

RATES = {"kin8nm": 0.03, "power": 0.015, "protein": 0.015}
"""Learning rates with the best bound of `dgp-global-2-unshared` at `standard`."""

WAYS = ("trained", "running", "running, whitened", "subset", "optimal")

RATE = 0.1
"""Weight of a step's sums in their running averages."""

SUBSET = 2000

NUM_SAMPLES = 100
"""Samples of the reported bound."""


class Running(Posterior):
    """q(z) of running natural parameters, for one output."""

    uses_global_inducing = True

    def __init__(self, num_inducing: int, *, whitened: bool) -> None:
        super().__init__()
        self.num_inducing, self.output_dim, self.whitened = num_inducing, 1, whitened
        self.G = tf.Variable(tf.zeros([num_inducing, num_inducing], tf.float64), trainable=False)
        self.c = tf.Variable(tf.zeros([num_inducing, 1], tf.float64), trainable=False)

    def q(self, basis: Basis, outputs: slice, num_samples: int | None = None) -> WhitenedGaussian:
        G, c = tf.convert_to_tensor(self.G), tf.convert_to_tensor(self.c)
        if not self.whitened:  # u = m + L z
            G = tf.matmul(basis.L, tf.matmul(G, basis.L), transpose_a=True)
            c = tf.matmul(basis.L, c, transpose_a=True)
        return WeightSpaceRegression.from_moments(G, c)

    def move(
        self, model: gi.models.DeepGP, rows: tuple, weight: tf.Tensor, seed: tf.Tensor
    ) -> None:
        """Average the sums of a step's rows into those of earlier ones."""
        X, Y = rows
        drawn = propagate_inducing(model.layers, model.inducing_inputs, X.shape[1], 1, seed)
        F = drawn.rows(X, tf.stack([seed[0], seed[1] + 1]))
        basis = drawn.last._processes[0].basis
        weights = model.num_data / X.shape[0] / tf.reshape(model.likelihood.variance, [])
        G, c = sums(basis(F), Y - model.layers[-1].mean(F), weights)
        if not self.whitened:
            G = solved(basis.L, tf.linalg.matrix_transpose(solved(basis.L, G)))
            c = solved(basis.L, c)
        self.G.assign_add(weight * (G - self.G))
        self.c.assign_add(weight * (c - self.c))


def sums(A: tf.Tensor, R: tf.Tensor, weights: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """G and c of rows that all have one weight, for R = Y - m."""
    return weights * tf.matmul(A, A, transpose_b=True), weights * product(A, R)


def solved(L: tf.Tensor, R: tf.Tensor) -> tf.Tensor:
    """L^-T R."""
    return tf.linalg.triangular_solve(L, R, adjoint=True)


class Subset(Optimal):
    """Optimal, with the sums over its rows multiplied as if there were `num_rows_in_all`."""

    def __init__(self, *data: Any, num_rows_in_all: int, num_inducing: int) -> None:
        super().__init__(*data, num_inducing=num_inducing)
        self.factor = num_rows_in_all / self.num_rows

    def q(self, basis: Basis, outputs: slice, *args: Any, **of_rows: Any) -> WhitenedGaussian:
        weights = self.factor / tf.reshape(self.likelihood.variance, [])
        R = self.targets - of_rows["means"]
        return WeightSpaceRegression.from_moments(*sums(basis(of_rows["rows"]), R, weights))


def start(X: np.ndarray, Y: np.ndarray, way: str) -> gi.models.DeepGP:
    """The model before training."""
    model = gi.architectures.build_deep_gp(
        X,
        Y,
        inference=["global", "optimal" if way in ("subset", "optimal") else "global"],
        shared_precision=False,
        num_inducing=STANDARD.num_inducing,
        seed=0,
    )
    if way.startswith("running"):
        whitened = way.endswith("whitened")
        model.layers[-1].posterior = Running(STANDARD.num_inducing, whitened=whitened)
    if way == "subset":
        some = np.random.default_rng(0).permutation(len(X))[:SUBSET]
        model.layers[-1].posterior = Subset(
            X[some],
            Y[some],
            model.likelihood,
            num_rows_in_all=len(X),
            num_inducing=STANDARD.num_inducing,
        )
    return model


def train(model: gi.models.DeepGP, data: tuple, rate: float, steps: int) -> None:
    """Take Adam's steps as at `standard`, and those of running natural parameters after each."""
    schedule, optimizer = LinearTail(rate, steps), tf.keras.optimizers.Adam(rate, beta_2=0.99)
    variables = model.trainable_variables
    optimizer.build(variables)
    posterior = model.layers[-1].posterior
    is_running = isinstance(posterior, Running)

    def rows_of(step: tf.Tensor) -> tuple[tf.Tensor, ...]:
        shape = [STANDARD.batch_size]
        chosen = tf.random.stateless_uniform(shape, [step, 0], 0, len(data[0]), tf.int32)
        return tuple(tf.gather(array, chosen) for array in data)

    @tf.function(autograph=False)
    def move(step: tf.Tensor, weight: tf.Tensor) -> None:
        posterior.move(model, rows_of(step), weight, tf.stack([step, 1]))

    @tf.function(autograph=False)
    def take(step: tf.Tensor) -> None:
        kl_weight = tf.minimum(tf.cast(step + 1, tf.float64) / STANDARD.kl_warmup, 1.0)
        with tf.GradientTape() as tape:
            first, kl = model.bound_terms(rows_of(step), 1, tf.stack([step, 3]))
            loss = kl_weight * kl - first
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))

    if is_running:  # an average of 10,000 rows or more, at the start
        for i in range(40):
            move(tf.constant(steps + i), tf.constant(1.0 / (i + 1), tf.float64))
    for i in range(steps):
        step = tf.constant(i)
        optimizer.learning_rate.assign(schedule(step))
        take(step)
        if is_running:
            move(step, tf.cast(RATE * schedule(step) / rate, tf.float64))


def run(dataset: str, way: str, steps: int) -> dict:
    """Train, and return the bound per row, with its error over samples."""
    train_rows, _ = gi.datasets.uci(dataset, 0)
    X, Y = (
        gi.datasets.Standardiser.fit(array).transform(array)
        for array in (train_rows.X, train_rows.Y)
    )
    data = tf.constant(X), tf.constant(Y)
    model = start(X, Y, way)
    started = time.process_time()
    train(model, data, RATES[dataset], steps)
    seconds = time.process_time() - started
    bounds = [float(model.elbo(data, 1, seed=i)) / len(X) for i in range(NUM_SAMPLES)]
    return {
        "set": dataset,
        "way": way,
        "steps": steps,
        "cpu_seconds": round(seconds, 1),
        "bound": float(np.mean(bounds)),
        "error": float(np.std(bounds, ddof=1) / NUM_SAMPLES**0.5),
    }


if __name__ == "__main__":
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--sets", nargs="+", default=list(RATES))
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--steps", type=int, default=3000)
    options = parser.parse_args()
    for dataset in options.sets:
        for way in options.ways:
            with options.out.open("a") as file:
                file.write(json.dumps(run(dataset, way, options.steps)) + "\n")

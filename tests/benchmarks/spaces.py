"""The time of a dense layer's regression in the space of the pseudo-outputs and of the weights.

python -m tests.benchmarks.spaces [--out FOLDER] [--fast]
"""

from collections.abc import Callable
from functools import partial

import numpy as np
import tensorflow as tf

from gpflow_gi.core.gaussians import WhitenedGaussian
from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.core.regression import FunctionSpaceRegression, WeightSpaceRegression
from gpflow_gi.core.weight_root import WeightRoot
from gpflow_gi.layers.dense import DenseBasis

from .interleaved import NOTES, Program, measure, milliseconds, ratios
from .programs import float_type
from .report import Table, machine, parser, write

SIZES = {51: (10, 25, 50, 100), 501: (50, 250, 500)}
"""Number of weights to numbers of inducing points."""


def main() -> None:
    options = parser(__doc__).parse_args()
    rounds, seconds = (2, 0.01) if options.fast else (9, 0.3)
    sizes = {51: (10, 100)} if options.fast else SIZES
    rows, numbers = [], {}
    for K, nums_inducing in sizes.items():
        for M in nums_inducing:
            with float_type("float32"):
                programs = {
                    "pseudo-outputs": hidden_layer(K, M, FunctionSpaceRegression),
                    "weights": hidden_layer(K, M, partial(WeightSpaceRegression, shared=True)),
                }
                times = measure(programs, rounds=rounds, seconds=seconds)
            of_outputs, of_weights = times.values()
            rows.append(
                [
                    str(K),
                    str(M),
                    *milliseconds(of_outputs),
                    *milliseconds(of_weights),
                    *ratios(of_outputs, of_weights),
                ]
            )
            numbers[f"K={K}, M={M}"] = {name: own.to_dict() for name, own in times.items()}
    columns = (
        "weights K",
        "M",
        "ms, pseudo-outputs",
        "quartiles",
        "ms, weights",
        "quartiles",
        "ratio",
        "cpu ratio",
    )
    parts = [
        machine("tensorflow", "numpy"),
        "A hidden layer of K - 1 units, its draw, KL divergence and gradient in a compiled loop, "
        "float32, in the space of the pseudo-outputs and in that of the weights.",
        Table(columns, rows),
        NOTES,
    ]
    title = "Dense layers in either space"
    write(options.out, "spaces", title, parts, {"seconds_per_step": numbers})


def hidden_layer(K: int, M: int, regression: Callable[..., WhitenedGaussian]) -> Program:
    rng = np.random.default_rng(0)
    U = tf.constant(rng.normal(size=(M, K - 1)), tf.float32)
    T = tf.constant(rng.uniform(1, 2, size=M), tf.float32)
    V = tf.constant(rng.normal(size=(M, K - 1)), tf.float32)

    @tf.function(autograph=False)
    def loop(steps: tf.Tensor) -> tf.Tensor:
        def body(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            with tf.GradientTape() as tape:
                tape.watch([U, T, V])
                basis = DenseBasis(U, WeightRoot(tf.constant(K**-0.5)), bias=True)
                q = regression(basis, T, V)
                draw = q.draw(None, fold_in(as_seed(0), i))
                value = tf.reduce_sum(tf.sin(draw.z)) + q.kl()
            gradients = tape.gradient(value, [U, T, V])
            return i + 1, total + tf.add_n([tf.reduce_sum(g) for g in gradients])

        start = (tf.constant(0), tf.constant(0.0))
        return tf.while_loop(lambda i, _: i < steps, body, start)[1]

    def run(steps: int) -> None:
        loop(tf.constant(steps))

    run(1)
    return run


if __name__ == "__main__":
    main()

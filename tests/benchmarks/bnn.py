"""Bayesian neural networks: the time of a training step, and of an importance weighted bound.

    python -m tests.benchmarks.bnn [--markdown FILE]

The yardstick is the plain way to write a network with global inducing points, in tests/benchmarks/
plain_bnn.py: one compiled step per Python call, and one compiled call per importance weight.
"""

import argparse
import resource
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from tabulate import tabulate

import gpflow_gi as gi
from gpflow_gi.layers.dense import DenseBasis
from gpflow_gi.regression import FunctionSpaceRegression, WeightSpaceRegression
from gpflow_gi.seeds import as_seed, fold_in
from gpflow_gi.training.learning_rate import make_optimizer
from gpflow_gi.training.minibatches import Minibatches
from gpflow_gi.training.objective import bound_terms_of
from gpflow_gi.training.replicas import Replicas
from gpflow_gi.training.steps import TrainingSteps
from gpflow_gi.whitened import WhitenedGaussian

from . import plain_bnn
from .interleaved import Times, machine, measure

NUM_ROWS, INPUT_DIM, WIDTHS, NOISE = 100, 1, (50, 50), 0.1
STEPS_PER_CALL = 100
NUM_WEIGHTS = 1000


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the tables there too")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--memory", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    gpflow.config.set_default_float(np.float32)
    gpflow.config.set_default_jitter(1e-4)
    if options.memory is not None:
        print(peak_memory(options.memory))
        return

    parts = [
        machine("gpflow", "tensorflow", "tf_keras", "numpy"),
        f"{NUM_ROWS} rows x {INPUT_DIM}, hidden layers of {' and '.join(map(str, WIDTHS))} ReLU "
        "units, NealPrior, Gaussian likelihood, Adam, float32, 1 thread.",
        check_equal_bounds(),
    ]
    parts += training_table(options.rounds) + iwbo_table(options.rounds) + spaces_table()
    parts += [
        "Medians, with quartiles over rounds in which all competitors took turns; ratios are taken "
        "within each round, then the median. The cpu ratio is that of the process's CPU time, "
        "which other programs on the machine disturb less.",
        memory_line(),
    ]
    print("\n\n".join(parts))
    if options.markdown is not None:
        options.markdown.write_text("\n\n".join(parts) + "\n")


def toy_data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = np.sort(rng.uniform(-2, 2, size=(NUM_ROWS, INPUT_DIM)), axis=0)
    Y = X**3 / 4 + np.sqrt(NOISE) * rng.normal(size=X.shape)
    return X.astype(np.float32), Y.astype(np.float32)


def network(inference: str, num_inducing: int, precision: str | None = None) -> gi.models.DeepGP:
    """:param precision: of a global network's last layer; build_bnn's own choice by default."""
    X, Y = toy_data()
    model = gi.architectures.build_bnn(
        X, Y, widths=WIDTHS, inference=inference, num_inducing=num_inducing
    )
    if precision == "diagonal":
        last = model.layers[-1]
        last.posterior = gi.posteriors.GlobalInducing(
            num_inducing,
            1,
            pseudo_outputs=last.posterior.pseudo_outputs.numpy(),
            pseudo_precision=np.diag(last.posterior.pseudo_precision.numpy()),
        )
    return model


def fit_steps(model: gi.models.DeepGP, num_samples: int) -> Callable[[], object]:
    """What `gi.fit` calls again and again: many steps in one compiled loop."""
    X, Y = (tf.constant(array) for array in toy_data())
    variables = list(model.trainable_variables)
    optimizer, schedule = make_optimizer(None, None, variables)
    steps = TrainingSteps(
        model,
        bound_terms_of(model, num_samples),
        variables,
        optimizer,
        schedule,
        Minibatches((X, Y), None, as_seed(0), False),
        Replicas(),
        kl_warmup=0,
        seed=as_seed(0),
        jit_compile=False,
    )
    steps.compile()

    def run() -> None:
        if not steps.run(STEPS_PER_CALL).is_finite:
            raise RuntimeError("A competitor's bound is not finite.")

    run()
    return run


def plain_steps(num_inducing: int, num_samples: int, by_hand: bool = False) -> Callable[[], object]:
    model = network("global", num_inducing, "diagonal")
    step = plain_bnn.training_step(
        plain_bnn.parameters_of(model), toy_data(), NOISE, num_samples, by_hand
    )

    def run() -> None:
        for _ in range(STEPS_PER_CALL):
            loss = step()
        if not np.isfinite(loss.numpy()):
            raise RuntimeError("The plain network's bound is not finite.")

    run()
    return run


def check_equal_bounds() -> str:
    """The plain network must have our bound.

    :raises RuntimeError: if means over draws differ by more than 5 standard errors.
    """
    model = network("global", 20, "diagonal")
    data = toy_data()
    plain = plain_bnn.bound(plain_bnn.parameters_of(model), data, NOISE, 1000)
    compiled = tf.function(lambda seed: model.elbo(data, 1000, seed=seed))
    means, errors = [], []
    for draws in (
        [plain().numpy() for _ in range(20)],
        [compiled(tf.constant([0, i])).numpy() for i in range(20)],
    ):
        means.append(np.mean(draws))
        errors.append(np.std(draws, ddof=1) / np.sqrt(len(draws)))
    if abs(means[0] - means[1]) > 5 * np.hypot(*errors):
        raise RuntimeError(f"The bounds differ: {means} with standard errors {errors}.")
    return (
        "Equal bounds at the start (means over 20,000 samples): plain "
        f"{means[0]:.2f} ± {errors[0]:.2f}, ours {means[1]:.2f} ± {errors[1]:.2f}."
    )


def training_table(rounds: int) -> list[str]:
    tables = []
    for M in (20, 100):
        for S in (1, 10):
            plain = f"plain, global, M={M}, S={S}"
            programs = {
                plain: plain_steps(M, S),
                f"plain, by hand, global, M={M}, S={S}": plain_steps(M, S, by_hand=True),
                f"global, diagonal precision, M={M}, S={S}": fit_steps(
                    network("global", M, "diagonal"), S
                ),
                f"global, M={M}, S={S}": fit_steps(network("global", M), S),
                f"local, M={M}, S={S}": fit_steps(network("local", M), S),
                f"factorised, S={S}": fit_steps(network("factorised", M), S),
            }
            times = measure(programs, rounds=rounds, steps=1)
            goals = {(100, 1): {f"global, M={M}, S={S}": "at least 4"}}.get((M, S), {})
            tables += _rows(times, plain, STEPS_PER_CALL, goals)
    columns = ("step", "ms", "quartiles", "plain / it", "cpu ratio", "goal")
    return [tabulate(tables, columns, tablefmt="github", disable_numparse=True)]


def iwbo_table(rounds: int) -> list[str]:
    model = network("global", 100, "diagonal")
    data = tuple(tf.constant(array) for array in toy_data())
    parameters = plain_bnn.parameters_of(model)
    seed = tf.constant([0, 0])
    one = tf.function(lambda seed: model.log_importance_weights(data, 1, seed=seed))
    plain, by_hand = (
        plain_bnn.log_weight(parameters, toy_data(), NOISE, by_hand) for by_hand in (False, True)
    )

    def loop(samples: int, weight: Callable[..., tf.Tensor], *arguments: tf.Tensor) -> Any:
        return lambda: np.logaddexp.reduce(
            [weight(*arguments).numpy().item() for _ in range(samples)]
        )

    eager = "loop, plain, not compiled"
    samples = {
        eager: 50,
        "loop, plain": NUM_WEIGHTS,
        "loop, plain by hand": NUM_WEIGHTS,
        "loop, ours": NUM_WEIGHTS,
        f"iwbo(data, {NUM_WEIGHTS})": NUM_WEIGHTS,
    }
    programs = dict(
        zip(
            samples,
            (
                loop(50, plain.python_function),
                loop(NUM_WEIGHTS, plain),
                loop(NUM_WEIGHTS, by_hand),
                loop(NUM_WEIGHTS, one, seed),
                lambda: model.iwbo(data, NUM_WEIGHTS, seed=seed).numpy(),
            ),
            strict=True,
        )
    )
    for program in programs.values():
        program()
    times = measure(programs, rounds=max(rounds // 3, 3), steps=1)
    rows = []
    ours = times[f"iwbo(data, {NUM_WEIGHTS})"]
    for name, own in times.items():
        share = samples[name] / NUM_WEIGHTS
        low, median, high = np.percentile(1e3 * own.wall / share, [25, 50, 75])
        rows.append(
            [
                name,
                f"{median:.3g}",
                f"{low:.3g} to {high:.3g}",
                f"{np.median(own.wall / share / ours.wall):.2f}",
                f"{np.median(own.cpu / share / ours.cpu):.2f}",
            ]
        )
    columns = ("bound", f"ms for {NUM_WEIGHTS} samples", "quartiles", "it / iwbo", "cpu ratio")
    return [
        f"An importance weighted bound with {NUM_WEIGHTS} samples, M=100; the uncompiled loop was "
        f"timed over {samples[eager]} samples:",
        tabulate(rows, columns, tablefmt="github", disable_numparse=True),
    ]


def spaces_table() -> list[str]:
    """A hidden layer's draw, KL divergence and gradient, computed in either space."""
    rows = []
    for K, nums_inducing in ((51, (10, 25, 50, 100)), (501, (50, 250, 500))):
        for M in nums_inducing:
            programs = {
                "pseudo-outputs": _hidden_layer(K, M, FunctionSpaceRegression),
                "weights": _hidden_layer(K, M, partial(WeightSpaceRegression, shared=True)),
            }
            times = measure(programs, rounds=5, steps=1)
            calls = _calls(K)
            function, weight = (1e3 * np.median(own.wall) / calls for own in times.values())
            ratio = np.median(times["pseudo-outputs"].cpu / times["weights"].cpu)
            rows.append([K, M, f"{function:.3g}", f"{weight:.3g}", f"{ratio:.2f}"])
    columns = ("weights K", "M", "ms, pseudo-outputs", "ms, weights", "cpu ratio")
    return [
        "A hidden layer of K - 1 units, its draw, KL divergence and gradient, in the space of the "
        "pseudo-outputs and in that of the weights:",
        tabulate(rows, columns, tablefmt="github", disable_numparse=True),
    ]


def _calls(K: int) -> int:
    return 100 if K < 100 else 4


def _hidden_layer(
    K: int, M: int, regression: Callable[..., WhitenedGaussian]
) -> Callable[[], object]:
    rng = np.random.default_rng(0)
    U = tf.constant(rng.normal(size=(M, K - 1)), tf.float32)
    T = tf.constant(rng.uniform(1, 2, size=M), tf.float32)
    V = tf.constant(rng.normal(size=(M, K - 1)), tf.float32)

    @tf.function(autograph=False)
    def loop() -> tf.Tensor:
        def body(i: tf.Tensor, total: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            with tf.GradientTape() as tape:
                tape.watch([U, T, V])
                basis = DenseBasis(U, tf.constant(K**-0.5), bias=True)
                q = regression(basis, T, V)
                draw = q.draw(None, fold_in(as_seed(0), i))
                value = tf.reduce_sum(tf.sin(draw.z)) + q.kl()
            gradients = tape.gradient(value, [U, T, V])
            return i + 1, total + tf.add_n([tf.reduce_sum(g) for g in gradients])

        return tf.while_loop(lambda i, _: i < _calls(K), body, (tf.constant(0), tf.constant(0.0)))[
            1
        ]

    loop()
    return lambda: loop().numpy()


def _rows(
    times: dict[str, Times], reference: str, steps: int, goals: dict[str, str]
) -> list[list[str]]:
    rows = []
    base = times[reference]
    for name, own in times.items():
        low, median, high = np.percentile(1e3 * own.wall / steps, [25, 50, 75])
        rows.append(
            [
                name,
                f"{median:.3g}",
                f"{low:.3g} to {high:.3g}",
                f"{np.median(base.wall / own.wall):.2f}",
                f"{np.median(base.cpu / own.cpu):.2f}",
                goals.get(name, ""),
            ]
        )
    return rows


def peak_memory(num_samples: int) -> int:
    """Peak resident memory of this process in MB, after an IWBO."""
    model = network("global", 100)
    model.iwbo(toy_data(), num_samples, seed=0)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def memory_line() -> str:
    """Peak memory of processes that compute an IWBO with few samples and with many."""
    peaks = []
    for num_samples in (100, 1000, 10_000):
        command = [sys.executable, "-m", "tests.benchmarks.bnn", "--memory", str(num_samples)]
        run = subprocess.run(command, capture_output=True, text=True, check=True)
        peaks.append(f"{run.stdout.split()[-1]} MB with {num_samples} samples")
    return f"Peak memory of a process that computes an IWBO: {', '.join(peaks)}."


if __name__ == "__main__":
    main()

"""The time of a training step, against GPflux's deep GP.

    python -m tests.benchmarks.training_step [--markdown FILE]

Every competitor is one compiled step (bound, gradient, Adam) per Python call, on all the data.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import gpflow
import gpflux
import numpy as np
import tensorflow as tf
from gpflow.keras import tf_keras
from tabulate import tabulate

import gpflow_gi as gi

from .interleaved import Times, machine, measure

NUM_ROWS, INPUT_DIM, NUM_INDUCING = 300, 6, 100
GPFLUX, GPFLUX_10 = "GPflux, S=1", "GPflux, S=10"

# Competitor: whose step its goal is relative to, and the goal.
GOALS = {
    GPFLUX: (GPFLUX, None),
    "local, S=1": (GPFLUX, 1.1),
    "global, S=1": (GPFLUX, 0.6),
    "global, full precision, S=1": (GPFLUX, None),
    GPFLUX_10: (GPFLUX_10, None),
    "local, S=10": (GPFLUX_10, None),
    "global, S=10": (GPFLUX_10, 1.0),
    "global, full precision, S=10": (GPFLUX_10, None),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table there too")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--steps", type=int, default=20, help="steps of each in a round")
    options = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    tf.random.set_seed(0)

    data = toy_data()
    header = [
        machine("gpflow", "gpflux", "tensorflow", "tf_keras", "numpy"),
        f"{NUM_ROWS} rows x {INPUT_DIM}, M={NUM_INDUCING}, layers of widths {INPUT_DIM} and 1, "
        "squared exponential ARD kernels, Adam, float64, 1 thread.",
        check_equal_work(data),
        compare_ways_to_ten_samples(data),
    ]
    print("\n".join(header), flush=True)

    steps = competitors(data)
    times = measure(steps, rounds=options.rounds, steps=options.steps)
    rows, columns = table(times)
    print(tabulate(rows, columns, disable_numparse=True))
    notes = (
        "Medians, with quartiles over rounds. Ratios are taken within each round, in which all "
        "competitors took turns; then the median. The cpu ratio is that of the process's CPU time, "
        "which other programs on the machine disturb less."
    )
    print(notes)
    if options.markdown is not None:
        body = tabulate(rows, columns, tablefmt="github", disable_numparse=True)
        options.markdown.write_text("\n\n".join([*header, body, notes]) + "\n")


def toy_data() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(NUM_ROWS, INPUT_DIM))
    f = np.sin(X @ rng.normal(size=(INPUT_DIM, 1))) + 0.5 * X[:, :1] * X[:, 1:2]
    Y = f + 0.2 * rng.normal(size=(NUM_ROWS, 1))
    return X, (Y - Y.mean()) / Y.std()


def gpflux_deep_gp(X: np.ndarray, num_samples: int | None = None) -> gpflux.models.DeepGP:
    """Salimbeni & Deisenroth's (2017) architecture.

    :param num_samples: draws of the hidden layer; None for one without a sample axis.
    """
    # As build_deep_gp starts, but for q(z).
    rng = np.random.default_rng(1)
    start = gi.architectures.build_deep_gp(
        X, X[:, :1], num_inducing=NUM_INDUCING, inference="local"
    )
    layers = []
    for i, layer in enumerate(start.layers):
        last = i + 1 == len(start.layers)
        gp_layer = gpflux.layers.GPLayer(
            gpflux.helpers.construct_basic_kernel(
                gpflow.utilities.deepcopy(layer.kernel), layer.output_dim, share_hyperparams=True
            ),
            gpflux.helpers.construct_basic_inducing_variables(
                NUM_INDUCING,
                INPUT_DIM,
                share_variables=True,
                z_init=layer.posterior.inducing_inputs.numpy(),
            ),
            NUM_ROWS,
            mean_function=gpflow.functions.Zero() if last else gpflow.functions.Identity(),
            num_samples=None if last else num_samples,
        )
        gp_layer.q_mu.assign(rng.normal(size=gp_layer.q_mu.shape))  # else no draw would matter
        layers.append(gp_layer)
    return gpflux.models.DeepGP(layers, gpflow.likelihoods.Gaussian(0.1))


def competitors(data: tuple[np.ndarray, np.ndarray]) -> dict[str, Callable[[], np.ndarray]]:
    X, Y = (tf.constant(array) for array in data)

    def own_step(model: gi.models.DeepGP, num_samples: int) -> Callable[[], np.ndarray]:
        return compiled_step(model, lambda: model.elbo((X, Y), num_samples))

    def local() -> gi.models.DeepGP:
        return gi.interop.from_gpflux(gpflux_deep_gp(data[0]))

    return {
        GPFLUX: gpflux_step(data),
        GPFLUX_10: gpflux_step(data, num_samples=10),
        "local, S=1": own_step(local(), 1),
        "local, S=10": own_step(local(), 10),
        "global, S=1": own_step(global_deep_gp(data), 1),
        "global, S=10": own_step(global_deep_gp(data), 10),
        "global, full precision, S=1": own_step(global_deep_gp(data, "full"), 1),
        "global, full precision, S=10": own_step(global_deep_gp(data, "full"), 10),
    }


def gpflux_step(
    data: tuple[np.ndarray, np.ndarray], num_samples: int | None = None, copies: int = 1
) -> Callable[[], np.ndarray]:
    """:param copies: of the rows; the scale N/B of the data term takes any number of them."""
    X, Y = (tf.constant(np.tile(array, [copies, 1])) for array in data)
    model = gpflux_deep_gp(data[0], num_samples)
    return compiled_step(model, lambda: model.elbo((X, Y)))


def global_deep_gp(
    data: tuple[np.ndarray, np.ndarray], precision: str = "diagonal"
) -> gi.models.DeepGP:
    """:param precision: of all layers; build_deep_gp's are diagonal below and full at the top."""
    model = gi.architectures.build_deep_gp(*data, num_inducing=NUM_INDUCING)
    for layer in model.layers:
        start = layer.posterior
        Lambda = start.pseudo_precision.numpy()
        if precision == "diagonal" and Lambda.ndim == 2:
            Lambda = np.diag(Lambda)
        layer.posterior = gi.posteriors.GlobalInducing(
            NUM_INDUCING,
            layer.output_dim,
            pseudo_outputs=start.pseudo_outputs.numpy(),
            pseudo_precision=Lambda,
            precision=precision,
        )
    return model


def compiled_step(model: tf.Module, bound: Callable[[], tf.Tensor]) -> Callable[[], np.ndarray]:
    """One step of Adam on minus the bound, compiled and tried."""
    variables = model.trainable_variables
    optimizer = tf_keras.optimizers.Adam(0.01)
    optimizer.build(variables)

    @tf.function
    def step() -> tf.Tensor:
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(variables)
            loss = -bound()
        optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables, strict=True))
        return loss

    for _ in range(3):
        if not np.isfinite(step().numpy()):
            raise RuntimeError("A competitor's bound is not finite.")
    return lambda: step().numpy()


def check_equal_work(data: tuple[np.ndarray, np.ndarray]) -> str:
    """Our local layers must have GPflux's bound, with one sample and with ten.

    :raises RuntimeError: if means over draws differ by more than 5 standard errors.
    """
    X, Y = (tf.constant(array) for array in data)
    one, ten = gpflux_deep_gp(data[0]), gpflux_deep_gp(data[0], 10)
    own = gi.interop.from_gpflux(one)
    bounds = {
        GPFLUX: tf.function(lambda: one.elbo((X, Y))),
        GPFLUX_10: tf.function(lambda: ten.elbo((X, Y))),
        "local, S=1": tf.function(lambda: own.elbo((X, Y))),
        "local, S=10": tf.function(lambda: own.elbo((X, Y), 10)),
    }
    means, variances = {}, {}
    for name, bound in bounds.items():
        draws = np.array([bound().numpy() for _ in range(300)])
        means[name], variances[name] = draws.mean(), draws.var(ddof=1) / len(draws)
        error = np.sqrt(variances[name] + variances[GPFLUX])
        if abs(means[name] - means[GPFLUX]) > 5 * error:
            raise RuntimeError(
                f"The bounds differ: {name} has {means[name]:.3f}, {GPFLUX} {means[GPFLUX]:.3f} "
                f"(standard error of the difference {error:.3f})."
            )
    listed = (f"{name}: {means[name]:.2f} ± {variances[name] ** 0.5:.2f}" for name in bounds)
    return f"Equal bounds at the start (means over 300 calls): {'; '.join(listed)}."


def compare_ways_to_ten_samples(data: tuple[np.ndarray, np.ndarray]) -> str:
    """GPflux can draw ten times from its hidden layer, or take every row ten times."""
    draws, copies = "GPLayer(num_samples=10)", "X and Y tiled ten times"
    times = measure(
        {draws: gpflux_step(data, num_samples=10), copies: gpflux_step(data, copies=10)},
        rounds=5,
        steps=5,
    )
    ratio = np.median(times[copies].cpu / times[draws].cpu)
    if ratio < 1.0:
        raise RuntimeError(f"GPflux is faster at S=10 with {copies}: compare with that.")
    return f"GPflux, S=10 is {draws}; {copies} take {ratio:.1f} times as long."


def table(times: dict[str, Times]) -> tuple[list[list[str]], list[str]]:
    """Rows of text, and the names of the columns."""
    rows = []
    for name, (reference, goal) in GOALS.items():
        own, base = times[name], times[reference]
        low, median, high = np.percentile(1e3 * own.wall, [25, 50, 75])
        rows.append(
            [
                name,
                f"{median:.2f}",
                f"{low:.2f} to {high:.2f}",
                f"{np.median(own.wall / base.wall):.2f}",
                f"{np.median(own.cpu / base.cpu):.2f}",
                reference,
                "" if goal is None else f"at most {goal:.1f}",
            ]
        )
    return rows, ["step", "ms", "quartiles", "ratio", "cpu ratio", "relative to", "goal"]


if __name__ == "__main__":
    main()

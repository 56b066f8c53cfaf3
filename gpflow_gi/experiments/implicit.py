"""Implicit processes beside networks and deep GPs, on data that are not Gaussian around a function.

The data of Rodriguez Santana, Zaldivar & Hernandez-Lobato (2022), section 5.1 and its supplement,
with a figure like their Figure 1: draws of the learned prior, and of the prediction for y.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import gpflow
import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.architectures import build_bnn, build_deep_gp, build_sip, build_vip
from gpflow_gi.core.process import Process
from gpflow_gi.experiments.mixture_data import RANGE, Rows, branches, log_density
from gpflow_gi.implicit import KernelProcess, NetworkProcess
from gpflow_gi.inference import Target, WeightPosterior, nuts
from gpflow_gi.inference.convergence import Convergence
from gpflow_gi.metrics import mixture_log_density
from gpflow_gi.metrics.held_out import HeldOut, predictive_components
from gpflow_gi.objectives import AlphaEnergy, DensityRatioKL, FunctionalKL, Objective
from gpflow_gi.plotting import COLOURS
from gpflow_gi.training import fit


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param num_rows: rows for training, and as many for the test.
    :param steps: steps of Adam.
    :param batch_size: rows of each step.
    :param learning_rate: of Adam.
    :param num_inducing: inducing points of all models that have them.
    :param num_draws: draws of a process in its mean and covariance.
    :param num_samples: samples of u, of weights or of layers in each step.
    :param num_predictive: components of predictions.
    :param num_inputs: inputs of the figure.
    :param nuts: arguments of :func:`gpflow_gi.inference.nuts`.
    """

    num_rows: int = 1000
    steps: int = 2000
    batch_size: int = 50
    learning_rate: float = 0.005
    num_inducing: int = 50
    num_draws: int = 20
    num_samples: int = 50
    num_predictive: int = 500
    num_inputs: int = 161
    nuts: Mapping[str, Any] = field(
        default_factory=lambda: {
            "num_chains": 4,
            "num_draws": 50,
            "num_adaptation_steps": 150,
            "max_tree_depth": 6,
        }
    )


FAST = Settings(
    num_rows=300,
    steps=300,
    learning_rate=0.02,
    num_samples=20,
    num_inducing=20,
    num_predictive=100,
    num_inputs=61,
    nuts={"num_chains": 2, "num_draws": 20, "num_adaptation_steps": 30, "max_tree_depth": 4},
)

PRIOR_OF = "SIP, network"
"""The method whose learned prior NUTS has."""

NUTS = "NUTS, SIP's prior"

SEPARATE = 6.0
"""Smallest distance of two branches, in deviations of the noise, that are told apart."""


def methods(settings: Settings, data: Any, seed: int) -> dict[str, tuple[Any, Objective | None]]:
    """The models at their start and their objectives, by name; None is the ELBO."""
    M, S = settings.num_inducing, settings.num_samples
    ratio: dict[str, Any] = {"alpha": 1.0, "num_draws": S}
    process: dict[str, Any] = {"num_draws": settings.num_draws, "seed": seed}
    network: dict[str, Any] = {"num_samples": min(S, 10), "seed": seed}
    sip = {"num_inducing": M, "num_samples": S, **process}
    deep_gp = {"num_inducing": M, **network}
    return {
        "VIP": (build_vip(*data, **process), AlphaEnergy(1.0)),
        "SIP, network": (build_sip(*data, **sip), DensityRatioKL(symmetrised=True, **ratio)),
        "SIP, sampler": (
            build_sip(*data, process="sampler", **sip),
            DensityRatioKL(symmetrised=True, **ratio),
        ),
        "fBNN": (
            build_bnn(*data, inference="factorised", **network),
            FunctionalKL(num_draws=S),
        ),
        "fBNN, GP prior": (
            build_bnn(*data, inference="factorised", **network),
            FunctionalKL(num_draws=S, prior=trained_gp(*data, seed=seed)),
        ),
        "AADM": (build_bnn(*data, inference="implicit", **network), DensityRatioKL(**ratio)),
        "global BNN": (build_bnn(*data, num_inducing=M, **network), None),
        "global BNN, alpha 1": (build_bnn(*data, num_inducing=M, **network), AlphaEnergy(1.0)),
        "deep GP": (build_deep_gp(*data, **deep_gp), None),
        "deep GP, alpha 1": (build_deep_gp(*data, **deep_gp), AlphaEnergy(1.0)),
    }


def trained_gp(X: np.ndarray, Y: np.ndarray, *, seed: int) -> KernelProcess:
    """The prior of GP regression with a squared exponential kernel, trained on X and Y, [N, 1]."""
    gp = gpflow.models.GPR((X, Y), gpflow.kernels.SquaredExponential(), noise_variance=0.1)
    gpflow.optimizers.Scipy().minimize(gp.training_loss, gp.trainable_variables)
    return KernelProcess(gp.kernel, X.shape[1], seed=seed)


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    data: str = "bimodal",
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train and measure every method; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "problem", "data" ("x", "y"), "inputs", "true_log_density" of the test
        rows, mean, "r_hat", the largest split R-hat of NUTS' functions at the inputs, and "methods"
        with "name", "log_density" and "crps" of the test rows, means in
        units of y, "noise_deviation", "prior" draws and "prediction" draws at the inputs, each
        [draws, inputs], "seconds", and, for bimodal data, "both_modes", the share of inputs with
        separate branches where the predictive density has both.
    """
    settings = FAST if fast else Settings()
    rows = Rows.draw(data, settings.num_rows, seed)
    inputs = np.linspace(*RANGE, settings.num_inputs)[:, None]
    found, learned = [], None
    for name, (model, objective) in methods(settings, rows.standardised, seed).items():
        announce(name)
        started = time.perf_counter()
        fit(
            model,
            rows.standardised,
            objective=objective,
            steps=settings.steps,
            batch_size=settings.batch_size,
            learning_rate=settings.learning_rate,
            kl_warmup=settings.steps // 5,
            seed=seed,
            progress=progress,
        )
        seconds = time.perf_counter() - started
        given = getattr(objective, "prior", None)
        prior = prior_draws(model if given is None else given, rows.inputs.transform(inputs), seed)
        measured = measure(_Components.of_model(model, settings.num_predictive, seed), rows, inputs)
        found.append({"name": name, **_drawn(prior, rows), **measured, "seconds": seconds})
        if name == PRIOR_OF:
            learned = model
    announce(NUTS)
    started = time.perf_counter()
    exact, num_chains = _nuts(learned, rows.standardised, settings, seed)
    f, _ = exact.at(rows.inputs.transform(inputs))
    r_hat, _ = Convergence.of({"f": f[..., 0]}, num_chains).worst_r_hat()
    seconds = time.perf_counter() - started
    prior = next(one["prior"] for one in found if one["name"] == PRIOR_OF)
    found.append({"name": NUTS, "prior": prior, **measure(exact, rows, inputs), "seconds": seconds})
    return {
        "settings": asdict(settings),
        "problem": data,
        "data": {"x": rows.train[0][:, 0].tolist(), "y": rows.train[1][:, 0].tolist()},
        "inputs": inputs[:, 0].tolist(),
        "true_log_density": float(np.mean(log_density(data, *rows.test))),
        "r_hat": r_hat,
        "methods": found,
        "num_separate": int(np.sum(separate(inputs))) if data == "bimodal" else 0,
    }


@dataclass(frozen=True)
class _Components:
    """Predictive mixtures of standardised targets: X [N, 1] -> mean and variance [S, N, 1]."""

    at: Callable[[Any], tuple[Any, Any]]
    noise_deviation: float

    @classmethod
    def of_model(cls, model: Any, num_samples: int, seed: int) -> _Components:
        noise = float(np.sqrt(model.likelihood.variance.numpy()))
        return cls(lambda X: predictive_components(model, X, num_samples, seed), noise)


def measure(prediction: _Components, rows: Rows, inputs: np.ndarray) -> dict[str, Any]:
    """Scores of the test rows, and draws at the inputs; see :func:`run`."""
    held_out = HeldOut(
        rows.test[1], *prediction.at(rows.inputs.transform(rows.test[0])), rows.targets
    )
    mean, variance = prediction.at(rows.inputs.transform(inputs))
    rng = np.random.default_rng(0)
    y = mean + np.sqrt(variance) * rng.normal(size=mean.shape)
    result = {
        "log_density": float(np.mean(held_out.log_density)),
        "crps": float(np.mean(held_out.crps)),
        "noise_deviation": prediction.noise_deviation * float(rows.targets.scale[0]),
        "prediction": [rows.targets.inverse(one)[:, 0].tolist() for one in y[:100]],
    }
    if rows.problem == "bimodal":
        apart = separate(inputs)
        both = has_both_modes(mean[:, apart], variance[:, apart], inputs[apart], rows)
        result["both_modes"] = float(np.mean(both))
    return result


def separate(inputs: np.ndarray) -> np.ndarray:
    """True where the branches of the bimodal data are well apart, [N]."""
    first, second = branches(inputs)
    return np.abs(first - second)[:, 0] > SEPARATE


def has_both_modes(
    mean: np.ndarray, variance: np.ndarray, inputs: np.ndarray, rows: Rows
) -> np.ndarray:
    """True where the predictive density between the branches is below half of that at each, [N].

    :param mean: of the components for standardised targets, [S, N, 1].
    :param variance: of the same shape.
    :param inputs: x, [N, 1].
    """
    first, second = branches(inputs)
    at_first, between, at_second = (
        mixture_log_density(rows.targets.transform(y), mean, variance)
        for y in (first, 0.5 * (first + second), second)
    )
    return np.asarray(between + np.log(2) < np.minimum(at_first, at_second))[:, 0]


def prior_draws(model: Any, X: np.ndarray, seed: int) -> np.ndarray:
    """Draws of f from a process or a model's learned prior, [20, N], of standardised targets."""
    process = getattr(getattr(model, "layers", [None])[-1], "process", None)
    if isinstance(model, Process):
        process = model
    if process is not None:
        return np.asarray(process.draw(20, seed)(X))[..., 0]
    network = model.network if isinstance(model, WeightPosterior) else model
    return np.asarray(network.sample_prior(20, seed)(X))[..., 0]


def _drawn(prior: np.ndarray, rows: Rows) -> dict[str, Any]:
    return {"prior": [rows.targets.inverse(one[:, None])[:, 0].tolist() for one in prior]}


def _nuts(model: Any, data: Any, settings: Settings, seed: int) -> tuple[_Components, int]:
    """NUTS of the network whose weights have the learned prior, with the learned noise.

    :return: predictions, with a component for each draw, chain after chain; the number of chains.
    """
    process: NetworkProcess = model.layers[0].process
    X, Y = (tf.constant(one) for one in data)
    noise = model.likelihood.variance.numpy()

    def log_likelihood(z: tf.Tensor) -> tf.Tensor:
        squares = tf.square(Y - process.functions_of(z)(X)) / noise + np.log(2 * np.pi * noise)
        return -0.5 * tf.reduce_sum(squares, axis=[1, 2])

    def log_prob(z: tf.Tensor) -> tf.Tensor:
        return log_likelihood(z) - 0.5 * tf.reduce_sum(tf.square(z), axis=1)

    target = Target(process.size, log_prob, log_likelihood)
    drawn = nuts(target, seed=seed, jit_compile=False, **settings.nuts)
    z = tf.convert_to_tensor(drawn.model.theta)

    def at(rows: Any) -> tuple[Any, Any]:
        f = process.functions_of(z)(tf.constant(rows)).numpy()
        return f, np.full_like(f, noise)

    return _Components(at, float(np.sqrt(noise))), drawn.num_chains


def summary(results: Mapping[str, Any]) -> str:
    """A row for each method, the best log density first; see :mod:`gpflow_gi.experiments.study`."""
    best_first = sorted(results["methods"], key=lambda one: -one["log_density"])
    rows = [
        (
            one["name"],
            f"{one['log_density']:.3f}",
            f"{one['crps']:.3f}",
            f"{one['noise_deviation']:.2f}",
            f"{100 * one['both_modes']:.0f}%" if "both_modes" in one else "-",
            f"{one['seconds']:.0f}",
        )
        for one in best_first
    ]
    headers = ("", "log density", "CRPS", "noise", "both modes", "s")
    lines = tabulate(rows, headers, disable_numparse=True, colalign=("left", *5 * ("right",)))
    N = results["settings"]["num_rows"]
    text = (
        f"{lines}\n\n"
        f"Means over {N} test rows, in units of y; noise: its learned standard\ndeviation. "
        f"The true log density of these rows is {results['true_log_density']:.3f}.\n"
        f"NUTS: largest R-hat of its functions {results['r_hat']:.3g}; 1 where chains agree."
    )
    if results["problem"] != "bimodal":
        return text
    return (
        f"{text}\nBoth modes: share of {results['num_separate']} inputs, at which the branches are "
        f"more than {SEPARATE:g}\napart, where the predictive density has a mode at each."
    )


COLUMNS = 6
"""Panels side by side."""


def plot(results: Mapping[str, Any]) -> Figure:
    """For each method draws of its learned prior above draws of its prediction; the data first."""
    x, inputs = results["data"], np.array(results["inputs"])
    bands = -(-(1 + len(results["methods"])) // COLUMNS)
    figure = Figure(figsize=(2.2 * COLUMNS, 3.8 * bands), layout="constrained")
    grid = figure.subplots(2 * bands, COLUMNS, sharex=True, sharey=True)
    uppers, lowers = grid[::2].ravel(), grid[1::2].ravel()
    for ax in (uppers[0], lowers[0]):
        ax.plot(x["x"], x["y"], "o", color="#222222", markersize=1.5, markeredgewidth=0)
    uppers[0].set_title("data", fontsize="small")
    for upper, lower, method in zip(uppers[1:], lowers[1:], results["methods"], strict=False):
        upper.plot(inputs, np.array(method["prior"]).T, color=COLOURS[1], linewidth=0.7, alpha=0.7)
        y = np.array(method["prediction"])
        shown = np.tile(inputs, len(y)), y.ravel()
        lower.plot(*shown, "o", color=COLOURS[0], markersize=0.8, markeredgewidth=0, alpha=0.4)
        upper.set_title(f"{method['name']}  {method['log_density']:.2f}", fontsize="small")
    for ax in [*uppers[1 + len(results["methods"]) :], *lowers[1 + len(results["methods"]) :]]:
        ax.set_visible(False)
    low, high = np.min(x["y"]), np.max(x["y"])
    uppers[0].set_ylim(low - 0.3 * (high - low), high + 0.3 * (high - low))
    for i, ax in enumerate(grid[:, 0]):
        ax.set_ylabel("draws of y" if i % 2 else "draws of the prior", fontsize="small")
    for ax in grid.ravel():
        ax.spines[["top", "right"]].set_visible(False)
        ax.margins(x=0)
    figure.supxlabel("x", fontsize="small")
    return figure

"""Eight schools: bounds and k-hat of families of densities over ten parameters.

Effects y_j of coaching in eight schools, with known errors (Rubin 1981):
y_j ~ N(theta_j, sigma_j^2), theta_j ~ N(mu, tau^2), mu ~ N(0, 5^2), tau ~ half-Cauchy(5). The
centred coordinates are (mu, log tau, theta), the others (mu, log tau, (theta - mu) / tau).

The known values are table 5.1 of the thesis behind "Approximate inference for Bayesian neural
networks", whose flows have no layer mean + scale z, and whose "IAF" is a neural autoregressive
flow. The evidence is exact, by quadrature.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tabulate import tabulate

from gpflow_gi.core.pareto import k_hat
from gpflow_gi.inference import Target, nuts, variational
from gpflow_gi.plotting import COLOURS

from .parts import Parts

EFFECTS = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERRORS = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCALE = 5.0
"""Of the priors of mu and of tau."""

SIZE = 2 + len(EFFECTS)

PUBLISHED = {
    "mean-field": (-33.41, 0.87),
    "full-rank": (-32.60, 0.82),
    "planar-4": (-33.31, 0.84),
    "planar-8": (-32.93, 0.80),
    "planar-16": (-32.25, 0.73),
    "planar-32": (-31.84, 0.65),
    "radial-flow-4": (-37.73, 0.90),
    "radial-flow-8": (-37.66, 0.89),
    "radial-flow-16": (-34.46, 0.84),
    "radial-flow-32": (-32.36, 0.74),
    "neural-autoregressive-4": (-31.53, 0.57),
    "neural-autoregressive-8": (-31.53, 0.59),
    "neural-autoregressive-16": (-31.61, 0.54),
    "neural-autoregressive-32": (-31.67, 0.50),
}
"""Bounds in nats and k-hat, by family, in the centred coordinates."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param flow_steps: numbers of steps of planar and radial flows.
    :param autoregressive_steps: numbers of steps of neural autoregressive flows.
    :param steps: steps of training.
    :param num_samples: samples of the bound in each of them.
    :param num_test_samples: samples for the reported bound and k-hat.
    :param repeats: number of seeds for each family.
    :param num_draws: draws of each of four chains of NUTS.
    """

    flow_steps: tuple[int, ...] = (4, 8, 16, 32)
    autoregressive_steps: tuple[int, ...] = (4,)
    steps: int = 4000
    num_samples: int = 20
    num_test_samples: int = 20_000
    repeats: int = 3
    num_draws: int = 2000


USUAL = Settings()
FULL = Settings(autoregressive_steps=(4, 8, 16, 32))
FAST = Settings(
    flow_steps=(4,), steps=600, num_samples=10, num_test_samples=5000, repeats=1, num_draws=250
)


def target(centred: bool) -> Target:
    """The posterior of (mu, log tau, theta), or of (mu, log tau, (theta - mu) / tau)."""

    def parts(x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        mu, log_tau, rest = x[:, :1], x[:, 1:2], x[:, 2:]
        return mu, log_tau, rest if centred else mu + tf.exp(log_tau) * rest

    def log_likelihood(x: tf.Tensor) -> tf.Tensor:
        return tf.reduce_sum(_log_normal(EFFECTS, parts(x)[2], ERRORS), axis=1)

    def log_prob(x: tf.Tensor) -> tf.Tensor:
        mu, log_tau, theta = parts(x)
        log_p = _log_normal(mu, 0.0, SCALE) + _log_half_cauchy(log_tau)
        schools = _log_normal(theta, mu, tf.exp(log_tau))
        if not centred:
            schools += log_tau  # |d theta / d rest| = tau
        return log_p[:, 0] + tf.reduce_sum(schools, axis=1) + log_likelihood(x)

    return Target(SIZE, log_prob, log_likelihood)


def _log_normal(x: Any, mean: Any, deviation: Any) -> tf.Tensor:
    z = (x - mean) / deviation
    return (
        -0.5 * tf.square(z) - tf.math.log(deviation * tf.ones_like(z)) - 0.5 * math.log(2 * math.pi)
    )


def _log_half_cauchy(log_tau: Any) -> tf.Tensor:
    """Log density of log tau."""
    return math.log(2 / (math.pi * SCALE)) - tf.math.log1p(tf.exp(2 * log_tau) / SCALE**2) + log_tau


def exact() -> dict[str, float]:
    """The log evidence, E tau and E log tau, by quadrature over mu and log tau."""
    log_tau, mu = np.linspace(-14.0, 9.0, 2301)[:, None], np.linspace(-45.0, 45.0, 1801)
    log_p = _log_normal(mu, 0.0, SCALE).numpy() + _log_half_cauchy(log_tau).numpy()
    for effect, error in zip(EFFECTS, ERRORS, strict=True):
        log_p = log_p + _log_normal(effect, mu, np.sqrt(error**2 + np.exp(2 * log_tau))).numpy()
    weights = np.exp(log_p - log_p.max())
    total = weights.sum() * (log_tau[1, 0] - log_tau[0, 0]) * (mu[1] - mu[0])
    return {
        "log_evidence": float(log_p.max() + np.log(total)),
        "tau": float((weights * np.exp(log_tau)).sum() / weights.sum()),
        "log_tau": float((weights * log_tau).sum() / weights.sum()),
    }


def _families(settings: Settings) -> Iterator[tuple[str, Any, dict[str, Any]]]:
    for name in ("mean-field", "full-rank", "low-rank", "radial"):
        yield name, name, {"rank": 3}
    for name in ("planar", "radial-flow"):
        for K in settings.flow_steps:
            yield f"{name}-{K}", name, {"flow_steps": K}
    yield "inverse-autoregressive-4", "inverse-autoregressive", {"flow_steps": 4, "width": 32}
    for K in settings.autoregressive_steps:
        name, sizes = "neural-autoregressive", {"flow_steps": K, "width": 32}
        # At the usual rate, 0.02, training of 16 steps ended in NaN (in the centred coordinates).
        yield f"{name}-{K}", name, {**sizes, "learning_rate": 0.005} if K >= 16 else sizes
    yield "mixture-5", ["mean-field"] * 5, {}


def run(
    *,
    fast: bool = False,
    full: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train and measure all families; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "exact", "methods" by name (centred, and with "-non-centred" behind), each
        with "elbo" ("mean" and "standard_error", over seeds and samples), "k_hat", "num_samples"
        (of each k-hat), "tau", "log_tau" and "seconds"; and "nuts" for both coordinates. In nats.
    """
    settings = FAST if fast else FULL if full else USUAL
    methods, chains = {}, {}
    announce = Parts(announce, 2 * (len(list(_families(settings))) + 1))
    for centred, ending in ((True, ""), (False, "-non-centred")):
        for name, family, sizes in _families(settings):
            announce(name + ending)
            methods[name + ending] = _train(target(centred), family, sizes, settings, seed)
        announce(f"nuts{ending}")
        chains[f"nuts{ending}"] = _sample(target(centred), settings, seed)
    return {"settings": asdict(settings), "exact": exact(), "methods": methods, "nuts": chains}


def _train(
    posterior: Target, family: Any, sizes: dict[str, Any], settings: Settings, seed: int
) -> dict[str, Any]:
    S = settings.num_test_samples
    runs = []
    for repeat in range(settings.repeats):
        found = variational(
            posterior,
            family=family,
            steps=settings.steps,
            num_samples=settings.num_samples,
            seed=seed + repeat,
            **sizes,
        )
        draws = found.model.draw(S, seed=seed + repeat)
        log_w = found.model.log_importance_weights(None, S, seed=seed + repeat).numpy()
        log_tau = draws.theta.numpy()[:, 1]
        runs.append(
            {
                "elbo": log_w.mean(),
                "error": log_w.std() / math.sqrt(S),
                "k_hat": k_hat(log_w),
                "tau": np.exp(log_tau).mean(),
                "log_tau": log_tau.mean(),
                "seconds": found.seconds,
            }
        )
    return _summarised(runs, S)


def _summarised(runs: list[dict[str, float]], num_samples: int) -> dict[str, Any]:
    mean = {name: float(np.mean([one[name] for one in runs])) for name in runs[0]}
    R = len(runs)
    # The larger of the spread over seeds and the error of the samples.
    spread = np.std([one["elbo"] for one in runs], ddof=1) / math.sqrt(R) if R > 1 else 0.0
    error = max(float(spread), mean["error"] / math.sqrt(R))
    return {
        "elbo": {"mean": mean["elbo"], "standard_error": error},
        "num_samples": num_samples,
        **{name: mean[name] for name in ("k_hat", "tau", "log_tau", "seconds")},
    }


def _sample(posterior: Target, settings: Settings, seed: int) -> dict[str, Any]:
    found = nuts(
        posterior, num_draws=settings.num_draws, num_adaptation_steps=settings.num_draws, seed=seed
    )
    log_tau = found.model.theta.numpy()[:, 1]
    size = float(np.min(found.effective_sample_size["theta"][1]))
    return {
        "tau": float(np.exp(log_tau).mean()),
        "log_tau": float(log_tau.mean()),
        "log_tau_standard_error": float(log_tau.std() / math.sqrt(size)),
        "r_hat": float(np.max(found.r_hat["theta"])),
        "divergences": found.divergences,
        "seconds": found.seconds,
    }


def summary(results: Mapping[str, Any]) -> str:
    """A row for each family; see :mod:`gpflow_gi.experiments.study`."""
    tables = []
    for title, ending in (("centred", ""), ("non-centred", "-non-centred")):
        rows = [
            (name.removesuffix(ending).replace("autoregressive", "AR"), *_cells(name, one))
            for name, one in results["methods"].items()
            if name.endswith("-non-centred") == bool(ending)
        ]
        chains = results["nuts"][f"nuts{ending}"]
        seconds = f"{chains['seconds']:.0f}"
        rows.append(("nuts", "", "", "", "", "", f"{chains['log_tau']:.2f}", seconds))
        headers = (title, "ELBO", "+-", "k-hat", "known", "k-hat", "log tau", "s")
        columns = ("left", *7 * ("right",))
        tables.append(tabulate(rows, headers, disable_numparse=True, colalign=columns))
    known = results["exact"]
    S = next(iter(results["methods"].values()))["num_samples"]
    return "\n\n".join(
        [
            *tables,
            f"In nats; k-hat of {S} samples. Log evidence {known['log_evidence']:.4f}, mean of "
            f"log tau {known['log_tau']:.3f}.\nAR: autoregressive.",
        ]
    )


def _cells(name: str, one: Mapping[str, Any]) -> tuple[str, ...]:
    published = PUBLISHED.get(name)
    return (
        _number(one["elbo"]["mean"]),
        _number(one["elbo"]["standard_error"]),
        f"{one['k_hat']:.2f}",
        "" if published is None else f"{published[0]:.2f}",
        "" if published is None else f"{published[1]:.2f}",
        f"{one['log_tau']:.2f}",
        f"{one['seconds']:.0f}",
    )


def _number(value: float) -> str:
    return f"{value:.3f}" if abs(value) < 100 else f"{value:.3g}"


def plot(results: Mapping[str, Any]) -> Figure:
    """Distance of the bound from the evidence, and k-hat, of every family."""
    figure = Figure(figsize=(9.0, 4.8), layout="constrained")
    left, right = figure.subplots(1, 2, sharey=True)
    names = [name for name in results["methods"] if not name.endswith("-non-centred")]
    evidence = results["exact"]["log_evidence"]
    for ending, colour, shift in (("", COLOURS[0], -0.15), ("-non-centred", COLOURS[1], 0.15)):
        found = [results["methods"][name + ending] for name in names]
        places: NDArray[np.float64] = np.arange(len(names)) + shift
        gaps = [evidence - one["elbo"]["mean"] for one in found]
        label = "non-centred" if ending else "centred"
        left.plot(gaps, places, "o", color=colour, label=label)
        right.plot([one["k_hat"] for one in found], places, "o", color=colour)
    published = [(i, name) for i, name in enumerate(names) if name in PUBLISHED]
    left.plot(
        [evidence - PUBLISHED[name][0] for _, name in published],
        [i - 0.15 for i, _ in published],
        "x",
        color="black",
        label="published, centred",
    )
    right.plot(
        [PUBLISHED[name][1] for _, name in published],
        [i - 0.15 for i, _ in published],
        "x",
        color="black",
    )
    left.set_xscale("log")
    left.set_xlabel("evidence - ELBO, nats")
    right.set_xlabel("k-hat")
    right.axvline(0.7, color="black", linewidth=0.8, linestyle="--")
    left.set_yticks(range(len(names)), names)
    left.invert_yaxis()
    left.legend(frameon=False, fontsize="small", loc="upper left")
    for ax in (left, right):
        ax.grid(color="#E5E5E5", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
    return figure

"""Bounds of deep linear networks against depth and width: the paper's section 3.2 and Figure 2.

1000 rows of 5 standard normal inputs, y = x^T w + noise with w ~ N(0, I / 5) and noise of variance
0.1. Networks have no nonlinearity and NealPrior. Their noise has the true variance, so the evidence
of the true model is the value that a bound can approach at best, at any depth.

Networks have no bias, as the true model has none: one layer is then the true model.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import gpflow
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tabulate import tabulate

from gpflow_gi.architectures import build_bnn
from gpflow_gi.bounds import estimate_elbo
from gpflow_gi.models import DeepGP
from gpflow_gi.plotting import COLOURS
from gpflow_gi.training import NonFiniteError, fit
from gpflow_gi.training.learning_rate import falling_rate

from .parts import Parts

Array = NDArray[np.float64]

METHODS = ("factorised", "local", "factorised -> global", "prior -> global", "global")
NUM_ROWS, NUM_INPUTS, NOISE_VARIANCE = 1000, 5, 0.1
FLOAT, JITTER = np.float32, 1e-4


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param widths: widths of the hidden layers.
    :param depths: numbers of layers of weights.
    :param num_inducing: number of inducing points of the network and of each local layer.
    :param steps: number of steps of Adam on minibatches; the learning rate falls in the second
        half.
    :param learning_rate: learning rate in the first half.
    :param batch_size: rows of a minibatch.
    :param num_test_samples: number of samples for the reported bound.
    """

    widths: tuple[int, ...] = (5, 50, 250)
    depths: tuple[int, ...] = tuple(range(1, 11))
    num_inducing: int = 100
    steps: int = 1500
    learning_rate: float = 0.03
    batch_size: int = 250
    num_test_samples: int = 100


USUAL = Settings()
FAST = Settings(widths=(5, 50), depths=(1, 3, 6), num_inducing=30, steps=500, num_test_samples=20)
FULL = Settings(depths=tuple(range(1, 21)))


def draw_data(seed: int) -> tuple[Array, Array]:
    """Draw X [1000, 5] and Y [1000, 1]."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(NUM_ROWS, NUM_INPUTS))
    w = rng.normal(size=(NUM_INPUTS, 1)) / math.sqrt(NUM_INPUTS)
    return X, X @ w + math.sqrt(NOISE_VARIANCE) * rng.normal(size=(NUM_ROWS, 1))


def log_evidence(X: Array, Y: Array) -> float:
    """Log N(Y; 0, X X^T / 5 + noise I), in nats: the log evidence of the true model."""
    # In the space of the weights: |I + X^T X / (5 noise)|, and Y^T (...)^-1 Y by Woodbury.
    B = np.eye(NUM_INPUTS) + X.T @ X / (NUM_INPUTS * NOISE_VARIANCE)
    projected = X.T @ Y / (math.sqrt(NUM_INPUTS) * NOISE_VARIANCE)
    squares = np.sum(Y**2) / NOISE_VARIANCE - np.sum(projected * np.linalg.solve(B, projected))
    log_determinant = np.linalg.slogdet(B)[1] + len(Y) * math.log(2 * math.pi * NOISE_VARIANCE)
    return float(-0.5 * (squares + log_determinant))


def run(
    *,
    fast: bool = False,
    full: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train and measure all networks; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "evidence", and "networks", each with its "width", "depth", "method", bound
        "elbo", "standard_error" and "seconds" of training. The values are None if the bound stopped
        being finite, with the "error". In nats, for all rows.
    """
    settings = FULL if full else FAST if fast else USUAL
    data = draw_data(seed)
    networks = []
    announce = Parts(announce, len(settings.widths) * len(settings.depths))
    with gpflow.config.as_context():
        gpflow.config.set_default_float(FLOAT)
        gpflow.config.set_default_jitter(JITTER)
        for width in settings.widths:
            for depth in settings.depths:
                announce(f"width {width}, depth {depth}")
                for method in METHODS:
                    networks.append(
                        {
                            "width": width,
                            "depth": depth,
                            "method": method,
                            **_train(data, width, depth, method, settings, seed, progress),
                        }
                    )
    return {
        "settings": asdict(settings),
        "evidence": log_evidence(*data),
        "networks": networks,
    }


def untrained_network(
    data: tuple[Array, Array], width: int, depth: int, method: str, num_inducing: int, seed: int
) -> DeepGP:
    """A network of `depth` layers of weights.

    :param method: one of :data:`METHODS`.
    """
    likelihood = gpflow.likelihoods.Gaussian(NOISE_VARIANCE)
    gpflow.set_trainable(likelihood, False)
    return build_bnn(
        *data,
        widths=[width] * (depth - 1),
        inference=method,
        nonlinearity="identity",
        bias=False,
        likelihood=likelihood,
        num_inducing=num_inducing,
        seed=seed,
    )


def _train(
    data: tuple[Array, Array],
    width: int,
    depth: int,
    method: str,
    settings: Settings,
    seed: int,
    progress: bool,
) -> dict[str, Any]:
    data = tuple(array.astype(FLOAT) for array in data)  # type: ignore[assignment]
    model = untrained_network(data, width, depth, method, settings.num_inducing, seed)

    try:
        seconds = fit(
            model,
            data,
            steps=settings.steps,
            batch_size=settings.batch_size,
            learning_rate=falling_rate(
                settings.learning_rate, 0.01 * settings.learning_rate, settings.steps, smoothly=True
            ),
            progress=progress,
            seed=seed,
        ).seconds
    except NonFiniteError as error:
        # One network of a hundred: the others are still useful, and so is the failure.
        return {"elbo": None, "standard_error": None, "seconds": None, "error": str(error)}
    elbo = estimate_elbo(model, data, settings.num_test_samples, seed=seed)
    return {"elbo": elbo.value, "standard_error": elbo.standard_error, "seconds": seconds}


def summary(results: Mapping[str, Any]) -> str:
    """The bounds at the least and the largest depth; see :mod:`gpflow_gi.experiments.study`."""
    rows = []
    for width in results["settings"]["widths"]:
        depths = sorted({one["depth"] for one in results["networks"] if one["width"] == width})
        for depth in sorted({depths[0], depths[len(depths) // 2], depths[-1]}):
            elbos = [
                "-" if one["elbo"] is None else f"{one['elbo']:.0f}"
                for method in METHODS
                for one in results["networks"]
                if (one["width"], one["depth"], one["method"]) == (width, depth, method)
            ]
            rows.append((str(width), str(depth), *elbos))
    headers = ("width", "depth", "factor-\nised", "local", "fact. ->\nglobal", "prior ->\nglobal")
    lines = tabulate(
        rows, (*headers, "global"), disable_numparse=True, colalign=7 * ("right",)
    )  # fmt: skip
    return (
        f"{lines}\n\n"
        f"ELBO in nats, of {NUM_ROWS} rows. Evidence of the true model: {results['evidence']:.1f}."
    )


def plot(results: Mapping[str, Any]) -> Figure:
    """A panel for each width: bounds against depth, with the evidence at the top.

    Distances to the evidence span four powers of ten. Their axis is logarithmic, except for the
    last hundredth of a nat, and inverted, so that higher is better.
    """
    widths = results["settings"]["widths"]
    figure = Figure(figsize=(4.2 * len(widths), 4.4), layout="constrained")
    panels = figure.subplots(1, len(widths), sharey=True, squeeze=False)[0]
    N = NUM_ROWS
    for ax, width in zip(panels, widths, strict=True):
        for method, colour in zip(METHODS, COLOURS, strict=False):
            points = sorted(
                (one["depth"], one["elbo"], one["standard_error"] or 0.0)
                for one in results["networks"]
                if (one["width"], one["method"]) == (width, method) and one["elbo"] is not None
            )
            if not points:
                continue
            depth, elbo, error = np.transpose(points)
            gap = (results["evidence"] - elbo) / N
            ax.plot(depth, gap, "o-", color=colour, label=method, markersize=4)
            low, high = gap - 2 * error / N, gap + 2 * error / N
            ax.fill_between(depth, low, high, color=colour, alpha=0.2, linewidth=0)
        ax.axhline(0.0, color="black", linewidth=1.2, label="evidence")
        ax.set_yscale("symlog", linthresh=0.01)
        ax.set_title(f"width {width}", fontsize="medium")
        ax.set_xlabel("layers of weights")
        ax.grid(color="#E5E5E5", linewidth=0.6)
        ax.spines[["top", "right"]].set_visible(False)
        ax.xaxis.get_major_locator().set_params(integer=True)
    panels[0].invert_yaxis()
    panels[0].set_ylabel("evidence - ELBO, nats per row")
    # In a wide network the curves are near the top and the bottom.
    panels[len(panels) // 2].legend(frameon=False, fontsize="small", loc="center")
    return figure

"""Calibration under a shift of the distribution: digits as in training, rotated, and noised.

One network with one hidden layer under every posterior, trained on scikit-learn's digits. Each is
measured on the test images as they are, rotated by several angles, and with noise of several
strengths on their pixels: accuracy, log density, and how confidence and accuracy agree (Guo,
Pleiss, Sun & Weinberger 2017; with shifts: Ovadia et al. 2019, "Can you trust your model's
uncertainty?").
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from gpflow.likelihoods import Softmax
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.ndimage import rotate
from tabulate import tabulate

from gpflow_gi import classification_metrics, plotting
from gpflow_gi.architectures import build_bnn
from gpflow_gi.datasets import images
from gpflow_gi.inference import (
    ensemble,
    laplace,
    map_estimate,
    multi_swag,
    sghmc,
    swag,
    variational,
)
from gpflow_gi.models import Predictive
from gpflow_gi.plotting.style import tidy
from gpflow_gi.training import fit
from gpflow_gi.training.learning_rate import falling_rate

from .parts import Parts

Array = NDArray[np.float64]

NUM_BINS = 10
NUM_CLASSES = 10

LAYERWISE = ("factorised", "local", "global")
"""Posteriors of layers, from :func:`gpflow_gi.architectures.build_bnn`."""

METHODS = (
    "MAP", "Laplace", "ensemble", "SWAG", "MultiSWAG", "mean-field", "low-rank", "radial",
    "dropout", "SGHMC", *LAYERWISE,
)  # fmt: skip

SHIFTS = {"rotated": (15, 30, 45, 60, 90), "noised": (0.1, 0.2, 0.3, 0.4, 0.6)}
"""Angles in degrees, and standard deviations of the noise in units of white minus black."""

SHOWN = {"test": None, "rotated": 45, "noised": 0.3}
"""The shifts of the table and of the curves; None for the images as they are."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param num_train: number of images to train on.
    :param width: units of the hidden layer.
    :param steps: steps of every method; of L-BFGS at most 2000.
    :param batch_size: images of a step, except of L-BFGS and SGHMC, which use all.
    :param num_inducing: number of inducing images of the local and the global posterior.
    :param num_members: members of ensembles and of MultiSWAG.
    :param num_test_samples: number of draws for the predictions.
    """

    num_train: int = 1438
    width: int = 50
    steps: int = 4000
    batch_size: int = 200
    num_inducing: int = 100
    num_members: int = 10
    num_test_samples: int = 200


USUAL = Settings()
FAST = Settings(
    num_train=300, width=10, steps=200, num_inducing=20, num_members=3, num_test_samples=30
)


def rotated(X: Array, angle: float) -> Array:
    """Images [N, H, W], turned counter-clockwise, with black at the corners.

    :param angle: in degrees.
    """
    # With "constant" every pixel at the edge that is turned out by a hair would be black.
    turned = rotate(X, angle, axes=(2, 1), reshape=False, order=1, mode="grid-constant")
    return np.clip(turned, 0.0, 1.0)


def noised(X: Array, deviation: float, seed: int) -> Array:
    """Images with Gaussian noise on every pixel."""
    return X + deviation * np.random.default_rng(seed).normal(size=X.shape)


def shifted(X: Array, shift: str, level: float | None, seed: int) -> Array:
    """Images under one of :data:`SHIFTS`, or as they are."""
    if level is None:
        return X
    return rotated(X, level) if shift == "rotated" else noised(X, level, seed)


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Find and measure every posterior; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "num_test" and "methods": each with its "name", "seconds" and "measured":
        a list of "shift", "level" (None for "test"), "accuracy", "log_density" in nats, "ece",
        "confidence" (the mean) and "reliability", the curve.
    """
    settings = FAST if fast else USUAL
    train, test = images("digits")
    X, labels = train.X[: settings.num_train, :, :, 0].astype(float), train.Y[: settings.num_train]
    mean, deviation = X.mean(), X.std()

    def rows(pictures: Array) -> Array:
        return (pictures.reshape(len(pictures), -1) - mean) / deviation

    pictures = test.X[..., 0].astype(float)
    levels = [("test", None), *((name, one) for name, all_ in SHIFTS.items() for one in all_)]
    inputs = rows(np.concatenate([shifted(pictures, *one, seed) for one in levels]))
    announce = Parts(announce, len(METHODS))
    methods = []
    for name in METHODS:
        announce(name)
        started = time.perf_counter()
        model = find(name, (rows(X), labels), settings, seed, progress)
        seconds = time.perf_counter() - started
        P = model.predict_proba(inputs, num_samples=settings.num_test_samples, seed=seed).numpy()
        measured = [
            {"shift": shift, "level": level, **_measured(test.Y, part)}
            for (shift, level), part in zip(levels, np.split(P, len(levels)), strict=True)
        ]
        methods.append({"name": name, "seconds": seconds, "measured": measured})
    return {"settings": asdict(settings), "num_test": len(pictures), "methods": methods}


def find(
    method: str, data: tuple[Array, Array], settings: Settings, seed: int, progress: bool = False
) -> Predictive:
    """The network under a method of :data:`METHODS`."""
    likelihood = Softmax(NUM_CLASSES)
    likelihood.num_monte_carlo_points = 20
    with warnings.catch_warnings():
        # All pixels share one scale, and so those that are mostly black have a small deviation.
        warnings.filterwarnings("ignore", "X.* standard deviation")
        network = build_bnn(
            *data,
            widths=(settings.width,),
            inference=method if method in LAYERWISE else "factorised",
            num_inducing=settings.num_inducing,
            likelihood=likelihood,
            prior_scale=2.0,  # as in the estimators; with 1 all predictions are too timid
            seed=seed,
        )
    steps, M = settings.steps, settings.num_members
    most = min(2000, steps)  # of L-BFGS
    batch_size = min(settings.batch_size, len(data[0]))
    if method in LAYERWISE:
        fit(
            network,
            data,
            steps=steps,
            batch_size=batch_size,
            learning_rate=falling_rate(0.03, 0.003, steps),
            kl_warmup=steps // 5,
            progress=progress,
            seed=seed,
        )
        return network
    ascent: dict[str, Any] = {
        "steps": steps, "interval": max(steps // 100, 1), "batch_size": batch_size,
        "learning_rate": 0.05, "map_steps": most, "seed": seed,
    }  # fmt: skip
    methods: dict[str, Callable[[], Any]] = {
        "MAP": lambda: map_estimate(network, data, steps=most, seed=seed),
        "Laplace": lambda: laplace(network, data, structure="kron", steps=most, seed=seed),
        "ensemble": lambda: ensemble(network, data, M, steps=most, seed=seed),
        "SWAG": lambda: swag(network, data, **ascent),
        "MultiSWAG": lambda: multi_swag(network, data, M, **ascent),
        "SGHMC": lambda: sghmc(
            network,
            data,
            num_draws=min(50, steps // 4),
            num_chains=4,
            steps=steps,
            batch_size=None,
            learning_rate=0.5,
            seed=seed,
        ),
    }
    if method in methods:
        return methods[method]().model
    return variational(network, data, method, steps=steps, batch_size=batch_size, seed=seed).model


def _measured(labels: Array, P: Array) -> dict[str, Any]:
    """Measures of predicted probabilities, [N, classes]."""
    bins = classification_metrics.reliability(labels, P, NUM_BINS)
    return {
        "accuracy": classification_metrics.accuracy(labels, P),
        "log_density": float(classification_metrics.log_density(labels, P).mean()),
        "ece": classification_metrics.expected_calibration_error(labels, P, NUM_BINS),
        "confidence": float(P.max(axis=1).mean()),
        "reliability": {name: values.tolist() for name, values in bins._asdict().items()},
    }


def _shown(method: Mapping[str, Any], shift: str) -> Mapping[str, Any]:
    """The measures of a method under one of the shifts that are shown."""
    found = (SHOWN[shift], shift)
    return next(one for one in method["measured"] if (one["level"], one["shift"]) == found)


def summary(results: Mapping[str, Any]) -> str:
    """A row for each method; see :mod:`gpflow_gi.experiments.study`."""
    rows = []
    for method in results["methods"]:
        shown = [_shown(method, shift) for shift in SHOWN]
        rows.append(
            (
                method["name"],
                *(f"{100 * one['accuracy']:.1f}" for one in shown),
                *(f"{one['log_density']:.2f}" for one in shown),
                *(f"{one['ece']:.3f}" for one in shown),
                f"{method['seconds']:.0f}",
            )
        )
    measures = ("%", "nats", "ECE")
    levels = ("0", f"{SHOWN['rotated']}°", f"{SHOWN['noised']}")
    headers = (
        "",
        *(f"{measure}\n{name}" for measure in measures for name in levels),
        "\ns",
    )
    lines = tabulate(rows, headers, disable_numparse=True, colalign=("left", *10 * ("right",)))
    return (
        f"{lines}\n\n"
        f"Accuracy in %, mean log density in nats, calibration error ({NUM_BINS} bins) on "
        f"{results['num_test']}\n"
        f"test images: as they are (0), rotated by {SHOWN['rotated']} degrees, with noise of "
        f"{SHOWN['noised']}."
    )


def plot(results: Mapping[str, Any]) -> Figure:
    """Calibration errors against the shift, and a panel of calibration curves for each method."""
    methods = results["methods"]
    columns = 4
    num_rows = -(-(len(methods) + 3) // columns)
    figure = Figure(figsize=(2.9 * columns, 2.9 * num_rows), layout="constrained")
    panels = figure.subplots(num_rows, columns).ravel()
    colours = dict(zip(SHOWN, plotting.COLOURS, strict=False))
    for ax, shift in zip(panels, SHIFTS, strict=False):
        for i, method in enumerate(methods):
            found = [one for one in method["measured"] if one["shift"] in ("test", shift)]
            levels = [one["level"] or 0 for one in found]
            line = ("-", "--", ":")[i // len(plotting.COLOURS) % 3]
            colour = plotting.COLOURS[i % len(plotting.COLOURS)]
            eces = [one["ece"] for one in found]
            ax.plot(levels, eces, line, color=colour, label=method["name"])
        ax.set_xlabel(
            {"rotated": "Rotation, degrees", "noised": "Noise, standard deviation"}[shift]
        )
        ax.set_ylabel("ECE")
        ax.set_ylim(bottom=0.0)
        tidy(ax)
    lines, names = panels[0].get_legend_handles_labels()
    panels[2].legend(lines, names, frameon=False, fontsize="small", loc="center", ncols=2)
    panels[2].set_axis_off()
    for ax, method in zip(panels[3:], methods, strict=False):
        for shift, colour in colours.items():
            one = _shown(method, shift)
            bins = one["reliability"]
            confidence, accuracy = (np.array(bins[k], float) for k in ("confidence", "accuracy"))
            there = np.array(bins["size"]) >= FEWEST
            label = f"{shift} {one['ece']:.2f}"
            ax.plot(confidence[there], accuracy[there], ".-", color=colour, label=label)
        ax.plot([0, 1], [0, 1], color="#999999", linewidth=0.8, zorder=0)
        ax.set(xlim=(0, 1), ylim=(0, 1.02), xlabel="Confidence", ylabel="Accuracy")
        ax.set_title(method["name"], fontsize="medium")
        ax.legend(frameon=False, fontsize="x-small", title="ECE", title_fontsize="x-small")
        tidy(ax)
    for ax in panels[len(methods) + 3 :]:
        ax.set_visible(False)
    return figure


FEWEST = 5
"""Predictions of a bin that is drawn; the accuracy of fewer is noise."""

"""Classification of images: the paper's section 3.4 and the layout of its Table 1.

One residual network of convolutions, four posteriors: factorised, local inducing, factorised with a
global last layer, and global. The digits train in minutes on a CPU; MNIST takes longer, and has two
deep GPs of the pixels beside the networks, as has mnist5k, a part of its images; CIFAR-10 uses the
paper's width, its 500 inducing images and its spatial prior, or its scale prior, and needs a GPU.
Images are not augmented, and the KL term has weight one except during the warm-up, so the result is
a bound. The exception is the paper's ResNet-18, which is trained on flipped and cropped images with
a twentieth of the KL term.

The out-of-distribution images are the test images of SVHN for CIFAR-10, and cuts of two photographs
for the others. They are told from test images by the entropy of the prediction. The others have
further sets: noise, rotated and scaled digits, and letters.

A run can be resumed: training is saved every minute, and a model that is measured is not trained
again.
"""

from __future__ import annotations

import json
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

import gpflow
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from tabulate import tabulate

from gpflow_gi import classification_metrics, plotting
from gpflow_gi.architectures import build_deep_gp, build_resnet, build_resnet18
from gpflow_gi.bounds import estimate_elbo
from gpflow_gi.core.json_file import with_none_for_non_finite, write_json
from gpflow_gi.datasets import Images, images
from gpflow_gi.experiments.estimates import mean_and_standard_error, written
from gpflow_gi.models import DeepGP
from gpflow_gi.plotting.style import tidy
from gpflow_gi.training import NonFiniteError, augmented, fit
from gpflow_gi.training.learning_rate import falling_rate

from .outside_images import outside_images
from .parts import Parts

Array = NDArray[np.float64]

METHODS = ("factorised", "local", "factorised -> global", "global")
"""Posteriors of the network."""
DEEP_GPS: dict[str, Literal["local", "global"]] = {
    "deep GP, local": "local",
    "deep GP, global": "global",
}
"""Deep GPs of two layers, by name, and their posteriors."""
FLOAT, JITTER = np.float32, 1e-4
NUM_BINS = 10
"""Number of bins of the calibration error, the reliability diagrams and the histograms."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param prior: over the weights; see :func:`gpflow_gi.architectures.build_resnet`.
    :param width: number of channels of every layer; of a ResNet-18, of the first ones.
    :param num_inducing: number of inducing images.
    :param steps: number of steps of Adam.
    :param batch_size: images of a minibatch.
    :param learning_rate: learning rate in the first half; over the second it falls to a hundredth.
    :param kl_warmup: length of the KL warm-up, in steps.
    :param num_elbo_samples: number of samples for the reported bound.
    :param num_test_samples: number of samples for the predictions.
    :param resnet18: True for a ResNet-18 in place of the paper's smaller network.
    :param temperature: weight of the KL term; see :func:`gpflow_gi.fit`.
    :param augmented: True to train on flipped and cropped images.
    :param methods: posteriors of the network.
    """

    prior: str
    width: int
    num_inducing: int
    steps: int
    batch_size: int
    learning_rate: float = 0.02
    kl_warmup: int = 0
    num_elbo_samples: int = 20
    num_test_samples: int = 50
    resnet18: bool = False
    temperature: float = 1.0
    augmented: bool = False
    methods: tuple[str, ...] = METHODS


_CIFAR10 = Settings(
    prior="spatial", width=32, num_inducing=500, steps=50_000, batch_size=500, kl_warmup=10_000
)
_RESNET18 = replace(
    _CIFAR10, width=64, resnet18=True, temperature=1 / 20, augmented=True,
    methods=("factorised", "factorised -> global"),
)  # fmt: skip
USUAL = {
    "digits": Settings(
        prior="scale", width=16, num_inducing=100, steps=3000, batch_size=100, kl_warmup=600
    ),
    "mnist": Settings(
        prior="scale", width=8, num_inducing=50, steps=6000, batch_size=100, kl_warmup=1200
    ),
    "mnist5k": Settings(
        prior="scale", width=8, num_inducing=50, steps=2000, batch_size=100, kl_warmup=400
    ),
    "cifar10": _CIFAR10,
    "cifar10-scale": replace(_CIFAR10, prior="scale"),
    "cifar10-resnet18": _RESNET18,
}
FAST = {
    name: replace(
        settings, width=8, num_inducing=20, steps=100, batch_size=50, kl_warmup=20,
        num_elbo_samples=2, num_test_samples=5,
    )
    for name, settings in USUAL.items()
}  # fmt: skip
OF_DEEP_GPS: dict[str, dict[str, Any]] = {
    "mnist": {"num_inducing": 100, "steps": 10_000, "batch_size": 1000, "kl_warmup": 2000},
    "mnist5k": {"num_inducing": 100, "steps": 2000, "batch_size": 1000, "kl_warmup": 400},
}
"""Settings of the deep GPs that differ, for data that have them; not with `fast`."""


@dataclass(frozen=True)
class Task:
    """Standardised training images, test images and out-of-distribution images.

    :param outside: out-of-distribution images, [N, H, W, C].
    :param further: more sets of them, by name.
    """

    train: Images
    test: Images
    outside: Array
    further: Mapping[str, Array]

    def of_pixels(self) -> Task:
        """The same with images of [N, H W C], for models of vectors."""

        def flat(X: Array) -> Array:
            return X.reshape(len(X), -1)

        return Task(
            replace(self.train, X=flat(self.train.X)),
            replace(self.test, X=flat(self.test.X)),
            flat(self.outside),
            {name: flat(X) for name, X in self.further.items()},
        )


def load(data: str, seed: int) -> Task:
    """Load the task of a set of images.

    :param data: a key of :data:`USUAL`.
    :param seed: seed of the cuts of photographs, and of the further sets.
    :raises DataError: if a file is not available.
    """
    name = data.partition("-")[0]
    train, test = images(name)
    further = {}
    if name == "cifar10":
        outside = images("svhn")[1].X
    else:
        further = outside_images(test.X, seed)
        outside = _photographs(len(test.X), np.random.default_rng(seed), test.X.shape[1])
    mean, deviation = train.X.mean(axis=(0, 1, 2)), train.X.std(axis=(0, 1, 2))

    def standardised(X: Any) -> Any:
        return ((X - mean) / deviation).astype(FLOAT)

    return Task(
        replace(train, X=standardised(train.X)),
        replace(test, X=standardised(test.X)),
        standardised(outside),
        {name: standardised(X) for name, X in further.items()},
    )


def _photographs(number: int, rng: np.random.Generator, side: int) -> Array:
    """Grey cuts from the two photographs of scikit-learn, [n, side, side, 1]; all, or `number`."""
    from sklearn.datasets import load_sample_images

    cuts = []
    for photograph in load_sample_images().images:
        grey = photograph.mean(axis=2) / 255
        rows, cols = (size // side for size in grey.shape)
        grid = grey[: rows * side, : cols * side].reshape(rows, side, cols, side).swapaxes(1, 2)
        cuts.append(grid.reshape(-1, side, side, 1))
    everything = np.concatenate(cuts)
    return everything[rng.choice(len(everything), min(number, len(everything)), replace=False)]


def run(
    *,
    fast: bool = False,
    data: str = "digits",
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
    checkpoints: Path | None = None,
) -> dict[str, Any]:
    """Train and measure the models; see :mod:`gpflow_gi.experiments.study`.

    :param data: a key of :data:`USUAL`.
    :param checkpoints: folder for unfinished work; None for none.
    :return: "settings", "of_deep_gps" (those of deep GPs that differ, or None), "num_train",
        "num_test", "num_outside", and "networks": each with its "method", bound "elbo" per image
        and "log_density" with standard errors, in nats, "accuracy", calibration error "ece",
        "auroc", "further_auroc" of other sets, "seconds_per_epoch", the data of the figure, and the
        "training"; or the "error" if training stopped being finite.
    """
    settings = (FAST if fast else USUAL)[data]
    task = load(data, seed)
    of_deep_gps = None if fast else OF_DEEP_GPS.get(data)
    announce = Parts(announce, len(settings.methods) + (len(DEEP_GPS) if of_deep_gps else 0))
    with gpflow.config.as_context():
        gpflow.config.set_default_float(FLOAT)
        gpflow.config.set_default_jitter(JITTER)
        runs = [(method, task, settings) for method in settings.methods]
        if of_deep_gps:
            own = replace(settings, **of_deep_gps)
            runs += [(method, task.of_pixels(), own) for method in DEEP_GPS]
        networks = []
        for method, its_task, its_settings in runs:
            announce(method)
            folder = None if checkpoints is None else checkpoints / re.sub(r"\W+", "-", method)
            measures = _once(folder, its_task, method, its_settings, seed, progress)
            networks.append({"method": method, **measures})
    return {
        "data": data,
        "settings": asdict(settings),
        "of_deep_gps": of_deep_gps,
        "num_train": len(task.train.X),
        "num_test": len(task.test.X),
        "num_outside": len(task.outside),
        "networks": networks,
    }


def _once(
    folder: Path | None, task: Task, method: str, settings: Settings, seed: int, progress: bool
) -> dict[str, Any]:
    """Train and measure one model, or read its measures if `folder` has them.

    An error is not kept, so that the next run tries again.
    """
    if folder is None:
        return _train(task, method, settings, seed, progress)
    file = folder / "measures.json"
    if file.exists():
        return dict(json.loads(file.read_text("utf-8")))
    measures = _train(task, method, settings, seed, progress, folder)
    if "error" not in measures:
        folder.mkdir(parents=True, exist_ok=True)
        write_json(with_none_for_non_finite(measures), file)
    return measures


def _train(
    task: Task,
    method: str,
    settings: Settings,
    seed: int,
    progress: bool,
    folder: Path | None = None,
) -> dict[str, Any]:
    model = build_model((task.train.X, task.train.Y), method, settings, seed)
    return train_and_measure(model, task, settings, seed, progress, folder)


def train_and_measure(
    model: DeepGP,
    task: Task,
    settings: Settings,
    seed: int,
    progress: bool,
    folder: Path | None = None,
) -> dict[str, Any]:
    """Train a model by the settings, and measure it.

    :param folder: for checkpoints; None for none.
    :return: its measures as in the results of :func:`run`, or the "error".
    """
    data = task.train.X, task.train.Y
    try:
        record = fit(
            model,
            data,
            steps=settings.steps,
            batch_size=settings.batch_size,
            learning_rate=falling_rate(
                settings.learning_rate, 0.01 * settings.learning_rate, settings.steps, smoothly=True
            ),
            kl_warmup=settings.kl_warmup,
            temperature=settings.temperature,
            augment=augmented if settings.augmented else None,
            checkpoint_dir=folder,
            progress=progress,
            seed=seed,
        )
    except NonFiniteError as error:
        return {"error": str(error)}
    elbo = estimate_elbo(model, data, settings.num_elbo_samples, seed=seed)
    N = len(task.train.X)
    return {
        "elbo": {"mean": elbo.value / N, "standard_error": elbo.standard_error / N},
        **_measured(model, task, settings.num_test_samples, seed),
        "seconds_per_epoch": record.seconds_per_step * N / min(settings.batch_size, N),
        "training": record.to_dict(),
    }


def build_model(data: tuple[Any, Any], method: str, settings: Settings, seed: int) -> DeepGP:
    """Build the network of a method, or one of the deep GPs.

    :param data: images [N, H, W, C], or for deep GPs [N, D], and labels [N, 1].
    :param method: one of the settings' methods, or of :data:`DEEP_GPS`.
    """
    if method not in DEEP_GPS:
        build = build_resnet18 if settings.resnet18 else build_resnet
        return build(
            *data,
            width=settings.width,
            inference=method,
            prior=settings.prior,
            num_inducing=settings.num_inducing,
            seed=seed,
        )
    with warnings.catch_warnings():
        # All pixels share one scale, and so those that are mostly black have a small deviation.
        warnings.filterwarnings("ignore", "X.* standard deviation")
        return build_deep_gp(
            *data,
            inference=DEEP_GPS[method],
            num_inducing=settings.num_inducing,
            likelihood=gpflow.likelihoods.Softmax(1 + int(data[1].max())),
            seed=seed,
        )


def _measured(model: DeepGP, task: Task, num_samples: int, seed: int) -> dict[str, Any]:
    """Measures of the predictions on test images and on out-of-distribution images."""
    inside, outside, *further = (
        np.asarray(model.predict_proba(X, num_samples=num_samples, seed=seed), np.float64)
        for X in (task.test.X, task.outside, *task.further.values())
    )
    labels = task.test.Y
    bins = classification_metrics.reliability(labels, inside, NUM_BINS)
    entropies = [classification_metrics.predictive_entropy(P) for P in (inside, outside)]
    edges = np.linspace(0.0, np.log(inside.shape[1]), NUM_BINS + 1)
    return {
        "log_density": mean_and_standard_error(classification_metrics.log_density(labels, inside)),
        "accuracy": classification_metrics.accuracy(labels, inside),
        "brier_score": float(classification_metrics.brier_score(labels, inside).mean()),
        "ece": classification_metrics.expected_calibration_error(labels, inside, NUM_BINS),
        "auroc": classification_metrics.auroc(*entropies),
        "further_auroc": {
            name: classification_metrics.auroc(
                entropies[0], classification_metrics.predictive_entropy(P)
            )
            for name, P in zip(task.further, further, strict=True)
        },
        "reliability": {name: values.tolist() for name, values in bins._asdict().items()},
        "entropy": {
            "edges": edges.tolist(),
            **{
                name: (np.histogram(values, edges)[0] / len(values)).tolist()
                for name, values in zip(("inside", "outside"), entropies, strict=True)
            },
        },
    }


def summary(results: Mapping[str, Any]) -> str:
    """Table 1 of the paper with two more columns; see :mod:`gpflow_gi.experiments.study`."""
    rows = []
    for one in results["networks"]:
        if "error" in one:
            rows.append((one["method"], *6 * ("-",)))
            continue
        rows.append(
            (
                one["method"],
                written(one["log_density"], 3),
                f"{100 * one['accuracy']:.2f}",
                f"{one['elbo']['mean']:.3f}",
                f"{one['seconds_per_epoch']:.3g}",
                f"{one['ece']:.3f}",
                f"{one['auroc']:.3f}",
            )
        )
    headers = ("", "test log\ndensity", "accu-\nracy, %", "ELBO", "s per\nepoch", "ECE", "AUROC")
    lines = tabulate(
        rows, headers, disable_numparse=True, colalign=("left", *6 * ("right",))
    )  # fmt: skip
    name = results["data"].partition("-")[0]
    outside = "test images of SVHN" if name == "cifar10" else "cuts of photographs"
    notes = (
        f"On {results['num_test']} test images of {name}. ELBO: per image trained on, "
        f"in nats. ECE: expected calibration error, of {NUM_BINS} bins, lower is better. AUROC: of "
        f"telling {results['num_outside']} {outside} from them by the entropy of the prediction; "
        "1 is best, 0.5 is chance."
    )
    if results["settings"].get("augmented"):  # earlier results have no such setting
        notes += (
            f" The KL term was weighted by {results['settings']['temperature']:g} in training, on "
            "flipped and cropped images; the ELBO is that of the images as they are."
        )
    return f"{lines}\n\n{textwrap.fill(notes, 80)}{_of_further_sets(results['networks'])}"


def _of_further_sets(networks: Sequence[Mapping[str, Any]]) -> str:
    """The AUROC of every set, if there is more than one."""
    measured = [one for one in networks if one.get("further_auroc")]
    if not measured:
        return ""
    names = list(measured[0]["further_auroc"])
    rows = [
        (
            one["method"],
            *(f"{value:.3f}" for value in (one["auroc"], *one["further_auroc"].values())),
        )
        for one in measured
    ]
    headers = ("AUROC", "photographs", *names)
    alignment = ("left", *(len(names) + 1) * ("right",))
    return "\n\n" + tabulate(rows, headers, disable_numparse=True, colalign=alignment)


def plot(results: Mapping[str, Any]) -> Figure:
    """Reliability diagrams in the upper row, entropies of the predictions in the lower row."""
    networks = [one for one in results["networks"] if "error" not in one]
    figure = Figure(figsize=(3.2 * max(len(networks), 2), 6.4), layout="constrained")
    panels = figure.subplots(2, max(len(networks), 2), sharey="row")
    for (above, below), one in zip(panels.T, networks, strict=False):
        bins = {name: np.array(values, float) for name, values in one["reliability"].items()}
        plotting.reliability_diagram(bins["edges"], bins["confidence"], bins["accuracy"], above)
        above.set_title(f"{one['method']}\n{one['accuracy']:.1%} right", fontsize="medium")
        entropy = one["entropy"]
        for name, colour in zip(("inside", "outside"), plotting.COLOURS, strict=False):
            below.stairs(
                entropy[name], entropy["edges"], fill=True, color=colour, alpha=0.5,
                label={"inside": "test images", "outside": "from elsewhere"}[name],
            )  # fmt: skip
        below.set_xlabel("Entropy of the prediction, nats")
        below.set_title(f"AUROC {one['auroc']:.2f}", fontsize="medium")
        tidy(below)
    for ax in panels[:, 1:].flat:
        ax.set_ylabel("")
    panels[1, 0].set_ylabel("Share of images")
    for ax in panels[:, 0] if networks else ():
        ax.legend(frameon=False, fontsize="small")
    return figure

"""Tightness of the global posterior's bound: ELBO and IWBO on draws of the cubic data.

The importance weighted bound of many samples is close to the log evidence; the ELBO is lower by
about the cost of the approximate posterior. 100 rows, a network of 2 x 50 ReLU units, NealPrior
with twice its standard deviation, 100 inducing points, 10,000 steps of Adam at 0.01.

The noise has its known variance. :data:`PUBLISHED` holds the bounds of the notebook "Global
inducing points for BNNs" (https://random-walks.org/content/misc/gip/gip.html), which explains the
method with a network of the same size on 100 rows of a draw of its own. The evidence changes with
the draw, by a standard deviation of about sqrt(N/2) = 7 nats from the noise's sum of squares alone;
the IWBOs of 25 draws had a mean of 78 and a standard deviation of 7. So compare the distance
between the bounds, not the bounds.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi.experiments.cubic import Cubic
from gpflow_gi.experiments.cubic_network import Evaluation, Training, bounds, trained_network
from gpflow_gi.experiments.estimates import mean_and_standard_error, written
from gpflow_gi.plotting import COLOURS

from .parts import Parts

PUBLISHED = {"elbo": (61.2, 3.9), "iwbo": (66.2, 0.2)}
"""Bounds of the notebook, in nats, each with twice the standard deviation of ten repetitions."""


@dataclass(frozen=True)
class Settings:
    """Settings of a run of the experiment.

    :param training: training of each network.
    :param num_data_sets: number of draws of the data.
    :param num_rows: number of rows of each draw.
    :param num_inducing: number of inducing points.
    :param prior_scale: factor on the standard deviation of NealPrior.
    :param evaluation: settings of the bounds' estimates.
    """

    training: Training
    num_data_sets: int = 5
    num_rows: int = 100
    num_inducing: int = 100
    prior_scale: float = 2.0
    evaluation: Evaluation = field(default_factory=Evaluation)


USUAL = Settings(Training(steps=10_000, learning_rate=0.01, last_learning_rate=0.01))
FAST = Settings(
    Training(steps=1500),
    num_data_sets=2,
    evaluation=Evaluation(elbo_samples=200, iwbo_samples=200, iwbo_repeats=5),
)


def run(
    *,
    fast: bool = False,
    seed: int = 0,
    announce: Callable[[str], None] = print,
    progress: bool = True,
) -> dict[str, Any]:
    """Train and measure a network on every draw; see :mod:`gpflow_gi.experiments.study`.

    :return: "settings", "noise", "data_sets" with the bounds and the spread of one sample's log
        weight on each, their "elbo", "iwbo" and "gap" with standard errors over draws, and the
        "published" bounds. In nats, for standardised targets.
    """
    settings = FAST if fast else USUAL
    data_sets: list[dict[str, Any]] = []
    announce = Parts(announce, settings.num_data_sets)
    for i in range(settings.num_data_sets):
        announce(f"Data set {i + 1}")
        data = Cubic.draw(settings.num_rows, seed + i)
        model = trained_network(
            data,
            settings.training,
            num_inducing=settings.num_inducing,
            prior_scale=settings.prior_scale,
            seed=seed + i,
            progress=progress,
        )
        measured = bounds(model, data, settings.evaluation, seed + i)
        log_weights = model.log_importance_weights(
            (data.X, data.Y), settings.evaluation.iwbo_samples, seed=seed + i
        )
        data_sets.append(
            {
                "seed": seed + i,
                "noise_deviation": data.noise_deviation,
                **measured,
                "gap": measured["iwbo"]["mean"] - measured["elbo"]["mean"],
                "log_weight_deviation": float(np.std(log_weights, ddof=1)),
            }
        )
    return {
        "settings": asdict(settings),
        "noise": "known",
        "data_sets": data_sets,
        "elbo": mean_and_standard_error([one["elbo"]["mean"] for one in data_sets]),
        "iwbo": mean_and_standard_error([one["iwbo"]["mean"] for one in data_sets]),
        "gap": mean_and_standard_error([one["gap"] for one in data_sets]),
        "published": {
            name: {"mean": mean, "plus_or_minus": spread}
            for name, (mean, spread) in PUBLISHED.items()
        },
    }


def summary(results: Mapping[str, Any]) -> str:
    """The bounds on every draw; see :mod:`gpflow_gi.experiments.study`."""
    rows: list[tuple[str, ...]] = [
        (
            f"data set {one['seed']}",
            f"{one['noise_deviation']:.3f}",
            written(one["elbo"]),
            written(one["iwbo"]),
            f"{one['gap']:.2f}",
            f"{one['log_weight_deviation']:.2f}",
        )
        for one in results["data_sets"]
    ]
    mean = (written(results[name]) for name in ("elbo", "iwbo", "gap"))
    rows.append(("mean", "", *mean, ""))
    published = results["published"]
    elbo, iwbo = (published[name] for name in ("elbo", "iwbo"))
    rows.append(
        (
            "published",
            "",
            *(f"{bound['mean']:.1f} ± {bound['plus_or_minus']:.1f}" for bound in (elbo, iwbo)),
            f"{iwbo['mean'] - elbo['mean']:.1f}",
            "",
        )
    )
    headers = ("", "noise", "ELBO", "IWBO", "IWBO - ELBO", "one sample")
    lines = tabulate(
        rows, headers, disable_numparse=True, colalign=("left", *5 * ("right",))
    )  # fmt: skip
    return (
        f"{lines}\n\n"
        "Nats, for standardised targets; noise: its known standard deviation. ±: standard\n"
        "error, over samples and in the mean over data sets. One sample: the standard\n"
        "deviation of one sample's log weight, whose mean is the ELBO with sampled f.\n"
        'Published: the notebook "Global inducing points for BNNs" (random-walks.org), on\n'
        "another draw; its ± is twice the standard deviation of ten repetitions."
    )


def plot(results: Mapping[str, Any]) -> Figure:
    """Both bounds on every draw, and the published ones.

    See :mod:`gpflow_gi.experiments.study`.
    """
    names = [f"data set {one['seed']}" for one in results["data_sets"]]
    figure = Figure(figsize=(6.4, 3.6), layout="constrained")
    ax = figure.subplots()
    for bound, colour, shift in [("elbo", COLOURS[0], -0.08), ("iwbo", COLOURS[1], 0.08)]:
        values = [one[bound]["mean"] for one in results["data_sets"]]
        errors = [one[bound]["standard_error"] or 0.0 for one in results["data_sets"]]
        places = np.arange(len(values)) + shift
        style: dict[str, Any] = {
            "color": colour,
            "markersize": 6,
            "capsize": 3,
            "linestyle": "none",
        }
        ax.errorbar(places, values, errors, marker="o", label=bound.upper(), **style)
        published = results["published"][bound]
        ax.errorbar(
            [len(values) + shift],
            [published["mean"]],
            [published["plus_or_minus"]],
            marker="s",
            **style,
        )
    ax.axvline(len(names) - 0.5, color="#BBBBBB", linewidth=0.8)
    ax.set_xticks(range(len(names) + 1), [*names, "published"], fontsize="small")
    ax.set_ylabel("Bound (nats)")
    ax.legend(frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
    return figure

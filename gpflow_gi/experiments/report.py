"""A comparison as a table, as JSON and as figures."""

import json
import math
import platform
import textwrap
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi import plotting
from gpflow_gi._version import __version__
from gpflow_gi.experiments.compare import INTERVAL, Comparison, Result

_MOST_DOTS = 300
"""More held-out rows than this hide each other in a figure."""


def table(comparison: Comparison) -> str:
    """The measures of all models and how to read them, at most 80 columns wide."""
    rows = [
        (
            result.name,
            f"{result.elbo:.3f}",
            f"{result.log_density.mean():.3f}",
            f"{result.rmse:.4g}",
            f"{result.crps.mean():.4g}",
            f"{1e3 * result.record.seconds_per_step:.3g}",
            f"{_seconds(result):.1f}",
        )
        for result in comparison.results
    ]
    headers = ("", "ELBO\nper row", "log\ndensity", "\nRMSE", "\nCRPS", "ms per\nstep", "\nseconds")
    lines = tabulate(
        rows, headers, disable_numparse=True, colalign=("left", *6 * ("right",))
    )  # fmt: skip
    n = len(comparison.test.Y)
    notes = (
        f"ELBO: the bound on the training rows, target standardised{_elbo_error(comparison)}; "
        "higher is better. Log density (higher is better), RMSE and CRPS (lower is better): on "
        f"{n} held-out row{'s' * (n != 1)}, target on its original scale. {_noise(comparison)}"
    )
    return f"{lines}\n\n{textwrap.fill(notes, 80)}"


def _elbo_error(comparison: Comparison) -> str:
    """How large the error of a bound is that is a mean over samples."""
    errors = [result.elbo_standard_error for result in comparison.results]
    known = [error for error in errors if math.isfinite(error) and error > 0]
    return f", with a standard error of up to {max(known):.1g}" if known else ""


def _noise(comparison: Comparison) -> str:
    """How large a difference in log density has to be on so few rows."""
    n = len(comparison.test.Y)
    if n < 2:
        return ""
    first, *others = (result.log_density for result in comparison.results)
    worst = max(np.std(other - first, ddof=1) / math.sqrt(n) for other in others)
    return (
        "The rows are a sample: a difference in log density between two models has a standard "
        f"error of up to {worst:.2g}."
    )


def _seconds(result: Result) -> float:
    return result.record.compile_seconds + result.record.seconds


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Everything that the comparison knows but the rows themselves, ready for JSON.

    JSON has no NaN and no infinity: None stands for either.
    """
    train, test = comparison.train, comparison.test
    log_scale = float(np.log(comparison.standardiser.scale[0]))
    numbers = {
        "command": "compare",
        "versions": {
            "gpflow_gi": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in ("gpflow", "tensorflow", "numpy", "scikit-learn")},
            "platform": platform.platform(),
        },
        "settings": {**asdict(comparison.settings), "widths": list(comparison.settings.widths)},
        "data": {
            "name": train.name,
            "train_rows": len(train.Y),
            "test_rows": len(test.Y),
            "inputs": list(train.input_names),
            "target": train.target_name,
            "target_mean": float(comparison.standardiser.mean[0]),
            "target_standard_deviation": float(comparison.standardiser.scale[0]),
        },
        "models": [
            {
                "name": result.name,
                "elbo_per_row": result.elbo,
                "elbo_per_row_standard_error": result.elbo_standard_error,
                "elbo_per_row_original_scale": result.elbo - log_scale,
                "log_density": _mean_and_standard_error(result.log_density),
                "rmse": result.rmse,
                "crps": _mean_and_standard_error(result.crps),
                "interval_probability": INTERVAL,
                "interval_coverage": result.coverage,
                "training": result.record.to_dict(),
            }
            for result in comparison.results
        ],
    }
    return _with_none_for_non_finite(numbers)


def _with_none_for_non_finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _with_none_for_non_finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_none_for_non_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _mean_and_standard_error(values: np.ndarray) -> dict[str, float | None]:
    n = len(values)
    standard_error = float(np.std(values, ddof=1) / math.sqrt(n)) if n > 1 else None
    return {"mean": float(values.mean()), "standard_error": standard_error}


def training_figure(comparison: Comparison) -> Figure:
    """The bounds of all models against the step."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    ax = plotting.training_curves(
        {result.name: result.record for result in comparison.results},
        figure.subplots(),
        num_data=len(comparison.train.Y),
    )
    ax.set_title(f"{comparison.train.name}: training", fontsize="medium")
    return figure


def predictions_figure(comparison: Comparison) -> Figure:
    """Held-out targets and their predictive intervals, a panel for each model."""
    test, results = comparison.test, comparison.results
    # Held-out rows come in random order: the first ones are a random sample.
    shown = min(len(test.Y), _MOST_DOTS)
    figure = Figure(figsize=(4 * len(results), 4.6), layout="constrained")
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for ax, result in zip(panels, results, strict=True):
        plotting.predictions_with_intervals(
            test.Y[:shown, 0], result.mean[:shown], result.lower[:shown], result.upper[:shown], ax
        )
        ax.set_title(f"{result.name}: {result.coverage:.0%} inside", fontsize="medium")
        ax.label_outer()
    _same_limits(panels)
    rows = (
        f"{shown} held-out rows"
        if shown == len(test.Y)
        else f"{shown} of {len(test.Y)} held-out rows"
    )
    figure.suptitle(
        f"{test.name}, {test.target_name}: {rows} with {INTERVAL:.0%} predictive intervals",
        fontsize="large",
    )
    return figure


def _same_limits(panels: Any) -> None:
    """Show the range that all panels need in each of them."""
    low, high = np.transpose([ax.get_xlim() for ax in panels])
    for ax in panels:
        ax.set_xlim(low.min(), high.max())
        ax.set_ylim(low.min(), high.max())


def write(comparison: Comparison, folder: Path) -> None:
    """Write the numbers and the figures: :data:`~gpflow_gi.experiments.settings.FILES`.

    :param folder: must exist.
    """
    numbers = json.dumps(as_json(comparison), indent=2, allow_nan=False)
    (folder / "results.json").write_text(numbers + "\n")
    training_figure(comparison).savefig(folder / "training_curves.png", dpi=150)
    predictions_figure(comparison).savefig(folder / "predictions.png", dpi=150)

"""A comparison as a table, as JSON and as figures."""

import io
import json
import math
import textwrap
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from itertools import combinations
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from tabulate import tabulate

from gpflow_gi import plotting
from gpflow_gi.benchmark.methods import NO_BOUND
from gpflow_gi.benchmark.results_folder import ResultsFolderError, put_file, remove_file
from gpflow_gi.core.json_file import versions, with_none_for_non_finite
from gpflow_gi.core.printable import labels, printable
from gpflow_gi.experiments.compare import INTERVAL, Comparison, Failure, Result
from gpflow_gi.experiments.maps import has_map, map_figure
from gpflow_gi.metrics.classification import reliability

_LONGEST = 30
"""Largest number of characters of a name in a figure's title."""

_LONGEST_REASON = 500
"""Largest number of characters of an error's message below the table; TensorFlow's are long."""

_MOST_DOTS = 300
"""Largest number of held-out rows in a figure; more would hide each other."""


def table(comparison: Comparison) -> str:
    """The measures of all models and notes on how to read them, at most 80 columns wide."""
    measures = _MEASURES[comparison.train.task]
    titles = (title for title, _ in measures.values())
    headers = ("", "ELBO\nper row", *titles, "ms per\nstep", "\nseconds")
    lines = tabulate(
        [_row(outcome, measures) for outcome in comparison.outcomes],
        headers,
        disable_numparse=True,
        colalign=("left", *(len(headers) - 1) * ("right",)),
    )
    notes = [f"{failure.name} failed: {reason(failure)}" for failure in comparison.failures]
    for result in comparison.results:
        if comparison.settings.until_converged and result.record.reports:
            has = "had" if result.record.stopped == "converged" else "had not yet"
            notes.append(f"{result.name} {has} converged after {result.record.step} steps.")
        elif comparison.settings.until_converged:
            notes.append(f"{result.name}: --until-converged plays no part in its training.")
        notes += [f"{result.name}: {_line(text)}" for text in result.record.notes]
    without = [one.name for one in comparison.results if one.measured.metrics["elbo"] is None]
    if without:
        notes.append(f"No ELBO: {'; '.join(without)}. {NO_BOUND}")
    if comparison.left:
        notes.append(f"Not there yet: {'; '.join(comparison.left)}.")
    if comparison.results:
        notes.append(_how_to_read(comparison))
    return "\n\n".join([lines, *(textwrap.fill(note, 80) for note in notes)])


_MEASURES = {
    "regression": {
        "log_density": ("log\ndensity", ".3f"),
        "rmse": ("\nRMSE", ".4g"),
        "crps": ("\nCRPS", ".4g"),
    },
    "classification": {
        "log_density": ("log\ndensity", ".3f"),
        "accuracy": ("\naccuracy", ".3f"),
        "ece": ("\nECE", ".3f"),
        "brier": ("\nBrier", ".3f"),
    },
}
_MEASURES["counts"] = _MEASURES["regression"]
"""Titles and forms of the measures of a task."""


def _row(outcome: Result | Failure, measures: Mapping[str, tuple[str, str]]) -> tuple[str, ...]:
    if isinstance(outcome, Failure):
        return (outcome.name, "failed", *(len(measures) + 2) * ("-",))
    found, record = outcome.measured.metrics, outcome.record
    return (
        outcome.name,
        "-" if found["elbo"] is None else f"{found['elbo']:.3f}",
        *(format(found[name], form) for name, (_, form) in measures.items()),
        f"{1e3 * record.seconds_per_step:.3g}" if record.reports else "-",
        f"{outcome.seconds:.1f}",
    )


def reason(failure: Failure) -> str:
    """The error's message in one line; with the error's name unless it is an error of training."""
    kind, message = failure.error["type"], failure.error["message"]
    said = _line(str(message))
    if len(said) > _LONGEST_REASON:
        said = f"{said[:_LONGEST_REASON]}… (all of it is in results.json)"
    return said if kind == "NonFiniteError" else f"{kind}: {said}"


def _line(text: str) -> str:
    return printable(" ".join(text.split()))


def _how_to_read(comparison: Comparison) -> str:
    n = len(comparison.test.Y)
    if comparison.train.task == "classification":
        return (
            f"ELBO: the bound on the training rows{_elbo_error(comparison)}; higher is better. Log "
            "density and accuracy (higher is better), expected calibration error and Brier score "
            f"(lower is better): on {n} held-out row{'s' * (n != 1)}. {_noise(comparison)}"
        )
    scaled = ", target standardised" * (comparison.train.task == "regression")
    return (
        f"ELBO: the bound on the training rows{scaled}{_elbo_error(comparison)}; "
        "higher is better. Log density (higher is better), RMSE and CRPS (lower is better): on "
        f"{n} held-out row{'s' * (n != 1)}, target on its original scale. {_noise(comparison)}"
    )


def _elbo_error(comparison: Comparison) -> str:
    """Text on the standard error of bounds that are means over samples."""
    errors = [result.measured.standard_errors["elbo"] for result in comparison.results]
    known = [error for error in errors if error and math.isfinite(error)]
    return f", with a standard error of up to {max(known):.1g}" if known else ""


def _noise(comparison: Comparison) -> str:
    """Text on the size of a difference in log density that the number of rows can show."""
    n = len(comparison.test.Y)
    if n < 2 or len(comparison.results) < 2:
        return ""
    densities = [result.measured.held_out.log_density for result in comparison.results]
    gaps = (one - other for one, other in combinations(densities, 2))
    worst = max(np.std(gap, ddof=1) / math.sqrt(n) for gap in gaps)
    return (
        "The rows are a sample: a difference in log density between two models has a standard "
        f"error of up to {worst:.2g}."
    )


def as_json(comparison: Comparison) -> dict[str, Any]:
    """Everything in the comparison except the rows, ready for JSON.

    JSON has no NaN and no infinity: None replaces them.
    """
    train, test = comparison.train, comparison.test
    log_scale = float(np.log(comparison.standardiser.scale[0]))
    numbers = {
        "command": "compare",
        "versions": versions(),
        "settings": {**asdict(comparison.settings), "widths": list(comparison.settings.widths)},
        "data": {
            "name": train.name,
            "train_rows": len(train.Y),
            "test_rows": len(test.Y),
            "inputs": list(train.input_names),
            "target": train.target_name,
            "task": train.task,
            "classes": list(train.classes),
            "target_mean": float(comparison.standardiser.mean[0]),
            "target_standard_deviation": float(comparison.standardiser.scale[0]),
        },
        "models": [_model(outcome, log_scale) for outcome in comparison.outcomes],
        "models_left": list(comparison.left),
    }
    return dict(with_none_for_non_finite(numbers))


def _model(outcome: Result | Failure, log_scale: float) -> dict[str, Any]:
    shared = {
        "name": outcome.name,
        "status": "failed" if isinstance(outcome, Failure) else "done",
        "notes": outcome.record.notes if outcome.record else [],
        "training": outcome.record.to_dict() if outcome.record else None,
    }
    if isinstance(outcome, Failure):
        return {**shared, "error": dict(outcome.error)}
    found, errors = outcome.measured.metrics, outcome.measured.standard_errors
    elbo = found["elbo"]
    return {
        **shared,
        "seconds": outcome.seconds,
        "elbo_per_row": elbo,
        "elbo_per_row_standard_error": errors["elbo"],
        "elbo_per_row_original_scale": None if elbo is None else elbo - log_scale,
        "log_density": {"mean": found["log_density"], "standard_error": errors["log_density"]},
        **{
            name: {"mean": found[name], "standard_error": errors[name]}
            if name in errors
            else found[name]
            for name in found
            if name in ("rmse", "crps", "accuracy", "ece", "brier")
        },
        "interval_probability": None if outcome.coverage is None else INTERVAL,
        "interval_coverage": outcome.coverage,
    }


def _trained_by_steps(comparison: Comparison) -> list[Result]:
    return [result for result in comparison.results if result.record.reports]


def training_figure(comparison: Comparison) -> Figure:
    """The bounds of all models against the step."""
    figure = Figure(figsize=(7, 4.2), layout="constrained")
    ax = plotting.training_curves(
        {result.name: result.record for result in _trained_by_steps(comparison)},
        figure.subplots(),
        num_data=len(comparison.train.Y),
    )
    ax.set_title(f"{_shown(comparison.train.name)}: training", fontsize="medium")
    return figure


def predictions_figure(comparison: Comparison) -> Figure:
    """Held-out targets and their predictive intervals, a panel for each model."""
    test, results = comparison.test, comparison.results
    if comparison.train.task == "classification":
        return _reliability_figure(comparison)
    # Held-out rows may be in an order of their own, such as pixels from north to south.
    some = np.random.default_rng(0).permutation(len(test.Y))[:_MOST_DOTS]
    figure = Figure(figsize=(4 * len(results), 4.6), layout="constrained")
    panels = figure.subplots(1, len(results), squeeze=False)[0]
    for ax, result in zip(panels, results, strict=True):
        held_out: Any = result.measured.held_out
        (lower, upper), mean, y = held_out.interval(INTERVAL), held_out.mean, test.Y[:, 0]
        plotting.predictions_with_intervals(y[some], mean[some], lower[some], upper[some], ax)
        ax.set_title(f"{result.name}: {result.coverage:.0%} inside", fontsize="medium")
        ax.label_outer()
    _same_limits(panels)
    rows = (
        f"{len(some)} held-out rows"
        if len(some) == len(test.Y)
        else f"{len(some)} of {len(test.Y)} held-out rows"
    )
    figure.suptitle(
        f"{_shown(test.name)}, {_shown(test.target_name)}: {rows} with {INTERVAL:.0%} predictive "
        "intervals",
        fontsize="large",
    )
    return figure


def _reliability_figure(comparison: Comparison) -> Figure:
    """Accuracy against confidence, a panel for each model."""
    results = comparison.results
    figure = Figure(figsize=(4 * len(results), 4.6), layout="constrained")
    for ax, result in zip(figure.subplots(1, len(results), squeeze=False)[0], results, strict=True):
        held_out: Any = result.measured.held_out
        bins = reliability(held_out.Y, held_out.probabilities)
        plotting.reliability_diagram(bins.edges, bins.confidence, bins.accuracy, ax)
        right = result.measured.metrics["accuracy"]
        ax.set_title(f"{result.name}: {right:.0%} right", fontsize="medium")
        ax.label_outer()
    test = comparison.test
    figure.suptitle(
        f"{_shown(test.name)}, {_shown(test.target_name)}: {len(test.Y)} held-out rows",
        fontsize="large",
    )
    return figure


def _shown(name: str) -> str:
    return labels([name], most=_LONGEST)[name]


def _same_limits(panels: Any) -> None:
    """Use the same limits for all panels, wide enough for each."""
    low, high = np.transpose([ax.get_xlim() for ax in panels])
    for ax in panels:
        ax.set_xlim(low.min(), high.max())
        ax.set_ylim(low.min(), high.max())


def write(comparison: Comparison, folder: Path) -> None:
    """Write the numbers, the table and the figures of the models that have ended.

    Each of the files :data:`~gpflow_gi.experiments.settings.FILES` is replaced as a whole, the
    numbers first. A figure without results is removed: it would be that of an earlier comparison.

    :param folder: the folder to write to; it is created if necessary.
    :raises gpflow_gi.benchmark.results_folder.ResultsFolderError: if a file cannot be written or a
        figure cannot be drawn.
    """
    numbers = json.dumps(as_json(comparison), indent=2, allow_nan=False)
    figures = {
        "training_curves.png": (training_figure, _trained_by_steps(comparison)),
        "predictions.png": (predictions_figure, comparison.results),
        "map.png": (map_figure, has_map(comparison)),
    }
    with _names_as_they_are():
        put_file(folder / "results.json", f"{numbers}\n".encode())
        put_file(folder / "table.txt", f"{table(comparison)}\n".encode())
        for name, (draw, shown) in figures.items():
            if shown:
                try:
                    picture = _picture(draw(comparison))
                except Exception as error:  # the models that are still to come must not be lost
                    why = _line(f"{type(error).__name__}: {error}")
                    raise ResultsFolderError(f"{folder / name} cannot be drawn: {why}") from error
                put_file(folder / name, picture)
            else:
                remove_file(folder / name)


def _picture(figure: Figure) -> bytes:
    file = io.BytesIO()
    figure.savefig(file, format="png", dpi=150)
    return file.getvalue()


@contextmanager
def _names_as_they_are() -> Iterator[None]:
    """Keep dollar signs in the names of data sets and columns from starting formulas."""
    plain: Any = {"text.parse_math": False, "text.usetex": False}
    with matplotlib.rc_context(plain), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield

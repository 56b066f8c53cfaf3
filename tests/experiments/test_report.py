import json
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from gpflow_gi.benchmark.trial import Measured
from gpflow_gi.datasets import Standardiser, Table
from gpflow_gi.experiments import report
from gpflow_gi.experiments.compare import Comparison, Result
from gpflow_gi.experiments.settings import FILES, Settings
from gpflow_gi.metrics.held_out import HeldOut
from gpflow_gi.training import FitRecord, Report


def measured(log_density, mean, y, scale):
    """As of a model that predicts the means with a standard deviation of `scale`."""
    held_out = HeldOut(
        y, mean[None] / scale, np.ones((1, *y.shape)), Standardiser(np.zeros(1), np.full(1, scale))
    )
    vars(held_out)["log_density"] = log_density
    n = len(y)
    error = np.std(log_density, ddof=1) / np.sqrt(n) if n > 1 else np.nan
    return Measured(
        held_out,
        {"elbo": -1.23456, "log_density": log_density.mean(), "rmse": scale * 2.0, "crps": scale},
        {"elbo": 0.001, "log_density": error, "crps": 0.0},
    )


def comparison(num_test=40, scale=1.0):
    generator = np.random.default_rng(0)
    train = Table("data", np.zeros((100, 1)), scale * np.ones((100, 1)), ("x",), "y")
    y = scale * generator.normal(size=(num_test, 1))
    test = Table("data", np.zeros((num_test, 1)), y, ("x",), "y")
    record = FitRecord(
        reports=[Report(10 * i, 0.1 * i, -100.0 / i, 1.0, 1.0, 0.01) for i in range(1, 20)],
        compile_seconds=2.0,
    )
    results = [
        Result(
            name=name,
            record=record,
            measured=measured(generator.normal(size=num_test), y + scale * i, y, scale),
            seconds=9.0,
        )
        for i, name in enumerate(["Sparse GP", "Deep GP, local", "Deep GP, global"])
    ]
    standardiser = Standardiser(np.zeros(1), np.full(1, scale))
    return Comparison(Settings(), train, test, standardiser, results)


@pytest.mark.parametrize("scale", [1e-7, 1.0, 1e9])
@pytest.mark.parametrize("num_test", [1, 40])
def test_table_fits_a_terminal(num_test, scale):
    text = report.table(comparison(num_test, scale))
    assert all(len(line) <= 80 for line in text.splitlines())
    assert "-1.235" in text
    assert f"{2 * scale:.4g}" in text
    assert f"{num_test} held-out row" in " ".join(text.split())
    assert "with a standard error of up to 0.001;" in " ".join(text.split())
    assert "nan" not in text


def without_a_bound(compared):
    """The same, with a last model that has no bound and no record of steps."""
    result = replace(compared.results[-1], name="BNN, MAP", record=FitRecord())
    metrics, errors = ({**one, "elbo": None} for one in numbers_of(result))
    result = replace(
        result, measured=replace(result.measured, metrics=metrics, standard_errors=errors)
    )
    return replace(compared, outcomes=[*compared.outcomes, result])


def numbers_of(result):
    return result.measured.metrics, result.measured.standard_errors


def test_a_bound_that_is_missing_is_a_dash_with_a_note(tmp_path):
    compared = without_a_bound(comparison())
    text = report.table(compared)
    row = next(line for line in text.splitlines() if line.startswith("BNN, MAP"))
    assert row.split()[2] == "-" and row.split()[-2:] == ["-", "9.0"]
    assert "No ELBO: BNN, MAP. A posterior without a density has no bound." in text
    assert "nan" not in text and "standard error of up to 0.001;" in " ".join(text.split())
    report.write(compared, tmp_path)
    *_, model = json.loads((tmp_path / "results.json").read_text())["models"]
    bounds = ("elbo_per_row", "elbo_per_row_standard_error", "elbo_per_row_original_scale")
    assert [model[name] for name in bounds] == [None, None, None]
    assert model["seconds"] == 9.0
    curves = report.training_figure(compared).axes[0]
    assert "BNN, MAP" not in [label.get_text() for label in curves.get_legend().get_texts()]


def test_without_any_steps_there_are_no_curves(tmp_path):
    (tmp_path / "training_curves.png").write_text("of earlier results")
    compared = without_a_bound(comparison())
    report.write(replace(compared, outcomes=compared.outcomes[-1:]), tmp_path)
    expected = set(FILES) - {"training_curves.png", "map.png"}
    assert {path.name for path in tmp_path.iterdir()} == expected


def test_the_noise_of_few_rows_is_that_of_paired_differences():
    compared = comparison()
    pairs = list(combinations(range(3), 2))

    def error(pair):
        one, other = (compared.results[i].measured.held_out.log_density for i in pair)
        return np.std(one - other, ddof=1) / np.sqrt(40)

    # The pair that differs most comes last: all pairs count, not only those with the first model.
    most = max(pairs, key=error)
    order = [*{0, 1, 2}.difference(most), *most]
    expected = error(most)
    compared = replace(compared, outcomes=[compared.outcomes[i] for i in order])
    text = " ".join(report.table(compared).split())
    assert f"standard error of up to {expected:.2g}." in text


def test_everything_is_written(tmp_path):
    report.write(comparison(), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == set(FILES) - {"map.png"}  # of one input
    numbers = json.loads((tmp_path / "results.json").read_text())
    assert [model["name"] for model in numbers["models"]] == [
        "Sparse GP", "Deep GP, local", "Deep GP, global",
    ]  # fmt: skip
    assert len(numbers["models"][0]["training"]["reports"]) == 19


@pytest.mark.filterwarnings("ignore:invalid value")
def test_numbers_that_json_cannot_hold_become_null(tmp_path):
    compared = comparison()
    metrics, errors = (
        getattr(compared.results[1].measured, name) for name in ("metrics", "standard_errors")
    )
    metrics["log_density"], errors["log_density"] = -np.inf, np.nan
    numbers = json.loads(json.dumps(report.as_json(compared), allow_nan=False))
    assert numbers["models"][1]["log_density"] == {"mean": None, "standard_error": None}


def test_panels_show_the_same_range():
    figure = report.predictions_figure(comparison())
    limits = {ax.get_xlim() for ax in figure.axes} | {ax.get_ylim() for ax in figure.axes}
    assert len(limits) == 1
    # The third model's means are 2 above the targets, which only its own panel needs.
    largest = comparison().test.Y.max() + 2
    assert limits.pop()[1] > largest


def test_figures_show_a_sample_of_many_rows():
    figure = report.predictions_figure(comparison(num_test=1000))
    inside, outside = (line for line in figure.axes[0].lines if line.get_linestyle() == "None")
    assert len(inside.get_xdata()) + len(outside.get_xdata()) == 300
    assert "300 of 1000 held-out rows" in figure.get_suptitle()

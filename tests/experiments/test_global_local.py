"""Global against local inducing points: what is trained, and how it is compared."""

import re
from dataclasses import replace

import numpy as np
import pytest

from gpflow_gi.benchmark.trial import Rows
from gpflow_gi.experiments import global_local
from gpflow_gi.training import NonFiniteError

TINY = replace(
    global_local.FAST,
    cases=("10 points",),
    cpu_seconds=1e-6,
    learning_rates=(0.01, 0.02),
    num_rows=40,
    batch_size=10,
    num_elbo_samples=2,
    num_test_samples=2,
    test_every=500,
    least_steps=3,
)


def made(*, runs):
    """Results, with these measures of global and of local points: a pair for each run."""
    return {
        "settings": {"cases": ["10 points"], "num_runs": len(runs), "num_rows": 40}
        | {"cpu_seconds": 8.0},
        "methods": [
            {"case": "10 points", "inference": inference, "steps": 100, "rate": 0.01}
            | {"runs": [dict.fromkeys(global_local.MEASURES, pair[i]) for pair in runs]}
            for i, inference in enumerate(("global", "local"))
        ],
    }


def test_differences_are_of_pairs_that_both_ended():
    results = made(runs=[(1.0, 3.0), (None, 2.0), (5.0, 4.0)])
    assert global_local.differences(results, "10 points", "rmse") == [-2.0, 1.0]
    said = global_local.summary(results)
    # The mean of -2 and 1, and the standard error of two numbers that differ by 3.
    assert "-0.500 ± 1.500" in said and "3.0 ± 2.0" in said
    assert "Failed, and in no mean: 1 of 10 points, global." in " ".join(said.split())
    assert "Failed" not in global_local.summary(made(runs=[(3.0, 1.0)]))
    assert all(len(line) <= 80 for line in said.splitlines())


def test_a_gain_has_a_sign_and_no_run_has_no_number():
    assert "+2.000" in global_local.summary(made(runs=[(3.0, 1.0)]))
    nothing = made(runs=[(None, 1.0)])
    assert global_local.differences(nothing, "10 points", "elbo") == []
    assert "difference" in global_local.summary(nothing)
    global_local.plot(nothing)


def test_all_cases_have_both_and_a_network_has_factorised_weights_too():
    compared = global_local.methods(tuple(global_local.CASES))
    assert len(compared) == 2 * len(global_local.CASES) + 1
    assert [one.inference for one in compared if one.case == "network"] == [
        "factorised", "local", "global",
    ]  # fmt: skip


@pytest.mark.parametrize("case", global_local.CASES)
def test_what_is_built(case):
    rows = global_local._rows(replace(TINY, num_rows=120), seed=0)
    model = global_local.Method(case, "global").build(rows, seed=0)
    settings = global_local.CASES[case]
    points = settings["num_inducing"]
    assert model.inducing_inputs.shape == (points, 2)
    if case != "network":
        assert len(model.layers) == settings["num_layers"]
        has_skips = "mean_function" not in settings
        assert all((layer.mean_function is not None) == has_skips for layer in model.layers[:-1])


@pytest.mark.longest
def test_a_run_of_everything(monkeypatch):
    monkeypatch.setattr(global_local, "FAST", TINY)
    monkeypatch.setattr(global_local, "fit", lambda *_, **__: None)  # models at their starts
    said = []
    results = global_local.run(fast=True, announce=said.append, progress=False)
    assert [one["inference"] for one in results["methods"]] == ["local", "global"]
    for one in results["methods"]:
        assert one["steps"] == 3 and one["rate"] in (0.01, 0.02) and len(one["runs"]) == 2
        # The standard deviation of the target is 165 m.
        assert all(50 < run["rmse"] < 300 and run["cpu_seconds"] > 0 for run in one["runs"])
        # Each run has rows of its own.
        assert len({run["elbo"] for run in one["runs"]}) == 2
    assert len(said) == 2 + 2 * 2
    assert "10 points, local" in said[0] and "at 0.01" in said[0] and "at 0.02" in said[0]
    assert re.fullmatch(
        r"Run 1, 10 points, local: ELBO per row -\d+\.\d{3}, log density -\d+\.\d{3}, "
        r"RMSE \d+\.\d \(3 of 6, about .* left\)",
        said[2],
    )
    assert global_local.plot(results).get_size_inches()[0] == 9


def test_a_training_that_fails_is_no_end(monkeypatch):
    def fails(*arguments, **options):
        raise NonFiniteError("The bound is NaN.", step=1, record=None)

    monkeypatch.setattr(global_local, "fit", fails)
    rows = global_local._rows(TINY, seed=0)
    assert isinstance(rows, Rows)
    method = global_local.Method("10 points", "global", steps=3)
    found = global_local._train(method, 0.01, rows, TINY, seed=0)
    assert set(found) == {*global_local.MEASURES, "cpu_seconds"} and set(found.values()) == {None}


@pytest.mark.longest
@pytest.mark.compiled
def test_networks_gain_most():
    """In the fast version too, by tens of nats of 200 rows' bound."""
    results = global_local.run(fast=True, seed=1, announce=lambda line: None, progress=False)
    gains = global_local.differences(results, "network", "elbo")
    assert np.min(gains) > 0.1

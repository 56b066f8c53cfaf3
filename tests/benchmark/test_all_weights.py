"""Trials of networks by methods for all weights at once: exact for a line, whole for a network."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from gpflow_gi.benchmark import METHODS, all_weights, run_trial
from gpflow_gi.benchmark.methods import ALL_WEIGHTS
from gpflow_gi.benchmark.records import Trial, done, encode, is_verified, key_of, read
from gpflow_gi.cli import main
from gpflow_gi.datasets import Standardiser, standard_split

from .test_trial import METRICS, TINY, sine

NAMES = [f"bnn-{name}" for name in ("laplace", "ensemble", "map")]
"""Methods that end at a maximum; for a line it is that of linear regression."""

DRAWN = [f"bnn-{name}" for name in ALL_WEIGHTS if f"bnn-{name}" not in NAMES]
N, D = 54, 3


def method(name, **settings):
    """The method, with few searches if nothing else is said."""
    settings = {**METHODS[name].settings, "noise_searches": 2, **settings}
    return replace(METHODS[name], settings=settings)


def test_which_methods_are_over_all_weights():
    found = {name for name, each in METHODS.items() if each.is_over_all_weights}
    assert {f"bnn-{name}" for name in ALL_WEIGHTS} <= found
    assert not any(name.startswith(("dgp", "bnn-global", "bnn-factorised")) for name in found)


# The mathematics: without hidden layers a network is Bayesian linear regression.


def standardised(table=None):
    train, test = standard_split(table or sine(), 0)
    scale = [Standardiser.fit(values) for values in (train.X, train.Y)]
    X, X_test = (scale[0].transform(table.X) for table in (train, test))
    A, A_test = (np.hstack([one, np.ones((len(one), 1))]) for one in (X, X_test))
    return A, scale[1].transform(train.Y), A_test, test.Y, scale[1]


def regression(A, Y, noise):
    """Mean and covariance of weights w ~ N(0, I / 4), four with the bias."""
    precision = A.T @ A / noise + (D + 1) * np.eye(D + 1)
    return np.linalg.solve(precision, A.T @ Y / noise), np.linalg.inv(precision)


@pytest.mark.longest
@pytest.mark.parametrize("name", NAMES)
def test_a_network_without_hidden_layers_is_linear_regression(name):
    budget = replace(TINY, batch_size=100, steps=200)
    record = run_trial(sine(), 0, method(name, widths=[], num_members=2), budget)
    A, Y, A_test, Y_test, targets = standardised()
    noise = record["hyperparameters"]["likelihood.variance"]
    mean, covariance = regression(A, Y, noise)
    variance = noise + (np.sum((A_test @ covariance) * A_test, axis=1) if "lap" in name else 0.0)
    error = (targets.transform(Y_test) - A_test @ mean)[:, 0]
    scale = targets.scale[0]
    density = stats.norm(0, np.sqrt(variance)).logpdf(error).mean() - np.log(scale)
    assert record["metrics"]["log_density"] == pytest.approx(density, rel=1e-4, abs=1e-4)
    assert record["metrics"]["rmse"] == pytest.approx(scale * np.sqrt(np.mean(error**2)), rel=1e-3)
    if name == "bnn-laplace":  # whose Gaussian is exact, and then so is its bound
        marginal = noise * np.eye(N) + A @ A.T / (D + 1)
        evidence = stats.multivariate_normal(np.zeros(N), marginal).logpdf(Y[:, 0])
        assert record["metrics"]["elbo"] == pytest.approx(evidence / N, abs=1e-6)
        assert record["standard_errors"]["elbo"] == pytest.approx(0, abs=1e-6)


@pytest.mark.longest
@pytest.mark.parametrize("name", DRAWN)
def test_posteriors_that_are_drawn_from_predict_a_line(name):
    """None of them is exact, or has been given the time; all are near the exact mean."""
    table = sine()
    line = replace(table, Y=table.X[:, :1] + 0.1 * (table.Y - 5))
    budget = replace(TINY, batch_size=100, steps=1000, num_samples=5)
    record = run_trial(line, 0, method(name, widths=[], num_members=2), budget, seed=3)
    A, Y, A_test, Y_test, targets = standardised(line)
    noise = record["hyperparameters"]["likelihood.variance"]
    mean, _ = regression(A, Y, noise)
    rmse = targets.scale[0] * np.sqrt(np.mean((targets.transform(Y_test) - A_test @ mean) ** 2))
    assert record["metrics"]["rmse"] == pytest.approx(rmse, rel=0.25)
    bounded = name not in ("bnn-dropout", "bnn-sghmc")
    assert (record["metrics"].get("elbo") is not None) == bounded


@pytest.mark.longest
@pytest.mark.slow
def test_the_noise_is_that_under_which_rows_left_out_are_most_likely():
    table = sine()
    line = replace(table, Y=table.X[:, :1] + 0.1 * (table.Y - 5))
    budget = replace(TINY, batch_size=100, steps=200)
    few, many = (
        run_trial(line, 0, method("bnn-map", widths=[], noise_searches=n), budget, seed=3)
        for n in (3, 15)
    )
    A, Y, *_ = standardised(line)
    left_out, rest = np.split(np.random.default_rng(3).permutation(N), [10])

    def log_density(noise):
        mean, _ = regression(A[rest], Y[rest], noise)
        return stats.norm(A[left_out] @ mean, np.sqrt(noise)).logpdf(Y[left_out]).mean()

    grid = np.geomspace(1e-5, 1, 1000)
    best = grid[np.argmax([log_density(noise) for noise in grid])]
    assert many["hyperparameters"]["likelihood.variance"] == pytest.approx(best, rel=0.02)
    assert few["cost"]["steps"] == 4 * 200


# The record


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_a_small_network_gives_a_whole_record(name, tmp_path):
    small = method(name, widths=[4], num_members=2)
    budget = replace(TINY, steps=5)
    record = run_trial(sine(), 0, small, budget, seed=1)
    assert set(record["metrics"]) == METRICS
    bounded = name == "bnn-laplace"
    assert (record["metrics"].pop("elbo") is not None) == bounded
    assert (record["standard_errors"].pop("elbo") is not None) == bounded
    assert np.isfinite(list(record["metrics"].values())).all()
    # 3 inputs and a bias to 4 units, these and a bias to one output, for each network; the noise.
    assert record["cost"]["num_parameters"] == 21 * (2 if name == "bnn-ensemble" else 1) + 1
    assert record["hyperparameters"]["likelihood.variance"] > 0
    assert record["trial"]["settings"]["inference"] == name.removeprefix("bnn-")
    # As a sweep writes it, and reads it when it goes on.
    of_sweep = Trial({"name": "sine", "sha256": "0"}, 0, name, record["trial"]["budget"], 1, {})
    path = of_sweep.path(tmp_path)
    path.write_bytes(encode(done(of_sweep, "2026-01-01", 1.0, record)))
    kept = read(path)
    assert is_verified(kept) and kept["key"] == key_of(kept)
    assert json.dumps(kept, allow_nan=False)


@pytest.mark.longest
def test_many_weights_have_a_diagonal_covariance():
    A, Y, *_ = standardised()
    budget = replace(TINY, steps=5)
    for most, is_full in ((21, True), (20, False)):
        settings = method("bnn-laplace", widths=[4], most_full_weights=most).settings
        q = all_weights.find(settings, budget, A[:, :D], Y, seed=0).posterior
        assert (q.root is not None) == is_full and (q.diagonal is None) == is_full


@pytest.mark.slow
def test_few_rows_keep_the_noise_at_its_start():
    A, Y, *_ = standardised()
    found = all_weights.find(method("bnn-map", widths=[2]).settings, TINY, A[:4, :D], Y[:4], seed=0)
    assert found.posterior.likelihood.variance.numpy() == pytest.approx(0.1)
    assert found.steps == TINY.steps


# From the command line to the report


@pytest.mark.longest
@pytest.mark.compiled
def test_a_sweep_and_its_report(tmp_path, capsys):
    table = sine(40)
    rows = [",".join(f"{value:.6f}" for value in row) for row in np.hstack([table.X, table.Y])]
    (tmp_path / "sine.csv").write_text("\n".join(["a,b,c,y", *rows]))
    out = tmp_path / "out"
    command = ["benchmark", "--data", str(tmp_path / "sine.csv"), "--target", "y"]
    command += ["--methods", ",".join(["linear", *NAMES]), "--splits", "2", "--out", str(out)]
    command += ["--set", "steps=60", "--set", "num_elbo_samples=4"]
    assert main(command) == 0
    before = {path: path.read_bytes() for path in (out / "records").glob("*.json")}
    assert len(before) == 8
    assert main(command) == 0  # nothing is left to do
    assert {path: path.read_bytes() for path in (out / "records").glob("*.json")} == before
    capsys.readouterr()
    assert main(["report", str(out)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    note = "No ELBO: bnn-ensemble, bnn-map. A posterior without a density has no bound."
    assert f"- {note}" in said
    records = pd.read_csv(out / "report" / "records.csv").set_index("method")
    assert records["verified"].all() and (records["status"] == "done").all()
    assert records["log_density"].notna().all()
    assert list(records["elbo"].isna()) == [name in NAMES[1:] for name in records.index]
    for name in ("report.md", "report.html"):
        text = (out / "report" / name).read_text()
        assert note in text.replace("\\", "")
        assert ">nan<" not in text and "| nan" not in text and ">inf<" not in text

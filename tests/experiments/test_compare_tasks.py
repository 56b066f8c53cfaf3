"""``gpflow-gi compare`` of classes and counts, and predictions by the models that it saves."""

import contextlib
import io
import json

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.cli import main
from gpflow_gi.experiments.settings import FILES

N = 60
QUICK = [
    *"--steps 60 --learning-rate 0.1 --num-inducing 8 --test-samples 5 --layers 1".split(),
    *"--methods svgp,dgp-global".split(),
]


def run(*arguments):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main(list(map(str, arguments)))
    return code, output.getvalue(), errors.getvalue()


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.default_rng(0)
    x = rng.uniform(-2, 2, size=N)
    frame = pd.DataFrame({"x": x, "z": rng.normal(size=N)})
    three = np.array(["=low", "middle", "top"])[np.digitize(x, [-0.7, 0.7])]
    targets = {"three": three, "two": x > 0, "counts": rng.poisson(np.exp(1 + x))}
    for name, y in targets.items():
        frame.assign(y=y).to_csv(folder / f"{name}.csv", index=False)
    return folder


def compare(folder, name, *more):
    out, models = folder / f"{name}-out", folder / f"{name}-models"
    data = ["--data", folder / f"{name}.csv", "--target", "y", "--test-fraction", "0.4"]
    code, said, errors = run("compare", *data, *QUICK, *more, "--out", out, "--save", models)
    assert code == 0, errors
    found = set(path.name for path in out.iterdir())
    assert found <= set(FILES) and {"results.json", "predictions.png"} <= found
    numbers = json.loads((out / "results.json").read_text())
    predicted = folder / f"{name}-predicted.csv"
    for method in ("svgp", "dgp-global"):
        arguments = ["--data", folder / f"{name}.csv", "--out", predicted]
        code, _, errors = run("predict", models / f"{method}.gi", *arguments)
        assert code == 0, errors
    return said, numbers, pd.read_csv(predicted)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "name",
    [
        pytest.param("two", marks=pytest.mark.slow),
        pytest.param("three", marks=pytest.mark.longest),
    ],
)
def test_classes(tables, name):
    said, numbers, predicted = compare(tables, name)
    classes = {"two": ["False", "True"], "three": ["=low", "middle", "top"]}[name]
    assert numbers["data"]["task"] == "classification" and numbers["data"]["classes"] == classes
    assert f"{len(classes)} classes" in " ".join(said.split())
    assert all(word in said for word in ("accuracy", "ECE", "Brier"))
    for model in numbers["models"]:
        assert model["accuracy"]["mean"] > 0.75  # of classes that x tells
        assert -np.log(len(classes)) < model["log_density"]["mean"] < 0
        assert 0 <= model["ece"] <= 1 and 0 <= model["brier"]["mean"] < 1
        assert model["interval_coverage"] is None
    names = [f"probability_{label}" for label in classes]
    assert list(predicted.columns) == ["class", *names]
    np.testing.assert_allclose(predicted[names].sum(axis=1), 1)
    known = pd.read_csv(tables / f"{name}.csv")["y"].astype(str)
    shown = predicted["class"].astype(str).str.lstrip("'")  # no formula for a spreadsheet
    assert np.mean(known == shown) > 0.75


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.longest
def test_counts(tables):
    said, numbers, predicted = compare(tables, "counts", "--task", "counts")
    assert "(counts)" in said and numbers["data"]["task"] == "counts"
    y = pd.read_csv(tables / "counts.csv")["y"]
    for model in numbers["models"]:
        assert 0 < model["crps"]["mean"] < model["rmse"] < np.std(y)
        assert model["interval_coverage"] > 0.7
    low, high = predicted["quantile_0.025"], predicted["quantile_0.975"]
    assert np.all(low <= predicted["quantile_0.5"]) and np.all(predicted["quantile_0.5"] <= high)
    assert np.all(low == np.round(low)) and np.mean((low <= y) & (y <= high)) > 0.85
    assert np.corrcoef(predicted["mean"], y)[0, 1] > 0.7


def test_methods_for_regression_only(tables):
    options = ["--model", "bnn", "--methods", "bnn-laplace", "--out", tables / "none"]
    arguments = ["--data", tables / "two.csv", "--target", "y", *options]
    code, _, error = run("compare", *arguments)
    assert code == 2 and "bnn-laplace is for regression, and this is classification" in error


def test_draws_of_counts_are_those_of_the_prediction():
    """Moments of the draws, and their probabilities, are those that the model predicts."""
    import gpflow

    from gpflow_gi.architectures import build_deep_gp
    from gpflow_gi.persistence.table_model import draw_counts

    X = np.linspace(-1, 1, 12)[:, None]
    Y = np.random.default_rng(0).poisson(np.exp(1 + X)).astype(float)
    model = build_deep_gp(
        X, Y, num_layers=1, num_inducing=6, likelihood=gpflow.likelihoods.Poisson()
    )
    posterior = model.posterior(4, seed=0)
    draws = draw_counts(posterior, X)
    mean, variance = (part.numpy()[:, 0] for part in posterior.predict_y(X))
    error = 4 * np.sqrt(variance / len(draws))
    assert np.all(np.abs(draws.mean(axis=0) - mean) < error)
    for count in (0, 2):
        probability = np.exp(posterior.predict_log_density((X, np.full_like(X, count))))
        share = np.mean(draws == count, axis=0)
        bound = 4 * np.sqrt(probability * (1 - probability) / len(draws)) + 1e-3
        assert np.all(np.abs(share - probability) < bound)

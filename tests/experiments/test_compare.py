"""Whole runs of ``gpflow-gi compare``, and the measures that it takes."""

import contextlib
import io
import json
import re

import numpy as np
import pytest
from matplotlib.image import imread

from gpflow_gi.benchmark.methods import METHODS
from gpflow_gi.benchmark.train import build
from gpflow_gi.cli import main
from gpflow_gi.experiments.settings import FILES, FORMS, Settings

RNG = np.random.default_rng(0)
N, D = 23, 2
X = RNG.normal(size=(N, D))
Y = np.sin(X[:, :1]) + 0.1 * RNG.normal(size=(N, 1))


def run(*arguments):
    output, errors = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(errors):
        code = main(["compare", *arguments])
    assert code == 0, errors.getvalue()
    return output.getvalue()


@pytest.fixture(scope="module")
def diabetes_run(tmp_path_factory):
    out = tmp_path_factory.mktemp("results") / "diabetes"
    arguments = "--data diabetes --steps 150 --num-inducing 20 --num-samples 1 --test-samples 20"
    return out, run(*arguments.split(), "--out", str(out))


@pytest.mark.longest
@pytest.mark.compiled
def test_run_ends_with_one_table(diabetes_run):
    out, said = diabetes_run
    assert "442 rows, 10 inputs" in said
    assert "398 rows to train on, 44 to test on" in " ".join(said.split())
    assert all(len(line) <= 80 for line in said.splitlines() if str(out) not in line)
    lines = said.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("---"))
    names = [line[:16].strip() for line in lines[start + 1 : start + 4]]
    assert names == ["Sparse GP", "Deep GP, local", "Deep GP, global"]
    assert "44 held-out rows" in " ".join(said.split())
    assert str(out) in lines[-1]


@pytest.mark.slow
@pytest.mark.compiled
def test_run_writes_numbers_and_figures(diabetes_run):
    out, _ = diabetes_run
    assert {path.name for path in out.iterdir()} == {*FILES} - {"map.png"}
    assert [path.name for path in out.parent.iterdir()] == ["diabetes"]
    for name in ("training_curves.png", "predictions.png"):
        picture = imread(out / name)
        assert picture.shape[1] >= 800 and picture.std() > 0

    def refuse(constant):
        raise AssertionError(f"{constant} is not JSON")

    assert (out / "table.txt").read_text().strip() in diabetes_run[1]
    numbers = json.loads((out / "results.json").read_text(), parse_constant=refuse)
    assert numbers["data"]["train_rows"] == 398 and numbers["data"]["target"] == "progression"
    assert numbers["settings"]["steps"] == 150
    assert {"gpflow_gi", "gpflow", "tensorflow", "python"} <= set(numbers["versions"])
    for model in numbers["models"]:
        assert model["training"]["step"] == 150
        # The standard deviation of the target is 77: any fit that works is far below.
        assert 45 < model["rmse"] < 70
        assert 0 < model["crps"]["mean"] < model["rmse"]
        assert 0.7 < model["interval_coverage"] <= 1
        assert model["elbo_per_row"] == pytest.approx(
            model["elbo_per_row_original_scale"]
            + np.log(numbers["data"]["target_standard_deviation"])
        )


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.longest
def test_run_on_a_small_table_of_ones_own(tmp_path):
    """Few rows, constant and dropped columns, minibatches, one layer; then predictions."""
    rows = [f"row {i},{x[0]},7,{y[0]},{x[1]}" for i, (x, y) in enumerate(zip(X, Y, strict=True))]
    path = tmp_path / "my table.csv"
    path.write_text("id,first,constant,y,second\n" + "\n".join(rows))
    out = tmp_path / "a" / "b"
    arguments = "--target y --drop id --layers 1 --steps 5 --batch-size 8 --test-samples 2".split()
    models = tmp_path / "a" / "models"
    said = run("--data", str(path), *arguments, "--out", str(out), "--save", str(models))
    assert {one.name for one in models.iterdir()} == {"svgp.gi", "dgp-local.gi", "dgp-global.gi"}
    predicted = tmp_path / "a" / "predicted.csv"
    model = str(models / "dgp-global.gi")
    assert main(["predict", model, "--data", str(path), "--out", str(predicted)]) == 0
    assert len(predicted.read_text().splitlines()) == N + 1
    assert "100 inducing points are more than there are rows to train on: 21 used" in " ".join(
        said.split()
    )
    numbers = json.loads((out / "results.json").read_text())
    assert numbers["data"]["inputs"] == ["first", "second"]
    assert numbers["settings"]["num_inducing"] == 21
    assert {path.name for path in tmp_path.iterdir()} == {"a", "my table.csv"}


@pytest.mark.longest
@pytest.mark.compiled
def test_run_with_networks(tmp_path):
    out = tmp_path / "out"
    arguments = "--data diabetes --model bnn --widths 8,6 --prior scale --steps 100".split()
    said = run(*arguments, "--num-inducing", "10", "--test-samples", "20", "--out", str(out))
    lines = said.splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("---"))
    names = [line[:16].strip() for line in lines[start + 1 : start + 5]]
    assert names == ["Sparse GP", "BNN, factorised", "BNN, local", "BNN, global"]
    numbers = json.loads((out / "results.json").read_text())
    assert numbers["settings"]["model"] == "bnn" and numbers["settings"]["widths"] == [8, 6]
    assert all(45 < model["rmse"] < 85 for model in numbers["models"])
    assert {path.name for path in out.iterdir()} == {*FILES} - {"map.png"}


@pytest.mark.longest
@pytest.mark.compiled
def test_run_with_methods_of_ones_choice(tmp_path):
    out = tmp_path / "out"
    methods = "bnn-map,bnn-laplace,bnn-ensemble"
    arguments = ["--data", "diabetes", "--model", "bnn", "--widths", "4", "--steps", "100"]
    arguments += ["--methods", methods]
    said = run(*arguments, "--test-samples", "20", "--out", str(out))
    assert "No ELBO: BNN, MAP; BNN, ensemble. A posterior without a density has no bound." in said
    assert not re.search(r"\b(nan|inf)\b", said)
    models = json.loads((out / "results.json").read_text())["models"]
    assert [model["name"] for model in models] == ["BNN, MAP", "BNN, Laplace", "BNN, ensemble"]
    assert [model["elbo_per_row"] is None for model in models] == [True, False, True]
    assert all(45 < model["rmse"] < 85 and model["seconds"] > 0 for model in models)


@pytest.mark.longest
@pytest.mark.compiled
def test_the_elevation_is_what_is_compared_without_any_data(tmp_path):
    """Until converged and with more jitter; the deep GPs are better than the sparse one."""
    out = tmp_path / "out"
    options = "--num-inducing 20 --steps 1200 --batch-size 500 --test-samples 10 --jitter 1e-5"
    said = run(*options.split(), "--until-converged", "--out", str(out))
    assert "2000 rows to train on, 8686 to test on" in " ".join(said.split())
    assert len(re.findall(r"had (?:not yet )?converged\s+after\s+\d+\s+steps\.", said)) == 3
    assert {path.name for path in out.iterdir()} == set(FILES)
    assert imread(out / "map.png").shape[1] == 1860  # of four columns
    numbers = json.loads((out / "results.json").read_text())
    assert numbers["settings"]["jitter"] == 1e-5 and numbers["settings"]["until_converged"]
    sparse, local, global_ = (model["rmse"] for model in numbers["models"])
    assert max(local, global_) < sparse < 130  # the standard deviation of the target is 165


@pytest.mark.slow
@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_forms_of_deep_gps_are_those_of_the_benchmark(num_layers):
    known = Settings(num_layers=num_layers).known()
    assert list(known) == ["svgp", *(f"dgp-{form}" for form in FORMS)]
    for name, method in list(known.items())[1:]:
        family, *parts = name.removeprefix("dgp-").split("-", 1)
        reference = METHODS.get("-".join(["dgp", family, str(num_layers), *parts]))
        assert reference is None or method.settings == reference.settings
        assert (reference is None) == (num_layers == 1)
        model = build(method, X, Y, num_inducing=5, seed=0)
        assert len(model.layers) == num_layers


def test_networks_of_one_hidden_layer_have_one():
    known = Settings(model="bnn", widths=(7, 5)).known()
    assert known["bnn-global-optimal-unshared-1"].settings["widths"] == (7,)
    assert known["bnn-global-optimal-unshared"].settings["widths"] == (7, 5)
    assert known["bnn-global"].settings["widths"] == (7, 5)


@pytest.mark.longest
@pytest.mark.compiled
def test_run_with_forms_of_global_inducing_points(tmp_path):
    out = tmp_path / "out"
    methods = "dgp-global-full,dgp-global-unshared,dgp-global-whitened,dgp-global-unshared-own"
    arguments = "--data diabetes --layers 3 --steps 100 --num-inducing 20 --test-samples 20"
    said = run(*arguments.split(), "--methods", methods, "--out", str(out))
    assert all(len(line) <= 80 for line in said.splitlines() if str(out) not in line)
    models = json.loads((out / "results.json").read_text())["models"]
    names = ["full", "unshared", "whitened", "unshared-own"]
    assert [model["name"] for model in models] == [f"Deep GP, {name}" for name in names]
    assert all(45 < model["rmse"] < 85 for model in models)

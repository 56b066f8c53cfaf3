"""Models with the columns of their tables: the same predictions from a file, in its units."""

import datetime
import io
import json
import zipfile

import gpflow
import numpy as np
import pandas as pd
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.architectures.sparse_gp import build_sparse_gp, sparse_gp_as_deep_gp
from gpflow_gi.cli import main
from gpflow_gi.datasets import Standardiser, new_rows, read_csv
from gpflow_gi.persistence import LoadError, TableModel
from gpflow_gi.persistence.table_model import draw_counts

N = 30


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("models")


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    area = np.round(rng.uniform(50, 200, N))
    colour = np.resize(["red", "blue"], N)
    return pd.DataFrame(
        {
            "id": [f"=cmd{i}" for i in range(N)],
            "area": area,
            "colour": colour,
            "rooms": np.where(np.arange(N) == 4, np.nan, np.arange(N) % 5),
            "price": 1000 * area + 5000 * (colour == "red"),
        }
    )


@pytest.fixture(scope="module")
def table(folder, frame):
    frame.to_csv(folder / "table.csv", index=False)
    return read_csv(folder / "table.csv", "price", ["id"], impute="median")


@pytest.fixture(scope="module")
def model(table):
    inputs, targets = Standardiser.fit(table.X), Standardiser.fit(table.Y)
    X, Y = inputs.transform(table.X), targets.transform(table.Y)
    network = build_deep_gp(X, Y, num_inducing=5)
    return TableModel(network, table.preprocessing, inputs, "price", targets, 7, 3)


@pytest.fixture(scope="module")
def file(folder, model):
    model.save(folder / "model.gi")
    return folder / "model.gi"


def test_predictions_are_the_models_in_the_unit_of_the_target(model, table, frame):
    found = model.predict(frame, quantiles=[0.1, 0.5])
    X = model.inputs.transform(table.X)
    posterior = model.model.posterior(7, seed=3)
    mean, variance = posterior.predict_y(X)
    centre, scale = table.Y.mean(), table.Y.std()
    np.testing.assert_allclose(found["mean"], centre + scale * mean[:, 0], rtol=1e-10)
    np.testing.assert_allclose(found["standard_deviation"], scale * np.sqrt(variance[:, 0]))
    assert list(found.columns) == ["mean", "standard_deviation", "quantile_0.1", "quantile_0.5"]
    extreme = model.predict(frame[:2], quantiles=[0.9999999, 0.99999999]).columns[2:]
    assert list(extreme) == ["quantile_0.9999999", "quantile_0.99999999"]
    # One of ten targets is below the first: the density of the mixture up to there is a tenth.
    end = (found["quantile_0.1"][0] - centre) / scale
    grid = np.linspace(end - 12, end, 4001)
    rows = np.repeat(X[:1], len(grid), axis=0), grid[:, None]
    density = np.exp(posterior.predict_log_density(rows))
    step = grid[1] - grid[0]
    assert step * (density.sum() - density[-1] / 2) == pytest.approx(0.1, abs=1e-4)


def test_a_file_predicts_the_same(model, file, frame):
    same = TableModel.load(file)
    assert same.preprocessing == model.preprocessing and same.target == "price"
    pd.testing.assert_frame_equal(same.predict(frame), model.predict(frame), check_exact=True)
    shuffled = frame[["rooms", "colour", "area"]].assign(more="x")
    pd.testing.assert_frame_equal(same.predict(shuffled), model.predict(frame), check_exact=True)
    # The model alone is in it as well.
    assert type(gi.load(file)) is type(model.model)


def test_a_sparse_gp_as_a_deep_gp_of_one_layer(table, model):
    X, Y = model.inputs.transform(table.X), model.targets.transform(table.Y)
    sparse = build_sparse_gp(X, Y, 6)
    for one, other in zip(
        sparse.predict_y(X), sparse_gp_as_deep_gp(sparse).predict_y(X), strict=True
    ):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


class Components:
    """A posterior whose counts have these log rates, N(m, v) in each component, in one row."""

    def __init__(self, m, v):
        mean = np.exp(np.asarray(m) + np.asarray(v) / 2)
        self.mean, self.variance = mean, mean + mean**2 * np.expm1(v)

    def predict_y_components(self, X):
        return tuple(tf.constant(one[:, None, None]) for one in (self.mean, self.variance))


def test_draws_of_counts_have_the_moments_of_each_component():
    """Two components alike: what is drawn from one is not another part of the quantiles."""
    two = Components([3.0, 3.0], [0.5, 0.5])
    draws = draw_counts(two, None)[:, 0]
    np.testing.assert_allclose(draws.mean(), two.mean[0], rtol=0.02)
    np.testing.assert_allclose(draws.std(), np.sqrt(two.variance[0]), rtol=0.05)
    # One of them far below the other: zeros are drawn from it alone.
    apart = Components([-30.0, 3.0], [0.5, 0.5])
    draws = draw_counts(apart, None)[:, 0]
    np.testing.assert_allclose(draws.mean(), apart.mean[1] / 2, rtol=0.02)


def test_counts_are_drawn_from_all_of_many_components():
    means = np.repeat([1.0, 1000.0], 1024)
    draws = draw_counts(Components(np.log(means), np.zeros(2048)), None)
    np.testing.assert_allclose(draws.mean(), 500.5, rtol=0.01)


def changed(file, path, change):
    """A copy of a file with another description of its table."""
    content = io.BytesIO(file.read_bytes())
    with zipfile.ZipFile(content) as old, zipfile.ZipFile(path, "w") as new:
        described = json.loads(old.read("model.json"))
        change(described["table"])
        new.writestr("model.json", json.dumps(described))
        new.writestr("parameters.npz", old.read("parameters.npz"))
    return path


@pytest.mark.parametrize(
    "change",
    [
        lambda table: table.clear(),
        lambda table: table.update(target=1),
        lambda table: table.update(num_samples=10**8),
        lambda table: table.update(num_samples="7"),
        lambda table: table.update(seed=-1),
        lambda table: table.update(preprocessing=[]),
        lambda table: table["preprocessing"]["columns"].pop(),
        lambda table: table["preprocessing"]["columns"][0].update(kind="os.system"),
        lambda table: table["inputs"].pop("mean"),
        lambda table: table["inputs"]["scale"].pop(),
        lambda table: table["targets"].update(scale=[0.0]),
        lambda table: table["targets"].update(mean=["1"]),
    ],
)
def test_descriptions_that_do_not_fit(file, tmp_path, change):
    with pytest.raises(LoadError, match="its description of the table is not valid"):
        TableModel.load(changed(file, tmp_path / "other.gi", change))


def test_a_model_without_a_table(model, tmp_path):
    gi.save(model.model, tmp_path / "model")
    with pytest.raises(LoadError, match="a model without the columns of a table"):
        TableModel.load(tmp_path / "model")


# ------------------------------------------------------------------------------------- the command


def run(*arguments):
    return main(["predict", *map(str, arguments)])


def test_the_command(model, file, frame, folder, capsys, monkeypatch):
    monkeypatch.setattr("gpflow_gi.datasets.new_rows.ROWS", 8)  # in several parts
    path = folder / "new.csv.gz"
    frame.drop(columns="price")[["rooms", "id", "colour", "area"]].to_csv(path, index=False)
    assert run(file, "--data", path, "--out", folder / "p.csv", "--keep", "id") == 0
    assert f"{N} predictions of 'price'" in " ".join(capsys.readouterr().out.split())
    found = pd.read_csv(folder / "p.csv")
    assert list(found["id"]) == [f"'=cmd{i}" for i in range(N)]  # no formula for a spreadsheet
    expected = model.predict(frame)
    pd.testing.assert_frame_equal(found[expected.columns], expected, rtol=1e-12)
    assert not list(folder.glob(".*"))


@pytest.mark.slow
def test_the_jitter_of_the_model(model, folder, frame, recwarn):
    """A model that was trained with another jitter predicts with it, and without a warning."""
    import gpflow

    with gpflow.config.as_context():
        gpflow.config.set_default_jitter(1e-2)
        model.save(folder / "jitter.gi")
        fresh = TableModel.load(folder / "jitter.gi")  # makes its draws in this context
        expected = fresh.predict(frame)
    out = folder / "jitter.csv"
    frame.to_csv(folder / "plain.csv", index=False)
    assert run(folder / "jitter.gi", "--data", folder / "plain.csv", "--out", out) == 0
    pd.testing.assert_frame_equal(pd.read_csv(out), expected, rtol=1e-9)
    assert not np.allclose(expected["mean"], model.predict(frame)["mean"], rtol=1e-6)
    assert not recwarn.list
    assert gpflow.default_jitter() == 1e-6


def test_numbers_are_kept_as_they_are(file, folder, frame):
    frame.assign(id=[f"-{i:03}" for i in range(N)]).to_csv(folder / "ids.csv", index=False)
    options = ["--data", folder / "ids.csv", "--out", folder / "q.csv", "--quantiles", "0.25"]
    assert run(file, *options, "--keep", "id") == 0
    first = (folder / "q.csv").read_text().splitlines()[:2]
    assert first[0] == "id,mean,standard_deviation,quantile_0.25" and first[1].startswith("-000,")


def test_parquet(file, folder, frame, model):
    pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    frame.to_parquet(folder / "new.parquet")
    assert run(file, "--data", folder / "new.parquet", "--out", folder / "p.parquet") == 0
    found = pd.read_parquet(folder / "p.parquet")
    pd.testing.assert_frame_equal(found, model.predict(frame), rtol=1e-12)


def test_cells_of_parquet_are_kept_in_a_csv_file(file, folder, frame):
    pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    kept = {
        "when": pd.date_range("2020-01-01", periods=N),
        "day": [datetime.date(2020, 1, 1)] * N,
        "none": [None] * N,
        "list": [[1, 2]] * N,
    }
    frame.assign(**kept).to_parquet(folder / "kept.parquet")
    options = ["--data", folder / "kept.parquet", "--out", folder / "kept.csv"]
    assert run(file, *options, "--keep", ",".join(kept)) == 0
    found = pd.read_csv(folder / "kept.csv", parse_dates=["when"])
    assert list(found["when"]) == list(kept["when"]) and found["none"].isna().all()
    assert set(found["day"]) == {"2020-01-01"} and set(found["list"]) == {"[1 2]"}


def wrong(capsys, *arguments):
    assert run(*arguments) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    return error


def test_wrong_tables(file, folder, frame, capsys):
    path, out = folder / "wrong.csv", folder / "wrong-out.csv"
    frame.drop(columns=["area", "rooms"]).rename(columns={"colour": "Colour"}).to_csv(path)
    path.write_text(path.read_text().replace(",id", "index,id", 1))
    said = wrong(capsys, file, "--data", path, "--out", out)
    assert "lacks the columns 'area', 'colour' (near it: 'Colour'), 'rooms' of the training" in said
    other = frame.astype({"area": object}).copy()
    other.loc[3, "area"] = "large"
    other.loc[[5, 6], "colour"] = "mauve"
    other.to_csv(path, index=False)
    said = wrong(capsys, file, "--data", path, "--out", out)
    assert "line 5, column 'area': 'large' is not a number;" in said
    assert "line 7, column 'colour': 'mauve' is not one of the categories in training" in said
    assert "('blue', 'red'), and so are 1 more of 30" in said
    assert not out.exists()
    other["area"] = 100
    other.to_csv(path, index=False)
    assert run(file, "--data", path, "--out", out, "--allow-unknown") == 0
    path.write_text("area,colour,rooms\n")
    assert "has no rows" in wrong(capsys, file, "--data", path, "--out", out)


@pytest.mark.slow
@pytest.mark.parametrize("rows_at_a_time", [2, 3, 100])
def test_an_empty_row_must_not_move_the_others(
    file, folder, frame, capsys, monkeypatch, rows_at_a_time
):
    """Predictions stand in the order of the rows, and empty ones at the end are none."""
    monkeypatch.setattr(new_rows, "ROWS", rows_at_a_time)
    path, out = folder / "gaps.csv", folder / "gaps-out.csv"
    frame.head(4).to_csv(path, index=False)
    names, *rows = path.read_text().splitlines()
    empty = "," * names.count(",")
    path.write_text("\n".join([names, *rows, empty, empty, ""]))
    assert run(file, "--data", path, "--out", out) == 0
    assert len(pd.read_csv(out)) == 4
    path.write_text("\n".join([names, *rows[:3], empty, rows[3], ""]))
    assert "row 4 below the names has no value in any column, and others follow" in wrong(
        capsys, file, "--data", path, "--out", out
    )
    path.write_text("\n".join([names, *rows[:2], "", *rows[2:], ""]))  # a blank line
    assert "row 3 below the names has no value" in wrong(capsys, file, "--data", path, "--out", out)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"--out": "p.xlsx"}, "must end with .csv or .parquet"),
        ({"--out": "nowhere/p.csv"}, "there is no folder"),
        ({"--out": "table.csv"}, "is the file of the data"),
        ({"--data": "nothing.csv"}, "there is no such file"),
        ({"--keep": "di"}, "there is no column 'di'; there is 'id'"),
        ({"--keep": "rooms,mean"}, "there is no column 'mean'"),
        ({"--keep": "quantile_0.5", "--data": "named.csv"}, "a column of the predictions has that"),
        ({"model": "table.csv"}, "is damaged, or is not a model"),
        ({"model": "nothing.gi"}, "there is no such file"),
    ],
)
def test_wrong_arguments(file, table, folder, capsys, change, said):
    frame = pd.read_csv(folder / "table.csv").assign(**{"quantile_0.5": 1.0})
    frame.to_csv(folder / "named.csv", index=False)
    options = {"--data": "table.csv", "--out": "x.csv", **change}
    model = folder / options.pop("model", file.name)
    for name in ("--data", "--out"):
        options[name] = folder / options[name]
    arguments = [one for pair in options.items() for one in pair]
    assert said in wrong(capsys, model, *arguments)
    assert not (folder / "x.csv").exists()


def test_quantiles_of_classes_are_refused(folder, table, capsys):
    inputs = Standardiser.fit(table.X)
    layer = gi.layers.GPLayer(
        gpflow.kernels.Matern52(), 1, gi.posteriors.LocalInducing(table.X[:4], 1)
    )
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Bernoulli(), num_data=N)
    units = Standardiser(np.zeros(1), np.ones(1))
    of_classes = TableModel(
        model, table.preprocessing, inputs, "dear", units, 5, 0, "classification", ("no", "yes")
    )
    of_classes.save(folder / "classes.gi")
    data = ["--data", folder / "table.csv", "--out", folder / "classes.csv"]
    said = wrong(capsys, folder / "classes.gi", *data, "--quantiles", "0.1,0.9")
    assert "--quantiles: the model predicts classes, which have none" in said
    assert not (folder / "classes.csv").exists()
    assert run(folder / "classes.gi", *data) == 0
    found = pd.read_csv(folder / "classes.csv")
    assert list(found) == ["class", "probability_no", "probability_yes"] == of_classes.names()

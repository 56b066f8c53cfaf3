"""Columns as inputs, learned from the training rows alone."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from gpflow_gi.datasets import DataError, Standardiser, read_csv, standard_split, train_test_split
from gpflow_gi.datasets.preprocessing import Preprocessing

N = 60


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A table of all kinds of columns, with missing values."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=N),
            "ok": rng.random(N) > 0.5,
            "colour": rng.choice(["red", "green", "blue"], N),
            "when": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, N), "D"),
            "b": rng.normal(size=N),
            "y": rng.normal(size=N),
        }
    )
    frame.loc[[3, 30], "a"] = np.nan
    frame.loc[[5], "colour"] = None
    path = tmp_path_factory.mktemp("data") / "mixed.csv"
    frame.to_csv(path, index=False)
    return read_csv(path, "y", impute="median", calendar=True)


@pytest.mark.parametrize(
    "split", [lambda t: train_test_split(t, 0.3, 1), lambda t: standard_split(t, 2)]
)
def test_medians_and_categories_are_those_of_the_training_rows(mixed, split):
    train, test = split(mixed)
    frame = train.source.frame
    assert len(frame) == len(train.Y) < N
    a = next(one for one in train.preprocessing.columns if one.name == "a")
    assert a.fill == np.nanmedian(frame["a"])
    assert a.missing == frame["a"].isna().any()
    assert train.preprocessing is test.preprocessing
    assert train.input_names == test.input_names
    np.testing.assert_array_equal(test.X, train.preprocessing.transform(test.source.frame))
    # What is not a statistic is as it was.
    b = mixed.input_names.index("b"), train.input_names.index("b")
    rows = np.isin(mixed.Y[:, 0], train.Y[:, 0])
    assert set(mixed.X[rows, b[0]]) == set(train.X[:, b[1]])


def test_the_transformer_is_that_of_the_training_rows(mixed):
    """Made again from plain settings, it is the one that scikit-learn fits to the rows."""
    preprocessing, frame = mixed.preprocessing, mixed.source.frame
    fitted = clone(preprocessing._transformer).fit(frame)
    np.testing.assert_array_equal(fitted.transform(frame).astype(float), mixed.X)


def test_settings_as_json(mixed):
    plain = json.loads(json.dumps(mixed.preprocessing.as_dict()))
    same = Preprocessing.from_dict(plain)
    assert same == mixed.preprocessing
    np.testing.assert_array_equal(same.transform(mixed.source.frame), mixed.X)


def test_a_category_that_the_training_rows_do_not_have(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("c,y\n" + "\n".join(f"{c},{i}" for i, c in enumerate("xyxyxyz")))
    table = read_csv(path, "y")
    train, test = table.split(np.arange(6), np.arange(6, 7))
    assert train.input_names == ("c = x", "c = y")
    np.testing.assert_array_equal(test.X, [[0, 0]])
    assert train.preprocessing.unknown(test.source.frame) == {"c": {"z": 1}}
    assert train.notes == (
        "1 of 1 held-out rows have a text in 'c' that no training row has, such as 'z': it is 0 in "
        "all inputs.",
    )


def test_plain_numbers_are_split_as_before(tmp_path):
    values = np.random.default_rng(0).normal(size=(20, 3))
    path = tmp_path / "t.csv"
    pd.DataFrame(values, columns=list("aby")).to_csv(path, index=False)
    table = read_csv(path, "y")
    order = np.random.default_rng(0).permutation(20)
    train, test = train_test_split(table, 0.1, 0)
    np.testing.assert_array_equal(train.X, table.X[order[2:]])
    np.testing.assert_array_equal(test.Y, table.Y[order[:2]])
    assert train.input_names == ("a", "b")
    assert Standardiser.fit(train.X).mean.shape == (2,)


def test_missing_values_that_nothing_replaces(mixed):
    strict = Preprocessing.of_numbers(["a", "b"])
    raw = pd.DataFrame({"b": [1.0, np.nan], "a": [np.nan, np.nan]})
    with pytest.raises(DataError, match="2 of 'a', 1 of 'b'"):
        strict.transform(strict.typed(raw))


@pytest.mark.parametrize(
    "change",
    [
        {"columns": []},
        {"columns": [{"name": "a"}, {"name": "a"}]},
        {"columns": [{"name": "a", "kind": "code"}]},
        {"columns": [{"name": "a", "fill": float("nan")}], "impute": True},
        {"columns": [{"name": "a", "fill": 1.0}]},
        {"columns": [{"name": "a", "missing": True}]},
        {"columns": [{"name": "a", "form": "%c"}]},
        {"columns": [{"name": "a", "categories": ["x"]}]},
        {"columns": [{"name": "a", "kind": "category", "categories": ["x", 1]}]},
        {"columns": [{"name": "a", "kind": "category", "categories": ["y", "x"]}]},
        {"columns": [{"name": 1}]},
        {"columns": [{"name": "a", "more": 1}]},
        {"columns": "a"},
        {"impute": 1},
        {"more": 1},
    ],
)
def test_settings_that_none_has_are_refused(change):
    plain = {"impute": False, "columns": [{"name": "a"}], **change}
    with pytest.raises(ValueError, match=r"column|preprocessing"):
        Preprocessing.from_dict(plain)

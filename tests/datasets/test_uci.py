import hashlib
import subprocess
import sys

import numpy as np
import pytest

from gpflow_gi.datasets import (
    UCI_SETS,
    DataError,
    Standardiser,
    UCISet,
    num_splits,
    standard_split,
    uci,
    uci_set,
    uci_table,
)

NAMES = ("boston", "concrete", "energy", "kin8nm", "naval", "power", "protein", "wine", "yacht")


@pytest.fixture
def tiny(monkeypatch, tmp_path):
    """A set of thirteen rows, whose target is in the first of four columns."""
    values = np.random.default_rng(0).normal(size=(13, 4))
    contents = {
        "data.txt": "\n".join("  ".join(map(repr, row)) for row in values.tolist()) + "\n\n",
        "index_features.txt": "3\n1\n",
        "index_target.txt": "0\n",
    }
    folder = tmp_path / "tinySet" / "data"
    folder.mkdir(parents=True)
    for file, content in contents.items():
        (folder / file).write_bytes(content.encode())
    hashes = [hashlib.sha256(content.encode()).hexdigest() for content in contents.values()]
    described = UCISet("tinySet", 13, ("d", "b"), "a", *hashes, num_splits=3)
    monkeypatch.setitem(UCI_SETS, "tiny", described)
    monkeypatch.setenv("GPFLOW_GI_DATA", str(tmp_path))
    return values


# Tables


def test_inputs_and_target_are_the_columns_that_the_files_name(tiny):
    table = uci_table("tiny")
    np.testing.assert_array_equal(table.X, tiny[:, [3, 1]])
    np.testing.assert_array_equal(table.Y, tiny[:, [0]])
    assert table.X.dtype == table.Y.dtype == np.float64
    assert (table.name, table.input_names, table.target_name) == ("tiny", ("d", "b"), "a")


def test_splits_are_the_standard_ones(tiny):
    assert num_splits("tiny") == 3
    table = uci_table("tiny")
    for split in range(3):
        for ours, standard in zip(uci("tiny", split), standard_split(table, split), strict=True):
            np.testing.assert_array_equal(ours.X, standard.X)
            np.testing.assert_array_equal(ours.Y, standard.Y)
    assert (len(uci("tiny", 0)[0].X), len(uci("tiny", 0)[1].X)) == (12, 1)


@pytest.mark.parametrize("file", ["data.txt", "index_features.txt", "index_target.txt"])
def test_every_file_must_be_the_published_one(tiny, tmp_path, file):
    path = tmp_path / "tinySet" / "data" / file
    path.write_bytes(path.read_bytes() + b"1\n")
    with pytest.raises(DataError, match=f"{file} is not the published file"):
        uci_table("tiny")


# What is known before


def test_the_sets():
    assert tuple(UCI_SETS) == NAMES
    assert {name: num_splits(name) for name in NAMES} == {
        **dict.fromkeys(NAMES, 20),
        "protein": 5,
    }


@pytest.mark.parametrize("function", [uci_set, uci_table, num_splits, lambda name: uci(name, 0)])
@pytest.mark.parametrize(
    "name, message",
    [
        ("yahct", "There is no UCI data set 'yahct'. Did you mean 'yacht'? There are boston, con"),
        ("Protein", "There is no UCI data set 'Protein'. Did you mean 'protein'?"),
        ("zzz", "There is no UCI data set 'zzz'. There are boston, concrete, energy, kin8nm, nav"),
        ("", "There is no UCI data set ''. There are boston"),
    ],
)
def test_unknown_names(function, name, message):
    with pytest.raises(DataError) as error:
        function(name)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert str(error.value).endswith("wine, yacht.")


@pytest.mark.parametrize("name, last", [("yacht", 19), ("protein", 4)])
def test_splits_that_are_not_published(monkeypatch, tmp_path, name, last):
    monkeypatch.setenv("GPFLOW_GI_DATA", str(tmp_path / "nothing"))  # found out before any reading
    for split in (-1, last + 1, 0.5, "0"):
        with pytest.raises(DataError) as error:
            uci(name, split)
        said = f"no split {split!r}: its splits have the numbers 0 to {last}."
        assert str(error.value) == f"{name} has {said}"


def test_nothing_heavy_is_imported_for_what_is_known_before():
    heavy = "pooch", "requests", "pandas", "sklearn", "scipy", "tensorflow"
    code = (
        "import sys, gpflow_gi as gi; gi.datasets.num_splits('yacht');"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert output.stdout.decode().strip() == "[]"


# The published files


@pytest.mark.parametrize("name", NAMES)
def test_published_tables(published, name):
    folder = published / uci_set(name).folder / "data"
    values = np.loadtxt(folder / "data.txt")
    inputs = np.loadtxt(folder / "index_features.txt", dtype=int)
    target = int(np.loadtxt(folder / "index_target.txt"))
    table = uci_table(name)
    assert len(values) == uci_set(name).num_rows
    np.testing.assert_array_equal(table.X, values[:, inputs], strict=True)
    np.testing.assert_array_equal(table.Y, values[:, [target]], strict=True)
    assert len(table.input_names) == len(set(table.input_names)) == len(inputs)


@pytest.mark.parametrize("name", NAMES)
def test_published_splits(published, name):
    """Equal to the files of row numbers, including their order."""
    folder = published / uci_set(name).folder / "data"
    table = uci_table(name)
    assert num_splits(name) == int(np.loadtxt(folder / "n_splits.txt"))
    assert len(list(folder.glob("index_train_*.txt"))) == num_splits(name)
    for split in range(num_splits(name)):
        for side, rows in zip(("train", "test"), uci(name, split), strict=True):
            numbers = np.loadtxt(folder / f"index_{side}_{split}.txt", dtype=int)
            expected = table.rows(numbers)
            np.testing.assert_array_equal(rows.X, expected.X, strict=True)
            np.testing.assert_array_equal(rows.Y, expected.Y, strict=True)


def test_published_row_numbers(published):
    """Rows that occur twice in a table could hide an exchange of row numbers."""
    num_files = 0
    for name in NAMES:
        rows = np.arange(uci_set(name).num_rows, dtype=float)[:, None]
        numbered = type(uci_table(name))(name, rows, rows, ("row",), "row")
        for split in range(num_splits(name)):
            for side, part in zip(("train", "test"), standard_split(numbered, split), strict=True):
                file = published / uci_set(name).folder / "data" / f"index_{side}_{split}.txt"
                np.testing.assert_array_equal(part.X[:, 0], np.loadtxt(file))
                num_files += 1
    assert num_files == 2 * 165


def test_constant_inputs_of_naval_become_zeros(published):
    train, test = uci("naval", 0)
    constant = np.flatnonzero(np.ptp(train.X, axis=0) == 0)
    assert constant.tolist() == [8, 11]
    assert train.input_names[8] == "compressor inlet temperature"
    standardiser = Standardiser.fit(train.X)
    for table in (train, test):
        standardised = standardiser.transform(table.X)
        assert np.all(standardised[:, constant] == 0)
        assert np.isfinite(standardised).all() and np.abs(standardised).max() < 10

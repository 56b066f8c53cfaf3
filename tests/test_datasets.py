import numpy as np
import pytest

from gpflow_gi.datasets import (
    DataError,
    Standardiser,
    Table,
    diabetes,
    read_csv,
    train_test_split,
)

GOOD = "a,b,y\n1,2,3\n4,5,6\n7,8,10\n"


@pytest.fixture
def csv(tmp_path):
    def write(text, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def numbered(num_rows):
    rows = np.arange(num_rows, dtype=float)[:, None]
    return Table("numbers", rows, -rows, ("x",), "y")


# Standardiser


def test_standardised_columns_have_mean_zero_and_deviation_one():
    values = np.random.default_rng(0).normal([1e6, -2.0, 0.0], [3.0, 1e-3, 50.0], size=(200, 3))
    standardiser = Standardiser.fit(values)
    standardised = standardiser.transform(values)
    np.testing.assert_allclose(standardised.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(standardised.std(axis=0), 1)
    np.testing.assert_allclose(standardiser.inverse(standardised), values)
    np.testing.assert_allclose(standardiser.scale, values.std(axis=0))


def test_constant_columns_become_zeros():
    """The mean of many 0.1 is not 0.1, which must not be blown up to a deviation of one."""
    values = np.stack([np.full(1000, 0.1), np.arange(1000.0)], axis=1)
    standardiser = Standardiser.fit(values)
    assert np.all(standardiser.transform(values)[:, 0] == 0)
    assert standardiser.scale[0] == 1
    # A new row in which the column is no longer constant keeps its unit.
    assert standardiser.transform(np.array([[2.1, 0.0]]))[0, 0] == pytest.approx(2.0)


@pytest.mark.parametrize("unit", [1e-200, 1e200])
def test_extreme_units_are_standardised(unit):
    values = np.array([[1.0], [2.0], [4.0]])
    expected = Standardiser.fit(values).transform(values)
    np.testing.assert_allclose(Standardiser.fit(unit * values).transform(unit * values), expected)


def test_densities_and_variances_return_to_the_original_scale():
    values = np.random.default_rng(0).normal(5.0, 3.0, size=(50, 1))
    standardiser = Standardiser.fit(values)
    standardised = standardiser.transform(values)[:, 0]
    log_density = -0.5 * np.log(2 * np.pi * 0.7) - 0.5 * standardised**2 / 0.7
    variance = standardiser.inverse_variance(np.array([0.7]))
    expected = -0.5 * np.log(2 * np.pi * variance) - (
        0.5 * (values[:, 0] - standardiser.mean) ** 2 / variance
    )
    np.testing.assert_allclose(standardiser.inverse_log_density(log_density), expected)


# train_test_split


def test_split_is_a_partition_and_keeps_rows_together():
    train, test = train_test_split(numbered(50), 0.2, seed=3)
    assert (len(train.X), len(test.X)) == (40, 10)
    assert sorted(np.concatenate([train.X, test.X]).ravel()) == list(range(50))
    np.testing.assert_array_equal(train.Y, -train.X)
    np.testing.assert_array_equal(test.Y, -test.X)


def test_split_depends_on_the_seed_alone():
    np.random.seed(0)
    first = train_test_split(numbered(50), seed=1)[1].X
    np.random.seed(1)
    again = train_test_split(numbered(50), seed=1)[1].X
    other = train_test_split(numbered(50), seed=2)[1].X
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("fraction, num_test", [(0.01, 1), (0.5, 2), (0.99, 2)])
def test_split_leaves_rows_on_both_sides(fraction, num_test):
    train, test = train_test_split(numbered(4), fraction)
    assert (len(train.X), len(test.X)) == (4 - num_test, num_test)


def test_split_errors():
    with pytest.raises(DataError, match="numbers has 2 rows"):
        train_test_split(numbered(2))
    for fraction in (0.0, 1.0, -0.1):
        with pytest.raises(ValueError, match="test_fraction"):
            train_test_split(numbered(10), fraction)


# Tables


def test_diabetes():
    table = diabetes()
    assert table.X.shape == (442, 10) and table.Y.shape == (442, 1)
    assert len(table.input_names) == 10 and table.input_names[0] == "age"
    assert 19 <= table.X[:, 0].min() and table.X[:, 0].max() <= 79  # years, not standardised
    assert np.isfinite(table.X).all() and np.isfinite(table.Y).all()


def test_read_csv(csv):
    table = read_csv(csv(GOOD), "b")
    np.testing.assert_array_equal(table.X, [[1, 3], [4, 6], [7, 10]])
    np.testing.assert_array_equal(table.Y, [[2], [5], [8]])
    assert table.X.dtype == table.Y.dtype == np.float64
    assert (table.name, table.input_names, table.target_name) == ("table.csv", ("a", "y"), "b")


@pytest.mark.parametrize(
    "text",
    [
        GOOD.replace("\n", "\r\n"),
        "\ufeff" + GOOD,  # as Excel saves it
        GOOD.replace(",", " ,  "),
        GOOD.rstrip("\n"),
        GOOD.replace("\n4", "\n\n  \n4") + "\n\n",  # empty lines
        'a,b,"y"\n"1",2.0,3e0\n+4,5,6\n7,8,10\n',
    ],
)
def test_spellings_of_one_table(csv, text):
    table, expected = read_csv(csv(text), "y"), read_csv(csv(GOOD), "y")
    np.testing.assert_array_equal(table.X, expected.X)
    np.testing.assert_array_equal(table.Y, expected.Y)
    assert table.input_names == ("a", "b")


def test_dropped_columns_may_hold_anything(csv):
    path = csv('id,a,when,y\nx,1,,3\n,2,"a\nb",5\nz,3,inf,8\n')
    table = read_csv(path, "y", drop=["id", "when"])
    assert table.input_names == ("a",)
    np.testing.assert_array_equal(table.X, [[1], [2], [3]])


@pytest.mark.parametrize(
    "text, message",
    [
        ("", "table.csv, line 1 is empty"),
        ("\n\n", "table.csv, line 1 is empty"),
        (b"a,y\n1,\xff\n", "table.csv is not a text file in UTF-8"),
        (b"\xff\xfea\x00,\x00", "table.csv is not a text file in UTF-8"),
        ("a,y\n1,2\n1,2,3\n", "not comma-separated values: Expected 2 fields in line 3, saw 3"),
        ('a,y\n1,2\n"1,2\n', "not comma-separated values: a quotation mark is never closed"),
        ("a,y\n", "has 0 rows of data: at least 3"),
        ("a,y\n1,2\n", "has 1 row of data: at least 3"),
        ("a,y\n1,2\n3,4\n", "has 2 rows of data: at least 3"),
        ("a,,y\n1,2,3\n", "line 1: column 2 has no name"),
        ("a,b,y, a\n1,2,3,4\n", "line 1: 2 columns have the name 'a'"),
        ("a,b\n1,2\n", "there is no column 'y'; there is 'a', 'b'."),
        ("Y,b\n1,2\n", "there is no column 'y'; near it: 'Y'."),
        ("a;b;y\n1;2;3\n", "separated by something else than commas"),
        ("y\n1\n2\n3\n", "no column besides the target 'y'"),
        ("a,y\n1,5\n2,5\n3,5.0\n", "column 'y': the target is 5 in all 3 rows"),
        ("a,y\n1,2\n3,x\nz,4\n", "line 3, column 'y': 'x' is not a number"),
        ("a,y\n1,2\n\n\nred,x\n3,4\n", "line 5, column 'a': 'red' is not a number"),
        ('a,y\n1,"2,5"\n3,4\n4,5\n', "line 2, column 'y': '2,5' is not a number"),
        ("a,y\n1,True\n3,4\n4,5\n", "line 2, column 'y': 'True' is not a number"),
        ("a,y\n1,2\n,4\n4,5\n", "line 3, column 'a': the value is missing;"),
        ("a,y\n1,2\n3\n4,5\n", "line 3, column 'y': the value is missing;"),
        ("a,y\n1,2\n3,NaN\n4,5\n", "line 3, column 'y': the value is missing ('NaN');"),
        ("a,y\n1,2\n3,4\n4,-inf\n", "line 4, column 'y': the value '-inf' is infinite"),
        ("a,y\n1,2\n3,1e999\n4,5\n", "line 3, column 'y': the value '1e999' is infinite"),
        ('"a",y\n"1\n",2\n3,4\n5,x\n', "line 5, column 'y': 'x' is not a number"),
    ],
)
def test_what_is_wrong_with_a_file_is_said_in_one_line(csv, text, message):
    path = csv(text)
    with pytest.raises(DataError) as error:
        read_csv(path, "y")
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    with pytest.raises(DataError, match=r"nothing\.csv: there is no such file"):
        read_csv(tmp_path / "nothing.csv", "y")
    with pytest.raises(DataError, match="cannot be read: Is a directory"):
        read_csv(tmp_path, "y")


def test_drop_errors(csv):
    path = csv(GOOD)
    with pytest.raises(DataError, match="there is no column 'c'"):
        read_csv(path, "y", drop=["c"])
    with pytest.raises(DataError, match="'y' is the target and cannot be dropped"):
        read_csv(path, "y", drop=["y"])


def test_long_values_and_many_columns_are_cut_short(csv):
    names = [f"column_{i}" for i in range(50)]
    text = ",".join(names) + "\n" + 3 * (",".join("1" for _ in names) + "\n")
    with pytest.raises(DataError, match="'column_7' and 42 more") as error:
        read_csv(csv(text), "zzz")
    assert len(str(error.value)) < 300
    with pytest.raises(DataError, match=r"'x+\.\.\.' is not a number") as error:
        read_csv(csv("a,y\n" + 3 * f"1,{'x' * 5000}\n"), "y")
    assert len(str(error.value)) < 300

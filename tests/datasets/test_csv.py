import os
import subprocess
import sys

import numpy as np
import pytest

from gpflow_gi.datasets import DataError, read_csv

GOOD = "a,b,y\n1,2,3\n4,5,6\n7,8,10\n"


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
        ("y\n1\n2\n3\n", "no column besides the target 'y'"),
        ("a,y\n1,5\n2,5\n3,5.0\n", "column 'y': the target is 5 in all 3 rows"),
        ("a,y\n1,2\n3,x\nz,4\n", "line 3, column 'y': 'x' is not a number"),
        ("a,y\n1,2\n\n\nred,x\n3,4\n", "line 5, column 'a': 'red' is not a number"),
        ('a,y\n1,"2,5,7"\n3,4\n4,5\n', "line 2, column 'y': '2,5,7' is not a number"),
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


def test_a_pipe_is_refused(tmp_path):
    """Its first rows would be gone when it is read again."""
    path = tmp_path / "pipe.csv"
    os.mkfifo(path)
    rows = "a,y\n" + "".join(f"{i},{i * i % 7}\n" for i in range(5000))
    writer = subprocess.Popen(
        [sys.executable, "-c", f"open({str(path)!r}, 'w').write({rows!r})"],
        stderr=subprocess.DEVNULL,
    )
    try:
        with pytest.raises(
            DataError, match=r"pipe\.csv is a pipe or a device, .*write it to a file"
        ):
            read_csv(path, "y")
    finally:
        writer.kill()
        writer.wait()

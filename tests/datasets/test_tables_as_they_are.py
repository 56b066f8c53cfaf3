"""Files as people have them: separators, decimal commas, dates, categories, missing values."""

import bz2
import datetime
import gzip
import io
import lzma
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest

from gpflow_gi.datasets import DataError, read_csv
from gpflow_gi.datasets.new_rows import NewRows, typed_rows
from gpflow_gi.estimators.frames import learn

TABLE = "a,b,y\n1,2.5,3\n4,5,6\n7,8,10\n"
X, Y = [[1, 2.5], [4, 5], [7, 8]], [[3], [6], [10]]


def check(table, inputs=X, targets=Y):
    np.testing.assert_array_equal(table.X, inputs)
    np.testing.assert_array_equal(table.Y, targets)


@pytest.mark.parametrize("separator", [";", "\t", "|"])
def test_separators(csv, separator):
    check(read_csv(csv(TABLE.replace(",", separator)), "y"))
    names = TABLE.replace("a,b", '"a, or so","b, or so"').replace(",", separator)
    quoted = names.replace(f"a{separator} or so", "a, or so").replace(f"b{separator} or", "b, or")
    table = read_csv(csv(quoted), "y")
    check(table)
    assert table.input_names == ("a, or so", "b, or so")


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_ends_of_lines(csv, end):
    preprocessing = read_csv(csv(TABLE), "y").preprocessing
    path = csv(TABLE.replace("\n", end))
    check(read_csv(path, "y"))
    ((_, typed),) = NewRows.open(path, preprocessing).parts()
    np.testing.assert_array_equal(typed, X)
    with pytest.raises(DataError, match="line 3, column 'b': 'x' is not a number"):
        read_csv(csv(TABLE.replace("4,5", "4,x").replace("\n", end)), "y")


def test_a_first_line_without_names(csv):
    with pytest.raises(DataError, match="line 1 does not hold names of columns: field larger"):
        read_csv(csv("a" * 200_000 + ",y\n1,2\n"), "y")


def zipped(content, names=("table.csv",)):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, content)
    return file.getvalue()


COMPRESS = {"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress, "zip": zipped}


@pytest.mark.parametrize("ending", COMPRESS)
def test_compressed_files(csv, ending):
    content = COMPRESS[ending](TABLE.encode())
    check(read_csv(csv(content, f"t.csv.{ending}"), "y"))
    with pytest.raises(DataError, match=f"t.csv.{ending} (is damaged|cannot be read)"):
        read_csv(csv(content[: len(content) // 2], f"t.csv.{ending}"), "y")
    with pytest.raises(DataError, match=f"t.csv.{ending} (is damaged|cannot be read)"):
        read_csv(csv(TABLE, f"t.csv.{ending}"), "y")
    with pytest.raises(DataError, match="line 3, column 'y': 'x' is not a number"):
        wrong = TABLE.replace("6", "x").encode()
        read_csv(csv(COMPRESS[ending](wrong), f"t.csv.{ending}"), "y")


def test_an_archive_of_several_files(csv):
    with pytest.raises(DataError, match="holds 2 files"):
        read_csv(csv(zipped(TABLE, "ab"), "t.zip"), "y")


@pytest.mark.parametrize(
    ("text", "inputs"),
    [
        ("a;y\n1.234,5;1\n2,25;2\n-3;3\n", [1234.5, 2.25, -3]),
        ('a,y\n"1,234.5",1\n"12,345,678",2\n-3,3\n', [1234.5, 12345678, -3]),
        ("a;y\n1 234,5;1\n2'500;2\n1e3;3\n", [1234.5, 2500, 1000]),
        ("a;y\n1\u00a0234,5;1\n2\u202f500;2\n1\u2009000\u2009000;3\n", [1234.5, 2500, 1e6]),
        ("a;y\n0,123;1\n0,250;2\n1,125;3\n", [0.123, 0.25, 1.125]),
        ('a,y\n"0,123",1\n"0,250",2\n"1,125",3\n', [0.123, 0.25, 1.125]),
        ("a,y\n−1,1\n+2,2\n3,3\n", [-1, 2, 3]),
        # Another column has decimal commas, so that points stand between thousands.
        ("a;b;y\n1.234;1,5;1\n500;1,5;2\n2.000;1,5;3\n", [1234, 500, 2000]),
        ("a;b;y\n1;1,5;1\n;1,5;2\n3;1,5;3\n", [1, 2, 3]),
        ("a;y\n1.234;1\n500;2\n2.000;3\n", [1.234, 500, 2]),
    ],
)
def test_separators_of_thousands_and_decimal_commas(csv, text, inputs):
    table = read_csv(csv(text), "y", drop_constant=True, impute="median")
    np.testing.assert_array_equal(table.X[:, 0], inputs)
    assert any("Points in 'a'" in note for note in table.source.notes) == ("1.234;1," in text)


def test_commas_that_may_be_both(csv):
    text = 'a{0}y\n"1,234"{0}1\n500{0}2\n"2,000"{0}3\n'
    thousands, decimals = [[1234], [500], [2000]], [[1.234], [500], [2]]
    for separator, expected, said in ((",", thousands, "thousands"), (";", decimals, "decimal")):
        table = read_csv(csv(text.format(separator)), "y")
        check(table, expected, [[1], [2], [3]])
        assert f"Commas in 'a' are read as {said}" in table.source.notes[0].replace(
            "separators of ", ""
        )
    for decimal, expected in ((".", thousands), (",", decimals)):
        table = read_csv(csv(text.format(";")), "y", decimal=decimal)
        check(table, expected, [[1], [2], [3]])
        assert table.source.notes == ()
    # Another column of the file decides.
    table = read_csv(csv('a;b;y\n1,234;"1,234.5";1\n500;1;2\n2,000;1;3\n'), "y")
    np.testing.assert_array_equal(table.X[:, :1], thousands)


POINTS, COMMAS = "a,y\n1.234,2\n2.250,4\n5.125,6\n", "a;y\n1,234;2,5\n2,250;4\n5,125;6\n"
BOTH = "a;b;y\n3,35;3.35;2\n1,25;1.25;4\n0,5;0.5;6\n"


@pytest.mark.parametrize(
    ("training", "text", "expected"),
    [
        (POINTS, 'a,b\n"1,234",0.5\n500,0.7\n', [1234, 500]),
        (POINTS, "a;b\n1.234;5\n2.250;0.7\n", [1.234, 2.25]),
        (POINTS, 'a;b\n1.234;"1,234.5"\n2.250;0,7\n', [1.234, 2.25]),  # nothing is sure
        (POINTS, "a;b\n1.234;4,5 kg\n2.250;6 kg\n", [1.234, 2.25]),
        (COMMAS, "a;b\n1,234;0,5\n2.250;0,7\n", [1.234, 2250]),
        (COMMAS, "a;b\n1,234;5\n2,250;7\n", [1.234, 2.25]),
        (BOTH, "a;b\n1,234;2.5\n2,250;0.7\n", [1.234, 2.25]),
        (BOTH, "b;a;c\n2.5;1,234;0,7\n0.7;2,250;1\n", [1.234, 2.25]),
    ],
)
def test_marks_of_new_rows_that_are_those_of_training(csv, training, text, expected):
    preprocessing = read_csv(csv(training), "y").preprocessing
    ((_, typed),) = NewRows.open(csv(text, "new.csv"), preprocessing).parts()
    np.testing.assert_array_equal(typed["a"], expected)


@pytest.mark.parametrize(
    ("training", "text", "said"),
    [
        (POINTS, "a;b\n1,234;2,000\n2,250;0,7\n", r"'1,234' .* 'b' has decimal commas, as '0,7'"),
        (POINTS, "a;b\n1.234;0,5\n2.250;0,7\n", r"'1.234' .* 'b' has decimal commas"),
        (COMMAS, "a,b\n1.234,0.5\n2.250,0.7\n", r"'1.234' .* has decimal points, as '0.5'"),
        (COMMAS, 'a,b\n"1,234",0.5\n500,0.7\n', r"'1,234' .* has decimal points, as '0.5'"),
        (BOTH, "b;a;c\n2.5;1,234;0.7\n", r"'1,234' .* Column 'c' has decimal points, as '0.7'"),
    ],
)
def test_new_rows_with_another_decimal_mark(csv, training, text, said):
    """They would be read as a thousand times what they are, or a thousandth."""
    preprocessing = read_csv(csv(training), "y").preprocessing
    of_training = "points" if training == POINTS else "commas"
    with pytest.raises(DataError, match=said) as error:
        NewRows.open(csv(text, "new.csv"), preprocessing)
    assert f"write the numbers with decimal {of_training}" in str(error.value)


def test_truth_values_dates_and_categories(csv):
    text = (
        "when,ok,smokes,colour,y\n"
        "2024-02-29,True,yes,red,1\n"
        "2024-03-01T12:00:00Z,False,no, blue ,2\n"
        "1970-01-01 06:00,True,No,red,3\n"
    )
    table = read_csv(csv(text), "y")
    assert table.input_names == ("when", "ok", "smokes", "colour = blue", "colour = red")
    leap = 54 * 365 + 13 + 59  # 54 years, of which 13 have one day more, January and 28 days
    expected = [[leap, 1, 1, 0, 1], [leap + 1.5, 0, 0, 1, 0], [0.25, 1, 0, 0, 1]]
    check(table, expected, [[1], [2], [3]])
    kinds = [column.kind for column in table.preprocessing.columns]
    assert kinds == ["date", "truth", "truth", "category"]


@pytest.mark.parametrize(
    "dates",
    [
        ("24.12.2024", "01.02.2025"),
        ("24/12/2024", "01/02/2025"),
        ("12/24/2024", "02/01/2025"),
        ("2024/12/24", "2025/02/01"),
    ],
)
def test_forms_of_dates(csv, dates):
    table = read_csv(csv(f"d,y\n{dates[0]},1\n{dates[1]},2\n{dates[0]},3\n"), "y")
    expected = pd.to_datetime(["2024-12-24", "2025-02-01", "2024-12-24"])
    check(table, (expected - pd.Timestamp(0)).days.to_numpy()[:, None], [[1], [2], [3]])


def test_the_calendar_as_inputs(csv):
    days = pd.date_range("2023-11-06", periods=800)  # a Monday
    text = "d,y\n" + "\n".join(f"{day:%Y-%m-%d},{i}" for i, day in enumerate(days))
    table = read_csv(csv(text), "y", calendar=True)
    assert table.input_names[1:] == (
        "d, day of week, sine",
        "d, day of week, cosine",
        "d, month, sine",
        "d, month, cosine",
    )
    week, month = 2 * np.pi * days.dayofweek / 7, 2 * np.pi * (days.month - 1) / 12
    expected = np.transpose([np.sin(week), np.cos(week), np.sin(month), np.cos(month)])
    np.testing.assert_allclose(table.X[:, 1:], expected, atol=1e-12)


def test_columns_that_hold_numbers_but_are_categories(csv):
    with pytest.raises(DataError, match="name it in --categories"):
        read_csv(csv("zip,y\n01234,1\n1234,2\nXY,3\n"), "y")
    path = csv("zip,y\n01234,1\n1234,2\nnone,3\n")
    table = read_csv(path, "y", categories="zip", impute="median")
    assert table.input_names == ("zip = (missing)", "zip = 01234", "zip = 1234")


def test_missing_values_are_refused_with_every_count(csv):
    text = "a,b,c,y\n1,,x,1\nNA,?,,2\n3,n/a,x,\n"
    with pytest.raises(DataError) as error:
        read_csv(csv(text), "y")
    said = str(error.value)
    assert "4 columns that cannot be used" in said and "\n" not in said
    assert "line 3, column 'a': the value is missing ('NA');" in said
    assert "line 2, column 'b': the value is missing, and so are 2 more of 3;" in said
    assert "line 3, column 'c'" in said and "line 4, column 'y'" in said
    assert "--impute median" in said
    with pytest.raises(
        DataError, match="line 4, column 'y': the value is missing; fill it in or r"
    ):
        read_csv(csv(text), "y", impute="median")


def test_the_median_for_missing_values(csv):
    text = "a,c,d,y\n1,x,2024-01-01,1\n,y,,2\n3,,2024-01-03,3\n8,x,2024-01-04,4\n"
    table = read_csv(csv(text), "y", impute="median")
    names = ("a", "a is missing", "c = (missing)", "c = x", "c = y", "d", "d is missing")
    assert sorted(table.input_names) == sorted(names)
    columns = dict(zip(table.input_names, table.X.T, strict=True))
    np.testing.assert_array_equal(columns["a"], [1, 3, 3, 8])
    np.testing.assert_array_equal(columns["a is missing"], [0, 1, 0, 0])
    np.testing.assert_array_equal(columns["c = (missing)"], [0, 0, 1, 0])
    np.testing.assert_array_equal(columns["c = x"], [1, 0, 0, 1])
    np.testing.assert_array_equal(columns["d"] - 19723, [0, 2, 2, 3])


def test_too_many_categories(csv):
    text = "name,y\n" + "\n".join(f"n{i},{i}" for i in range(25))
    with pytest.raises(DataError, match=r"column 'name': 25 different texts.*at most 20 are made"):
        read_csv(csv(text), "y")
    assert read_csv(csv(text), "y", max_categories=25).X.shape == (25, 25)


def test_dates_that_may_begin_with_the_day_or_the_month(csv):
    text = "d,y\n01/02/2024,1\n03/04/2024,2\n05/06/2024,3\n"
    with pytest.raises(DataError, match="may begin with the day or the month; write them as 2024-"):
        read_csv(csv(text), "y")


def test_constant_columns(csv):
    path = csv("a,k,c,y\n1,5,x,1\n2,5,x,2\n3,5,x,4\n")
    assert read_csv(path, "y").input_names == ("a", "k", "c = x")
    table = read_csv(path, "y", drop_constant=True)
    assert table.input_names == ("a",)
    assert table.source.notes == ("Left out, constant in all rows: columns 'k', 'c'.",)


def test_names_with_commas_between_them(csv):
    path = csv('a,"b,c",d,y\n1,x,2,1\n2,y,3,2\n3,z,4,4\n')
    for drop in ("b,c", ["b,c"]):
        assert read_csv(path, "y", drop=drop).input_names == ("a", "d")
    for drop in ("a, d", ["a", "d"], ["a,d"]):
        assert read_csv(path, "y", drop=drop).input_names[0] == "b,c = x"
    with pytest.raises(DataError, match="there is no column 'e'"):
        read_csv(path, "y", drop="a,e")


def test_a_row_that_is_longer_than_the_names(csv):
    with pytest.raises(DataError, match="more cells than the 2 names"):
        read_csv(csv("a,y\n1,2,3\n1,2,3\n4,5,6\n"), "y")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"impute": "mean"}, 'impute must be "median" or None'),
        ({"decimal": ";"}, 'decimal must be ".", "," or None'),
        ({"max_categories": 0}, "max_categories must be an integer"),
        ({"categories": "c"}, "there is no column 'c'"),
    ],
)
def test_options_are_checked(csv, options, said):
    with pytest.raises(ValueError, match=said):
        read_csv(csv(TABLE), "y", **options)


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    frame = pd.DataFrame(
        {
            "a": [1.0, None, 3.0],
            "when": pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
            "ok": [True, False, True],
            "c": pd.Categorical(["x", "y", "x"]),
            "y": [1, 2, 4],
        }
    )
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    table = read_csv(path, "y", impute="median")
    assert table.input_names == ("a", "when", "ok", "a is missing", "c = x", "c = y")
    np.testing.assert_array_equal(table.X[:, :3], [[1, 19723, 1], [2, 19724, 0], [3, 19725, 1]])
    advice = r"fill it in, remove the row, drop the column or replace missing values by"
    with pytest.raises(DataError, match=f"row 2, column 'a': the value is missing; {advice}"):
        read_csv(path, "y")


def test_lists_of_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    frame = pd.DataFrame({"a": range(4), "l": [[1], [2], [3, 4], []], "d": [{"u": 1}] * 4})
    frame["y"] = [1.0, 2.0, 4.0, 8.0]
    path = tmp_path / "table.parquet"
    frame.to_parquet(path)
    said = "'l': lists or records, from which no inputs are made; column 'd': lists or records"
    with pytest.raises(DataError, match=said):
        read_csv(path, "y")
    assert read_csv(path, "y", ["l", "d"]).input_names == ("a",)
    for task in ("auto", "classification", "counts", "regression"):
        with pytest.raises(DataError, match="which cannot be predicted"):
            read_csv(path, "l", ["d"], task=task)
    table = read_csv(path, "y", ["l", "d"])
    inputs = NewRows.open(path, table.preprocessing)
    assert [len(typed) for _, typed in inputs.parts()] == [4]


def test_what_parquet_needs(csv, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataError, match=r"needs pyarrow: pip install 'gpflow-gi\[parquet\]'"):
        read_csv(csv(b"", "t.parquet"), "y")


def test_a_large_table_is_not_read_cell_by_cell(csv, monkeypatch):
    """The cells as texts are for messages: a table without faults does not make them."""
    from gpflow_gi.datasets.table_files import TableFile

    monkeypatch.setattr(TableFile, "cells", None)
    values = np.random.default_rng(0).normal(size=(5000, 3))
    text = io.StringIO()
    pd.DataFrame(values, columns=list("aby")).to_csv(text, index=False)
    table = read_csv(csv(text.getvalue()), "y")
    np.testing.assert_allclose(np.hstack([table.X, table.Y]), values, rtol=1e-11)


# What tables of other programs hold


def test_dates_far_from_now(csv):
    """9999-12-31 stands for no date in many tables; nanoseconds end in 2262."""
    table = read_csv(csv("d,y\n1970-01-02,1\n9999-12-31,2\n1500-01-01 12:00,3\n"), "y")
    epoch = datetime.date(1970, 1, 1)
    days = [(one - epoch).days for one in (datetime.date(9999, 12, 31), datetime.date(1500, 1, 1))]
    np.testing.assert_array_equal(table.X[:, 0], [1, days[0], days[1] + 0.5])


def test_dates_have_the_days_that_nanoseconds_give(csv):
    texts = ["2024-02-29 13:59:58", "1969-12-31 00:00:01", "2262-01-01 23:59:59"]
    table = read_csv(csv("d,y\n" + "".join(f"{text},{i}\n" for i, text in enumerate(texts))), "y")
    exact = [pd.Timestamp(text).as_unit("ns").value / 86400e9 for text in texts]
    np.testing.assert_array_equal(table.X[:, 0], exact)


@pytest.mark.parametrize("blank", ["", " "])
def test_blank_cells_of_categories_in_frames(blank):
    frame = pd.DataFrame({"c": ["a", blank, "b"]})
    with pytest.raises(DataError, match=r"X, row 1, column 'c': the value is missing; fill it in"):
        learn(frame, False)
    inputs, preprocessing = learn(frame, True)
    assert preprocessing.columns[0].categories == ("", "a", "b") and inputs.shape == (3, 3)


def test_texts_of_frames_are_what_they_say():
    """In a CSV file "none" stands for a missing value; in a frame it is a text."""
    _, preprocessing = learn(pd.DataFrame({"c": ["a", "b", "NA"]}), False)
    with pytest.raises(DataError, match="'none' is not one of the categories in training"):
        typed_rows(pd.DataFrame({"c": ["none"]}), preprocessing)
    assert len(typed_rows(pd.DataFrame({"c": ["NA"]}), preprocessing)) == 1


def test_cells_that_hold_several_values():
    pa = pytest.importorskip("pyarrow", reason="the extra `parquet` is not installed")
    lists = pd.Series([None, [1, 2], [3]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    for cells in (pd.Series([{1, 2}, {3}, {1}]), lists):
        with pytest.raises(DataError, match="'c': lists or records, from which no inputs are made"):
            learn(pd.DataFrame({"c": cells}), False)

"""Numbers, classes and counts as targets."""

import numpy as np
import pytest

from gpflow_gi.datasets import DataError, read_csv, train_test_split


@pytest.fixture
def csv(tmp_path):
    def write(*targets):
        path = tmp_path / "table.csv"
        path.write_text("a,y\n" + "".join(f"{i},{y}\n" for i, y in enumerate(targets)))
        return path

    return write


@pytest.mark.parametrize(
    ("targets", "task", "found", "classes", "Y"),
    [
        (["b", "a", "b", "c"], "auto", "classification", ("a", "b", "c"), [1, 0, 1, 2]),
        (["yes", "no", "no"], "auto", "classification", ("no", "yes"), [1, 0, 0]),
        (["Yes", "No", "No"], "auto", "classification", ("No", "Yes"), [1, 0, 0]),
        (["yes", "No", "YES"], "auto", "classification", ("no", "yes"), [1, 0, 1]),
        (["y", "N", "n"], "classification", "classification", ("n", "y"), [1, 0, 0]),
        (["b", "B", "a"], "auto", "classification", ("B", "a", "b"), [2, 0, 1]),
        (["10", "9", "10"], "classification", "classification", ("9", "10"), [1, 0, 1]),
        (["10", "9", "10"], "auto", "regression", (), [10, 9, 10]),
        (["yes", "no", "no"], "regression", "regression", (), [1, 0, 0]),
        (["10", "0", "3"], "counts", "counts", (), [10, 0, 3]),
    ],
)
def test_tasks(csv, targets, task, found, classes, Y):
    table = read_csv(csv(*targets), "y", task=task)
    assert (table.task, table.classes) == (found, classes)
    np.testing.assert_array_equal(table.Y[:, 0], Y)
    for part in train_test_split(table, 0.3):
        assert (part.task, part.classes) == (found, classes)


@pytest.mark.parametrize(
    ("targets", "task", "said"),
    [
        (["a", "a", "a"], "auto", "the target is 'a' in all 3 rows"),
        (["a", "", "b"], "auto", "line 3, column 'y': the value is missing; fill it in or remove"),
        (["1", "-2", "3"], "counts", "line 3, column 'y': '-2' is not a count"),
        (["1", "2", "3.5"], "counts", "line 4, column 'y': '3.5' is not a count"),
        (["1", "2", "x"], "counts", "line 4, column 'y': 'x' is not a number"),
        (["a", "b", "c"], "regression", "line 2, column 'y': 'a' is not a number, and so are 2"),
        ([f"t{i}" for i in range(101)], "auto", "101 different values are more than 100 classes"),
    ],
)
def test_targets_of_another_kind(csv, targets, task, said):
    with pytest.raises(DataError, match=said):
        read_csv(csv(*targets), "y", task=task)


def test_there_is_no_such_task(csv):
    with pytest.raises(ValueError, match="task must be one of regression, classification, counts"):
        read_csv(csv(1, 2, 3), "y", task="ranking")

import numpy as np

from gpflow_gi.datasets import Table, rows_in_both


def table(rows):
    values = np.array(rows, dtype=float)
    return Table("rows", values[:, :-1], values[:, -1:], ("a", "b"), "y")


TRAIN = table([[1, 2, 3], [4, 5, 6], [4, 5, 6], [0, 0, 0]])
TEST = table([[4, 5, 6], [1, 2, 4], [2, 1, 3], [-0.0, 0, 0], [1, 2, 3.0000001], [7, 8, 9]])


def test_rows_are_the_same_if_inputs_and_target_are():
    assert rows_in_both(TRAIN, TEST).tolist() == [True, False, False, True, False, False]


def test_rows_with_the_same_inputs():
    expected = [True, True, False, True, True, False]
    assert rows_in_both(TRAIN, TEST, inputs_only=True).tolist() == expected


def test_no_row_is_a_duplicate_of_one_on_its_own_side():
    twice = table([[7, 8, 9], [7, 8, 9]])
    assert rows_in_both(TRAIN, twice).tolist() == [False, False]


def test_no_rows():
    nothing = TEST.rows(np.array([], dtype=int))
    found = rows_in_both(TRAIN, nothing)
    assert found.shape == (0,) and found.dtype == bool
    assert not rows_in_both(nothing, TEST).any()

import numpy as np
import pytest

from gpflow_gi.datasets import DataError, Table, standard_split, train_test_split


def numbered(num_rows):
    rows = np.arange(num_rows, dtype=float)[:, None]
    return Table("numbers", rows, -rows, ("x",), "y")


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


# standard_split


def test_standard_split_is_a_partition_and_keeps_rows_together():
    train, test = standard_split(numbered(50), 3)
    assert (len(train.X), len(test.X)) == (45, 5)
    assert sorted(np.concatenate([train.X, test.X]).ravel()) == list(range(50))
    np.testing.assert_array_equal(train.Y, -train.X)
    np.testing.assert_array_equal(test.Y, -test.X)


def test_standard_splits_are_permutations_in_sequence():
    np.random.seed(1)
    for split in range(5):
        train, test = standard_split(numbered(308), split)
        # np.random itself, as the published splits were made with; nothing else may draw from it.
        expected = np.random.permutation(308)
        np.testing.assert_array_equal(train.X.ravel(), expected[:277])
        np.testing.assert_array_equal(test.X.ravel(), expected[277:])


def test_standard_split_by_hand():
    """The split of ten rows is that of numpy's legacy generator, which never changes."""
    train, test = standard_split(numbered(10), 0)
    assert train.X.ravel().tolist() == [2, 9, 6, 4, 0, 3, 1, 7, 8]
    assert test.X.ravel().tolist() == [5]


@pytest.mark.parametrize(
    "num_rows, num_test",
    # Halves are rounded to even, as numpy's round does: 0.9 * 5 to 4, 0.9 * 15 to 14.
    [(3, 1), (4, 1), (5, 1), (6, 1), (15, 1), (16, 2), (25, 3), (35, 3), (308, 31)],
)
def test_standard_split_tests_on_a_tenth_and_at_least_one_row(num_rows, num_test):
    train, test = standard_split(numbered(num_rows), 0)
    assert (len(train.X), len(test.X)) == (num_rows - num_test, num_test)


def test_standard_split_has_no_last_one_but_a_first():
    assert len(standard_split(numbered(10), 1000)[0].X) == 9
    with pytest.raises(
        DataError, match=r"numbers has no split -1: splits have the numbers 0, 1, 2"
    ):
        standard_split(numbered(10), -1)
    with pytest.raises(DataError, match=r"has no split '0': splits"):
        standard_split(numbered(10), "0")
    with pytest.raises(DataError, match="numbers has 2 rows"):
        standard_split(numbered(2), 0)


def test_standard_split_needs_a_target_that_varies_in_the_rows_to_train_on():
    rows = np.arange(10.0)[:, None]
    # Split 0 tests on row 5, see above, which is the only one with another target.
    table = Table("one of ten", rows, (rows == 5) + 2.0, ("x",), "y")
    with pytest.raises(DataError) as error:
        standard_split(table, 0)
    assert str(error.value) == (
        "one of ten, split 0: the target 'y' is 2 in all 9 rows to train on; leave this split out."
    )
    assert len(standard_split(table, 1)[0].X) == 9

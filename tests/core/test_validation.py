"""Checks of arguments: see also tests/bad_inputs, which tests the public names."""

import decimal

import gpflow
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import tensorflow as tf

from gpflow_gi.core import validation

A = np.arange(6.0).reshape(3, 2)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "but is None"),
        ("abc", "but is the text 'abc'"),
        (np.array([["1.5"]]), "but holds text such as '1.5'"),
        ([[1.0], [2.0, 3.0]], "but its rows are of unequal lengths"),
        (A + 0j, "that are real, but holds complex numbers"),
        (np.array(["2020-01-01"], "M8[D]"), "but holds dates or times"),
        (np.array([1], "m8[D]"), "but holds dates or times"),
        (np.ma.masked_array(A, A == 3), "but 1 of them are masked"),
        (scipy.sparse.csr_matrix(A), "but is a sparse csr_matrix: write .toarray"),
        (tf.sparse.from_dense(A), "SparseTensor: write tf.sparse.to_dense"),
        (pd.DataFrame({"a": [1, pd.NA]}), "but holds <NA>"),
        (np.array([1.0, None]), "but holds None"),
        (np.array([1.0, [2.0]], dtype=object), r"but holds \[2.0\]"),
        ([10**400], "but one is too large for float64"),
        ({"a": 1}, "but is of type dict"),
        (len, "but is of type builtin_function_or_method"),
        (np.zeros(2, "V8"), "but is of type ndarray"),
    ],
)
def test_what_is_no_array_of_real_numbers_is_refused(value, message):
    for check in (validation.real_array, validation.finite_array, validation.finite_tensor):
        with pytest.raises(ValueError, match=f"^X must be an array of numbers.*{message}"):
            check("X", value)


def test_what_loses_nothing_is_taken():
    for same in (
        A.astype(object),
        np.ma.masked_array(A, False),
        A.tolist(),
        pd.DataFrame(A),
        pd.DataFrame(A).astype("Float64"),
        pd.DataFrame(A).astype(pd.SparseDtype(float)),
        tf.constant(A),
        tf.Variable(A, dtype=tf.float32),
        gpflow.Parameter(A),
        [[decimal.Decimal(int(number)) for number in row] for row in A],
        A.astype(np.longdouble),
        A.astype(np.uint8),
    ):
        for check in (validation.finite_array, validation.finite_tensor):
            checked = check("X", same)
            assert checked.dtype == np.float64
            np.testing.assert_array_equal(checked, A)
    assert validation.real_array("X", A > 2).dtype == bool


def test_the_first_number_that_is_not_finite_is_named():
    B = A.copy()
    B[1, 1] = B[2, 0] = np.nan
    for check in (validation.finite_array, validation.finite_tensor, validation.finite_floats):
        with pytest.raises(
            ValueError, match=r"X\[1, 1\] is nan \(2 of its 6 numbers are not finite\)\.$"
        ):
            check("X", B)
    with pytest.raises(ValueError, match=r"^x must be finite, but is inf\.$"):
        validation.positive_number("x", np.inf)


def test_a_sum_that_overflows_is_no_error():
    big = np.full(4, 1e308)
    assert validation.finite_array("X", big) is not None
    assert not validation.all_finite(np.append(big, np.nan))
    assert validation.all_finite(np.float16([6e4, 6e4]))


def test_a_tensor_stays_the_tensor_that_a_gradient_is_taken_of():
    X = tf.constant(A)
    with tf.GradientTape() as tape:
        tape.watch(X)
        total = tf.reduce_sum(validation.finite_tensor("X", X) ** 2)
    np.testing.assert_array_equal(tape.gradient(total, X), 2 * A)


def test_no_value_is_looked_at_in_a_graph():
    @tf.function(autograph=False)
    def check(X):
        return validation.finite_tensor("X", X)

    assert np.isnan(check(tf.constant([np.nan]))[0])
    with pytest.raises(ValueError, match="but is a tensor of complex128"):
        check(tf.constant([1j]))


def test_counts():
    assert validation.positive_integer("S", np.int64(3)) == 3
    assert validation.non_negative_integer("S", 0) == 0
    for wrong in (0, -1, 1.0, True, "1", None, [1], np.nan):
        with pytest.raises(ValueError, match="S must be an integer of at least 1, but is"):
            validation.positive_integer("S", wrong)
    with pytest.raises(ValueError, match="S must be an integer of at most 2147483647"):
        validation.positive_integer("S", 10**30)


def test_numbers():
    assert validation.positive_number("x", np.float32(0.5)) == 0.5
    for wrong, message in (
        (0.0, "must be positive, but is 0"),
        (5e-324, "must be positive, and at least 2.2e-308"),
        ("3", "must be a number, but is the text '3'"),
        ([1.0], r"must have shape \[\]"),
    ):
        with pytest.raises(ValueError, match=message):
            validation.positive_number("x", wrong)
    assert validation.probability("p", 0.25) == 0.25
    for wrong in (0.0, 1.0, np.nan, -1.0):
        with pytest.raises(ValueError, match=r"p must lie in \(0, 1\), but is"):
            validation.probability("p", wrong)


def test_paths_and_names(tmp_path):
    assert validation.file_path("path", str(tmp_path)) == tmp_path
    for wrong in (3, None, b"file"):
        with pytest.raises(TypeError, match="path must be a path, but is"):
            validation.file_path("path", wrong)
    for wrong in ("", "a\0b", "a" * 5000):
        with pytest.raises(ValueError, match="path must be a path, but is"):
            validation.file_path("path", wrong)
    assert validation.is_one_of("a", ("a", "b"))
    for wrong in (np.array(["a", "b"]), ["a"], None, "c", {}):
        assert not validation.is_one_of(wrong, ("a", "b"))


def test_what_is_shown_is_one_short_line():
    text = validation.shown(np.zeros((50, 50)))
    assert len(text) == 120 and "\n" not in text and text.endswith("...")

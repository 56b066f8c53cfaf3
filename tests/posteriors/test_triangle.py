"""Roots of precision matrices, with a unit for each row."""

import numpy as np
import tensorflow as tf

from gpflow_gi.posteriors import GlobalInducing
from gpflow_gi.posteriors.triangle import RowUnits, has_row_units


def test_rows_are_in_units_of_the_diagonal(rng):
    L = np.tril(rng.normal(size=(2, 4, 4)), -1)
    diagonal = rng.uniform(0.5, 2.0, (2, 4))[..., None] * np.eye(4)
    T = RowUnits().forward(tf.constant(L + diagonal))
    np.testing.assert_allclose(T, diagonal @ (np.eye(4) + L), atol=1e-14)
    np.testing.assert_allclose(RowUnits().inverse(tf.constant(T.numpy())), L + diagonal, atol=1e-14)


def test_log_determinant_is_that_of_the_jacobian(rng):
    lower = np.tril_indices(4)
    start = tf.constant(np.tril(rng.normal(size=(4, 4)), -1) + np.diag(rng.uniform(0.5, 2.0, 4)))

    def entries(x):
        L = tf.scatter_nd(np.transpose(lower), x, [4, 4])
        return tf.gather_nd(RowUnits().forward(L), np.transpose(lower))

    x = tf.gather_nd(start, np.transpose(lower))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = entries(x)
    jacobian = tape.jacobian(y, x)
    expected = np.linalg.slogdet(jacobian)[1]
    np.testing.assert_allclose(RowUnits().forward_log_det_jacobian(start), expected, rtol=1e-12)
    T = RowUnits().forward(start)
    np.testing.assert_allclose(
        RowUnits().inverse_log_det_jacobian(tf.constant(T.numpy())), -expected, rtol=1e-12
    )


def test_full_precisions_have_row_units():
    for precision, expected in (("full", True), ("diagonal", False)):
        posterior = GlobalInducing(3, 1, precision=precision)
        assert has_row_units(posterior.pseudo_precision) is expected
        assert not has_row_units(posterior.pseudo_outputs)

"""Free parameters of pseudo-precisions, against chains of TensorFlow Probability's bijectors."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from gpflow_gi.posteriors import GlobalInducing
from gpflow_gi.posteriors.precision import BoundedExp, PrecisionRoot, has_row_units
from gpflow_gi.posteriors.triangle import RowUnits

tfb = tfp.bijectors
BOUND = 3.0


def bounded(dtype):
    bound = tf.constant(BOUND, dtype)
    return tfb.Chain([tfb.Exp(), tfb.Scale(bound), tfb.Tanh(), tfb.Scale(1 / bound)])


def root(dtype):
    """The root of models in files of earlier versions."""
    diagonal = tfb.Chain([tfb.Power(0.5), bounded(dtype)])
    return tfb.Chain([RowUnits(), tfb.FillScaleTriL(diag_bijector=diagonal, diag_shift=None)])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    ("one", "chain", "ndims"), [(BoundedExp, bounded, 0), (PrecisionRoot, root, 1)]
)
def test_maps_are_those_of_chains(rng, dtype, one, chain, ndims):
    x = tf.constant(rng.normal(size=(2, 10)).astype(dtype))
    eps = np.finfo(dtype).eps
    bijector, expected = one(BOUND), chain(dtype)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y, expected_y = bijector.forward(x), expected.forward(x)
        log_det = bijector.forward_log_det_jacobian(x, ndims)
        expected_log_det = expected.forward_log_det_jacobian(x, ndims)
    np.testing.assert_allclose(y, expected_y, rtol=10 * eps)
    np.testing.assert_allclose(log_det, expected_log_det, rtol=100 * eps, atol=30 * eps)
    np.testing.assert_allclose(
        tape.gradient(y, x), tape.gradient(expected_y, x), rtol=100 * eps, atol=10 * eps
    )
    fresh = tf.constant(y.numpy())  # whose origin no cache knows
    np.testing.assert_allclose(bijector.inverse(fresh), x, rtol=300 * eps, atol=30 * eps)
    np.testing.assert_allclose(
        bijector.inverse_log_det_jacobian(fresh, bijector.inverse_min_event_ndims),
        -expected_log_det,
        rtol=300 * eps,
        atol=30 * eps,
    )
    assert bijector.forward_event_shape(x.shape) == y.shape
    assert bijector.inverse_event_shape(y.shape) == x.shape
    assert tuple(bijector.forward_event_shape_tensor(x.shape)) == y.shape
    assert tuple(bijector.inverse_event_shape_tensor(y.shape)) == x.shape


def test_precisions_stay_within_their_bounds():
    y = BoundedExp(BOUND).forward(tf.constant([-1e6, 0.0, 1e-3, 1e6], tf.float64))
    np.testing.assert_allclose(y, np.exp([-BOUND, 0.0, 1e-3, BOUND]), rtol=1e-9)


def test_rows_are_in_units_of_the_diagonal(rng):
    x = tf.constant(rng.normal(size=[10]))
    T = PrecisionRoot(BOUND).forward(x).numpy()
    L = np.tril(tfp.math.fill_triangular(x).numpy(), -1)
    np.testing.assert_allclose(T, np.diag(np.diag(T)) @ (np.eye(4) + L), atol=1e-14)


def test_log_determinant_is_that_of_the_jacobian(rng):
    x = tf.constant(rng.normal(size=[10]))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tfp.math.fill_triangular_inverse(PrecisionRoot(BOUND).forward(x))
    expected = np.linalg.slogdet(tape.jacobian(y, x))[1]
    np.testing.assert_allclose(
        PrecisionRoot(BOUND).forward_log_det_jacobian(x), expected, rtol=1e-12
    )


def test_full_precisions_have_row_units():
    for precision, expected in (("full", True), ("diagonal", False)):
        posterior = GlobalInducing(3, 1, precision=precision)
        assert has_row_units(posterior.pseudo_precision) is expected
        assert not has_row_units(posterior.pseudo_outputs)

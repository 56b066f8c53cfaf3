"""NaN in what comes in is refused; NaN in what comes out is said."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.core import linalg
from gpflow_gi.models import finite
from tests.builders import random_data, random_deep_gp

X, Y = random_data(np.random.default_rng(0))
MODEL = random_deep_gp(np.random.default_rng(1), ("global", "local"))
POSTERIOR = MODEL.posterior(3, seed=0)
FUNCTIONS = MODEL.sample_functions(3, seed=0)

OF_INPUTS = {
    "predict_f": lambda X: MODEL.predict_f(X, 3, seed=0),
    "predict_f of full_cov": lambda X: MODEL.predict_f(X, 3, full_cov=True, seed=0),
    "predict_y": lambda X: MODEL.predict_y(X, 3, seed=0),
    "predict_y_components": lambda X: MODEL.predict_y_components(X, 3, seed=0),
    "predict_f_samples": lambda X: MODEL.predict_f_samples(X, 3, seed=0),
    "predict_f_samples by rows": lambda X: MODEL.predict_f_samples(X, 3, False, seed=0),
    "posterior.predict_f": POSTERIOR.predict_f,
    "posterior.predict_y": POSTERIOR.predict_y,
    "sample_functions": FUNCTIONS,
}
OF_DATA = {
    "elbo": lambda X, Y: MODEL.elbo((X, Y), seed=0),
    "bound_terms": lambda X, Y: MODEL.bound_terms((X, Y), seed=0),
    "training_loss": lambda X, Y: MODEL.training_loss((X, Y), seed=0),
    "predict_log_density": lambda X, Y: MODEL.predict_log_density((X, Y), 3, seed=0),
    "posterior.predict_log_density": lambda X, Y: POSTERIOR.predict_log_density((X, Y)),
}


def changed(array, value):
    array = array.copy()
    array[4, 0] = value
    return array


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", OF_INPUTS.values(), ids=OF_INPUTS)
def test_inputs_that_are_not_finite_are_refused(method, value):
    for kind in (np.asarray, tf.constant):
        with pytest.raises(ValueError, match=rf"X must be finite, but X\[4, 0\] is {value}\.$"):
            method(kind(changed(X, value)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("method", OF_DATA.values(), ids=OF_DATA)
def test_data_that_are_not_finite_are_refused(method, value):
    with pytest.raises(ValueError, match=rf"X must be finite, but X\[4, 0\] is {value}\.$"):
        method(changed(X, value), Y)
    with pytest.raises(ValueError, match=rf"Y must be finite, but Y\[4, 0\] is {value}\.$"):
        method(X, changed(Y, value))


@pytest.mark.parametrize("method", OF_INPUTS.values(), ids=OF_INPUTS)
def test_masks_complex_numbers_and_dates_are_refused(method):
    masked = np.ma.masked_array(X, np.eye(*X.shape, dtype=bool))
    for wrong, message in [
        (masked, "but 2 of them are masked"),
        (X + 0j, "holds complex numbers"),
        (tf.constant(X + 0j), "a tensor of complex128"),
        (np.full(X.shape, np.datetime64("2020-01-01")), "holds dates or times"),
        (X.astype(str), "holds text such as"),
        (np.where(X > 0, X, None), "holds None"),
    ]:
        with pytest.raises(ValueError, match=f"X must be an array of numbers.*{message}"):
            method(wrong)


def test_objects_and_masked_arrays_that_lose_nothing_are_taken():
    expected = MODEL.predict_f(X, 3, seed=0)[0]
    for same in (X.astype(object), np.ma.masked_array(X, False), np.asfortranarray(X)):
        np.testing.assert_array_equal(MODEL.predict_f(same, 3, seed=0)[0], expected)


def test_values_inside_a_compiled_function_are_not_looked_at():
    @tf.function(autograph=False)
    def predict(X):
        return MODEL.predict_f(X, 3, seed=0)[0]

    rows = predict(tf.constant(changed(X, np.nan)))
    assert np.all(np.isnan(rows[4])) and np.all(np.isfinite(rows[:4]))


def test_gradients_reach_inputs_that_were_checked():
    inputs = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(inputs)
        mean, _ = MODEL.predict_f(inputs, 3, seed=0)
    assert np.all(np.isfinite(tape.gradient(mean, inputs)))


def test_a_prediction_that_is_nan_is_said():
    with pytest.raises(ValueError, match=r"prediction is NaN or infinite.* as large as 1e\+308"):
        MODEL.predict_f_samples(np.sign(X) * 1e308, 3, seed=0)
    assert np.all(MODEL.predict_log_density((X, 1e200 * Y), 3, seed=0) == -np.inf)
    broken = random_deep_gp(np.random.default_rng(1), ("global",))
    broken.layers[0].kernel.variance.unconstrained_variable.assign(np.nan)
    with pytest.raises(ValueError, match=r"prediction is NaN.* first_non_finite\(\(X, Y\)\) says"):
        broken.predict_f(X, 3, seed=0)
    with pytest.raises(ValueError, match="The bound is NaN"):
        broken.elbo((X, Y))
    assert broken.first_non_finite((X, Y)) is not None


@pytest.mark.parametrize("scale", [1e9, 1e150, 1e200, 1e308])
def test_starts_from_huge_numbers_are_right_or_refused(scale):
    huge = np.clip(X, -1.0, 1.0) * scale
    if scale > 1e150:
        with pytest.raises(ValueError, match=r"X holds numbers as large as .* standardise"):
            build_deep_gp(huge, Y, num_inducing=4)
        with pytest.raises(ValueError, match=r"Y holds numbers as large as .* standardise"):
            build_deep_gp(X, np.clip(Y, -1.0, 1.0) * scale, num_inducing=4)
        return
    with pytest.warns(UserWarning, match="standardised"):
        model = build_deep_gp(huge, Y, num_inducing=4)
    if scale == 1e150:  # distances are lost in rounding
        with pytest.raises(ValueError, match=r"The prediction is NaN or infinite.* standardise"):
            model.predict_f(-0.5 * huge[:1], 3, seed=0)
        return
    # Rows so far apart tell nothing of each other: what is predicted between them is the prior.
    mean, variance = model.predict_f(-0.5 * huge[:1], 3, seed=0)
    np.testing.assert_allclose(mean, 0.0, atol=1e-6)
    np.testing.assert_allclose(variance, 1.0, atol=1e-6)


def test_float32_is_named():
    with gpflow.config.as_context(gpflow.config.Config(float=np.float32)):
        model = random_deep_gp(np.random.default_rng(1), ("global",))
        with pytest.raises(ValueError, match=r"in float32, but X\[4, 0\] is 1e\+200, which is too"):
            model.predict_f(changed(X, 1e200), 3, seed=0)


def test_what_is_checked_of_outputs_is_nothing_in_a_graph():
    @tf.function(autograph=False)
    def check(output):
        finite.check_outputs([output], output)
        return output

    assert np.isnan(check(tf.constant(np.nan)))


@pytest.mark.parametrize("num_layers", [1, 2])
def test_a_model_with_a_mixing_layer_is_searched_to_its_end(num_layers):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    kernel, LocalInducing = gpflow.kernels.Matern52(), gi.posteriors.LocalInducing
    hidden = [gi.layers.GPLayer(kernel, 2, LocalInducing(X[:4], 2)) for _ in range(num_layers - 1)]
    last = gi.layers.GPLayer(kernel, 2, LocalInducing(X[:4], 1), mixing=[[1.0], [2.0]])
    model = gi.models.DeepGP([*hidden, last], gpflow.likelihoods.Gaussian(), num_data=6)
    assert model.first_non_finite((X, Y)) is None

    assert model.first_non_finite((X, 1e180 * Y)) == "the likelihood's expectation"


def gradients(model, X, Y):
    with tf.GradientTape() as tape:
        bound = model.elbo((X, Y), seed=0)
    return tape.gradient(bound, model.trainable_variables, unconnected_gradients="zero")


@pytest.mark.parametrize("inference", ["global", "local", "factorised"])
@pytest.mark.parametrize("likelihood", ["Gaussian", "Bernoulli"])
def test_weights_without_a_bias_have_gradients_where_inputs_are_zero(inference, likelihood):
    """The variance is zero there, and the gradient of its square root must not be NaN."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 2))
    X[3] = 0.0
    Y = 1.0 * (rng.normal(size=(12, 1)) > 0)
    model = gi.architectures.build_bnn(
        X,
        Y,
        widths=(3,),
        nonlinearity="relu",
        bias=False,
        inference=inference,
        num_inducing=5,
        likelihood=getattr(gpflow.likelihoods, likelihood)(),
    )
    assert all(np.isfinite(gradient).all() for gradient in gradients(model, X, Y))
    # And so has a draw from the prior of a linear kernel.
    layer = gi.layers.GPLayer(gpflow.kernels.Linear(), 1, gi.posteriors.Prior())
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Bernoulli(), num_data=12)
    assert all(np.isfinite(gradient).all() for gradient in gradients(model, X, Y))


@pytest.mark.parametrize("full_cov", [False, True])
def test_draws_of_mixed_processes_are_checked_as_predictions_are(full_cov):
    """The eigenvalues of a covariance that is NaN are an error of TensorFlow's."""
    X = np.random.default_rng(0).normal(size=(6, 2))
    posterior = gi.posteriors.LocalInducing(X[:4], 1)
    layer = gi.layers.GPLayer(gpflow.kernels.Matern52(), 2, posterior, mixing=[[1.0], [2.0]])
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=6)
    assert np.all(np.isfinite(model.predict_f_samples(X, 3, full_cov=full_cov, seed=0)))
    layer.kernel.variance.unconstrained_variable.assign(np.nan)
    with pytest.raises(ValueError, match="is NaN"):
        model.predict_f_samples(X, 3, full_cov=full_cov, seed=0)


def test_a_root_is_that_of_each_matrix():
    """One that is not finite changes no other."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(3, 4, 2))  # singular
    covariance = A @ np.swapaxes(A, 1, 2)
    covariance[1, 2, 3] = np.inf
    root = linalg.root_of_any(tf.constant(covariance)).numpy()
    assert np.all(np.isnan(root[1]))
    for i in (0, 2):
        np.testing.assert_allclose(root[i] @ root[i].T, covariance[i], atol=1e-12)

"""Any mix of posteriors is one bound, and its estimate is unbiased."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import SquaredExponential

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.models.propagation import propagate_inducing

from ..builders import (
    NUM_INDUCING,
    bounds,
    mean_and_standard_error,
    random_data,
    random_deep_gp,
    random_posterior,
)

KINDS = ("global", "full", "free", "local", "prior")
MIXES = [
    ("full", "global"),
    ("free", "global"),
    ("global", "free"),
    ("local", "local"),
    ("local", "full"),
    ("global", "local"),
    ("prior", "global"),
    ("global", "local", "full"),
]


@pytest.mark.slow
@pytest.mark.parametrize("num_samples", [pytest.param(1, marks=pytest.mark.longest), 2])
@pytest.mark.parametrize("kinds", MIXES, ids=lambda kinds: "-".join(kinds))
def test_gradients_agree_with_finite_differences(kinds, num_samples, rng):
    model = random_deep_gp(rng, kinds)
    model.num_samples = num_samples
    data = random_data(rng, N=4)
    variables = model.trainable_variables
    loss = tf.function(lambda: model.training_loss(data, seed=3), autograph=False)
    with tf.GradientTape() as tape:
        value = loss()
    gradients = tape.gradient(value, variables)
    assert all(gradient is not None for gradient in gradients)
    # One random direction through each parameter, and central differences along it.
    for variable, gradient in zip(variables, gradients, strict=True):
        direction, value, losses = rng.normal(size=variable.shape), variable.numpy(), []
        for step in (1e-5, -1e-5):
            variable.assign(value + step * direction)
            losses.append(loss().numpy())
        variable.assign(value)
        numeric = (losses[0] - losses[1]) / 2e-5
        analytic = np.sum(tf.convert_to_tensor(gradient).numpy() * direction)
        np.testing.assert_allclose(analytic, numeric, rtol=1e-5, atol=1e-5)


SOME_MIXES = [
    ("global", "full"),
    ("free", "free", "global"),
    ("local", "global"),
    ("prior", "local", "full"),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    "kinds",
    [SOME_MIXES[0], *(pytest.param(kinds, marks=pytest.mark.longest) for kinds in SOME_MIXES[1:])],
    ids=lambda kinds: "-".join(kinds),
)
def test_many_samples_at_once_estimate_the_same_bound(kinds, rng):
    model = random_deep_gp(rng, kinds)
    data = random_data(rng)
    one, one_error = mean_and_standard_error(bounds(model, data, num_samples=1, repeats=2000))
    many, many_error = mean_and_standard_error(bounds(model, data, num_samples=40, repeats=100))
    assert np.abs(one - many) < 4.5 * np.hypot(one_error, many_error)


@pytest.mark.slow
@pytest.mark.parametrize("top", ["global", "local"])
def test_a_local_layer_that_is_the_prior_equals_a_prior_layer(top, rng):
    """Two routes to one bound: extending the basis from [Z; U], and starting it at U."""
    data = random_data(rng)
    model = random_deep_gp(rng, ("local", top))
    local = model.layers[0].posterior
    local.q_mu.assign(tf.zeros_like(local.q_mu))
    local.q_sqrt.assign(tf.eye(NUM_INDUCING + 1, batch_shape=[2], dtype=tf.float64))
    by_extension, error1 = mean_and_standard_error(bounds(model, data, 100, repeats=100))
    model.layers[0].posterior = gi.posteriors.Prior()
    directly, error2 = mean_and_standard_error(bounds(model, data, 100, repeats=100))
    assert np.abs(by_extension - directly) < 4.5 * np.hypot(error1, error2)


@pytest.mark.parametrize("kind", KINDS)
def test_inducing_outputs_and_rows_are_values_of_one_function(kind, rng):
    """Their joint covariance is that of the layer's exact posterior, block by block."""
    P, D, S = 1, 2, 60_000
    U, X = rng.normal(size=(NUM_INDUCING, D)), rng.normal(size=(2, D))
    kernel = SquaredExponential(1.2, lengthscales=[1.0, 1.5])
    layer = gi.layers.GPLayer(kernel, P, random_posterior(rng, kind, P, D))
    q = layer.condition(tf.constant(U))
    mean, covariance = q.predict(tf.constant(np.concatenate([U, X])), full_cov=True)

    inducing = tf.constant(U)
    draw = layer.condition(inducing).draw(S, as_seed(0))
    at_U, draw = draw.extend_inducing(inducing, as_seed(1))
    at_X = draw.rows(tf.constant(X), as_seed(2))
    values = np.concatenate([at_U, at_X], axis=1)[..., 0]
    estimate, error = mean_and_standard_error(values)
    assert np.all(np.abs(estimate - mean[:, 0]) < 5 * error)
    centred = values - estimate
    second, error = mean_and_standard_error(np.einsum("sn,sm->snm", centred, centred))
    agrees = np.abs(second - covariance[0]) < 5 * error + 1e-5  # 1e-5: jitter
    agrees[-2, -1] = agrees[-1, -2] = True  # rows are independent given z
    assert np.all(agrees)
    # With the rows drawn jointly, their covariance is right as well.
    jointly = np.concatenate([at_U, draw.extend(tf.constant(X), as_seed(3))[0]], axis=1)[..., 0]
    centred = jointly - jointly.mean(0)
    second, error = mean_and_standard_error(np.einsum("sn,sm->snm", centred, centred))
    assert np.all(np.abs(second - covariance[0]) < 5 * error + 1e-5)


@pytest.mark.slow
def test_minibatches_are_unbiased(rng):
    X, Y = random_data(rng, N=12)
    batches = [(X[i : i + 3], Y[i : i + 3]) for i in range(0, 12, 3)]
    # One layer: nothing is sampled, so that the mean over all batches is the bound to the digit.
    model = random_deep_gp(rng, ("full",), num_data=12)
    np.testing.assert_allclose(
        np.mean([model.elbo(batch) for batch in batches]), model.elbo((X, Y)), rtol=1e-12
    )
    # With sampled layers it is so in expectation.
    model = random_deep_gp(rng, ("local", "global"), num_data=12)
    full, full_error = mean_and_standard_error(bounds(model, (X, Y), 50, repeats=60))
    parts = [bounds(model, batch, 50, repeats=60) for batch in batches]
    estimate, error = mean_and_standard_error(np.mean(parts, axis=0))
    assert np.abs(estimate - full) < 4.5 * np.hypot(error, full_error)


def test_only_the_data_term_is_scaled(rng):
    data = random_data(rng, N=9)
    model = random_deep_gp(rng, ("global", "global"), num_data=9)
    log_likelihood, kl = model.bound_terms(data, seed=0)
    model.num_data = 90
    scaled, same_kl = model.bound_terms(data, seed=0)
    np.testing.assert_allclose(scaled, 10 * log_likelihood)
    np.testing.assert_allclose(same_kl, kl)
    np.testing.assert_allclose(model.elbo(data, seed=0), scaled - kl)


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    "kinds",
    [pytest.param(("local", "full", "global"), marks=pytest.mark.longest), ("prior", "local")],
)
def test_eager_and_compiled_agree(kinds, rng):
    model = random_deep_gp(rng, kinds)
    data = random_data(rng)
    # The lengthscales of a prior layer below no global one move no marginal.
    unconnected = {"unconnected_gradients": tf.UnconnectedGradients.ZERO}
    for S in (1, 3):

        @tf.function
        def value_and_gradients(S=S):
            with tf.GradientTape() as tape:
                loss = -model.elbo(data, num_samples=S, seed=5)
            return loss, tape.gradient(loss, model.trainable_variables, **unconnected)

        with tf.GradientTape() as tape:
            eager = -model.elbo(data, num_samples=S, seed=5)
        gradients = tape.gradient(eager, model.trainable_variables, **unconnected)
        compiled, compiled_gradients = value_and_gradients()
        np.testing.assert_allclose(compiled, eager, rtol=1e-10)
        for one, other in zip(gradients, compiled_gradients, strict=True):
            np.testing.assert_allclose(
                tf.convert_to_tensor(one), tf.convert_to_tensor(other), rtol=1e-7, atol=1e-9
            )


def test_deterministic_layers_move_inducing_points_and_rows_alike(rng):
    """tanh as a layer equals tanh inside the next layer's kernel."""

    class OfTanh(gpflow.kernels.Kernel):
        def __init__(self, kernel):
            super().__init__()
            self.kernel = kernel

        def K(self, X, X2=None):
            return self.kernel.K(tf.tanh(X), None if X2 is None else tf.tanh(X2))

        def K_diag(self, X):
            return self.kernel.K_diag(tf.tanh(X))

    model = random_deep_gp(rng, ("local", "global"), mean_functions=False)
    first, last = model.layers
    U = tf.constant(model.inducing_inputs.numpy())
    X = tf.constant(rng.normal(size=(4, 2)))

    def moments(layers):
        passed = propagate_inducing(layers, U, 2, 3, as_seed(0))
        return [passed.kl, *passed.predict(X, as_seed(1))]

    inside = gi.layers.GPLayer(OfTanh(last.kernel), 1, last.posterior)
    with_layer = moments([first, gi.layers.Deterministic(tf.tanh), last])
    for one, other in zip(with_layer, moments([first, inside]), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9)

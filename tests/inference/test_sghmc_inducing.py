"""Chains over inducing outputs: the optimal q(u) for one layer, and what they refuse."""

import math
import sys

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

import gpflow_gi as gi
from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.inference import sghmc_inducing
from gpflow_gi.inference.sghmc_inducing import _Density
from gpflow_gi.models import NoDensityError
from gpflow_gi.posteriors import LocalInducing, RecordedInducing

N, M, NOISE = 40, 5, 0.2


@pytest.fixture
def data(rng):
    X = rng.uniform(-2.0, 2.0, size=(N, 1))
    return X, np.sin(2.0 * X) + math.sqrt(NOISE) * rng.normal(size=(N, 1))


def one_layer(data, num_layers=1):
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    return build_deep_gp(
        *data, num_layers=num_layers, inference="local", num_inducing=M, likelihood=likelihood
    )


def optimal(model, data, alpha=0.0):
    """Mean and covariance of the q(v) of one layer by power EP (Bui et al. 2017), by NumPy.

    That of Titsias (2009) with alpha = 0, and FITC's with 1.
    """
    kernel, Z = model.layers[0].kernel, model.layers[0].posterior.inducing_inputs.numpy()
    noise = float(model.likelihood.variance.numpy())
    jitter = gpflow.config.default_jitter() * float(kernel.variance.numpy())
    L = np.linalg.cholesky(kernel(Z).numpy() + jitter * np.eye(len(Z)))
    A = np.linalg.solve(L, kernel(Z, data[0]).numpy())
    left_open = kernel(data[0], full_cov=False).numpy() - np.sum(A**2, axis=0)
    A_by_noise = A / (noise + alpha * left_open)
    covariance = np.linalg.inv(np.eye(len(Z)) + A_by_noise @ A.T)
    return covariance @ A_by_noise @ data[1][:, 0], covariance


def check_moments(draws, mean, covariance, independent):
    """Moments within four standard errors: of `independent` draws of a Gaussian."""
    deviations = np.sqrt(np.diag(covariance))
    found = draws.reshape(-1, len(mean))
    assert np.all(np.abs(found.mean(0) - mean) < 4.0 * deviations / math.sqrt(independent))
    variances = np.outer(deviations**2, deviations**2) + covariance**2
    error = np.sqrt(variances / independent)
    assert np.all(np.abs(np.cov(found.T) - covariance) < 4.0 * error)


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_draws_of_one_layer_have_the_moments_of_the_optimal_posterior(data, alpha):
    model = one_layer(data)
    # A start and a metric that are far from the answer.
    model.layers[0].posterior.q_mu.assign(np.full((M, 1), 0.5))
    model.layers[0].posterior.q_sqrt.assign(0.3 * np.eye(M)[None])
    found = sghmc_inducing(
        model, data, num_draws=40, num_chains=100, burn_in=500, steps=4000, learning_rate=0.0,
        step_size=0.02, alpha=alpha, seed=1,
    )  # fmt: skip
    (values,) = found.values
    assert values.shape == (100, 40, M, 1)
    mean, covariance = optimal(model, data, alpha)
    # Draws 100 steps apart have no correlation that can be seen.
    check_moments(values, mean, covariance, independent=4000)


@pytest.mark.parametrize("alpha", [0.0, 1e-7, 0.5, 1.0])
def test_the_gradient_of_one_layer_is_that_of_a_gaussian(rng, data, alpha):
    """Its root is the mean, and its slope minus the precision, of `optimal`."""
    model = one_layer(data)
    state = rng.normal(size=(3, M, 1))
    rows = tuple(tf.convert_to_tensor(part) for part in data)
    density = _Density(model, [tf.constant(state)], *rows, None, alpha)
    (gradient,) = density.gradients([tf.constant(state)], None, tf.constant([1, 2]))
    mean, covariance = optimal(model, data, alpha)
    expected = np.linalg.solve(covariance, (mean - state[..., 0]).T).T
    np.testing.assert_allclose(gradient[..., 0], expected, rtol=1e-6, atol=1e-6)


@pytest.mark.longest
@pytest.mark.slow
def test_draws_by_minibatches_have_them_too(data):
    model = one_layer(data)
    found = sghmc_inducing(
        model, data, num_draws=100, num_chains=50, burn_in=2000, steps=20_000, learning_rate=0.0,
        batch_size=20, step_size=0.001, friction=0.2, seed=1,
    )  # fmt: skip
    mean, covariance = optimal(model, data)
    # Draws 200 steps apart, of chains that forget in friction / step_size = 200 steps, have a
    # correlation of exp(-1): (1 - 0.37) / (1 + 0.37) of the 5000 draws count.
    check_moments(found.values[0], mean, covariance, independent=2300)


@pytest.mark.longest
@pytest.mark.slow
def test_the_burn_in_finds_the_hyperparameters_of_the_collapsed_bound(data):
    model = one_layer(data)
    gpflow.set_trainable(model.layers[0].posterior.inducing_inputs, False)
    Z = model.layers[0].posterior.inducing_inputs.numpy()
    best = gpflow.models.SGPR(
        data, gpflow.kernels.SquaredExponential(lengthscales=[1.0]), Z, noise_variance=NOISE
    )
    gpflow.set_trainable(best.inducing_variable, False)
    gpflow.optimizers.Scipy().minimize(best.training_loss, best.trainable_variables)
    found = sghmc_inducing(
        model, data, num_chains=100, burn_in=6000, steps=200, learning_rate=0.005, seed=1
    ).model
    at = gpflow.utilities.deepcopy(best)
    at.kernel.variance.assign(found.layers[0].kernel.variance)
    at.kernel.lengthscales.assign(found.layers[0].kernel.lengthscales)
    at.likelihood.variance.assign(found.likelihood.variance)
    start = gpflow.utilities.deepcopy(best)
    start.kernel.variance.assign(model.layers[0].kernel.variance)
    start.kernel.lengthscales.assign(model.layers[0].kernel.lengthscales)
    start.likelihood.variance.assign(model.likelihood.variance)
    gained = float(at.elbo() - start.elbo())
    possible = float(best.elbo() - start.elbo())
    # EM climbs the collapsed bound; steps of Adam at single states leave it near the top.
    assert possible > 0.3
    assert gained > 0.9 * possible


def test_predictions_are_mixtures_over_the_draws(rng, data):
    X, _ = data
    Z, values = X[:M], rng.normal(size=(3, M, 1))
    kernel = gpflow.kernels.SquaredExponential()
    layer = gi.layers.GPLayer(kernel, 1, RecordedInducing(Z, values))
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(NOISE), num_data=N)
    means, variances = model.predict_f_components(X, num_samples=3, seed=0)
    for i in range(3):
        q = LocalInducing(Z, 1, q_mu=values[i], q_sqrt=1e-6 * np.eye(M)[None])
        one = gi.models.DeepGP(
            [gi.layers.GPLayer(kernel, 1, q)], gpflow.likelihoods.Gaussian(NOISE), num_data=N
        )
        mean, variance = one.predict_f(X)
        np.testing.assert_allclose(means[i], mean, atol=1e-8)
        np.testing.assert_allclose(variances[i], variance, atol=1e-8)


@pytest.mark.slow
def test_two_layers_draw_and_have_no_bound(data):
    model = one_layer(data, num_layers=2)
    before = gpflow.utilities.read_values(model)
    found = sghmc_inducing(model, data, num_draws=4, num_chains=2, burn_in=20, steps=20, seed=2)
    assert [values.shape for values in found.values] == [(2, 4, M, 1)] * 2
    assert isinstance(found.model, gi.models.Predictive)
    assert np.all(np.isfinite(found.model.predict_log_density(data, num_samples=8, seed=0)))
    for ask in (
        lambda: found.model.elbo(data),
        lambda: found.model.iwbo(data, 3),
        lambda: found.model.k_hat(data, 30),
    ):
        with pytest.raises(NoDensityError, match=r"RecordedInducing.*predict_log_density"):
            ask()
    after = gpflow.utilities.read_values(model)
    for name, value in before.items():
        np.testing.assert_array_equal(after[name], value)
    learned = found.model.layers[0].kernel.lengthscales.numpy()
    assert not np.allclose(learned, model.layers[0].kernel.lengthscales.numpy())


@pytest.mark.longest
@pytest.mark.slow
def test_a_seed_repeats_and_chains_may_diverge(data):
    model = one_layer(data, num_layers=2)
    found, again = (
        sghmc_inducing(model, data, num_draws=4, num_chains=2, burn_in=20, steps=20, seed=2)
        for _ in range(2)
    )
    for mine, its in zip(found.values, again.values, strict=True):
        np.testing.assert_array_equal(mine, its)

    with pytest.raises(ValueError, match="diverge"):
        sghmc_inducing(model, data, num_draws=1, burn_in=0, steps=300, step_size=1e6)


@pytest.mark.parametrize("batch_size", [None, 5])
def test_chains_that_are_thrown_far_away_are_refused(rng, batch_size):
    """They stay where no layer answers, and are finite."""
    X = np.linspace(-1.0, 1.0, 60)[:, None]
    data = X, np.sin(5.0 * X) + 0.03 * rng.normal(size=X.shape)
    likelihood = gpflow.likelihoods.Gaussian(1e-3)
    model = build_deep_gp(*data, inference="local", num_inducing=10, likelihood=likelihood)
    options = {"num_draws": 2, "burn_in": 0, "steps": 200, "batch_size": batch_size, "seed": 1}
    sghmc_inducing(model, data, **options)
    with pytest.raises(ValueError, match="diverge with a step_size of 1: give a lower step_size"):
        sghmc_inducing(model, data, **options, step_size=1.0)


@pytest.mark.slow
def test_chains_that_diverge_start_again_with_a_quarter_of_the_default_step(data, monkeypatch):
    model = one_layer(data, num_layers=2)
    options = {"num_draws": 2, "burn_in": 30, "steps": 20, "seed": 1}
    module = sys.modules[sghmc_inducing.__module__]
    monkeypatch.setattr(module, "LARGEST_STEP", 1e3)
    with (
        pytest.warns(UserWarning, match=r"step_size of 1e\+03, and start again") as warned,
        pytest.raises(ValueError, match="chains diverge"),
    ):
        sghmc_inducing(model, data, **options)
    assert len([one for one in warned if "start again" in str(one.message)]) == 2
    monkeypatch.setattr(module, "LARGEST_STEP", 0.004)
    monkeypatch.setattr(module._Check, "has_fallen", lambda self, state: next(fallen), raising=True)
    fallen = iter([True, False, False])
    with pytest.warns(UserWarning, match="step_size of 0.004, and start again"):
        again = sghmc_inducing(model, data, **options)
    fallen = iter([False, False])
    expected = sghmc_inducing(model, data, **options, step_size=0.001)
    for mine, its in zip(again.values, expected.values, strict=True):
        np.testing.assert_array_equal(mine, its)


def test_functions_of_all_layers_are_of_one_state(rng):
    """A state of the lower layer goes with the same state of the upper one."""
    Z = np.linspace(-1.0, 1.0, 4)[:, None]
    values = rng.normal(size=(2, 4, 1))
    layers = [
        gi.layers.GPLayer(gpflow.kernels.SquaredExponential(), 1, RecordedInducing(Z, values))
        for _ in range(2)
    ]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=9)
    L = np.linalg.cholesky(layers[0].kernel(Z).numpy() + 1e-6 * np.eye(4))
    components, _ = model.predict_f_components(Z, num_samples=2, seed=3)
    for z, mean in zip(values, components, strict=True):
        hidden = L @ z  # known at Z, up to the jitter
        expected = layers[0].kernel(hidden, Z).numpy() @ np.linalg.solve(L.T, z)
        np.testing.assert_allclose(mean, expected, atol=0.02)


def test_mistakes_are_refused_in_words(rng, data):
    with pytest.raises(TypeError, match="model must be"):
        sghmc_inducing(None, data)
    network = gi.architectures.build_bnn(*data, widths=[3], num_inducing=2)
    with pytest.raises(ValueError, match=r"Layer 1 is not a GPLayer.*sghmc"):
        sghmc_inducing(network, data)
    model = one_layer(data)
    with pytest.raises(ValueError, match="all 40 rows"):
        sghmc_inducing(model, (data[0][:9], data[1][:9]))
    with pytest.raises(ValueError, match="num_draws is 30, but there are 20 steps"):
        sghmc_inducing(model, data, num_draws=30, steps=20)
    with pytest.raises(ValueError, match="friction"):
        sghmc_inducing(model, data, friction=1.5)
    with pytest.raises(ValueError, match="alpha"):
        sghmc_inducing(model, data, alpha=-1.0)
    with pytest.raises(ValueError, match="GPLayer"):
        gi.layers.DenseLayer(3, 1, RecordedInducing(np.ones((4, 3)), rng.normal(size=(2, 4, 1))))
    with pytest.raises(ValueError, match="values"):
        RecordedInducing(np.ones((4, 3)), rng.normal(size=(2, 3, 1)))
    assert tf.executing_eagerly()


@pytest.mark.slow
def test_classes_and_missing_outputs(rng, data):
    """f is integrated, so that no gradient of the likelihood is needed, nor every output."""
    X, Y = data
    classes = (Y > 0) + (Y > 0.7) * 1.0
    settings = {"num_inducing": M, "num_layers": 1, "inference": "local"}
    of_classes = build_deep_gp(X, classes, likelihood=gpflow.likelihoods.MultiClass(3), **settings)
    chain = {"num_draws": 5, "num_chains": 2, "burn_in": 300, "steps": 300, "learning_rate": 0.03}
    found = sghmc_inducing(of_classes, (X, classes), **chain)
    shares = found.model.predict_y(X, 10, seed=0)[0].numpy()
    np.testing.assert_allclose(shares.sum(axis=1), 1.0, atol=1e-3)
    assert np.mean(shares.argmax(axis=1) == classes[:, 0]) > 0.6

    both = np.hstack([Y, -Y])
    both[::2, 0] = np.nan
    with_gaps = build_deep_gp(
        X, both, likelihood=gpflow.likelihoods.Gaussian(NOISE), missing="ignore", **settings
    )
    found = sghmc_inducing(with_gaps, (X, both), **chain)
    error = found.model.predict_f(X, 10, seed=0)[0].numpy() - np.hstack([Y, -Y])
    assert np.sqrt(np.mean(error**2)) < 0.75
    with pytest.raises(ValueError, match=r"Y\[0, 0\] is nan"):
        sghmc_inducing(one_layer(data), (X, both[:, :1]))


@pytest.mark.slow
def test_hyperparameters_follow_their_priors(data):
    """One so narrow that the data have no say, of several chains."""
    model = one_layer(data)
    model.likelihood.variance.prior = tfp.distributions.LogNormal(
        np.float64(math.log(5.0)), np.float64(0.01)
    )
    found = sghmc_inducing(
        model, data, num_draws=1, num_chains=3, burn_in=800, steps=1, learning_rate=0.1
    )
    assert float(found.model.likelihood.variance.numpy()) == pytest.approx(5.0, rel=0.05)


@pytest.mark.slow
def test_a_power_needs_independent_outputs(rng):
    X, Y = rng.normal(size=(6, 1)), rng.normal(size=(6, 2))
    layer = gi.layers.GPLayer(
        gpflow.kernels.SquaredExponential(),
        2,
        gi.posteriors.LocalInducing(X[:3], 2),
        mixing=[[1.0, 0.3], [0.8, -0.5]],
    )
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(0.1), num_data=6)
    settings = {"num_draws": 1, "burn_in": 0, "steps": 1}
    gi.inference.sghmc_inducing(model, (X, Y), **settings)
    with pytest.raises(ValueError, match="outputs are independent"):
        gi.inference.sghmc_inducing(model, (X, Y), alpha=0.5, **settings)


def test_priors_and_transforms_of_inducing_inputs_are_kept(data):
    model = one_layer(data)
    posterior = model.layers[0].posterior
    posterior.inducing_inputs = gpflow.Parameter(
        np.linspace(0.5, 2.0, M)[:, None],
        transform=gpflow.utilities.positive(),
        prior=tfp.distributions.Gamma(np.float64(2.0), np.float64(1.0)),
    )
    found = (
        sghmc_inducing(
            model, data, num_draws=2, num_chains=1, burn_in=2, steps=4, learning_rate=0.0
        )
        .model.layers[0]
        .posterior.inducing_inputs
    )
    assert found is not posterior.inducing_inputs
    assert found.trainable == posterior.inducing_inputs.trainable
    assert found.transform.name == posterior.inducing_inputs.transform.name
    assert float(found.log_prior_density()) == float(posterior.inducing_inputs.log_prior_density())
    np.testing.assert_array_equal(found, posterior.inducing_inputs)

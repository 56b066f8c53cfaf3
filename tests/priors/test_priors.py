"""Priors over weights: their scales, what these cost the bound, and gradients through draws."""

import copy

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import special, stats

from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.kernels import BNNKernel
from gpflow_gi.priors import NealPrior, ScalePrior, StandardPrior, WeightPrior

from ..builders import mean_and_standard_error

N = 7
CONSTANTS = [
    {},
    {"alpha": 5.7, "beta": 0.3},
    {"shape": 0.8, "rate": 3.0, "alpha": 40.0, "beta": 11.0},
]
every_scale_prior = pytest.mark.parametrize("constants", CONSTANTS, ids=["default", "near", "far"])


@pytest.mark.parametrize("scale", [0.3, 1.0])
@pytest.mark.parametrize("num_samples", [None, 5])
def test_fixed_scales(scale, num_samples, rng):
    neal, standard = NealPrior(scale), StandardPrior(scale)
    for prior, S in ((neal, scale**2), (standard, scale**2 * N)):
        drawn = prior.draw(N, num_samples, as_seed(0))
        np.testing.assert_allclose(drawn.standard_deviation, np.sqrt(S / N), rtol=1e-14)
        assert drawn.standard_deviation.shape == []
        for zero in (drawn.kl, drawn.log_p_minus_log_q):
            assert zero.shape == [] and zero == 0
        # The layer's kernel, with the same S.
        kernel = BNNKernel(N - 1, variance=S)
        X = rng.normal(size=(4, N - 1))
        weights = drawn.standard_deviation * kernel.features(X)
        np.testing.assert_allclose(kernel(X), weights @ tf.transpose(weights), rtol=1e-12)


@pytest.mark.parametrize("prior_class", [NealPrior, StandardPrior])
def test_learning_a_scale_is_maximum_likelihood_of_type_ii(prior_class):
    prior = prior_class()
    assert not prior.is_type_ii and not prior.trainable_parameters
    gpflow.set_trainable(prior.scale, True)
    assert prior.is_type_ii
    prior = prior_class(0.5, learn_scale=True)
    assert prior.is_type_ii and prior.trainable_parameters == (prior.scale,)
    with tf.GradientTape() as tape:
        standard_deviation = prior.draw(N, None, as_seed(0)).standard_deviation
    (gradient,) = tape.gradient(standard_deviation, prior.trainable_variables)
    assert gradient > 0
    with pytest.raises(tf.errors.InvalidArgumentError):
        prior.scale.assign(-1.0)
    with pytest.raises(TypeError, match="learn_scale must be True or False, but is 'yes'"):
        prior_class(learn_scale="yes")


def test_a_scale_with_a_prior_is_not():
    prior = ScalePrior()
    assert not prior.is_type_ii
    assert set(prior.trainable_parameters) == {prior.alpha, prior.beta} == set(prior.parameters)


def gammas(prior):
    """q(s) and p(s)."""
    return (
        tfp.distributions.Gamma(prior.shape + prior.alpha, prior.rate + prior.beta),
        tfp.distributions.Gamma(tf.constant(prior.shape, tf.float64), prior.rate),
    )


@every_scale_prior
def test_divergence_and_densities_of_the_scale(constants):
    prior = ScalePrior(**constants)
    q, p = gammas(prior)
    s = prior.alpha * np.linspace(0.1, 2.0, 5)
    np.testing.assert_allclose(prior.kl(), tfp.distributions.kl_divergence(q, p), rtol=1e-10)
    np.testing.assert_allclose(prior.log_prior(s), p.log_prob(s), rtol=1e-12)
    np.testing.assert_allclose(prior.log_posterior(s), q.log_prob(s), rtol=1e-12)
    assert prior.log_prior(s[0]).shape == []
    given = prior.given(s, N)
    np.testing.assert_allclose(given.kl, prior.kl())
    np.testing.assert_allclose(given.log_p_minus_log_q, p.log_prob(s) - q.log_prob(s), rtol=1e-10)


@every_scale_prior
def test_divergence_is_the_mean_over_draws(constants):
    drawn = ScalePrior(**constants).draw(N, 100_000, as_seed(0))
    mean, error = mean_and_standard_error(-drawn.log_p_minus_log_q)
    assert np.abs(mean - drawn.kl) < 4 * error
    assert error < 0.02 * drawn.kl


@every_scale_prior
def test_draws_have_the_posteriors_distribution(constants):
    prior = ScalePrior(**constants, scale=0.3)
    drawn = prior.draw(N, 20_000, as_seed(1))
    s = 0.3**2 / (N * drawn.standard_deviation**2)  # the precision is N s / scale^2
    q = stats.gamma(float(prior.shape + prior.alpha), scale=1 / float(prior.rate + prior.beta))
    assert stats.kstest(s, q.cdf).pvalue > 1e-3
    np.testing.assert_allclose(
        drawn.log_p_minus_log_q, prior.given(s, N).log_p_minus_log_q, rtol=1e-7, atol=1e-9
    )


def test_shapes_and_seeds_of_draws():
    prior = ScalePrior()
    for num_samples, shape in ((None, []), (1, [1]), (4, [4])):
        drawn = prior.draw(N, num_samples, as_seed(0))
        assert drawn.standard_deviation.shape == drawn.log_p_minus_log_q.shape == shape
        assert drawn.kl.shape == []
    draws = [prior.draw(N, 4, as_seed(seed)).standard_deviation.numpy() for seed in (0, 0, 1)]
    np.testing.assert_array_equal(draws[0], draws[1])
    assert np.unique([draws[0], draws[2]]).size == 8


# E[g(s)] under Gamma(a, b), as a function of a and b.
EXPECTATIONS = [
    (lambda s: s, lambda a, b: a / b),
    (tf.math.log, lambda a, b: special.digamma(a) - np.log(b)),
    (lambda s: 1 / s, lambda a, b: b / (a - 1)),
]


@pytest.mark.slow
@every_scale_prior
def test_gradients_pass_through_draws(constants):
    prior = ScalePrior(**constants)
    variables = prior.trainable_variables
    # Gradients are with respect to the parameters, not to what softplus turns into them.
    slopes = tf.sigmoid(tf.stack(variables))
    gradients = []
    for i in range(30):
        with tf.GradientTape(persistent=True) as tape:
            standard_deviation = prior.draw(N, 500, fold_in(as_seed(0), i)).standard_deviation
            s = 1 / (N * standard_deviation**2)
            means = [tf.reduce_mean(g(s)) for g, _ in EXPECTATIONS]
        gradients.append([tf.stack(tape.gradient(mean, variables)) / slopes for mean in means])
    a, b = float(prior.shape + prior.alpha), float(prior.rate + prior.beta)
    h = 1e-5
    expected = [
        [
            (expectation(a + h, b) - expectation(a - h, b)) / (2 * h),
            (expectation(a, b + h) - expectation(a, b - h)) / (2 * h),
        ]
        for _, expectation in EXPECTATIONS
    ]
    gradient, error = mean_and_standard_error(gradients)
    # The derivative of log s with respect to the rate has no error: s is a draw over the rate.
    assert np.all(np.abs(gradient - expected) < 4 * error + 1e-9)
    assert np.all(error < 0.1 * np.abs(expected))


@every_scale_prior
def test_gradient_of_the_divergence(constants):
    prior = ScalePrior(**constants)
    with tf.GradientTape() as tape:
        kl = prior.kl()
    gradients = tape.gradient(kl, prior.trainable_variables)
    for variable, gradient in zip(prior.trainable_variables, gradients, strict=True):
        values = []
        for step in (1e-5, -2e-5):
            variable.assign_add(step)
            values.append(prior.kl())
        variable.assign_add(1e-5)
        np.testing.assert_allclose(gradient, (values[0] - values[1]) / 2e-5, rtol=1e-6, atol=1e-9)


@pytest.mark.reference
@pytest.mark.parametrize("layer", ["layer0", "layer1", "layer2"])
def test_recorded_draws_of_the_scale(layer, reference):
    with np.load(reference / "global_bnn_scale.npz") as file:
        values = dict(file)
    prior = ScalePrior(alpha=values[f"{layer}_scale_alpha"], beta=values[f"{layer}_scale_beta"])
    given = prior.given(values[f"{layer}_draw_scale"], N)
    np.testing.assert_allclose(
        given.log_p_minus_log_q, values[f"{layer}_draw_scale_log_p_minus_log_q"], atol=1e-8
    )


def test_float32():
    expected = [prior.draw(N, None, as_seed(0)) for prior in (NealPrior(0.3), StandardPrior(0.3))]
    expected.append(ScalePrior().given(0.7, N))
    gpflow.config.set_default_float(np.float32)
    scale = ScalePrior()
    scales = [prior.draw(N, None, as_seed(0)) for prior in (NealPrior(0.3), StandardPrior(0.3))]
    scales.append(scale.given(0.7, N))
    for one, other in zip(scales, expected, strict=True):
        for field in ("standard_deviation", "kl", "log_p_minus_log_q"):
            assert getattr(one, field).dtype == tf.float32
            np.testing.assert_allclose(getattr(one, field), getattr(other, field), atol=1e-6)
    with tf.GradientTape() as tape:
        drawn = scale.draw(N, 3, as_seed(0))
        total = tf.reduce_sum(drawn.standard_deviation + drawn.log_p_minus_log_q)
    assert total.dtype == tf.float32
    assert np.all(np.isfinite(tape.gradient(total, scale.trainable_variables)))


def test_copies():
    prior = ScalePrior(alpha=3.0)
    for copied in (copy.deepcopy(prior), gpflow.utilities.deepcopy(prior)):
        np.testing.assert_array_equal(copied.kl(), prior.kl())
        copied.alpha.assign(4.0)
    np.testing.assert_allclose(prior.alpha, 3.0)


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf, None, "one", [1.0, 2.0]], ids=str)
@pytest.mark.parametrize(
    ("prior_class", "name"),
    [
        (NealPrior, "scale"),
        (StandardPrior, "scale"),
        *((ScalePrior, name) for name in ("scale", "shape", "rate", "alpha", "beta")),
    ],
)
def test_numbers_must_be_positive(prior_class, name, value):
    with pytest.raises(ValueError, match=f"^{name} must"):
        prior_class(**{name: value})


def test_the_interface_is_abstract():
    with pytest.raises(TypeError, match="abstract"):
        WeightPrior()

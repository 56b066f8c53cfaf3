"""Draws of the weights against posteriors that are known otherwise."""

import warnings

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.kernels import SquaredExponential
from gpflow.likelihoods import Gaussian, MultiClass, Poisson

import gpflow_gi as gi
from gpflow_gi.inference import nuts
from gpflow_gi.inference.convergence import Convergence
from gpflow_gi.layers import Conv2DLayer, DenseLayer, GPLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.nonlinearities import tanh
from gpflow_gi.posteriors import GlobalInducing, Prior
from gpflow_gi.priors import NealPrior, ScalePrior, SpatialIWPrior, StandardPrior

from ..models.test_errors import check, raises

N, D = 12, 2
NOISE = 0.2
STANDARD_ERRORS = 4.0


def network(*layers, noise=NOISE, likelihood=None, num_data=N) -> DeepGP:
    likelihood = likelihood or Gaussian(noise)
    return DeepGP(layers or [DenseLayer(D, 1, Prior())], likelihood, num_data=num_data)


def random_data(rng, P=1):
    X = rng.normal(size=(N, D))
    return X, X @ rng.normal(size=(D, P)) + 0.5 + np.sqrt(NOISE) * rng.normal(size=(N, P))


def units(X):
    return np.concatenate([X, np.ones_like(X[:, :1])], axis=1)


def monte_carlo_error(draws, num_chains=4):
    """Monte Carlo error of the mean over draws [T, ...]."""
    size = Convergence.of({"": draws}, num_chains).effective_sample_size[""]
    return np.std(draws, axis=0, ddof=1) / np.sqrt(size)


def assert_mean(draws, expected):
    """The draws' mean is what it should be, but for Monte Carlo errors."""
    errors = (np.mean(draws, axis=0) - expected) / monte_carlo_error(draws)
    assert np.max(np.abs(errors)) < STANDARD_ERRORS, errors


def ignore_warnings(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return nuts(*args, **kwargs)


# ------------------------------------------------------------------------------ exact posteriors


@pytest.mark.longest
def test_bayesian_linear_regression(rng):
    P = 2
    X, Y = random_data(rng, P)
    result = nuts(network(DenseLayer(D, P, Prior(), prior=NealPrior(1.5))), (X, Y))
    # w ~ N(0, 1.5^2 / 3), one column for each output
    A = units(X)
    covariance = np.linalg.inv(A.T @ A / NOISE + np.eye(D + 1) * 3 / 1.5**2)
    mean = covariance @ A.T @ Y / NOISE
    weights = result.weights[0]
    assert weights.shape == (4000, D + 1, P)
    assert_mean(weights, mean)
    centred = weights - mean
    assert_mean(np.einsum("tkp,tlp->tpkl", centred, centred), np.stack(P * [covariance]))

    new = rng.normal(size=(5, D))
    f = units(new) @ weights
    error = monte_carlo_error(f)
    variance = np.sum(units(new) @ covariance * units(new), axis=1)[:, None]
    predicted, predicted_variance = result.model.predict_y(new, num_samples=4000)
    np.testing.assert_array_less(
        np.abs(predicted - units(new) @ mean), STANDARD_ERRORS * np.broadcast_to(error, (5, P))
    )
    error_of_variance = monte_carlo_error(np.square(f - units(new) @ mean))
    np.testing.assert_array_less(
        np.abs(predicted_variance - NOISE - variance), STANDARD_ERRORS * error_of_variance
    )
    assert result.divergences == 0
    assert np.max(result.r_hat["f"]) < 1.01
    assert np.min(result.effective_sample_size["f"]) > 400
    # log p(Y, z) of the last draw, by hand
    z = weights[-1] / (1.5 / np.sqrt(3))
    squares = np.sum(np.square(Y - A @ weights[-1])) / NOISE + np.sum(np.square(z))
    constants = Y.size * np.log(2 * np.pi * NOISE) + z.size * np.log(2 * np.pi)
    np.testing.assert_allclose(result.log_density[-1], -0.5 * (squares + constants))


@pytest.mark.longest
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_scale_of_the_prior(dtype, rng):
    gpflow.config.set_default_float(dtype)
    X, Y = random_data(rng)
    prior = ScalePrior(scale=0.5, shape=3.0, rate=1.5)
    model = network(DenseLayer(D, 1, Prior(), prior=prior))
    # A step far up the tail of exp(log s) diverges once in a while.
    result = ignore_warnings(model, (X, Y), num_draws=500, num_adaptation_steps=200)
    assert result.divergences < 10
    assert result.weights[0].dtype == result.model.predict_f(X)[0].dtype == dtype

    # p(log s | Y), from Y given s ~ N(0, 0.5^2 / (3 s) A A^T + noise I)
    log_s = np.linspace(-8, 5, 2001)
    s = np.exp(log_s)
    eigenvalues, vectors = np.linalg.eigh(units(X) @ units(X).T)
    variances = 0.25 / (3 * s[:, None]) * np.maximum(eigenvalues, 0) + NOISE
    squares = np.square(vectors.T @ Y)[:, 0]
    log_density = -0.5 * np.sum(np.log(variances) + squares / variances, axis=1)
    log_density += 3.0 * log_s - 1.5 * s  # Gamma(3, 1.5), times s for the logarithm
    density = np.exp(log_density - np.max(log_density))
    density /= np.sum(density)
    assert np.argmax(density) not in (0, len(s) - 1)
    drawn = np.log(result.scales[0])
    assert_mean(drawn, np.sum(density * log_s))
    assert_mean(np.square(drawn - np.sum(density * log_s)), _variance(density, log_s))
    # Kolmogorov and Smirnov's distance, below its 1 in 1,000 quantile
    distribution = np.interp(np.sort(drawn), log_s, np.cumsum(density))
    distance = np.max(np.abs(distribution - (np.arange(drawn.size) + 0.5) / drawn.size))
    size = float(result.effective_sample_size["s of layer 1"])
    assert size > 100 and distance < 1.95 / np.sqrt(size)
    # The draws that the model predicts with do not depend on a scale drawn anew.
    np.testing.assert_allclose(
        result.model.predict_f(X, num_samples=2000)[0],
        np.mean(units(X) @ result.weights[0], axis=0),
        rtol=1e-4,
        atol=1e-4,
    )


def _variance(density, values):
    return np.sum(density * np.square(values - np.sum(density * values)))


# ------------------------------------------------------------------------------- a small network


# One chain of draws for all that look at it.
of_the_sampled = pytest.mark.xdist_group("nuts")


@pytest.fixture(scope="module")
def sampled():
    rng = np.random.default_rng(1)
    X, _ = random_data(rng)
    Y = np.sin(2 * X[:, :1])
    layers = [DenseLayer(D, 5, Prior()), tanh, DenseLayer(5, 1, Prior(), bias=False)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = nuts(
            network(*layers),
            (X, Y),
            num_draws=250,
            num_adaptation_steps=200,
            inputs=np.zeros((3, D)),
        )
    return X, Y, result


@of_the_sampled
@pytest.mark.longest
def test_predictions_average_over_the_draws(sampled):
    X, Y, result = sampled
    lower, upper = result.weights[0], result.weights[2]
    assert lower.shape == (1000, D + 1, 5) and upper.shape == (1000, 5, 1)
    f = np.tanh(units(X) @ lower) @ upper
    model = result.model
    mean, variance = model.predict_y(X, num_samples=1000)
    np.testing.assert_allclose(mean, np.mean(f, axis=0))
    np.testing.assert_allclose(variance, np.var(f, axis=0) + NOISE)
    np.testing.assert_allclose(model.predict_f(X, num_samples=1000)[1], np.var(f, axis=0))
    components, _ = model.predict_y_components(X, num_samples=1000)
    np.testing.assert_allclose(components, f)
    densities = np.exp(-0.5 * (Y - f) ** 2 / NOISE) / np.sqrt(2 * np.pi * NOISE)
    np.testing.assert_allclose(
        model.predict_log_density((X, Y), num_samples=1000), np.log(densities.mean(0))[:, 0]
    )
    for full_cov in (False, True):
        np.testing.assert_allclose(model.predict_f_samples(X, 1000, full_cov=full_cov), f)
    np.testing.assert_allclose(model.sample_functions(1000)(X), f)
    _, covariance = model.predict_f(X, num_samples=1000, full_cov=True)
    np.testing.assert_allclose(covariance[0], np.cov(f[..., 0].T, ddof=0), atol=1e-10)


@of_the_sampled
@pytest.mark.slow
def test_few_samples_come_from_all_chains(sampled):
    X, _, result = sampled
    few, _ = result.model.predict_y_components(X, num_samples=8)
    all_draws, _ = result.model.predict_y_components(X, num_samples=1000)
    which = [np.flatnonzero(np.all(np.isclose(all_draws, one), axis=(1, 2)))[0] for one in few]
    np.testing.assert_array_equal(np.array(which) // result.num_draws, np.repeat(np.arange(4), 2))


@of_the_sampled
@pytest.mark.slow
def test_diagnostics_are_of_what_is_identified(sampled):
    _, _, result = sampled
    assert result.r_hat.keys() == result.effective_sample_size.keys() == {"f", "log density"}
    assert result.r_hat["f"].shape == (N + 3, 1)
    assert np.max(result.r_hat["f"]) < 1.05
    assert result.num_chains == 4 and result.num_draws == 250
    assert 0.6 < result.acceptance < 1 and result.step_size > 0
    assert result.leapfrog_steps > 1
    assert result.seconds > 0


@of_the_sampled
@pytest.mark.slow
def test_there_is_no_bound(sampled):
    X, Y, result = sampled
    model = result.model
    for bound in (
        lambda: model.elbo((X, Y), num_samples=3),
        lambda: model.iwbo((X, Y), num_samples=3),
        lambda: model.k_hat((X, Y)),
        lambda: gi.bounds.estimate_elbo(model, (X, Y)),
        lambda: gi.bounds.estimate_iwbo(model, (X, Y)),
    ):
        with pytest.raises(gi.models.NoDensityError, match=r"NUTS.* no density.*predict_log_den"):
            bound()


# ------------------------------------------------------------------------------------- behaviour


def tiny(model, data, **kwargs):
    settings = dict(num_draws=4, num_chains=2, num_adaptation_steps=3, max_tree_depth=2)
    return ignore_warnings(model, data, jit_compile=False, **settings | kwargs)


@pytest.mark.longest
@pytest.mark.slow
def test_seeds(rng):
    data = random_data(rng)
    one, same, other = (tiny(network(), data, seed=seed) for seed in (0, 0, [0, 1]))
    np.testing.assert_array_equal(one.weights[0], same.weights[0])
    assert np.all(one.weights[0] != other.weights[0])


@pytest.mark.slow
@pytest.mark.longest
def test_the_model_is_left_alone(rng):
    X, Y = random_data(rng)
    bottom = DenseLayer(D, 3, GlobalInducing(4, 3), prior=StandardPrior(0.7, learn_scale=True))
    keras = gpflow.keras.tf_keras.layers.Dense(3, dtype=gpflow.default_float())
    model = DeepGP(
        [bottom, keras, tanh, DenseLayer(3, 1, GlobalInducing(4, 1), prior=ScalePrior())],
        Gaussian(NOISE),
        num_data=N,
        inducing_inputs=X[:4],
    )
    before = [variable.numpy() for variable in model.variables]
    result = tiny(model, (X, Y))
    for variable, value in zip(model.variables, before, strict=True):
        np.testing.assert_array_equal(variable, value)
    assert model.layers[0] is bottom and isinstance(bottom.posterior, GlobalInducing)

    copy = result.model
    assert copy.network.inducing_inputs is None and copy.num_data == N
    mean = copy.predict_f(X, seed=0)[0].numpy()
    model.likelihood.variance.assign(9.0)
    model.layers[1].function.kernel.assign(np.zeros((3, 3)))
    np.testing.assert_allclose(copy.predict_f(X, seed=0)[0], mean)
    np.testing.assert_allclose(copy.likelihood.variance, NOISE)
    np.testing.assert_allclose(copy.network.layers[0].prior.scale, 0.7)


# -------------------------------------------------------------------------- warnings and errors


@pytest.mark.longest
def test_warnings(rng):
    # Almost no noise and no time to find out.
    with pytest.warns(UserWarning) as caught:
        nuts(
            network(noise=1e-5),
            random_data(rng),
            num_draws=4,
            num_chains=2,
            num_adaptation_steps=1,
            jit_compile=False,
        )
    messages = [str(warning.message) for warning in caught]
    assert all(warning.filename == __file__ for warning in caught)
    disagree, few, diverged = messages
    assert "largest R-hat" in disagree and "1.05" in disagree and "1.01" in disagree
    assert "(num_draws is 4)" in disagree and "(num_adaptation_steps is 1)" in disagree
    assert "The 8 draws" in few and "below 100" in few
    assert " of 8 transitions diverged" in diverged and "target_acceptance (it is 0.8)" in diverged


def test_many_weights(rng):
    wide = [DenseLayer(D, 3000, Prior()), tanh, DenseLayer(3000, 1, Prior())]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with raises(UserWarning, r"has 12,001 weights.* up to about 10,000.*take 0\.4 GB"):
            nuts(network(*wide), random_data(rng))


X = np.zeros((N, D))
Y = np.zeros((N, 1))


@check(
    [
        (
            lambda: nuts(None, (X, Y)),
            r"model must be a gpflow_gi.models.DeepGP, or a target .* but is None",
        ),
        (
            lambda: nuts(gpflow.models.GPR((X, Y), SquaredExponential()), (X, Y)),
            "model must be a gpflow_gi.models.DeepGP",
        ),
    ]
)
def test_models_of_another_kind(call, message):
    with raises(TypeError, message):
        call()


def with_gp_layer() -> DeepGP:
    return network(DenseLayer(D, 2, Prior()), GPLayer(SquaredExponential(), 1, Prior()))


def with_unknown_prior() -> DeepGP:
    class Random(NealPrior):
        def draw(self, num_weights, num_samples, seed):
            return ScalePrior().draw(num_weights, num_samples, seed)

    return network(DenseLayer(D, 1, Prior(), prior=Random()))


def with_python_function() -> DeepGP:
    def call(x):
        return tf.ensure_shape(tf.py_function(tf.tanh, [x], x.dtype), x.shape)

    return network(call, DenseLayer(D, 1, Prior()))


@check(
    [
        (
            lambda: nuts(with_gp_layer(), (X, Y)),
            r"Layer 2 \(GPLayer with Prior\) has no weights.* put a DenseLayer .*gpflow_gi.fit",
        ),
        (
            lambda: nuts(with_unknown_prior(), (X, Y)),
            r"Layer 1 \(DenseLayer with Prior\) cannot be .*Random draws.*num_coordinates",
        ),
        (
            lambda: nuts(network(likelihood=MultiClass(1)), (X, Y)),
            "MultiClass is a step function of f.*Softmax",
        ),
        (
            lambda: nuts(network(), (X[1:], Y[1:])),
            r"given all 12 rows .*\(num_data\), but X has 11",
        ),
        (lambda: nuts(network(), (X[:, :1], Y)), "X has 1 columns, but the model takes 2"),
        (lambda: nuts(network(), X), r"data must be a pair \(X, Y\)"),
        (lambda: nuts(network(), (X * np.nan, Y)), r"X must be finite, but X\[0, 0\] is nan"),
        (lambda: nuts(network(), (X, Y + np.inf)), "Y must be finite"),
        (
            lambda: nuts(network(), (X, 1e200 * (Y + 1))),
            "not finite, not even with all weights near zero.* likelihood Gaussian",
        ),
        (
            lambda: nuts(network(likelihood=Poisson()), (X, Y - 1)),
            "Poisson takes whole numbers of at least 0 as targets, but Y holds values from -1 to",
        ),
        (lambda: nuts(network(), (X, Y), inputs=X[:, :1]), "X has 1 columns"),
        (lambda: nuts(network(), (X, Y), inputs=X[0]), r"inputs must have shape \[any, any\]"),
        (lambda: nuts(network(), (X, Y), num_draws=0), "num_draws must be an integer of at least"),
        (lambda: nuts(network(), (X, Y), num_draws=3), "num_draws must be at least 4, but is 3"),
        (lambda: nuts(network(), (X, Y), num_chains=1.5), "num_chains must be an integer"),
        (
            lambda: nuts(network(), (X, Y), num_adaptation_steps=-1),
            "num_adaptation_steps must be an integer of at least 1, but is -1",
        ),
        (lambda: nuts(network(), (X, Y), max_tree_depth=0), "max_tree_depth must be an integer"),
        (
            lambda: nuts(network(), (X, Y), target_acceptance=1.0),
            r"target_acceptance must be below 1, but is 1\.0",
        ),
        (lambda: nuts(network(), (X, Y), seed="seed"), "seed must be an integer"),
    ]
)
def test_errors(call, message):
    with raises(ValueError, message):
        call()


@pytest.mark.longest
def test_what_xla_cannot_compile_is_said():
    with raises(ValueError, "XLA cannot compile the model; pass jit_compile=False"):
        nuts(with_python_function(), (X, Y))


@pytest.mark.slow
@pytest.mark.longest
def test_a_target():
    """N(1, 4 I): no network, no data."""

    def log_prob(theta):
        return -0.125 * tf.reduce_sum((theta - 1.0) ** 2, axis=1)

    target = gi.inference.Target(2, log_prob)
    found = gi.inference.nuts(
        target, num_draws=250, num_adaptation_steps=200, jit_compile=False, seed=1
    )
    theta = found.model.theta.numpy()
    error = 2.0 / np.sqrt(found.effective_sample_size["theta"])
    assert np.all(np.abs(theta.mean(axis=0) - 1.0) < 4 * error)
    np.testing.assert_allclose(theta.std(axis=0), 2.0, rtol=0.2)
    assert found.weights == {} and np.all(found.r_hat["theta"] < 1.05)
    with pytest.raises(ValueError, match="inputs are for a network"):
        gi.inference.nuts(target, inputs=[[0.0]])


@pytest.mark.longest
def test_scales_are_those_of_scale_priors(rng):
    """A covariance over a kernel of one place has one coordinate too, which is no log s."""
    prior = SpatialIWPrior(1)
    layer = Conv2DLayer((1, 1, D), 1, 1, Prior(), prior=prior, padding="valid")
    X, Y = random_data(rng)
    result = ignore_warnings(
        network(layer), (X.reshape(N, 1, 1, D), Y), num_draws=4, num_chains=1,
        num_adaptation_steps=20, max_tree_depth=2, jit_compile=False,
    )  # fmt: skip
    assert result.scales == {}
    assert "prior of layer 1" in result.r_hat
    assert not any(name.startswith("s of") for name in result.r_hat)

"""Acquisition functions against integrals over the mixture, and their Gaussian closed forms."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import norm

import gpflow_gi as gi
from tests.builders import random_deep_gp

S = 7


@pytest.fixture
def model(rng):
    return random_deep_gp(rng, ["global", "global"])


@pytest.fixture
def X(rng):
    return rng.normal(size=(3, 2))


def mixture(model, X):
    """Values of f on a grid, and the mixture's density there: [T], [T, N]."""
    mean, variance = (m.numpy()[..., 0] for m in model.predict_f_components(X, S, seed=0))
    f = np.linspace(
        (mean - 9 * np.sqrt(variance)).min(), (mean + 9 * np.sqrt(variance)).max(), 40001
    )
    return f, norm.pdf(f[:, None, None], mean, np.sqrt(variance)).mean(1)


def integral(f, values):
    return (
        np.trapezoid(values, f, axis=0) if hasattr(np, "trapezoid") else np.trapz(values, f, axis=0)
    )


def test_components_have_the_moments_of_predictions(model, X):
    mean, variance = model.predict_f_components(X, S, seed=0)
    of_mixture = gi.metrics.mixture_moments(mean, variance)
    for found, wanted in zip(of_mixture, model.predict_f(X, S, seed=0), strict=True):
        np.testing.assert_allclose(found, wanted)
    frozen = model.posterior(S, seed=0)
    of_mixture = gi.metrics.mixture_moments(*frozen.predict_f_components(X))
    for found, wanted in zip(of_mixture, frozen.predict_f(X), strict=True):
        np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("maximise", [False, True])
def test_expected_improvement(model, X, maximise):
    f, p = mixture(model, X)
    gain = np.maximum(f - 0.2, 0) if maximise else np.maximum(0.2 - f, 0)
    found = gi.design.expected_improvement(model, X, 0.2, maximise=maximise, num_samples=S, seed=0)
    np.testing.assert_allclose(found, integral(f, gain[:, None] * p), rtol=1e-5, atol=1e-9)


def test_upper_confidence_bound(model, X):
    mean, variance = (m[:, 0] for m in model.predict_f(X, S, seed=0))
    for sign, maximise in ((1, True), (-1, False)):
        found = gi.design.upper_confidence_bound(
            model, X, 9.0, maximise=maximise, num_samples=S, seed=0
        )
        np.testing.assert_allclose(found, sign * mean + 3 * np.sqrt(variance))


def test_contour_improvement(model, X):
    f, p = mixture(model, X)
    sd = np.sqrt(model.predict_f(X, S, seed=0)[1].numpy()[:, 0])
    gain = np.maximum((1.5 * sd) ** 2 - (f[:, None] - 0.3) ** 2, 0)
    found = gi.design.contour_improvement(model, X, 0.3, width=1.5, num_samples=S, seed=0)
    np.testing.assert_allclose(found, integral(f, gain * p), rtol=1e-4, atol=1e-8)


def test_predictive_variance(model, X):
    np.testing.assert_allclose(
        gi.design.predictive_variance(model, X, num_samples=S, seed=0),
        model.predict_f(X, S, seed=0)[1][:, 0],
    )


@pytest.mark.slow
@pytest.mark.parametrize("maximise", [False, True])
def test_max_value_entropy_of_a_mixture(model, X, maximise):
    f, p = mixture(model, X)

    def entropy(kept):
        q = np.where(kept[:, None], p, 0)
        q = q / integral(f, q)
        return -integral(f, q * np.log(np.maximum(q, 1e-300)))

    optima = np.array([0.9, 1.4]) if maximise else np.array([-0.9, -1.4])
    cut = [entropy(f <= one if maximise else f >= one) for one in optima]
    found = gi.design.max_value_entropy(model, X, optima, maximise=maximise, num_samples=S, seed=0)
    np.testing.assert_allclose(found, entropy(f == f) - np.mean(cut, axis=0), atol=2e-3)


def test_max_value_entropy_of_a_gaussian(rng, X):
    """Wang & Jegelka 2017, eq. 6."""
    model = random_deep_gp(rng, ["global"], width=1)
    mean, variance = (m.numpy()[:, 0] for m in model.predict_f(X))
    t = (np.array([[0.5], [2.0]]) - mean) / np.sqrt(variance)
    wanted = (t * norm.pdf(t) / (2 * norm.cdf(t)) - norm.logcdf(t)).mean(0)
    found = gi.design.max_value_entropy(model, X, [0.5, 2.0], maximise=True, num_samples=1)
    np.testing.assert_allclose(found, wanted, atol=1e-3)


def gain_of_components(monkeypatch, mean, sd, optimum):
    """For rows with these components, [S] or [S, N], and a maximum; its gradients are finite."""
    from gpflow_gi.design import max_value

    mean, sd = (tf.Variable(np.reshape(one, (len(one), -1))) for one in (mean, sd))
    monkeypatch.setattr(max_value, "components", lambda *args, **settings: (mean + 0, sd + 0))
    with tf.GradientTape() as tape:
        found = gi.design.max_value_entropy(None, None, [optimum], maximise=True)
    assert all(np.isfinite(one).all() for one in tape.gradient(found, [mean, sd]))
    return found.numpy()


@pytest.mark.slow
def test_max_value_entropy_far_below_all_that_f_may_be(monkeypatch):
    """It rises with the distance of the optimum, as log t + log(2 pi) / 2 - 1 / 2 at last."""
    t = np.array([0.0, 2.0, 8.0, 9.9, 10.5, 20.0, 29.0, 31.0, 1e6])
    found = gain_of_components(monkeypatch, t[None], np.ones((1, len(t))), 0.0)
    with np.errstate(over="ignore"):
        wanted = -t * np.exp(norm.logpdf(-t) - norm.logcdf(-t)) / 2 - norm.logcdf(-t)
    wanted[-1] = np.log(1e6) + np.log(2 * np.pi) / 2 - 0.5
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    # Equal components are one
    again = gain_of_components(monkeypatch, np.stack([t, t]), np.ones((2, len(t))), 0.0)
    np.testing.assert_allclose(again, wanted, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mean", "sd", "optimum"),
    [
        ([0.0, 0.3], [1.0, 0.02], 0.5),
        ([0.0, 0.3], [1.0, 0.02], -12.0),
        pytest.param([0.0, 0.3], [1.0, 0.005], 0.5, marks=pytest.mark.longest),
        pytest.param([0.0, -3.0], [1.0, 0.5], -9.0, marks=pytest.mark.longest),
        pytest.param([0.0, 1.0], [1e-3, 1e-3], 0.5, marks=pytest.mark.longest),
    ],
)
def test_max_value_entropy_of_two_components(monkeypatch, mean, sd, optimum):
    def entropy(end):
        low = min(optimum, min(mean)) - 12.0
        fine = [m + s * np.linspace(-12, 12, 20001) for m, s in zip(mean, sd, strict=True)]
        f = np.unique(np.concatenate([*fine, np.linspace(low, max(mean) + 12, 200001), [optimum]]))
        f = f[f <= end]
        log_p = np.logaddexp(*(norm.logpdf(f, *one) for one in zip(mean, sd, strict=True)))
        log_p -= np.logaddexp(*(norm.logcdf(end, *one) for one in zip(mean, sd, strict=True)))
        return -integral(f, np.exp(log_p) * log_p)

    found = gain_of_components(monkeypatch, mean, sd, optimum)
    np.testing.assert_allclose(found, entropy(np.inf) - entropy(optimum), atol=2e-3)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("num_narrow", "width", "optimum"),
    [(0, 1.0, -1.0), (0, 1.0, 1.0), (0, 1.0, 2.5), (0, 1.0, -15.0), (50, 0.01, 1.0)],
)
def test_max_value_entropy_of_a_hundred_components(rng, monkeypatch, num_narrow, width, optimum):
    """Within 0.3% of integrals over many values; components of their own have but few points."""
    mean, sd = 0.3 * rng.normal(size=(100, 2)), np.exp(0.3 * rng.normal(size=(100, 2)))
    sd[:num_narrow] *= width

    def entropy(mean, sd, end):
        fine = mean[:, None] + sd[:, None] * np.linspace(-9, 9, 301)
        f = np.concatenate([fine.ravel(), np.linspace(min(optimum, 0.0) - 10, 10, 4001), [optimum]])
        f = np.unique(f[f <= end])
        log_p = np.full(len(f), -np.inf)
        for m, s in zip(mean, sd, strict=True):
            log_p = np.logaddexp(log_p, norm.logpdf(f, m, s))
        log_p -= np.logaddexp.reduce(norm.logcdf(end, mean, sd))
        return -integral(f, np.exp(log_p) * log_p)

    found = gain_of_components(monkeypatch, mean, sd, optimum)
    wanted = [
        entropy(*row, np.inf) - entropy(*row, optimum) for row in zip(mean.T, sd.T, strict=True)
    ]
    np.testing.assert_allclose(found, wanted, rtol=3e-3)


def test_integrated_variance_reduction_is_what_an_observation_does(rng, X):
    """One exact layer: the mean variance of GPR falls by that much, wherever x is."""
    kernel, noise = gpflow.kernels.SquaredExponential(), 0.2
    at, Y, references = rng.normal(size=(5, 2)), rng.normal(size=(5, 1)), rng.normal(size=(4, 2))
    exact = gi.posteriors.GlobalInducing(5, 1, pseudo_outputs=Y, pseudo_precision=1 / noise)
    model = gi.models.DeepGP(
        [gi.layers.GPLayer(kernel, 1, exact)],
        gpflow.likelihoods.Gaussian(noise),
        num_data=5,
        inducing_inputs=at,
    )
    found = gi.design.integrated_variance_reduction(model, X, references, num_samples=1, seed=0)

    def mean_variance(inputs):
        data = inputs, np.zeros((len(inputs), 1))
        gpr = gpflow.models.GPR(data, kernel, noise_variance=noise)
        return gpr.predict_f(references)[1].numpy().mean()

    fall = [mean_variance(at) - mean_variance(np.vstack([at, x[None]])) for x in X]
    np.testing.assert_allclose(found, fall, rtol=1e-4, atol=1e-7)
    again = gi.design.integrated_variance_reduction(model, X, references, noise_variance=noise)
    np.testing.assert_allclose(found, again)


def test_optima_of_drawn_functions(model, rng):
    candidates = rng.normal(size=(50, 2))
    values = model.sample_functions(4, seed=3)(candidates).numpy()[..., 0]
    lowest = gi.design.sample_optima(model, candidates, 4, seed=3)
    highest = gi.design.sample_optima(model, candidates, 4, maximise=True, seed=3)
    np.testing.assert_allclose(lowest, values.min(1))
    np.testing.assert_allclose(highest, values.max(1))


# ----------------------------------------------------------------------------------------- search


def test_search_finds_a_maximum():
    peak = np.array([0.3, -1.2])
    x, value = gi.design.search(
        lambda X: 2.0 - tf.reduce_sum((X - peak) ** 2, axis=1), [-2, -2], [2, 2], num_candidates=16
    )
    np.testing.assert_allclose(x, peak, atol=1e-5)
    assert abs(value - 2) < 1e-9
    on_the_edge, _ = gi.design.search(lambda X: X[:, 0] - X[:, 1], [-2, 0], [2, 1], num_starts=1)
    np.testing.assert_allclose(on_the_edge, [2, 0], atol=1e-9)
    rough, _ = gi.design.search(lambda X: tf.round(X[:, 0]), [-2], [2], num_starts=0)
    assert rough > 1.5


@pytest.mark.parametrize("num_starts", [0, 4, 16])
def test_points_at_which_the_function_is_nan_are_not_the_best(num_starts):
    def parabola(X):
        return tf.where(X[:, 0] > 0.5, np.float64(np.nan), -((X[:, 0] - 0.3) ** 2))

    x, value = gi.design.search(parabola, [0], [1], num_candidates=16, num_starts=num_starts)
    assert abs(x[0] - 0.3) < 0.1 and -0.01 < value <= 0


@pytest.mark.slow
def test_search_of_an_acquisition_function(model):
    def gain(X):
        return gi.design.expected_improvement(model, X, 0.0, num_samples=S, seed=0)

    start, from_candidates = gi.design.search(
        gain, [-1, -1], [1, 1], num_candidates=64, num_starts=0
    )
    _, refined = gi.design.search(gain, [-1, -1], [1, 1], num_candidates=64, num_starts=2)
    assert refined >= from_candidates > 0 and np.all(np.abs(start) <= 1)


@pytest.mark.slow
def test_a_thompson_batch_has_the_minimum_of_each_function(model):
    points = gi.design.thompson_batch(model, [-1, -1], [1, 1], 3, num_candidates=128, seed=1)
    draws = model.sample_functions(3, 1)
    here = np.diag(draws(points).numpy()[..., 0])
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 40)] * 2), axis=-1).reshape(-1, 2)
    assert np.all(here < draws(grid).numpy()[..., 0].min(1) + 0.01)
    highest = gi.design.thompson_batch(
        model, [-1, -1], [1, 1], 3, maximise=True, num_candidates=128, seed=1
    )
    assert np.all(np.diag(draws(highest).numpy()[..., 0]) > here)


def test_functions_without_gradients_take_the_best_candidate(rng):
    kernel = gpflow.kernels.Periodic(gpflow.kernels.SquaredExponential())
    layer = gi.layers.GPLayer(kernel, 1, gi.posteriors.GlobalInducing(3, 1))
    model = gi.models.DeepGP(
        [layer], gpflow.likelihoods.Gaussian(), num_data=3, inducing_inputs=rng.normal(size=(3, 1))
    )
    points = gi.design.thompson_batch(model, [0], [1], 2, num_candidates=8)
    assert points.shape == (2, 1)


# --------------------------------------------------------------------------------------- failures


def test_failures(model, X, rng):
    with pytest.raises(TypeError, match="model must be one of this library's"):
        gi.design.expected_improvement(None, X, 0.0)
    with pytest.raises(ValueError, match="The model has 2 outputs"):
        gi.design.upper_confidence_bound(random_deep_gp(rng, ["global"], width=2, P=2), X)
    with pytest.raises(ValueError, match="give noise_variance"):
        other = gi.models.DeepGP(
            model.layers,
            gpflow.likelihoods.StudentT(),
            num_data=5,
            inducing_inputs=model.inducing_inputs.numpy(),
        )
        gi.design.integrated_variance_reduction(other, X, X)
    with pytest.raises(ValueError, match="references must have"):
        gi.design.integrated_variance_reduction(model, X, X[:0])
    with pytest.raises(ValueError, match="lower must be below upper"):
        gi.design.search(lambda X: X[:, 0], [0.0], [0.0])
    with pytest.raises(ValueError, match="a number for each of 8 rows"):
        gi.design.search(lambda X: X, [0.0], [1.0], num_candidates=8)
    with pytest.raises(ValueError, match="<lambda> is NaN at all 8 Sobol points"):
        gi.design.search(lambda X: np.nan * X[:, 0], [0.0], [1.0], num_candidates=8)

    def of_numpy(X):
        return np.sin(np.asarray(X)[:, 0])

    with pytest.raises(ValueError, match=r"of_numpy failed .* in TensorFlow operations, or be sea"):
        gi.design.search(of_numpy, [0.0], [1.0])
    assert gi.design.search(of_numpy, [0.0], [1.0], num_starts=0)[1] > 0.83
    with pytest.raises(TypeError, match="acquisition must be a function"):
        gi.design.search(None, [0.0], [1.0])


def test_the_reduction_of_variance_takes_a_noise_of_each_output(rng):
    """The sum over outputs of what each has with its noise alone."""
    Z, U, X = rng.normal(size=(4, 1)), rng.normal(size=(5, 1)), rng.normal(size=(3, 1))
    V = rng.normal(size=(4, 2))

    def of(noise, outputs):
        posterior = gi.posteriors.GlobalInducing(
            4, V[:, outputs].shape[1], pseudo_outputs=V[:, outputs], pseudo_precision=3.0
        )
        kernel = gpflow.kernels.Matern52()
        layer = gi.layers.GPLayer(kernel, V[:, outputs].shape[1], posterior)
        likelihood = gpflow.likelihoods.Gaussian(noise)
        model = gi.models.DeepGP([layer], likelihood, num_data=4, inducing_inputs=Z)
        return gi.design.integrated_variance_reduction(model, X, U).numpy()

    both = of([0.1, 0.5], slice(0, 2))
    np.testing.assert_allclose(both, of(0.1, [0]) + of(0.5, [1]), rtol=1e-9)

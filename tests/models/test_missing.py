"""Outputs that were not observed: bounds and densities are those of the others."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import multivariate_normal

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed, fold_in
from tests.builders import NUM_INDUCING, random_deep_gp, random_posterior

N, P = 9, 3


@pytest.fixture
def data(rng):
    Y = rng.normal(size=(N, P))
    Y[rng.random((N, P)) < 0.4] = np.nan
    return rng.normal(size=(N, 2)), Y


@pytest.fixture
def model(rng):
    return ignoring(random_deep_gp(rng, ["global", "global"], P=P))


def ignoring(model, likelihood=None):
    return gi.models.DeepGP(
        model.layers,
        likelihood or model.likelihood,
        num_data=N,
        inducing_inputs=model.inducing_inputs.numpy(),
        missing="ignore",
    )


# ------------------------------------------------------------------------------------ mathematics


def test_bounds_are_sums_over_what_was_observed(model, data):
    X, Y = data
    first, kl = model.bound_terms(data, 4, seed=0)
    draws = model.draw_for(tf.constant(X), 4, as_seed(0))
    mean, variance = draws.moments(tf.constant(X), fold_in(as_seed(0), 1))
    squares = (Y - mean) ** 2 + variance
    terms = -0.5 * (np.log(2 * np.pi * 0.3) + squares / 0.3)
    np.testing.assert_allclose(first, np.nansum(terms.numpy(), axis=-1).mean(0).sum(), rtol=1e-6)
    assert kl > 0


@pytest.mark.slow
def test_complete_rows_are_as_without(rng, data):
    complete = random_deep_gp(rng, ["global", "global"], P=P)
    X, Y = data[0], rng.normal(size=(N, P))
    for likelihood in (gpflow.likelihoods.Gaussian(0.3), gpflow.likelihoods.StudentT()):
        complete.likelihood = likelihood
        model = ignoring(complete)
        for name in ("elbo", "iwbo", "predict_log_density"):
            mine, its = (getattr(m, name)((X, Y), 3, seed=0) for m in (model, complete))
            np.testing.assert_allclose(mine, its, rtol=1e-9)


def test_a_column_that_is_missing_is_a_model_without_it(rng):
    """Exact for one layer: the densities of the columns that were observed, one by one."""
    posterior = random_posterior(rng, "global", P, 2)
    layer = gi.layers.GPLayer(gpflow.kernels.SquaredExponential(), P, posterior)
    U, X, Y = (rng.normal(size=shape) for shape in ((NUM_INDUCING, 2), (N, 2), (N, P)))
    model = gi.models.DeepGP(
        [layer], gpflow.likelihoods.Gaussian(), num_data=N, inducing_inputs=U, missing="ignore"
    )
    alone = [np.where(np.arange(P) == p, Y, np.nan) for p in range(P)]
    np.testing.assert_allclose(
        sum(model.predict_log_density((X, y), 1).numpy() for y in alone),
        model.predict_log_density((X, Y), 1),
    )
    assert model.predict_log_density((X, np.full((N, P), np.nan)), 1).numpy() == pytest.approx(0)


def test_mixed_outputs_tell_about_missing_ones(rng):
    """The density of what was observed is the marginal of the joint Gaussian."""
    layer = gi.layers.GPLayer(
        gpflow.kernels.Matern32(),
        P,
        random_posterior(rng, "global", 2, 2),
        mixing=rng.normal(size=(P, 2)),
    )
    U, X, Y = (rng.normal(size=shape) for shape in ((NUM_INDUCING, 2), (2, 2), (2, P)))
    model = gi.models.DeepGP(
        [layer], gpflow.likelihoods.Gaussian(0.3), num_data=N, inducing_inputs=U, missing="ignore"
    )
    Y[0, 1] = np.nan
    mean, covariance = (m.numpy() for m in model.predict_f(X, 1, full_output_cov=True))
    seen = [0, 2]
    wanted = multivariate_normal(
        mean[0, seen], covariance[0][np.ix_(seen, seen)] + 0.3 * np.eye(2)
    ).logpdf(Y[0, seen])
    np.testing.assert_allclose(model.predict_log_density((X, Y), 1)[0], wanted)


@pytest.mark.parametrize(
    "likelihood",
    [
        gpflow.likelihoods.Gamma(),
        gpflow.likelihoods.Beta(),
        gpflow.likelihoods.Poisson(),
        gpflow.likelihoods.Exponential(),
        gpflow.likelihoods.Bernoulli(),
    ],
)
def test_gradients_are_finite_under_every_likelihood(model, data, likelihood):
    X, Y = data
    Y = np.where(np.isnan(Y), np.nan, 0.5 if "Beta" in type(likelihood).__name__ else 1.0)
    model = ignoring(model, likelihood)
    with tf.GradientTape() as tape:
        bound = model.elbo((X, Y), seed=0)
    assert np.isfinite(bound)
    for gradient in tape.gradient(bound, model.trainable_variables):
        assert gradient is None or np.all(np.isfinite(gradient))


# -------------------------------------------------------------------------------------- interface


@pytest.mark.longest
def test_training_building_and_estimates(data):
    model = gi.architectures.build_deep_gp(*data, num_inducing=4, missing="ignore")
    gi.fit(model, data, steps=2, batch_size=3, progress=False)
    assert np.isfinite(gi.bounds.estimate_elbo(model, data, 4).value)
    assert model.first_non_finite(data) is None
    assert np.isfinite(model.iwbo(data, 3, seed=0))
    assert np.all(np.isfinite(model.posterior(3).predict_log_density(data)))


@pytest.mark.slow
def test_latent_variables_of_rows_with_missing_outputs(data):
    model = gi.architectures.build_deep_gp(*data, num_inducing=4, latent_dim=1, missing="ignore")
    assert np.isfinite(model.iwbo(data, 3, seed=0))
    gi.fit(model, data, steps=1, batch_size=3, progress=False)


def test_a_file_says_that_outputs_may_be_missing(model, data, tmp_path):
    gi.save(model, tmp_path / "model")
    read = gi.load(tmp_path / "model")
    np.testing.assert_array_equal(read.elbo(data, seed=0), model.elbo(data, seed=0))


# --------------------------------------------------------------------------------------- failures


def test_never_silently(rng, data, model):
    silent = random_deep_gp(rng, ["global"], width=P, P=P)
    with pytest.raises(ValueError, match="Y must be finite"):
        silent.elbo(data)
    with pytest.raises(ValueError, match="Y must be finite"):
        gi.fit(silent, data, steps=1)
    with pytest.raises(ValueError, match="Y must be finite"):
        gi.architectures.build_deep_gp(*data)
    with pytest.raises(ValueError, match=r"Y\[0, 0\] is inf"):
        model.elbo((data[0], np.full((N, P), np.inf)))
    with pytest.raises(ValueError, match="X must be finite"):
        model.elbo((np.full((N, 2), np.nan), data[1]))


def test_failures(model):
    with pytest.raises(ValueError, match='missing must be "error" or "ignore"'):
        gi.models.DeepGP(model.layers, model.likelihood, num_data=N, missing=True)
    with pytest.raises(ValueError, match="takes all of a row together"):
        ignoring(model, gpflow.likelihoods.Softmax(P))
    with pytest.raises(ValueError, match=r"a variance of shape \(3,\)"):
        ignoring(model, gpflow.likelihoods.Gaussian(np.ones(P)))
    with pytest.raises(ValueError, match=r"Y\[:, 1\] holds nothing but NaN"):
        Y = np.array([[1.0, np.nan], [2.0, np.nan]])
        gi.architectures.build_deep_gp(np.zeros((2, 1)), Y, missing="ignore")


class Columns(gpflow.functions.Function):
    """A noise for each output, from the inputs."""

    def __call__(self, X):
        return tf.concat([0.1 + 0.0 * X[:, :1], 1.0 + 0.0 * X[:, :1]], axis=-1)


@pytest.mark.parametrize("likelihood", ["variance", "scale", "student-t"])
def test_a_noise_function_of_each_output_is_refused(likelihood, rng):
    made = {
        "variance": lambda: gpflow.likelihoods.Gaussian(Columns()),
        "scale": lambda: gpflow.likelihoods.Gaussian(scale=Columns()),
        "student-t": lambda: gpflow.likelihoods.StudentT(scale=Columns()),
    }[likelihood]()
    model = random_deep_gp(rng, ["global"], P=2)
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    for call in ("elbo", "predict_log_density"):
        with pytest.raises(ValueError, match="is a function with a column for each"):
            getattr(ignoring(model, made), call)((X, Y))


def test_a_noise_function_of_all_outputs_is_that_of_complete_data(rng):
    likelihood = gpflow.likelihoods.Gaussian(gpflow.functions.Linear([[0.01], [0.02]], 0.4))
    model = random_deep_gp(rng, ["global"], P=2)
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    complete = gi.models.DeepGP(
        model.layers, likelihood, num_data=N, inducing_inputs=model.inducing_inputs.numpy()
    )
    ignored = ignoring(model, likelihood)
    np.testing.assert_allclose(ignored.elbo((X, Y)), complete.elbo((X, Y)), rtol=1e-12)


def test_a_noise_must_fit_the_outputs(rng):
    with pytest.raises(ValueError, match=r"variance of shape \(3,\), but the last layer has"):
        gi.models.DeepGP(
            random_deep_gp(rng, ["global"], P=2).layers,
            gpflow.likelihoods.Gaussian([0.1, 0.2, 0.3]),
            num_data=N,
            inducing_inputs=np.zeros((NUM_INDUCING, 2)),
        )

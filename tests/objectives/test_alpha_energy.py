"""The alpha-energy: its exact integrals, its limits, and every likelihood."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow import likelihoods as gl
from numpy.polynomial.hermite import hermgauss

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.models import integration
from gpflow_gi.objectives import AlphaEnergy, Elbo

from ..builders import random_bnn, random_data, random_deep_gp
from ..models.test_every_likelihood import EVERY_CASE, Case, data, deep_gp


def test_the_integral_for_gaussian_noise_is_exact(rng):
    """Against quadrature with 200 points, for noise that depends on the inputs too."""
    x, w = hermgauss(200)
    X, Y, mean = (rng.normal(size=(5, 2)) for _ in range(3))
    variance = rng.uniform(0.1, 2.0, size=(5, 2))
    for likelihood in (
        gl.Gaussian(0.3),
        gl.Gaussian(scale=gpflow.functions.Linear([[0.2], [0.1]], 2.0)),
    ):
        s2 = likelihood.variance_at(X).numpy()[..., None]
        f = mean[..., None] + np.sqrt(2 * variance[..., None]) * x
        log_p = -0.5 * ((Y[..., None] - f) ** 2 / s2 + np.log(2 * np.pi * s2))
        for alpha in (0.01, 0.5, 1.0, 2.0):
            expected = np.log(np.sum(w / np.sqrt(np.pi) * np.exp(alpha * log_p), axis=-1))
            rows = (likelihood, *map(tf.constant, (X, mean, variance, Y)))
            value = integration.log_expected_power(*rows, as_seed(0), alpha)
            np.testing.assert_allclose(value, expected.sum(1), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("case", EVERY_CASE)
def test_every_likelihood_has_both_limits(case: Case, rng):
    """At alpha = 1 GPflow's log predictive density; towards 0 alpha times E log p."""
    model, (X, Y) = deep_gp(case, rng), data(case, rng)
    X, Y = model.check_data((X, Y))
    seed = as_seed(1)
    moments = model.draw_for(X, 3, seed).moments(X, seed)
    rows = (model.likelihood, X, *moments, Y, seed)
    one = integration.log_expected_power(*rows, 1.0)
    # GPflow's Bernoulli is in closed form, and its quadrature, of 20 points, has an error.
    np.testing.assert_allclose(one, integration.predict_log_density(*rows), rtol=1e-5, atol=1e-6)
    small = 1e-8  # the difference is alpha / 2 Var log p
    limit = integration.log_expected_power(*rows, small) / small
    expected = integration.variational_expectations(*rows)
    np.testing.assert_allclose(limit, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("kind", ["latent variables", "missing outputs"])
def test_the_limit_with_latent_variables_and_missing_outputs(kind, rng):
    """alpha -> 0 is the bound, with the KL divergences of the rows."""
    N = 6
    X, Y = rng.normal(size=(N, 2)), rng.normal(size=(N, 2))
    latents = [gi.layers.LatentVariableLayer(1, num_data=N)] if kind == "latent variables" else []
    if not latents:
        Y[1, 0] = Y[4, 1] = np.nan
    posterior = gi.posteriors.GlobalInducing(3, 2, pseudo_outputs=rng.normal(size=(3, 2)))
    model = gi.models.DeepGP(
        [*latents, gi.layers.GPLayer(gpflow.kernels.Matern32(), 2, posterior)],
        gpflow.likelihoods.Gaussian(0.2),
        num_data=N,
        inducing_inputs=rng.normal(size=(3, 2)),
        missing="error" if latents else "ignore",
    )
    batch = (tf.constant(X), model.numbered(tf.constant(Y)))
    seed = as_seed(4)
    first, kl = AlphaEnergy(1e-8).terms(model, batch, 2, seed)
    np.testing.assert_allclose(first - kl, model.elbo(batch, 2, seed=seed), rtol=1e-6)


def test_limits_of_the_energy(rng):
    """alpha = 1 is the log density of the mixture; alpha -> 0 the bound, draw by draw."""
    data, seed = random_data(rng), as_seed(2)
    batch = tuple(map(tf.constant, data))
    flat = gi.inference.Gaussian(random_bnn(rng, ["prior", "prior"]), *_normal(rng, 17))
    for model in (
        random_deep_gp(rng, ["global", "full"]),
        random_deep_gp(rng, ["local", "local"]),
        random_bnn(rng, ["factorised", "global"]),
        flat,
    ):
        first, kl = AlphaEnergy(1.0).terms(model, batch, 7, seed)
        bound = Elbo().terms(model, batch, 7, seed)
        assert kl == bound[1]
        moments = model.draw_for(batch[0], 7, seed).moments(
            batch[0], gi.core.random.fold_in(seed, 1)
        )
        density = _mixture_density(model.likelihood, *moments, batch[1])
        np.testing.assert_allclose(first, np.sum(density), rtol=1e-9)
        limit, _ = AlphaEnergy(1e-7).terms(model, batch, 7, seed)
        np.testing.assert_allclose(limit, bound[0], rtol=1e-4)
        middle, _ = AlphaEnergy(0.5).terms(model, batch, 7, seed)
        assert bound[0] < middle < first  # power means rise with the power


def _normal(rng, size):
    return rng.normal(size=size), None, np.full(size, 0.3)


def _mixture_density(likelihood, mean, variance, Y):
    variance = variance + likelihood.variance
    log_p = -0.5 * ((Y - mean) ** 2 / variance + np.log(2 * np.pi * variance))
    return np.logaddexp.reduce(np.sum(log_p, axis=-1), axis=0) - np.log(len(mean))


def test_only_the_data_term_is_scaled(rng):
    X, Y = random_data(rng, N=8)
    model, seed = random_deep_gp(rng, ["local"], num_data=8), as_seed(0)
    whole = AlphaEnergy(0.5).terms(model, (tf.constant(X), tf.constant(Y)), 1, seed)
    halves = [
        AlphaEnergy(0.5).terms(model, (tf.constant(X[i:j]), tf.constant(Y[i:j])), 1, seed)
        for i, j in ((0, 4), (4, 8))
    ]
    np.testing.assert_allclose(np.mean([half[0] for half in halves]), whole[0], rtol=1e-12)
    assert all(half[1] == whole[1] for half in halves)


def test_of_a_linearised_network(rng):
    """f is Gaussian: the energy of alpha = 1 has the densities of the predictions."""
    X, Y = random_data(rng, N=8)
    network = gi.architectures.build_bnn(X, Y, widths=(3,), inference="factorised")
    L = gi.inference.WeightSpace(network).size
    q = gi.inference.Gaussian(network, 0.1 * np.ones(L), diagonal=np.full(L, 0.2))
    model = gi.inference.Linearised(q)
    batch = (tf.constant(X), tf.constant(Y))
    first, _ = AlphaEnergy(1.0).terms(model, batch, 1, as_seed(0))
    expected = np.sum(model.predict_log_density((X, Y), 1))
    np.testing.assert_allclose(first, expected, rtol=1e-8)


@pytest.mark.slow
@pytest.mark.compiled
def test_training_by_the_energy(rng):
    X, Y = random_data(rng, N=9)
    model = random_deep_gp(rng, ["global", "full"], num_data=9)
    objective = AlphaEnergy(1.0)
    record = gi.fit(
        model, (X, Y), steps=60, objective=objective, num_samples=5, progress=False, seed=1
    )
    first, last = record.reports[0], record.reports[-1]
    assert last.objective > first.objective and last.objective_name == "alpha-energy (1)"
    assert np.isfinite(last.bound) and last.bound < last.objective
    assert record.settings["objective"].endswith("AlphaEnergy")


def test_errors(rng):
    for alpha in (0.0, -1.0, np.inf):
        with pytest.raises(ValueError, match="alpha must be"):
            AlphaEnergy(alpha)
    with pytest.raises(ValueError, match="alpha must be a number, but is the text 'half'"):
        AlphaEnergy("half")
    target = gi.inference.Target(2, lambda theta: -tf.reduce_sum(theta**2, axis=-1))
    q = gi.inference.Gaussian(target, np.zeros(2), np.eye(2))
    for model in (q, gpflow.kernels.Matern32()):
        with pytest.raises(TypeError, match="AlphaEnergy needs a model of rows of data"):
            AlphaEnergy(0.5).check(model, None)


@pytest.mark.parametrize("missing", ["error", "ignore"])
def test_of_correlated_outputs_it_is_the_joint_density(missing, rng):
    """At alpha = 1 the log density of the prediction; else against quadrature in two dimensions."""
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    if missing == "ignore":
        Y[1, 0] = Y[2, 1] = np.nan
    posterior = gi.posteriors.GlobalInducing(
        4, 2, pseudo_outputs=rng.normal(size=(4, 2)), pseudo_precision=5.0
    )
    layer = gi.layers.GPLayer(
        gpflow.kernels.SquaredExponential(), 2, posterior, mixing=[[1.0, 0.3], [0.8, -0.5]]
    )
    likelihood = gl.Gaussian([0.1, 0.4]) if missing == "error" else gl.Gaussian(0.2)
    model = gi.models.DeepGP(
        [layer], likelihood, num_data=6, inducing_inputs=X[:4], missing=missing
    )
    one, kl = AlphaEnergy(1.0).terms(model, (X, Y), 1, as_seed(0))
    density = model.predict_log_density((X, Y))
    np.testing.assert_allclose(one, np.sum(density), rtol=1e-9)
    mean, covariance = model.predict_f(X, full_output_cov=True)
    x, w = hermgauss(60)
    points = np.stack(np.meshgrid(x, x), -1).reshape(-1, 2) * np.sqrt(2)
    weights = np.outer(w, w).ravel() / np.pi
    s2 = np.broadcast_to(likelihood.variance.numpy(), 2)
    for alpha in (0.01, 0.5):
        total = 0.0
        for m, C, y in zip(mean.numpy(), covariance.numpy(), Y, strict=True):
            f = m + points @ np.linalg.cholesky(C + 1e-14 * np.eye(2)).T
            log_p = np.nansum(-0.5 * ((y - f) ** 2 / s2 + np.log(2 * np.pi * s2)), axis=1)
            total += np.log(weights @ np.exp(alpha * log_p)) / alpha
        found, _ = AlphaEnergy(alpha).terms(model, (X, Y), 1, as_seed(0))
        np.testing.assert_allclose(found, total, rtol=1e-6)
    limit, _ = AlphaEnergy(1e-7).terms(model, (X, Y), 1, as_seed(0))
    np.testing.assert_allclose(limit, model.bound_terms((X, Y))[0], rtol=1e-5)
    np.testing.assert_allclose(kl, model.bound_terms((X, Y))[1], rtol=1e-10)


def test_powers_of_correlated_outputs_that_are_not_known(rng):
    layer = gi.layers.GPLayer(
        gpflow.kernels.SquaredExponential(),
        2,
        gi.posteriors.GlobalInducing(4, 2),
        mixing=[[1.0, 0.3], [0.8, -0.5]],
    )
    X = rng.normal(size=(4, 2))
    model = gi.models.DeepGP([layer], gl.StudentT(), num_data=4, inducing_inputs=X)
    with pytest.raises(ValueError, match="outputs of the last layer are correlated"):
        gi.fit(model, (X, X), steps=1, objective=AlphaEnergy(0.5), progress=False)


def test_of_a_noise_for_each_output_it_is_exact(rng):
    """The sum over outputs of log N(y; m, v + s2 / alpha) and its factors."""
    X, Y, mean = (rng.normal(size=(5, 2)) for _ in range(3))
    variance = rng.uniform(0.1, 2.0, size=(5, 2))
    rows = [*map(tf.constant, (X, mean, variance, Y)), as_seed(0), 0.5]
    both = integration.log_expected_power(gl.Gaussian([0.3, 0.7]), *rows)
    single = 0.0
    for p, noise in enumerate((0.3, 0.7)):
        one = [rows[0], *(part[:, p : p + 1] for part in rows[1:4]), *rows[4:]]
        single += integration.log_expected_power(gl.Gaussian(noise), *one)
    np.testing.assert_allclose(both, single, rtol=1e-12)

"""Deep GPs that are equal to models with known exact answers."""

import gpflow
import numpy as np
import pytest
from gpflow.kernels import Matern52, SquaredExponential

import gpflow_gi as gi

from ..builders import random_data, random_q_sqrt

NOISE = 0.2


@pytest.fixture(autouse=True)
def _small_jitter():
    gpflow.config.set_default_jitter(1e-12)


def kernel():
    return SquaredExponential(1.3, lengthscales=[0.7, 1.9])


@pytest.mark.parametrize("precision", ["diagonal", "full"])
@pytest.mark.parametrize("mean_function", [None, gpflow.functions.Constant([0.7])])
def test_one_global_layer_at_the_data_is_gp_regression(rng, precision, mean_function):
    X, Y = random_data(rng, N=12)
    gpr = gpflow.models.GPR((X, Y), kernel(), mean_function, noise_variance=NOISE)
    # Pseudo-outputs are of f - m.
    V = Y if mean_function is None else Y - mean_function(X).numpy()
    posterior = gi.posteriors.GlobalInducing(
        12, 1, pseudo_outputs=V, pseudo_precision=np.full(12, 1 / NOISE), precision=precision
    )
    model = gi.models.DeepGP(
        [gi.layers.GPLayer(kernel(), 1, posterior, mean_function=mean_function)],
        gpflow.likelihoods.Gaussian(NOISE),
        num_data=12,
        inducing_inputs=X,
    )
    evidence = gpr.log_marginal_likelihood()
    for seed in range(3):  # one layer: nothing is sampled, so that every estimate is exact
        np.testing.assert_allclose(model.elbo((X, Y), seed=seed), evidence, atol=1e-7)
    np.testing.assert_allclose(model.elbo((X, Y), num_samples=5), evidence, atol=1e-7)

    Xtest, Ytest = random_data(rng, N=5)
    for full_cov in (False, True):
        for ours, exact in zip(
            model.predict_f(Xtest, full_cov=full_cov),
            gpr.predict_f(Xtest, full_cov=full_cov),
            strict=True,
        ):
            np.testing.assert_allclose(ours, exact, atol=1e-8)
    for ours, exact in zip(model.predict_y(Xtest), gpr.predict_y(Xtest), strict=True):
        np.testing.assert_allclose(ours, exact, atol=1e-8)
    np.testing.assert_allclose(
        model.predict_log_density((Xtest, Ytest)),
        gpr.predict_log_density((Xtest, Ytest)),
        atol=1e-8,
    )


@pytest.mark.parametrize("N", [3, 20])
def test_a_linear_kernel_is_bayesian_linear_regression(rng, N):
    """Evidence and prediction in the space of the weights; with N = 20 k(U, U) is singular."""
    X, Y = random_data(rng, N, D=4)
    prior_variance = 0.7
    posterior = gi.posteriors.GlobalInducing(
        N, 1, pseudo_outputs=Y, pseudo_precision=np.full(N, 1 / NOISE)
    )
    layer = gi.layers.GPLayer(gpflow.kernels.Linear(prior_variance), 1, posterior)
    model = gi.models.DeepGP(
        [layer], gpflow.likelihoods.Gaussian(NOISE), num_data=N, inducing_inputs=X
    )
    precision = np.eye(4) / prior_variance + X.T @ X / NOISE
    mean = np.linalg.solve(precision, X.T @ Y / NOISE)
    # log p(Y) = log p(Y | w) + log p(w) - log p(w | Y) at any w, here the posterior mean
    evidence = -0.5 * (
        np.sum((Y - X @ mean) ** 2) / NOISE
        + N * np.log(2 * np.pi * NOISE)
        + np.sum(mean**2) / prior_variance
        + 4 * np.log(prior_variance)
        + np.linalg.slogdet(precision)[1]
    )
    np.testing.assert_allclose(model.elbo((X, Y)), evidence, atol=1e-7)
    Xtest, _ = random_data(rng, N=5, D=4)
    f_mean, f_cov = model.predict_f(Xtest, full_cov=True)
    np.testing.assert_allclose(f_mean, Xtest @ mean, atol=1e-8)
    np.testing.assert_allclose(f_cov[0], Xtest @ np.linalg.solve(precision, Xtest.T), atol=1e-8)


def weight_space(X, Y, prior_precision):
    """Evidence, and mean and covariance of f at other inputs, of linear regression with a bias."""
    units = np.hstack([X, np.ones((len(X), 1))])
    precision = prior_precision * np.eye(units.shape[1]) + units.T @ units / NOISE
    mean = np.linalg.solve(precision, units.T @ Y / NOISE)
    evidence = -0.5 * (
        np.sum((Y - units @ mean) ** 2) / NOISE
        + Y.size * np.log(2 * np.pi * NOISE)
        + prior_precision * np.sum(mean**2)
        - mean.size * np.log(prior_precision)
        + Y.shape[1] * np.linalg.slogdet(precision)[1]
    )

    def predict(X):
        units = np.hstack([X, np.ones((len(X), 1))])
        return units @ mean, units @ np.linalg.solve(precision, units.T)

    return evidence, predict


@pytest.mark.parametrize("N", [2, 5, 20])  # with four inputs: fewer rows than weights, and more
@pytest.mark.parametrize("precision", ["diagonal", "full"])
@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("where", ["global", "local"])
def test_one_dense_layer_at_the_data_is_bayesian_linear_regression(
    rng, N, precision, shared, where
):
    P = 2
    X, Y = random_data(rng, N, D=4, P=P)
    pseudo_data = {
        "pseudo_outputs": Y,
        "pseudo_precision": np.full((N,) if shared else (P, N), 1 / NOISE),
        "precision": precision,
        "shared": shared,
    }
    if where == "global":
        posterior = gi.posteriors.GlobalInducing(N, P, **pseudo_data)
    else:
        posterior = gi.posteriors.LocalInducing(X, P, **pseudo_data)
    for prior, prior_precision in (
        (None, 5.0),
        (gi.priors.NealPrior(2.0), 5 / 4),
        (gi.priors.StandardPrior(), 1.0),
    ):
        model = gi.models.DeepGP(
            [gi.layers.DenseLayer(4, P, posterior, prior=prior)],
            gpflow.likelihoods.Gaussian(NOISE),
            num_data=N,
            inducing_inputs=X if where == "global" else None,
        )
        evidence, predict = weight_space(X, Y, prior_precision)
        np.testing.assert_allclose(model.elbo((X, Y)), evidence, atol=1e-8)
        if prior is None:  # each importance weight of an exact posterior is the evidence
            weights = model.log_importance_weights((X, Y), 3, seed=0)
            np.testing.assert_allclose(weights, evidence, atol=1e-8)
        Xtest, _ = random_data(rng, N=5, D=4)
        mean, covariance = predict(Xtest)
        f_mean, f_cov = model.predict_f(Xtest, full_cov=True)
        np.testing.assert_allclose(f_mean, mean, atol=1e-9)
        np.testing.assert_allclose(f_cov, np.stack([covariance] * P), atol=1e-9)
        _, f_var = model.predict_f(Xtest)
        np.testing.assert_allclose(f_var, np.diag(covariance)[:, None] * np.ones(P), atol=1e-9)


def test_the_bound_is_below_the_evidence_anywhere_else(rng):
    X, Y = random_data(rng, N=12)
    gpr = gpflow.models.GPR((X, Y), kernel(), noise_variance=NOISE)
    evidence = gpr.log_marginal_likelihood()
    for M in (1, 5, 12):
        for _ in range(5):
            posterior = gi.posteriors.GlobalInducing(
                M,
                1,
                pseudo_outputs=Y[:M] + 0.3 * rng.normal(size=(M, 1)),
                pseudo_precision=np.exp(rng.normal(size=M)) / NOISE,
            )
            model = gi.models.DeepGP(
                [gi.layers.GPLayer(kernel(), 1, posterior)],
                gpflow.likelihoods.Gaussian(NOISE),
                num_data=12,
                inducing_inputs=X[:M] + 0.1 * rng.normal(size=(M, 2)),
            )
            assert model.elbo((X, Y)) < evidence


@pytest.mark.slow
@pytest.mark.parametrize("kernels", ["shared", "separate"])
def test_one_local_layer_is_gpflows_svgp(rng, kernels):
    P, M, N = 3, 5, 8
    X, Y = random_data(rng, N, P=P)
    q_mu, q_sqrt = rng.normal(size=(M, P)), random_q_sqrt(rng, P, M)
    Z = rng.normal(size=(M, 2))
    if kernels == "shared":
        prior = svgp_kernel = SquaredExponential(1.0, lengthscales=[0.7, 1.9])
    else:
        prior = [SquaredExponential(1.0, 0.7), Matern52(1.0, 1.9), SquaredExponential(1.0)]
        svgp_kernel = gpflow.kernels.SeparateIndependent(prior)
    mean_function = gpflow.functions.Linear(rng.normal(size=(2, P)), rng.normal(size=P))
    inducing = gpflow.inducing_variables.InducingPoints(Z)
    if kernels == "separate":
        inducing = gpflow.inducing_variables.SharedIndependentInducingVariables(inducing)
    svgp = gpflow.models.SVGP(
        svgp_kernel,
        gpflow.likelihoods.Gaussian(NOISE),
        inducing,
        mean_function=mean_function,
        num_latent_gps=P,
        q_mu=q_mu,
        q_sqrt=q_sqrt,
        num_data=80,
    )
    posterior = gi.posteriors.LocalInducing(Z, P, q_mu=q_mu, q_sqrt=q_sqrt)
    layer = gi.layers.GPLayer(prior, P, posterior, mean_function=mean_function)
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(NOISE), num_data=80)

    expected_log_likelihood, kl = model.bound_terms((X, Y))
    np.testing.assert_allclose(kl, svgp.prior_kl(), atol=1e-10)
    np.testing.assert_allclose(
        expected_log_likelihood, svgp.elbo((X, Y)) + svgp.prior_kl(), atol=1e-7
    )
    Xtest, Ytest = random_data(rng, N=4, P=P)
    for full_cov in (False, True):
        for ours, exact in zip(
            model.predict_f(Xtest, full_cov=full_cov),
            svgp.predict_f(Xtest, full_cov=full_cov),
            strict=True,
        ):
            np.testing.assert_allclose(ours, exact, atol=1e-8)
    np.testing.assert_allclose(
        model.predict_log_density((Xtest, Ytest)),
        svgp.predict_log_density((Xtest, Ytest)),
        atol=1e-8,
    )


def test_one_prior_layer_predicts_the_prior(rng):
    X, Y = random_data(rng)
    layer = gi.layers.GPLayer(kernel(), 1, gi.posteriors.Prior())
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(NOISE), num_data=9)
    mean, covariance = model.predict_f(X, full_cov=True)
    np.testing.assert_allclose(mean, np.zeros((9, 1)))
    np.testing.assert_allclose(covariance[0], kernel()(X))
    _, kl = model.bound_terms((X, Y))
    assert kl == 0.0


def test_the_best_top_layer_is_the_exact_one(rng):
    """The paper's eq. 6: with U = X the optimum over the top layer is regression on the targets."""
    X, Y = random_data(rng, N=8)

    def bound(V, Lambda):
        layers = [
            gi.layers.GPLayer(kernel(), 2, gi.posteriors.GlobalInducing(8, 2, pseudo_outputs=V1)),
            gi.layers.GPLayer(
                kernel(),
                1,
                gi.posteriors.GlobalInducing(8, 1, pseudo_outputs=V, pseudo_precision=Lambda),
            ),
        ]
        model = gi.models.DeepGP(
            layers, gpflow.likelihoods.Gaussian(NOISE), num_data=8, inducing_inputs=X
        )
        return model.elbo((X, Y), num_samples=50, seed=1).numpy()

    V1 = rng.normal(size=(8, 2))
    best = bound(Y, np.full(8, 1 / NOISE))
    for _ in range(5):
        V, Lambda = Y + 0.1 * rng.normal(size=(8, 1)), np.exp(0.2 * rng.normal(size=8)) / NOISE
        # The layers below are the same draws: the optimum holds for each, not only on average.
        assert bound(V, Lambda) < best

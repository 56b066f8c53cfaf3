"""Posteriors over all weights: densities, samples, bounds and predictions."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy.stats import multivariate_normal

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.inference import Gaussian, Mixture, Samples
from gpflow_gi.inference.samples import stratified
from gpflow_gi.layers import DenseLayer
from gpflow_gi.models import DeepGP, NoDensityError
from gpflow_gi.posteriors import Prior
from gpflow_gi.priors import NealPrior, ScalePrior

N, D, L, NOISE = 12, 2, 3, 0.2


@pytest.fixture
def network():
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    return DeepGP([DenseLayer(D, 1, Prior())], likelihood, num_data=N)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D))
    return X, X @ rng.normal(size=(D, 1)) + np.sqrt(NOISE) * rng.normal(size=(N, 1))


def design(X):
    return np.hstack([X, np.ones((len(X), 1))]) / np.sqrt(L)


def exact(data):
    """Mean and covariance of the whitened weights, and the log evidence."""
    X, Y = data
    A = design(X)
    covariance = np.linalg.inv(np.eye(L) + A.T @ A / NOISE)
    evidence = multivariate_normal(np.zeros(N), A @ A.T + NOISE * np.eye(N)).logpdf(Y[:, 0])
    return (covariance @ A.T @ Y / NOISE)[:, 0], covariance, evidence


def gaussians(network, rng):
    mean = rng.normal(size=L)
    root = np.tril(rng.normal(size=(L, L)), -1) + np.diag([0.5, 1.0, 2.0])
    low, diagonal = rng.normal(size=(L, 2)), np.array([0.3, 0.6, 1.2])
    return mean, {
        "full": (Gaussian(network, mean, root), root @ root.T),
        "diagonal": (Gaussian(network, mean, diagonal=diagonal), np.diag(diagonal**2)),
        "low rank": (
            Gaussian(network, mean, low, diagonal),
            low @ low.T + np.diag(diagonal**2),
        ),
        "square and diagonal": (
            Gaussian(network, mean, root, diagonal),
            root @ root.T + np.diag(diagonal**2),
        ),
    }


@pytest.mark.parametrize("kind", ["full", "diagonal", "low rank", "square and diagonal"])
def test_a_gaussian_is_a_multivariate_normal(network, rng, kind):
    mean, kinds = gaussians(network, rng)
    q, covariance = kinds[kind]
    theta = rng.normal(size=(6, L))
    expected = multivariate_normal(mean, covariance)
    np.testing.assert_allclose(q.log_density(tf.constant(theta)), expected.logpdf(theta))
    A = rng.normal(size=(4, 5, L))
    np.testing.assert_allclose(q.spread(A), np.einsum("npl,lm,npm->np", A, covariance, A))
    np.testing.assert_allclose(q.covariance(A), A @ covariance @ np.swapaxes(A, -1, -2))
    kl = 0.5 * (np.trace(covariance) + mean @ mean - L - np.linalg.slogdet(covariance)[1])
    np.testing.assert_allclose(q.kl_from_standard_normal(), kl)
    S = 20_000
    samples, log_q = q.sample(S, as_seed(0))
    np.testing.assert_allclose(log_q[:6], expected.logpdf(samples[:6]))
    samples = samples.numpy()
    error = np.sqrt(np.diag(covariance) / S)
    assert np.all(np.abs(samples.mean(0) - mean) < 5 * error)
    # Var of a sample covariance: (C_ij^2 + C_ii C_jj) / S
    variances = np.diag(covariance)
    error = np.sqrt((covariance**2 + np.outer(variances, variances)) / S)
    assert np.all(np.abs(np.cov(samples.T) - covariance) < 5 * error)


def test_the_exact_posterior_has_equal_weights(network, data):
    mean, covariance, evidence = exact(data)
    q = Gaussian(network, mean, np.linalg.cholesky(covariance))
    weights = q.log_importance_weights(data, 10, seed=0)
    np.testing.assert_allclose(weights, np.full(10, evidence), rtol=1e-9)
    np.testing.assert_allclose(q.elbo(data, 3, seed=1), evidence, rtol=1e-9)
    np.testing.assert_allclose(q.iwbo(data, 5, seed=1), evidence, rtol=1e-9)
    assert q.k_hat(data, 100, seed=0) == 0.0


def test_bounds_are_in_order(network, data):
    mean, covariance, evidence = exact(data)
    q = Gaussian(network, mean + 0.1, 1.2 * np.linalg.cholesky(covariance))
    elbo = gi.bounds.estimate_elbo(q, data, 400)
    few = gi.bounds.estimate_iwbo(q, data, 5, num_repeats=200)
    many = gi.bounds.estimate_iwbo(q, data, 200, num_repeats=50)
    assert elbo.value + 5 * elbo.standard_error < few.value
    assert few.value < many.value + 5 * (few.standard_error + many.standard_error)
    assert abs(many.value - evidence) < 5 * many.standard_error + 0.05
    assert q.k_hat(data, 1000, seed=0) < 0.7


def test_a_gaussian_is_trained_to_the_exact_posterior(network, data):
    gpflow.set_trainable(network.likelihood, False)
    mean, _, evidence = exact(data)
    q = Gaussian(network, np.zeros(L), 0.3 * np.eye(L), num_samples=4)
    before = gi.bounds.estimate_elbo(q, data).value
    gi.fit(q, data, steps=600, learning_rate=0.02, progress=False)
    assert before < evidence - 2 < gi.bounds.estimate_elbo(q, data).value - 1.8
    np.testing.assert_allclose(q.mean, mean, atol=0.05)


def test_a_mixture_has_the_density_of_its_components(network, rng, data):
    mean, kinds = gaussians(network, rng)
    parts = [kinds["full"], kinds["diagonal"]]
    q = Mixture([part for part, _ in parts])
    theta = rng.normal(size=(6, L))
    densities = [multivariate_normal(mean, covariance).pdf(theta) for _, covariance in parts]
    np.testing.assert_allclose(q.log_density(tf.constant(theta)), np.log(np.mean(densities, 0)))
    # An importance weighted estimate of the evidence is unbiased, whichever component was drawn.
    _, _, evidence = exact(data)
    ratios = np.exp(q.log_importance_weights(data, 20_000, seed=0).numpy() - evidence)
    assert abs(ratios.mean() - 1) < 5 * ratios.std() / np.sqrt(len(ratios))


def mixtures(network, rng):
    """A mixture, and a mixture of it and another posterior; the noise has a prior."""
    network.likelihood.variance.prior = tfp.distributions.LogNormal(np.float64(0.0), 1.0)
    _, kinds = gaussians(network, rng)
    inner = Mixture([kinds["full"][0], kinds["diagonal"][0]])
    return inner, Mixture([inner, kinds["square and diagonal"][0]])


def check_shared(q):
    """The network of a mixture is that of its components, and its prior counts once."""
    for component in q.components:
        assert component.network is q.network
        if isinstance(component, Mixture):
            check_shared(component)
    np.testing.assert_allclose(q.log_prior_density(), q.network.log_prior_density(), rtol=1e-12)


@pytest.mark.slow
def test_components_of_a_mixture_share_its_network(network, rng, data, tmp_path):
    _, q = mixtures(network, rng)
    check_shared(q)
    gi.fit(q, data, steps=5, learning_rate=0.05, progress=False)
    assert q.likelihood.variance.numpy() != pytest.approx(NOISE, rel=1e-3)
    for component in q.components:
        assert component.likelihood.variance.numpy() == q.likelihood.variance.numpy()
    Mixture(q.components)  # refuses networks that differ

    # As in files of earlier versions, where each has a copy, of another noise after training.
    for component in [*q.components, *q.components[0].components]:
        component.network = gpflow.utilities.deepcopy(network)
    gi.save(q, tmp_path / "model.gi")
    loaded = gi.load(tmp_path / "model.gi")
    check_shared(loaded)
    assert loaded.likelihood.variance.numpy() == q.likelihood.variance.numpy()
    assert float(loaded.elbo(data, 20, seed=0)) == float(q.elbo(data, 20, seed=0))


def test_samples_are_taken_from_equal_parts_of_the_record(network, rng):
    theta = rng.normal(size=(8, L))
    q = Samples(network, theta)
    np.testing.assert_array_equal(q.sample(8, as_seed(0))[0], theta)
    chosen = np.stack([stratified(4, 8, as_seed(seed)).numpy() for seed in range(200)])
    np.testing.assert_array_equal(chosen // 2, np.tile(np.arange(4), (200, 1)))
    assert 60 < np.sum(chosen[:, 0]) < 140  # both of a part's: 100, with a deviation of 7
    X = rng.normal(size=(5, D))
    f = np.einsum("nl,sl->sn", design(X), theta)[..., None]
    np.testing.assert_allclose(q.predict_f_samples(X, 8), f)
    np.testing.assert_allclose(q.sample_functions(8, seed=0)(X), f)
    np.testing.assert_allclose(q.predict_f(X, 8)[0], f.mean(0))
    np.testing.assert_allclose(q.predict_y(X, 8)[1], f.var(0) + NOISE)
    np.testing.assert_allclose(q.posterior(8, seed=0).predict_y(X)[1], f.var(0) + NOISE)
    covariance = q.predict_f(X, 8, full_cov=True)[1]
    np.testing.assert_allclose(covariance[0], np.cov(f[..., 0].T, ddof=0), atol=1e-12)


def test_without_a_density_bounds_are_refused(network, rng, data):
    low_rank = Gaussian(network, np.zeros(L), np.ones((L, 1)))
    for q, why in (
        (Samples(network, rng.normal(size=(4, L))), "record of samples"),
        (low_rank, "low rank.*diagonal"),
        (Mixture([low_rank]), "low rank"),
    ):
        assert q.predict_y(data[0], 5)[0].shape == (N, 1)
        for name, samples in {"elbo": 3, "iwbo": 3, "k_hat": 100}.items():
            with pytest.raises(NoDensityError, match=why):
                getattr(q, name)(data, samples)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda n: Samples(n, np.zeros((2, 4))), ValueError, "theta must have shape"),
        (lambda n: Samples(n, [[np.nan] * L]), ValueError, "theta.*finite|NaN"),
        (lambda n: Gaussian(n, np.zeros(L)), ValueError, "needs a root or a diagonal"),
        (lambda n: Gaussian(n, np.zeros(L), -np.eye(L)), ValueError, "positive entries on its"),
        (lambda n: Gaussian(n, np.zeros(L), diagonal=np.zeros(L)), ValueError, "positive entries"),
        (lambda n: Mixture([]), ValueError, "at least one"),
        (lambda n: Mixture([n]), TypeError, "components must be a list of posteriors"),
        (lambda n: Gaussian(n, np.zeros(L), np.eye(L), num_samples=0), ValueError, "num_samples"),
    ],
)
def test_errors(network, make, error, message):
    with pytest.raises(error, match=message):
        make(network)


@pytest.mark.parametrize("kind", ["full", "low rank", "samples", "mixture", "linearised"])
def test_files_keep_them(network, rng, tmp_path, kind):
    _, kinds = gaussians(network, rng)
    models = {name: q for name, (q, _) in kinds.items()}
    models["samples"] = Samples(network, rng.normal(size=(4, L)))
    models["mixture"] = Mixture([models["full"], models["samples"]])
    models["linearised"] = gi.inference.Linearised(models["full"])
    gi.save(models[kind], tmp_path / "model.gi")
    loaded = gi.load(tmp_path / "model.gi")
    X = rng.normal(size=(5, D))
    for one, other in zip(
        loaded.predict_y(X, 6, seed=0), models[kind].predict_y(X, 6, seed=0), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def scaled(scale=1.0, noise=NOISE, prior=NealPrior, bend=1.0):
    dense = gpflow.keras.tf_keras.layers.Dense(3, kernel_initializer="ones", dtype="float64")
    dense.build([None, D])
    layers = [dense, tf.nn.tanh, DenseLayer(3, 1, Prior(), prior=prior(scale=scale))]
    for variable in dense.variables:
        variable.assign(bend * variable)
    return DeepGP(layers, gpflow.likelihoods.Gaussian(noise), num_data=N)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"scale": 0.5}, "scale of the prior of layer 3 is 1.0 in the first .* 0.5 in component 3"),
        ({"noise": 0.3}, r"variance of the likelihood is 0\.2"),
        ({"prior": ScalePrior}, "the type of the prior of layer 3 is NealPrior"),
        ({"bend": 2.0}, "variable 1 of layer 1 is an array"),
    ],
)
def test_a_mixture_is_of_one_network(change, difference):
    """Draws of another one have other units, and would be read in those of the first."""
    posteriors = []
    # Scales that a search has found differ by its rounding.
    for model in (scaled(), scaled(1.0 + 1e-9), scaled(**change)):
        size = gi.inference.WeightSpace(model).size
        posteriors.append(Gaussian(model, np.zeros(size), diagonal=np.ones(size)))
    if "prior" not in change:
        assert Mixture(posteriors[:2]).space.size == size
        with pytest.raises(ValueError, match=difference):
            Mixture(posteriors)
    else:  # it has a coordinate of its own
        with pytest.raises(ValueError, match=r"have \[4, 5\] coordinates"):
            Mixture(posteriors)


@pytest.mark.slow
def test_laplace_approximations_that_chose_their_scales_cannot_be_mixed(network, data):
    found = gi.inference.laplace(network, data, prior_precision="marginal likelihood", steps=20)
    own = [Gaussian(network, np.zeros(L), diagonal=np.ones(L)), found.weight_samples]
    with pytest.raises(ValueError, match=r"scale of the prior of layer 1.*prior_precision='model'"):
        Mixture(own)
    with pytest.raises(ValueError, match="all of a network or all of a target"):
        target = gi.inference.Target(L, lambda theta: -tf.reduce_sum(theta**2, axis=1))
        Mixture([own[0], Gaussian(target, np.zeros(L), diagonal=np.ones(L))])


def test_a_root_with_more_columns_than_weights_is_not_called_low_rank(network, rng):
    q = Gaussian(network, np.zeros(L), rng.normal(size=(L, L + 2)))
    assert not q.has_density
    assert "root is not square" in q.why_no_density()


def test_random_priors_take_a_noise_of_each_output(rng):
    """Equal noise of both outputs, written once or twice."""
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    members = []
    for noise in (0.3, [0.3, 0.3]):
        likelihood = gpflow.likelihoods.Gaussian(noise)
        model = DeepGP([DenseLayer(2, 2, Prior())], likelihood, num_data=6)
        found = gi.inference.ensemble(model, (X, Y), num_members=2, random_priors=True, seed=0)
        members.append(found.model.predict_f(X)[0])
    np.testing.assert_allclose(*members, rtol=1e-6)

"""MAP, Laplace and ensembles: exact for a linear model, right derivatives for others."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy.stats import multivariate_normal

import gpflow_gi as gi
from gpflow_gi.inference import curvature, ensemble, laplace, map_estimate
from gpflow_gi.inference.kronecker import gauss_newton_factors
from gpflow_gi.inference.laplace import _curvature as of_structure
from gpflow_gi.inference.laplace import _Mode, _result
from gpflow_gi.inference.log_joint import LogJoint
from gpflow_gi.inference.marginal_likelihood import _log_prior_of_noise, rescale_noise
from gpflow_gi.layers import DenseLayer
from gpflow_gi.models import DeepGP, NoDensityError
from gpflow_gi.posteriors import GlobalInducing, Prior
from gpflow_gi.priors import NealPrior, ScalePrior

from .test_weight_posteriors import NOISE, D, L, N, data, exact, network  # noqa: F401


def curved(rng, likelihood, P=1, prior=None):
    layers = [DenseLayer(D, 3, Prior(), prior=prior), tf.nn.tanh, DenseLayer(3, P, Prior())]
    return DeepGP(layers, likelihood, num_data=N)


def normal():
    return gpflow.likelihoods.Gaussian(NOISE)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ggn", "hessian"])
def test_for_one_layer_it_is_the_exact_posterior(network, data, kind):  # noqa: F811
    mean, covariance, evidence = exact(data)
    result = laplace(network, data, curvature=kind)
    np.testing.assert_allclose(result.log_evidence, evidence, rtol=1e-9)
    q = result.weight_samples
    np.testing.assert_allclose(q.mean, mean, atol=1e-6)
    np.testing.assert_allclose(q.root @ tf.transpose(q.root), covariance, atol=1e-9)
    assert result.gradient_norm < 1e-5
    for model in (result.model, q):
        weights = model.log_importance_weights(data, 5, seed=0).numpy()
        np.testing.assert_allclose(weights, np.full(5, evidence), atol=1e-6)
        for bound in (model.elbo(data, 2, seed=0), model.iwbo(data, 2, seed=0)):
            np.testing.assert_allclose(bound, evidence, atol=1e-6)
    # The same as regression on the data themselves as global pseudo-data.
    X, Y = data
    posterior = GlobalInducing(N, 1, pseudo_outputs=Y, pseudo_precision=1 / NOISE)
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    same = DeepGP([DenseLayer(D, 1, posterior)], likelihood, num_data=N, inducing_inputs=X)
    np.testing.assert_allclose(same.elbo(data), evidence, rtol=1e-9)
    for one, other in zip(result.model.predict_y(X), same.predict_y(X), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


@pytest.mark.slow
def test_the_gradient_vanishes_at_the_maximum(network, data):  # noqa: F811
    found = map_estimate(network, data)
    mean, _, _ = exact(data)
    np.testing.assert_allclose(found.theta, mean, atol=1e-3)
    assert found.gradient_norm < 0.01
    with pytest.raises(NoDensityError):
        found.model.elbo(data)


def likelihoods():
    return {
        "Gaussian": (gpflow.likelihoods.Gaussian(NOISE), 1, lambda rng: rng.normal(size=(N, 1))),
        "Poisson": (gpflow.likelihoods.Poisson(), 1, lambda rng: rng.poisson(2, (N, 1)) * 1.0),
        "Softmax": (
            gpflow.likelihoods.Softmax(3),
            3,
            lambda rng: rng.integers(3, size=(N, 1)) * 1.0,
        ),
    }


@pytest.mark.parametrize("name", ["Gaussian", "Poisson", "Softmax"])
def test_the_gauss_newton_matrix_is_that_of_finite_differences(rng, name):
    likelihood, P, targets = likelihoods()[name]
    model = curved(rng, likelihood, P)
    X, Y = model.check_data((rng.normal(size=(N, D)), targets(rng)))
    space = gi.inference.WeightSpace(model)
    log_joint = LogJoint(space, likelihood, X, Y)
    theta = tf.constant(rng.normal(size=space.size))
    f, J = curvature.jacobian(space, theta, X)
    steps = 1e-5 * np.eye(space.size)
    ahead, behind = (space.functions(theta + sign * steps, X).numpy() for sign in (1, -1))
    np.testing.assert_allclose(J, np.moveaxis(ahead - behind, 0, -1) / 2e-5, atol=1e-8)
    # -d^2 log p(y|f) / df^2 by differences of log p
    h = 1e-3

    def log_p(f):
        return likelihood.log_prob(X, tf.constant(f), Y).numpy()

    Lambda = np.zeros((N, P, P))
    for i in range(P):
        for j in range(P):
            a, b = h * np.eye(P)[i], h * np.eye(P)[j]
            f_ = f.numpy()
            second = log_p(f_ + a + b) - log_p(f_ + a - b) - log_p(f_ - a + b) + log_p(f_ - a - b)
            Lambda[:, i, j] = -second / (4 * h * h)
    expected = np.einsum("npl,npq,nqm->lm", J, Lambda, J)
    found = curvature.gauss_newton(log_joint, theta, diagonal=False)
    np.testing.assert_allclose(found, expected, atol=2e-4 * np.abs(expected).max())
    diagonal = curvature.gauss_newton(log_joint, theta, diagonal=True)
    np.testing.assert_allclose(diagonal, np.diag(found))


def test_the_hessian_is_that_of_finite_differences(rng):
    model = curved(rng, gpflow.likelihoods.Gaussian(NOISE), prior=ScalePrior())
    X, Y = model.check_data((rng.normal(size=(N, D)), rng.normal(size=(N, 1))))
    space = gi.inference.WeightSpace(model)
    log_joint = LogJoint(space, model.likelihood, X, Y)
    theta = tf.constant(0.5 * rng.normal(size=space.size))

    def gradient(theta):
        with tf.GradientTape() as tape:
            tape.watch(theta)
            value = tf.reduce_sum(log_joint(theta))
        return tape.gradient(value, theta).numpy()

    steps = 1e-5 * np.eye(space.size)
    expected = -(gradient(theta + steps) - gradient(theta - steps)) / 2e-5
    found = curvature.hessian(log_joint, theta) + curvature.prior_hessian(log_joint, theta)
    np.testing.assert_allclose(found, expected, atol=1e-5 * np.abs(expected).max())


def test_the_hessian_in_single_precision_is_that_in_double(rng):
    """In products of its own choice, TensorFlow 2.21 crashed or returned numbers at random."""
    X, Y = rng.normal(size=(24, D)), rng.normal(size=(24, 2))
    theta = rng.normal(size=gi.inference.WeightSpace(curved(rng, normal(), P=2)).size)
    found = []
    for dtype in (np.float64, np.float32):
        gpflow.config.set_default_float(dtype)
        model = curved(rng, normal(), P=2)
        rows = model.check_data((X.astype(dtype), Y.astype(dtype)))
        log_joint = LogJoint(gi.inference.WeightSpace(model), model.likelihood, *rows)
        found.append(curvature.hessian(log_joint, tf.constant(theta, dtype)).numpy())
    np.testing.assert_allclose(found[1], found[0], atol=1e-5 * np.abs(found[0]).max())


@pytest.mark.slow
def test_the_linearised_predictive_is_a_gaussian_process(rng):
    X, Y = rng.normal(size=(N, D)), rng.normal(size=(N, 1))
    result = laplace(curved(rng, gpflow.likelihoods.Gaussian(NOISE)), (X, Y), steps=300)
    model, q = result.linearised, result.weight_samples
    new = rng.normal(size=(4, D))
    f, J = curvature.jacobian(q.space, tf.convert_to_tensor(q.mean), tf.constant(new))
    covariance = J[:, 0] @ tf.transpose(J[:, 0] @ (q.root @ tf.transpose(q.root)))
    mean, found = model.predict_f(new, 1, full_cov=True)
    np.testing.assert_allclose(mean, f)
    np.testing.assert_allclose(found[0], covariance)
    np.testing.assert_allclose(model.predict_f(new)[1][:, 0], np.diag(covariance))
    # Its bound is Laplace's evidence at the exact maximum, in closed form and by samples.
    elbo = model.elbo((X, Y)).numpy()
    weights = model.log_importance_weights((X, Y), 4000, seed=0).numpy()
    assert abs(weights.mean() - elbo) < 5 * weights.std() / np.sqrt(4000) + 1e-8
    S = 4000
    samples = model.predict_f_samples(new, S, seed=1).numpy()[..., 0]
    error = np.sqrt(np.diag(covariance) / S)
    assert np.all(np.abs(samples.mean(0) - f[:, 0]) < 5 * error)


@pytest.mark.longest
def test_the_marginal_likelihood_rises_with_its_prior_precision(rng):
    X = rng.normal(size=(N, D))
    data = X, np.sin(2 * X[:, :1])  # noqa: F811
    model = curved(rng, gpflow.likelihoods.Gaussian(0.01))
    fixed = laplace(model, data)
    chosen = laplace(model, data, prior_precision="marginal likelihood")
    assert chosen.log_evidence > fixed.log_evidence
    assert set(fixed.prior_precision.values()) == {1.0}
    assert all(value != 1.0 for value in chosen.prior_precision.values())
    scale = chosen.weight_samples.network.layers[0].prior.scale
    np.testing.assert_allclose(scale, chosen.prior_precision[0] ** -0.5)
    assert model.layers[0].prior.scale.numpy() == 1.0  # left as it is


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["ggn", "hessian"])
def test_of_the_last_layer_it_is_regression_on_features(rng, kind):
    """The features are those of the layers below, at the maximum."""
    model = curved(rng, gpflow.likelihoods.Gaussian(NOISE))
    rows = rng.normal(size=(N, D)), rng.normal(size=(N, 1))
    found = laplace(model, rows, structure="last layer", curvature=kind, steps=500)
    q = found.weight_samples
    assert q.root.shape == (13, 4) and not np.any(q.root.numpy()[:9])
    space = q.space
    first = space.coordinates[0].function(tf.constant(found.weight_samples.mean)[None])
    A = np.tanh(first(tf.constant(rows[0]))[0])
    A = np.hstack([A, np.ones((N, 1))]) / 2.0  # NealPrior: the variance is 1 over the 4 inputs
    covariance = np.linalg.inv(np.eye(4) + A.T @ A / NOISE)
    root = q.root.numpy()[9:]
    np.testing.assert_allclose(root @ root.T, covariance, rtol=1e-6, atol=1e-9)
    mean, variance = found.model.predict_f(rows[0])
    z = covariance @ A.T @ rows[1] / NOISE
    np.testing.assert_allclose(mean, A @ z, atol=1e-4)
    np.testing.assert_allclose(variance[:, 0], np.sum((A @ covariance) * A, axis=1), rtol=1e-6)
    with pytest.raises(NoDensityError):
        q.elbo(rows)
    with pytest.raises(ValueError, match="needs the weights of all layers"):
        laplace(model, rows, structure="last layer", prior_precision="marginal likelihood")


@pytest.mark.slow
def test_samples_of_rows_have_the_moments_of_the_prediction(network, data):  # noqa: F811
    X, S = data[0], 4000
    model = laplace(network, data).model
    mean, variance = (moment.numpy() for moment in model.predict_f(X))
    for full_cov in (False, True):
        f = model.predict_f_samples(X, S, full_cov=full_cov, seed=0).numpy()
        assert f.shape == (S, N, 1)
        assert np.all(np.abs(f.mean(axis=0) - mean) < 5 * np.sqrt(variance / S))
        np.testing.assert_allclose(f.var(axis=0), variance, rtol=5 * np.sqrt(2 / S))


@pytest.mark.parametrize("batch_size", [None, pytest.param(6, marks=pytest.mark.longest)])
def test_random_priors_draw_from_the_exact_posterior(network, data, batch_size):  # noqa: F811
    mean, covariance, _ = exact(data)
    T = 1500
    found = ensemble(
        network, data, T, random_priors=True, batch_size=batch_size, steps=3000, seed=2
    )
    error = np.sqrt(np.diag(covariance) / T)
    assert np.all(np.abs(found.theta.mean(axis=0) - mean) < 4 * error)
    scale = np.sqrt(np.outer(np.diag(covariance), np.diag(covariance)))
    assert np.all(np.abs(np.cov(found.theta.T) - covariance) < 4 * scale * np.sqrt(2 / T))
    with pytest.raises(ValueError, match="needs a known noise"):
        ensemble(network, data, random_priors=True, train_likelihood=True)
    poisson = curved(np.random.default_rng(0), gpflow.likelihoods.Poisson())
    with pytest.raises(ValueError, match="the likelihood is Poisson"):
        ensemble(poisson, (data[0], np.ones((N, 1))), random_priors=True)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [None, 5])
def test_members_of_an_ensemble_are_maxima(rng, batch_size):
    X = rng.normal(size=(N, D))
    pair = X, np.sin(2 * X[:, :1])
    model = curved(rng, gpflow.likelihoods.Gaussian(0.05))
    result = ensemble(model, pair, 3, steps=500, batch_size=batch_size, learning_rate=0.05)
    assert result.theta.shape == (3, gi.inference.WeightSpace(model).size)
    assert len(np.unique(result.theta[:, 0])) == 3
    start = gi.inference.WeightSpace(model).draw_prior(3, gi.core.random.as_seed(0))
    log_joint = LogJoint(result.model.space, model.likelihood, *model.check_data(pair))
    assert np.all(result.log_densities > log_joint(start).numpy() + 5)
    components, _ = result.model.predict_y_components(X, 3)
    np.testing.assert_allclose(result.model.predict_y(X, 3)[0], components.numpy().mean(0))


@pytest.mark.slow
def test_the_likelihood_is_trained_on_request(rng):
    X = rng.normal(size=(N, D))
    pair = X, np.sin(X[:, :1])
    model = curved(rng, gpflow.likelihoods.Gaussian(1.0))
    found = map_estimate(model, pair, steps=200, train_likelihood=True)
    assert found.model.likelihood.variance.numpy() < 0.5
    assert model.likelihood.variance.numpy() == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"structure": "half"}, "structure must be one of full, kron, diagonal"),
        ({"curvature": None}, "curvature must be one of ggn, hessian"),
        ({"prior_precision": 3.0}, "prior_precision must be one of"),
        ({"predictive": ""}, "predictive must be one of"),
        ({"steps": 0}, "steps must be an integer of at least 1"),
    ],
)
def test_options_are_checked(network, data, options, message):  # noqa: F811
    with pytest.raises(ValueError, match=message):
        laplace(network, data, **options)


def test_priors_without_a_fixed_scale_keep_their_precision(rng):
    model = curved(rng, gpflow.likelihoods.Gaussian(NOISE), prior=ScalePrior())
    pair = rng.normal(size=(N, D)), rng.normal(size=(N, 1))
    with pytest.raises(ValueError, match=r"priors of a fixed scale.*ScalePrior"):
        laplace(model, pair, steps=20, prior_precision="marginal likelihood")
    with pytest.raises(ValueError, match=r"priors of a fixed scale.*train_likelihood=True"):
        laplace(model, pair, steps=20, noise="marginal likelihood")


def test_all_rows_are_needed(network, data):  # noqa: F811
    X, Y = data
    with pytest.raises(ValueError, match=f"all {N} rows"):
        map_estimate(network, (X[:-1], Y[:-1]))
    assert L == 3


def test_outputs_of_a_linearised_network_are_correlated():
    """They share hidden weights: Cov f(x) = J C J^T, and so are densities and draws."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(5, 2)), rng.normal(size=(5, 2))
    layers = [DenseLayer(2, 3, Prior()), tf.tanh, DenseLayer(3, 2, Prior())]
    model = DeepGP(layers, gpflow.likelihoods.Gaussian(0.1), num_data=5)
    size = gi.inference.WeightSpace(model).size
    root = 0.3 * np.tril(rng.normal(size=(size, size)), -1) + 0.3 * np.eye(size)
    q = gi.inference.Gaussian(model, rng.normal(size=size), root)
    model = gi.inference.Linearised(q)
    mean, J = curvature.jacobian(q.space, tf.convert_to_tensor(q.mean), tf.constant(X))
    expected = np.einsum("npl,lk,nqk->npq", J, root @ root.T, J)
    assert np.abs(expected[:, 0, 1]).min() > 0.01
    found, covariance = model.predict_f(X, full_output_cov=True)
    np.testing.assert_allclose(found, mean)
    np.testing.assert_allclose(covariance, expected)
    variances = np.diagonal(expected, axis1=1, axis2=2)
    np.testing.assert_allclose(model.predict_f(X)[1], variances)
    for noise in ([0.1, 0.1], [0.1, 0.4]):  # the same for both outputs, and one for each
        model.network.likelihood = gpflow.likelihoods.Gaussian(variance=noise)
        density = [
            multivariate_normal(m, C + np.diag(noise)).logpdf(y)
            for m, C, y in zip(mean.numpy(), expected, Y, strict=True)
        ]
        np.testing.assert_allclose(model.predict_log_density((X, Y)), density)
    S = 20_000
    samples = (model.predict_f_samples(X, S, full_cov=False, seed=0) - mean).numpy()
    products = samples[..., :, None] * samples[..., None, :]
    error = products.std(axis=0) / np.sqrt(S)
    assert (np.abs(products.mean(axis=0) - expected) < 5 * error).all()


@pytest.mark.longest
@pytest.mark.parametrize("kind", ["variance", "scale"])
def test_the_noise_of_the_evidence_follows_its_prior(network, data, kind):  # noqa: F811
    """Given as a variance or as a standard deviation; with a prior so narrow that it decides."""
    likelihood = gpflow.likelihoods.Gaussian(**{kind: NOISE if kind == "variance" else NOISE**0.5})
    network.likelihood = likelihood
    assert laplace(network, data).noise_variance == pytest.approx(NOISE)
    other = laplace(network, data, noise="marginal likelihood").noise_variance
    log_mean = np.log(5.0) if kind == "variance" else np.log(5.0) / 2
    prior = tfp.distributions.LogNormal(np.float64(log_mean), np.float64(0.001))
    getattr(network.likelihood, kind).prior = prior
    found = laplace(network, data, noise="marginal likelihood")
    assert found.noise_variance == pytest.approx(5.0, rel=0.01) and other < 1.0
    noise = found.model.likelihood.variance_at(data[0][:1]).numpy().item()
    assert noise == pytest.approx(found.noise_variance)
    found = laplace(network, data, train_likelihood=True)
    assert found.noise_variance == pytest.approx(5.0, rel=0.01)
    parameter = getattr(network.likelihood, kind)
    parameter.prior_on = "unconstrained"
    for rho in (0.5, 1.0, 2.0):
        changed = gpflow.utilities.deepcopy(network.likelihood)
        rescale_noise(changed, rho)
        expected = getattr(changed, kind).log_prior_density()
        log_prior = _log_prior_of_noise(network.likelihood, tf.constant(rho, tf.float64))
        np.testing.assert_allclose(log_prior, expected)


@pytest.mark.slow
def test_the_noise_of_the_evidence_is_one_for_all(data):  # noqa: F811
    X, Y = data[0], np.hstack([data[1], data[1] ** 2])
    likelihood = gpflow.likelihoods.Gaussian(np.array([0.05, 0.5]))
    model = DeepGP([DenseLayer(D, 2, Prior())], likelihood, num_data=N)
    found = laplace(model, (X, Y), steps=200)
    assert found.noise_variance is None and np.isfinite(found.log_evidence)
    with pytest.raises(ValueError, match="Gaussian with a noise for each row or output"):
        laplace(model, (X, Y), noise="marginal likelihood")


@pytest.mark.longest
def test_layers_that_share_a_prior_get_precisions_of_their_own(rng):
    X = rng.normal(size=(N, D))
    pair = X, np.sin(2 * X[:, :1])
    shared = NealPrior()
    layers = [DenseLayer(D, 3, Prior(), prior=shared), tf.nn.tanh]
    model = DeepGP([*layers, DenseLayer(3, 1, Prior(), prior=shared)],
                   gpflow.likelihoods.Gaussian(0.05), num_data=N)  # fmt: skip
    settings = {"prior_precision": "marginal likelihood", "steps": 100}
    found = laplace(model, pair, **settings)
    network = found.weight_samples.network  # noqa: F811
    scales = [float(network.layers[i].prior.scale.numpy()) for i in (0, 2)]
    np.testing.assert_allclose(scales, [found.prior_precision[i] ** -0.5 for i in (0, 2)])
    assert shared.scale.numpy() == 1.0 and model.layers[2].prior is shared


def one_weight(Y):
    """A weight z ~ N(0, 1) and two observations of it under Student's t."""
    likelihood = gpflow.likelihoods.StudentT(scale=0.1, df=3.0)
    layers = [DenseLayer(1, 1, Prior(), bias=False)]
    return DeepGP(layers, likelihood, num_data=2), (np.ones((2, 1)), np.array(Y)[:, None])


@pytest.mark.slow
@pytest.mark.parametrize("structure", ["full", "diagonal", "kron"])
def test_negative_curvature_counts_in_every_structure(structure):
    """Far from a row, in units of the scale, the density of Student's t is convex."""
    model, pair = one_weight([0.1735, -0.1735])
    found = laplace(model, pair, structure=structure)
    np.testing.assert_allclose(found.weight_samples.mean, [0.0], atol=1e-6)
    square = 0.1735**2
    of_rows = 2 * 4 * (0.03 - square) / (0.03 + square) ** 2  # of -log (1 + (y - f)^2 / 0.03)^-2
    assert -0.5 < of_rows < -0.1
    np.testing.assert_allclose(found.model.predict_f([[1.0]])[1], [[1 / (1 + of_rows)]], rtol=1e-6)
    # At zero between rows that are far apart it is below -1, and there is no Gaussian.
    model, pair = one_weight([0.3, -0.3])
    log_joint = LogJoint(gi.inference.WeightSpace(model), model.likelihood, *map(tf.constant, pair))
    theta = tf.constant([0.0], tf.float64)
    matrix = of_structure(model, log_joint, theta, structure, "ggn")
    with pytest.raises(ValueError, match=r"not positive.*not log-concave, such as StudentT"):
        _result(model, _Mode(log_joint, theta, matrix), "linearised", 1, slice(None))


def test_rounding_below_zero_is_none(rng):
    """The outputs' matrix of Softmax is singular: its least eigenvalue is 0 up to rounding."""
    model = curved(rng, gpflow.likelihoods.Softmax(3), P=3)
    X, Y = model.check_data((rng.normal(size=(N, D)), rng.integers(3, size=(N, 1)) * 1.0))
    log_joint = LogJoint(gi.inference.WeightSpace(model), model.likelihood, X, Y)
    theta = tf.constant(30.0 * rng.normal(size=log_joint.space.size))
    for factors in gauss_newton_factors(model, log_joint, theta).values():
        assert np.all(factors.eigenvalues.numpy() >= 0.0)


@pytest.mark.longest
def test_noise_and_prior_precisions_are_learned_together(network, data):  # noqa: F811
    """With other precisions another noise is best: both are, where the search ends."""
    X, Y = data[0], 20.0 * data[1]
    network.likelihood.variance.assign(1.0)
    found = laplace(network, (X, Y), train_likelihood=True, prior_precision="marginal likelihood")
    theta = tf.convert_to_tensor(found.weight_samples.mean)[None]
    error = Y - found.weight_samples.space.functions(theta, tf.constant(X))[0].numpy()
    # The maximum over the noise variance, at fixed weights, is the mean square of the errors.
    assert found.noise_variance == pytest.approx(np.mean(error**2), rel=1e-3)


@pytest.mark.slow
def test_all_rows_in_a_step_are_all_rows(network, data):  # noqa: F811
    """As many rows as there are need no minibatches, in the first search and in those after it."""
    settings = {"prior_precision": "marginal likelihood", "steps": 20, "structure": "diagonal"}
    one, other = (laplace(network, data, **settings, batch_size=B) for B in (None, N))
    assert one.log_evidence == other.log_evidence


def test_networks_are_told_from_targets_first(data):  # noqa: F811
    target = gi.inference.Target(1, lambda theta: -(theta[:, 0] ** 2))
    for call in (
        lambda: ensemble(target, None),
        lambda: ensemble(target, None, random_priors=True),
        lambda: gi.inference.swag(target, None),
        lambda: gi.inference.multi_swag("network", data),
    ):
        with pytest.raises(TypeError, match=r"model must be a gpflow_gi\.models\.DeepGP, but is"):
            call()


@pytest.mark.slow
def test_a_diagonal_makes_no_matrix_of_all_weights(rng, monkeypatch):
    X, Y = rng.normal(size=(8, 2)), rng.normal(size=(8, 1))
    model = gi.architectures.build_bnn(
        X, Y, widths=(5,), inference="prior -> global", num_inducing=4
    )
    found = gi.inference.laplace(model, (X, Y), structure="diagonal", steps=50)
    made = []
    eye = tf.eye

    def noted(size, *arguments, **options):
        made.append(int(size))
        return eye(size, *arguments, **options)

    monkeypatch.setattr(tf, "eye", noted)
    again = gi.inference.laplace(model, (X, Y), structure="diagonal", steps=50)
    assert again.log_evidence == found.log_evidence
    assert gi.inference.WeightSpace(model).size not in made


@pytest.mark.slow
def test_functions_of_a_process_of_a_linearised_network(rng):
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    model = DeepGP([DenseLayer(2, 1, Prior())], gpflow.likelihoods.Gaussian(0.1), num_data=6)
    linearised = gi.inference.laplace(model, (X, Y)).linearised
    process = gi.implicit.PriorProcess(linearised)
    layer = gi.layers.ImplicitLayer(process, 1, Prior(), num_draws=5)
    vip = DeepGP([layer], gpflow.likelihoods.Gaussian(0.1), num_data=6)
    R = 4000
    values = vip.sample_functions(R, seed=0)(X).numpy()[..., 0]
    squares = (values - values.mean(axis=0)) ** 2
    error = squares.std(axis=0) / np.sqrt(R)
    assert np.all(np.abs(squares.mean(axis=0) - vip.predict_f(X)[1][:, 0]) < 6 * error)

"""The last layer's exact posterior, given the data and the layers below."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from scipy.stats import multivariate_normal

import gpflow_gi as gi
from gpflow_gi.architectures import build_bnn
from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.layers import DenseLayer, GPLayer
from gpflow_gi.models import DeepGP
from gpflow_gi.posteriors import Factorised, GlobalInducing, Optimal

N, D, P = 12, 2, 2
NOISE = 0.3


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D))
    return X, np.sin(X @ rng.normal(size=(D, P))) + 0.1 * rng.normal(size=(N, P))


def one_layer(X, Y):
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    return DeepGP([DenseLayer(D, P, Optimal(X, Y, likelihood))], likelihood, num_data=N)


def network(X, Y, lower="factorised", width=4):
    return build_bnn(
        X,
        Y,
        widths=(width,),
        inference=f"{lower} -> optimal",
        nonlinearity="tanh",
        num_inducing=5,
        likelihood=gpflow.likelihoods.Gaussian(NOISE),
    )


def log_evidence(features, Y):
    """Log N(Y | 0, Phi Phi^T / K + NOISE I) of features [N, K], bias included, in numpy."""
    Phi = np.hstack([features, np.ones((len(features), 1))])
    covariance = Phi @ Phi.T / Phi.shape[1] + NOISE * np.eye(len(Phi))
    return multivariate_normal(cov=covariance).logpdf(Y.T).sum()


def test_one_layer_has_the_evidence_of_linear_regression(data):
    X, Y = data
    model = one_layer(X, Y)
    evidence = log_evidence(X, Y)
    np.testing.assert_allclose(model.elbo((X, Y)), evidence, rtol=1e-10)
    weights = model.log_importance_weights((X, Y), 3, seed=0)
    np.testing.assert_allclose(weights, evidence, rtol=1e-10)


def test_one_layer_is_the_global_posterior_given_the_data(data, rng):
    X, Y = data
    posterior = GlobalInducing(N, P, pseudo_outputs=Y, pseudo_precision=1 / NOISE)
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    other = DeepGP([DenseLayer(D, P, posterior)], likelihood, num_data=N, inducing_inputs=X)
    X_new = rng.normal(size=(3, D))
    for one, two in zip(one_layer(X, Y).predict_f(X_new), other.predict_f(X_new), strict=True):
        np.testing.assert_allclose(one, two, rtol=1e-8)


@pytest.mark.parametrize("lower", ["factorised", "global", "local"])
def test_the_bound_is_the_evidence_given_the_hidden_layer(lower, data):
    X, Y = data
    model, seed = network(X, Y, lower), as_seed(3)
    hidden = model.layers[0].condition(
        tf.zeros([0, D], X.dtype) if model.inducing_inputs is None else model.inducing_inputs,
        None,
        fold_in(fold_in(fold_in(seed, 0), 0), 0),
    )
    kl, elbo = hidden.kl(), model.elbo((X, Y), 1, seed=seed)
    propagated = model.propagate(D, 1, fold_in(seed, 0))
    features = propagated.rows(tf.constant(X), seed).numpy()
    np.testing.assert_allclose(elbo, log_evidence(features, Y) - kl, rtol=1e-8)


def test_no_pseudo_data_give_a_larger_bound(data, rng):
    """With the same draws of the hidden layer."""
    X, Y = data
    best = network(X, Y, "global")
    bound = best.elbo((X, Y), 5, seed=1)
    for _ in range(3):
        V, Lambda = rng.normal(size=(5, P)), rng.gamma(1.0, size=5)
        top = GlobalInducing(5, P, pseudo_outputs=V, pseudo_precision=Lambda)
        layers = [*best.layers[:2], DenseLayer(4, P, top)]
        U = best.inducing_inputs.numpy()
        other = DeepGP(layers, best.likelihood, num_data=N, inducing_inputs=U)
        assert bound > other.elbo((X, Y), 5, seed=1) + 1.0


def test_minibatches_add_up_to_the_bound(data):
    X, Y = data
    model = network(X, Y)
    parts = [model.elbo((X[rows], Y[rows]), 2, seed=4) for rows in np.split(np.arange(N), 3)]
    np.testing.assert_allclose(np.mean(parts), model.elbo((X, Y), 2, seed=4), rtol=1e-10)


def test_gradients_pass_through_the_data(data):
    """Those of the bound with respect to hidden weights, against differences."""
    X, Y = data
    model = network(X, Y)
    mean = model.layers[0].posterior.mean.unconstrained_variable
    with tf.GradientTape() as tape:
        bound = model.elbo((X, Y), 2, seed=5)
    gradient = tape.gradient(bound, mean).numpy()
    start, direction = mean.numpy(), np.random.default_rng(0).normal(size=mean.shape)
    ends = []
    for step in (1e-5, -1e-5):
        mean.assign(start + step * direction)
        ends.append(float(model.elbo((X, Y), 2, seed=5)))
    np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, np.sum(gradient * direction), rtol=1e-5)


@pytest.mark.slow
def test_training_and_files(data, tmp_path):
    X, Y = data
    model = network(X, Y)
    before = gi.bounds.estimate_elbo(model, (X, Y), 50).value
    gi.fit(model, (X, Y), steps=50, batch_size=6, progress=False)
    assert gi.bounds.estimate_elbo(model, (X, Y), 50).value > before + 1.0
    gi.save(model, tmp_path / "model.gi")
    loaded = gi.load(tmp_path / "model.gi")
    assert loaded.layers[-1].posterior.likelihood is loaded.likelihood
    np.testing.assert_array_equal(
        loaded.predict_y(X, num_samples=5, seed=0)[1], model.predict_y(X, num_samples=5, seed=0)[1]
    )
    loaded.likelihood.variance.assign(1.0)
    assert loaded.layers[-1].posterior.likelihood.variance.numpy() == 1.0
    copy = gpflow.utilities.deepcopy(model)
    assert copy.layers[-1].posterior.likelihood is copy.likelihood is not model.likelihood
    functions = model.sample_functions(3, seed=0)
    np.testing.assert_allclose(functions(X)[:, :2], functions(X[:2]), rtol=1e-10)


@pytest.mark.slow
def test_another_model_does_not_get_the_rows_of_the_first(data):
    """Training keeps compiled loops for models of the same structure."""
    X, Y = data
    for targets in (Y, 2.0 * Y + 1.0):
        model = one_layer(X, targets)
        record = gi.fit(model, (X, targets), steps=2, learning_rate=1e-12, progress=False)
        np.testing.assert_allclose(record.reports[-1].bound, log_evidence(X, targets), rtol=1e-6)


def test_inducing_points_are_for_processes(data):
    likelihood = gpflow.likelihoods.Gaussian()
    with pytest.raises(ValueError, match="Optimal without inducing points, which a GPLayer needs"):
        GPLayer(gpflow.kernels.Matern32(), P, Optimal(*data, likelihood))
    with pytest.raises(ValueError, match="inducing points, which are for a GPLayer"):
        DenseLayer(D, P, Optimal(*data, likelihood, num_inducing=3))


def test_other_likelihoods_are_refused(data):
    for likelihood in (gpflow.likelihoods.StudentT(), None):
        with pytest.raises(TypeError, match=r"must be a gpflow\.likelihoods\.Gaussian"):
            Optimal(*data, likelihood)
    with pytest.raises(TypeError, match=r"must be a gpflow\.likelihoods\.Gaussian"):
        build_bnn(*data, inference="global -> optimal", likelihood=gpflow.likelihoods.StudentT())


def test_data_are_checked(data):
    X, Y = data
    likelihood = gpflow.likelihoods.Gaussian()
    with pytest.raises(ValueError, match="Y must have shape"):
        Optimal(X, Y[:-1], likelihood)
    with pytest.raises(ValueError, match="X must be finite"):
        Optimal(np.full_like(X, np.nan), Y, likelihood)


def test_it_belongs_to_the_last_layer(data):
    likelihood = gpflow.likelihoods.Gaussian()
    layers = [DenseLayer(D, P, Optimal(*data, likelihood)), DenseLayer(P, 1, Factorised())]
    with pytest.raises(ValueError, match="Only the last layer can have the posterior Optimal"):
        DeepGP(layers, likelihood, num_data=N)
    for lists in (["optimal", "global"], ["optimal"], "optimal -> global", "optimal"):
        with pytest.raises(ValueError, match="inference"):
            build_bnn(*data, widths=(3,), inference=lists)


def test_the_last_layer_must_be_dense_or_a_process(data):
    likelihood = gpflow.likelihoods.Gaussian()
    process = gi.implicit.NetworkProcess(D, widths=(3,))
    layer = gi.layers.ImplicitLayer(process, P, Optimal(*data, likelihood), num_draws=4)
    with pytest.raises(ValueError, match="DenseLayer or a GPLayer, but the last layer is Implicit"):
        DeepGP([layer], likelihood, num_data=N)


def test_likelihood_and_number_of_rows_are_the_models(data):
    likelihood = gpflow.likelihoods.Gaussian()
    layer = DenseLayer(D, P, Optimal(*data, likelihood))
    with pytest.raises(ValueError, match="give both the same object"):
        DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=N)
    with pytest.raises(ValueError, match=f"holds {N} rows, but num_data is 5"):
        DeepGP([layer], likelihood, num_data=5)


@pytest.mark.parametrize(
    "arguments",
    [
        {"temperature": 0.1},
        {"objective": gi.objectives.TemperedBound(2.0)},
        {"temperature": 0.1, "augment": lambda X, seed: X},
    ],
)
def test_tempered_posteriors_are_refused(arguments, data):
    with pytest.raises(ValueError, match="best one at temperature 1 alone"):
        gi.fit(network(*data), data, steps=1, progress=False, **arguments)


def test_the_noise_may_be_given_as_a_scale(data):
    X, Y = data
    likelihood = gpflow.likelihoods.Gaussian(scale=NOISE**0.5)
    model = DeepGP([DenseLayer(D, P, Optimal(X, Y, likelihood))], likelihood, num_data=N)
    np.testing.assert_allclose(model.elbo((X, Y)), one_layer(X, Y).elbo((X, Y)), rtol=1e-10)
    gi.fit(model, (X, Y), steps=1, progress=False)
    network = build_bnn(
        X, Y, widths=(3,), inference="global -> optimal", num_inducing=4, likelihood=likelihood
    )
    assert np.isfinite(network.elbo((X, Y)))


@pytest.mark.parametrize(
    "likelihood",
    [
        gpflow.likelihoods.Gaussian([0.1, 0.5]),
        gpflow.likelihoods.Gaussian(gpflow.functions.Linear(np.ones((D, 1)))),
        gpflow.likelihoods.StudentT(),
    ],
    ids=["of each output", "of the inputs", "StudentT"],
)
def test_other_noise_is_refused(data, likelihood):
    with pytest.raises(TypeError, match="with one constant variance"):
        Optimal(*data, likelihood)

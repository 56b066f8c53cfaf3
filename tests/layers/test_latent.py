"""Latent variables of the rows, against probabilistic PCA, whose evidence is known."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf
from gpflow.keras import tf_keras

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.layers import DataRows
from tests.builders import random_posterior

N, P, NOISE = 8, 3, 0.3


@pytest.fixture
def ppca(rng):
    """One linear layer with one latent input: its data, evidence of each row and exact q(h)."""
    w, x = rng.normal(size=P), rng.normal(size=(N, 1))
    slope = rng.normal(size=(1, P))
    Y = x @ slope + rng.normal(size=(N, 1)) * w + np.sqrt(NOISE) * rng.normal(size=(N, P))
    covariance = np.outer(w, w) + NOISE * np.eye(P)  # of y_n, whose mean is x_n slope
    error = Y - x @ slope
    squares = np.sum(error * np.linalg.solve(covariance, error.T).T, axis=1)
    evidence = -0.5 * (squares + np.linalg.slogdet(2 * np.pi * covariance)[1])
    variance = 1 / (1 + w @ w / NOISE)
    mean = variance * error @ w[:, None] / NOISE
    return x, Y, np.vstack([slope, w]), evidence, mean, np.sqrt(variance)


def linear_model(A, layer):
    kernel = gpflow.kernels.SquaredExponential(variance=1e-14)
    mean = gpflow.functions.Linear(A, np.zeros(P))
    last = gi.layers.GPLayer(kernel, P, gi.posteriors.Prior(), mean_function=mean)
    layer.connect(1, None)
    return gi.models.DeepGP([layer, last], gpflow.likelihoods.Gaussian(NOISE), num_data=N)


@pytest.fixture
def exact(ppca):
    _, _, A, _, mean, sd = ppca
    layer = gi.layers.LatentVariableLayer(1, num_data=N)
    layer.q_mu.assign(mean)
    layer.q_sqrt.assign(np.full((N, 1), sd))
    return linear_model(A, layer)


@pytest.fixture
def prior(ppca):
    layer = gi.layers.LatentVariableLayer(1, num_data=N)
    layer.q_mu.assign(np.zeros((N, 1)))
    return linear_model(ppca[2], layer)


def random_model(rng, kinds=("global", "local"), latent_at=0, num_data=5):
    D = 2
    layers = []
    for i, kind in enumerate(kinds):
        if i == latent_at:
            layers.append(gi.layers.LatentVariableLayer(1, num_data=num_data))
            layers[-1].q_mu.assign(rng.normal(size=(num_data, 1)))
            layers[-1].q_sqrt.assign(np.exp(0.3 * rng.normal(size=(num_data, 1))))
            D += 1
        width = 1 if i + 1 == len(kinds) else D
        kernel = gpflow.kernels.SquaredExponential(0.8, lengthscales=np.full(D, 1.3))
        layers.append(gi.layers.GPLayer(kernel, width, random_posterior(rng, kind, width, D)))
    return gi.models.DeepGP(
        layers,
        gpflow.likelihoods.Gaussian(NOISE),
        num_data=num_data,
        inducing_inputs=rng.normal(size=(6, 2)) if {"global", "full"} & set(kinds) else None,
    )


def data_of(rng, num_rows=5):
    return rng.normal(size=(num_rows, 2)), rng.normal(size=(num_rows, 1))


# ------------------------------------------------------------------------------------ mathematics


@pytest.mark.parametrize("num_samples", [1, 7])
def test_every_sample_of_the_exact_posterior_gives_the_evidence(ppca, exact, num_samples):
    X, Y, _, evidence, *_ = ppca
    bound = exact.iwbo((X, Y), num_samples, seed=0)
    np.testing.assert_allclose(bound, evidence.sum(), rtol=1e-9)
    log_w = exact.log_importance_weights((X, Y), num_samples, seed=1)
    np.testing.assert_allclose(log_w, np.full(num_samples, evidence.sum()), rtol=1e-6)


def test_minibatches_of_the_importance_weighted_bound(ppca, exact):
    X, Y, _, evidence, *_ = ppca
    rows = [5, 0, 3]
    batch = X[rows], exact.numbered(tf.constant(Y)).numpy()[rows]
    bound = exact.iwbo(batch, 3, seed=0)
    np.testing.assert_allclose(bound, N / 3 * evidence[rows].sum(), rtol=1e-9)


@pytest.mark.slow
def test_the_bound_rises_with_the_samples_to_the_evidence(ppca, prior):
    X, Y, _, evidence, *_ = ppca

    @tf.function(autograph=False)
    def compiled(seed, K):
        first, kl = prior.importance_weighted_terms((X, Y), K, seed=seed)
        return first - kl

    at = {K: np.array([compiled(as_seed(seed), K) for seed in range(60)]) for K in (1, 4, 200)}
    error = {K: values.std() / np.sqrt(60) for K, values in at.items()}
    assert at[1].mean() + 3 * error[1] < at[4].mean() - 3 * error[4]
    assert at[4].mean() + 3 * error[4] < at[200].mean()
    assert at[200].mean() < evidence.sum() + 3 * error[200]
    assert at[200].mean() > evidence.sum() - 0.02 * abs(evidence.sum())


def test_the_elbo_has_a_kl_term_of_each_row(ppca, exact):
    X, Y, _, evidence, mean, sd = ppca
    kl = 0.5 * np.sum(mean**2 + sd**2 - 1 - 2 * np.log(sd), axis=1)
    np.testing.assert_allclose(exact.bound_terms((X, Y), 1, seed=0)[1], kl.sum(), rtol=1e-9)
    rows = [1, 6]
    batch = X[rows], exact.numbered(tf.constant(Y)).numpy()[rows]
    np.testing.assert_allclose(
        exact.bound_terms(batch, 1, seed=0)[1], N / 2 * kl[rows].sum(), rtol=1e-9
    )
    elbo = gi.bounds.estimate_elbo(exact, (X, Y), 2000)
    assert abs(elbo.value - evidence.sum()) < 4 * elbo.standard_error


def gradients(model, data, K, doubly, num_seeds=150):
    layer, values = model.layers[0], []
    variables = [layer.q_mu.unconstrained_variable, layer.q_sqrt.unconstrained_variable]
    variables.append(model.likelihood.variance.unconstrained_variable)

    @tf.function(autograph=False)
    def one(seed):
        with tf.GradientTape() as tape:
            first, kl = model.importance_weighted_terms(
                data, K, seed=seed, doubly_reparameterised=doubly
            )
            bound = first - kl
        return tf.concat([tf.reshape(g, [-1]) for g in tape.gradient(bound, variables)], axis=0)

    values = [one(as_seed(seed)).numpy() for seed in range(num_seeds)]
    return np.array(values)


@pytest.mark.slow
def test_the_doubly_reparameterised_gradient(ppca, prior, exact):
    """The same in expectation as the plain one; its error falls with K; zero at the optimum."""
    data = ppca[:2]
    doubly, plain = (gradients(prior, data, 5, which) for which in (True, False))
    error = np.sqrt((doubly.var(0) + plain.var(0)) / len(plain))
    assert np.all(np.abs(doubly.mean(0) - plain.mean(0)) < 4.5 * error)
    np.testing.assert_allclose(doubly[:, -1], plain[:, -1], rtol=1e-9)  # the noise's: not of q
    more = gradients(prior, data, 50, True, 50)
    assert more[:, :N].std(0).mean() < 0.5 * doubly[:, :N].std(0).mean()
    np.testing.assert_allclose(gradients(exact, data, 5, True, 2)[:, : 2 * N], 0.0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kinds", "latent_at"), [(("global", "full"), 0), (("local", "global"), 1), (("local",) * 2, 0)]
)
def test_one_sample_of_the_bound_is_the_elbo(rng, kinds, latent_at):
    model, data = random_model(rng, kinds, latent_at), data_of(rng)

    @tf.function(autograph=False)
    def both(seed):
        first, kl = model.importance_weighted_terms(data, 1, 1, seed)
        return first - kl, model.elbo(data, 4, seed)

    sampled, elbo = np.array([both(as_seed(seed)) for seed in range(200)]).T
    error = np.sqrt((sampled.var() + elbo.var()) / 200)
    assert abs(sampled.mean() - elbo.mean()) < 4 * error


def test_weights_multiply_the_terms_of_rows(rng):
    model, (X, Y) = random_model(rng, ("local", "local")), data_of(rng)
    batch = tuple(map(tf.constant, (X, model.numbered(tf.constant(Y)))))

    def terms(weights):
        objective = gi.objectives.ImportanceWeighted(3, weights)
        return objective.terms(model, (*batch, objective.weights), 1, as_seed(2))

    weights = np.array([2.0, 1.0, 0.5, 3.0, 0.0])
    first, kl = terms(weights)
    of_rows = [terms(one)[0] for one in np.eye(5)]
    np.testing.assert_allclose(first, np.dot(weights, of_rows), rtol=1e-10)
    plain = gi.objectives.ImportanceWeighted(3).terms(model, batch, 1, as_seed(2))
    np.testing.assert_array_equal(terms(np.ones(5)), plain)
    assert kl == plain[1]
    with pytest.raises(ValueError, match=r"weights must be numbers for each of 5 rows.* \[4\]"):
        model.importance_weighted_terms(batch, 3, weights=np.ones(4))


def test_values_of_a_group_of_rows_are_of_one_function(rng):
    """Given z, their covariance is that of the residual."""
    kernel = gpflow.kernels.SquaredExponential(0.8)
    layer = gi.layers.GPLayer(kernel, 1, random_posterior(rng, "local", 1, 1))
    draw = layer.condition(tf.zeros([0, 1], tf.float64)).draw(None, as_seed(0))
    X = tf.constant([[0.0], [0.3], [5.0]], tf.float64)
    G = 4000
    values = draw.groups(tf.tile(X[None], [G, 1, 1]), as_seed(1)).numpy()[..., 0]
    basis = draw._draws[0].basis
    wanted = basis.residual_covariance(X, basis(X)).numpy() + 1e-6 * 0.8 * np.eye(3)
    found = np.cov(values.T)
    spread = np.sqrt((np.outer(np.diag(wanted), np.diag(wanted)) + wanted**2) / G)
    assert np.all(np.abs(found - wanted) < 4.5 * spread)
    np.testing.assert_allclose(
        draw.groups(X[None, :2] * 0.0, as_seed(2))[0, 0],
        draw.groups(X[None, :2] * 0.0, as_seed(2))[0, 1],
        atol=5e-3,  # of the size of the jitter's root
    )


def test_predictions_integrate_over_the_prior_of_h(ppca, exact):
    X, _, A, *_ = ppca
    mean, variance = exact.predict_y(X, num_samples=20000, seed=0)
    error = np.sqrt(np.diag(np.outer(A[1], A[1])) / 20000)
    assert np.all(np.abs(mean - X @ A[:1]) < 4.5 * error + 1e-6)
    np.testing.assert_allclose(variance, np.tile(A[1] ** 2 + NOISE, (N, 1)), rtol=0.06)


def test_an_encoder_is_a_function_from_data_to_the_posterior(ppca, exact):
    X, Y, A, evidence, *_, sd = ppca
    gain = sd**2 * A[1] / NOISE
    weights = np.vstack([[-A[0] @ gain, 0.0], np.stack([gain, np.zeros(P)], axis=1)])
    encoder = tf_keras.layers.Dense(2, dtype=gpflow.default_float())
    model = linear_model(A, gi.layers.LatentVariableLayer(1, encoder=encoder))
    encoder.set_weights([weights, np.array([0.0, np.log(sd)])])
    np.testing.assert_allclose(model.iwbo((X[:3], Y[:3]), 2, seed=0), N / 3 * evidence[:3].sum())
    assert {id(v) for v in encoder.variables} <= {id(v) for v in model.trainable_variables}
    encoder.trainable = False
    assert not {id(v) for v in encoder.variables} & {id(v) for v in model.trainable_variables}


# -------------------------------------------------------------------------------------- interface


def test_inducing_points_have_latent_inputs_of_their_own(rng):
    model, data = random_model(rng), data_of(rng)
    layer = model.layers[0]
    activations = model.inducing_activations(2, seed=0)[1]
    np.testing.assert_array_equal(activations[0, :, 2:], layer.inducing_latents)
    with tf.GradientTape() as tape:
        bound = model.elbo(data, seed=0)
    gradient = tape.gradient(bound, layer.inducing_latents.unconstrained_variable)
    assert np.all(gradient.numpy() != 0)
    assert random_model(rng, ("local", "local")).layers[0].inducing_latents is None


def test_drawn_functions_are_functions_of_x(rng):
    model = random_model(rng)
    X = np.repeat(rng.normal(size=(3, 2)), 2, axis=0)
    for num_features in (100, None):
        draws = model.sample_functions(4, seed=0, num_features=num_features)
        values = draws(X).numpy()
        np.testing.assert_allclose(values[:, ::2], values[:, 1::2], atol=1e-12)
        np.testing.assert_allclose(draws(X[3:]), values[:, 3:], atol=1e-12)
    # Rows of a joint draw are observations, each with an h of its own.
    samples = model.predict_f_samples(X, 4, seed=0).numpy()
    assert np.all(np.abs(samples[:, ::2] - samples[:, 1::2]) > 1e-6)
    mean, covariance = model.predict_f(X, 20, full_cov=True, seed=0)
    assert mean.shape == (6, 1) and covariance.shape == (1, 6, 6)


@pytest.mark.slow
def test_functions_have_the_distribution_of_single_predictions(rng):
    model, X = random_model(rng), rng.normal(size=(2, 2))
    values = model.sample_functions(1500, seed=0)(X).numpy()[..., 0]
    mean, variance = (m.numpy()[:, 0] for m in model.predict_f(X, 3000, seed=1))
    assert np.all(np.abs(values.mean(0) - mean) < 5 * np.sqrt(variance / 1000))
    np.testing.assert_allclose(values.var(0), variance, rtol=0.2)


def test_a_frozen_posterior_predicts_as_a_function_of_the_row(rng):
    posterior, X = random_model(rng).posterior(5, seed=0), rng.normal(size=(4, 2))
    together, alone = posterior.predict_f(X)[0], posterior.predict_f(X[2:3])[0]
    np.testing.assert_allclose(together[2:3], alone)


@pytest.mark.slow
@pytest.mark.longest
def test_minibatch_training_finds_its_rows(rng):
    model = random_model(rng)
    before = model.layers[0].q_mu.numpy().copy()
    X, Y = data_of(rng)
    for objective in (None, gi.objectives.ImportanceWeighted(3)):
        gi.fit(model, (X, Y), steps=1, batch_size=2, objective=objective, progress=False, seed=3)
        changed = np.any(model.layers[0].q_mu.numpy() != before, axis=1)
        assert changed.sum() == 2
    record = gi.fit(model, (X, Y), steps=4, objective=objective, progress=False)
    assert record.reports[-1].name == "importance weighted bound"


def test_prior_model_and_diagnostics(rng):
    model, data = random_model(rng), data_of(rng)
    prior = model.prior_model()
    assert prior.layers[0].num_data is None and prior.layers[0].inducing_latents is None
    assert prior.predict_f(data[0], 3, seed=0)[0].shape == (5, 1)
    assert prior.bound_terms(data, seed=0)[1] == 0
    assert model.first_non_finite(data) is None
    model.layers[0].q_mu.unconstrained_variable.assign(np.full((5, 1), np.nan))
    assert "the means of its latent variables" in model.first_non_finite(data)


@pytest.mark.slow
def test_builders(rng):
    X, Y = data_of(rng, 20)
    for inference in ("global", "local", "prior", ["local", "global"]):
        model = gi.architectures.build_deep_gp(
            X, Y, inference=inference, num_inducing=4, latent_dim=2
        )
        assert model.layers[0].latent_dim == 2 and model.layers[1].output_dim == 4
        assert np.isfinite(model.elbo((X, Y), seed=0)) and np.isfinite(model.iwbo((X, Y), 3, 0))
    without = gi.architectures.build_deep_gp(X, Y, num_inducing=4, latent_dim=0)
    as_before = gi.architectures.build_deep_gp(X, Y, num_inducing=4)
    assert len(without.layers) == 2
    np.testing.assert_array_equal(without.elbo((X, Y), seed=0), as_before.elbo((X, Y), seed=0))


# --------------------------------------------------------------------------------------- failures


def test_arguments():
    make = gi.layers.LatentVariableLayer
    with pytest.raises(ValueError, match="was given neither"):
        make(1)
    with pytest.raises(ValueError, match="was given both"):
        make(1, encoder=tf.identity, num_data=3)
    with pytest.raises(ValueError, match="latent_dim must be an integer of at least 1"):
        make(0, num_data=3)
    with pytest.raises(ValueError, match="not known before"):
        _ = make(1, num_data=3).output_dim


def test_parts_that_do_not_fit(rng):
    latent = gi.layers.LatentVariableLayer
    likelihood, U = gpflow.likelihoods.Gaussian(), rng.normal(size=(4, 2))

    def last(D=3):
        return gi.layers.GPLayer(
            gpflow.kernels.SquaredExponential(lengthscales=np.ones(D)),
            1,
            gi.posteriors.GlobalInducing(4, 1),
        )

    def model(*layers, num_data=5, U=U):
        return gi.models.DeepGP(list(layers), likelihood, num_data=num_data, inducing_inputs=U)

    with pytest.raises(ValueError, match="last layer is a LatentVariableLayer"):
        model(latent(1, num_data=5))
    with pytest.raises(
        ValueError, match=r"Layer 1 .*num_data=4 rows, but the model has num_data=5"
    ):
        model(latent(1, num_data=4), last())
    with pytest.raises(ValueError, match="a block adds its shortcut"):
        model(gi.layers.Residual([latent(1, num_data=5)]), last())
    with pytest.raises(ValueError, match="encoder must return 2 numbers"):
        model(latent(1, encoder=tf.identity), last())
    with pytest.raises(ValueError, match="The number of inputs"):
        prior = gi.layers.GPLayer(gpflow.kernels.Matern32(), 1, gi.posteriors.Prior())
        model(latent(1, num_data=5), prior, U=None)
    with pytest.raises(ValueError, match="belong to rows, not to images"):
        model(latent(1, num_data=5), last(), U=rng.normal(size=(4, 2, 2, 1)))
    with pytest.raises(ValueError, match="has no weights"):
        gi.inference.WeightSpace(model(latent(1, num_data=5), last()))


def test_rows_that_are_not_known(rng):
    model, (X, Y) = random_model(rng), data_of(rng)
    with pytest.raises(ValueError, match=r"Y has 2 of the 5 rows, but not their index.*numbered"):
        model.elbo((X[:2], Y[:2]))
    with pytest.raises(ValueError, match="index of each row in the data"):
        model.elbo((X[:2], np.hstack([Y[:2], [[1.0], [5.0]]])))
    with pytest.raises(ValueError, match="has 2 rows, but the model has latent variables of 5"):
        model.numbered(tf.constant(Y[:2]))
    with pytest.raises(ValueError, match="Importance weights need all 5 rows"):
        model.log_importance_weights((X[:2], Y[:2]), 3)
    with pytest.raises(ValueError, match="num_importance_samples must be an integer"):
        model.importance_weighted_terms((X, Y), 0)
    with pytest.raises(ValueError, match="at least one row"):
        model.iwbo((X[:0], np.zeros((0, 2))), 3)
    assert model.layers[0].q(DataRows(X, Y, tf.range(5)))[0].shape == (5, 1)


def test_models_without_latent_variables(rng):
    X, Y = data_of(rng)
    model = gi.architectures.build_deep_gp(X, Y, num_inducing=3)
    with pytest.raises(ValueError, match="has no latent variables"):
        model.importance_weighted_terms((X, Y), 3)
    with pytest.raises(TypeError, match="needs a model with latent variables"):
        gi.fit(model, (X, Y), steps=1, objective=gi.objectives.ImportanceWeighted(3))
    with pytest.raises(ValueError, match="weights must be at least 0 and not all 0"):
        gi.objectives.ImportanceWeighted(3, np.zeros(5))


def test_a_drawn_layer_of_a_kernel_that_is_not_stationary_has_importance_weights():
    """Its basis has no inducing inputs, at which a jitter could be taken."""
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(6, 2)), rng.normal(size=(6, 1))
    kernel = gpflow.kernels.Linear() + gpflow.kernels.Matern52()
    local = gi.posteriors.LocalInducing(rng.normal(size=(4, 2)), 1)
    layers = [
        gi.layers.DenseLayer(2, 2, gi.posteriors.Prior()),
        gi.layers.LatentVariableLayer(1, num_data=6),
        gi.layers.GPLayer(kernel, 2, gi.posteriors.Prior()),
        gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, local),
    ]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=6)
    assert np.isfinite(model.elbo((X, Y), seed=0)) and np.isfinite(model.iwbo((X, Y), 3, seed=0))


@pytest.mark.slow
def test_a_bound_that_is_not_finite_is_traced_and_recovered(rng):
    U = rng.normal(size=(1, 2)) + 1e-6 * np.arange(4)[:, None]
    kernel = gpflow.kernels.SquaredExponential(lengthscales=1e3)
    last = gi.layers.GPLayer(kernel, 1, gi.posteriors.FullGaussian(4))
    latent = gi.layers.LatentVariableLayer(1, num_data=5)
    data = data_of(rng)
    with gpflow.config.as_context():
        gpflow.config.set_default_jitter(1e-12)
        model = gi.models.DeepGP(
            [latent, last], gpflow.likelihoods.Gaussian(), num_data=5, inducing_inputs=U
        )
        latent.inducing_latents.assign(np.zeros((4, 1)))
        gpflow.config.set_default_jitter(1e-17)
        X, Y = data[0], model.numbered(tf.constant(data[1]))
        for batch in (data, (X, Y), (X[:3], Y[:3])):
            assert model.first_non_finite(batch, seed=0).startswith("layer 2 of 2 (GPLayer")
        with pytest.raises(gi.training.NonFiniteError, match=r"layer 2 of 2"):
            gi.fit(model, data, steps=2, recover=False, progress=False)
        with pytest.warns(gi.training.RecoveryWarning, match="jitter"):
            assert gi.fit(model, data, steps=2, progress=False).recoveries


def test_closures_take_minibatches_by_their_index(rng):
    model = random_model(rng)
    X, Y = data_of(rng)
    numbered = model.numbered(tf.constant(Y))
    for batch in ((X, Y), (X, numbered), (X[1:4], numbered[1:4])):
        closure = model.training_loss_closure(batch, compile=False, seed=3)
        np.testing.assert_allclose(closure(), model.training_loss(batch, seed=3), rtol=1e-12)

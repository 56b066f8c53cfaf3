"""The optimal q(z) of a Gaussian process in the last layer, given the data and the layers below."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.core.linalg import row_blocks
from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.layers import DenseLayer, GPLayer, Residual
from gpflow_gi.models import DeepGP
from gpflow_gi.persistence.checking import check_model
from gpflow_gi.posteriors import FullGaussian, GlobalInducing, LocalInducing, Optimal, Prior

N, D, M = 12, 2, 5
NOISE = 0.2


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D))
    return X, np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(N, 1))


def kernel(columns=D):
    return gpflow.kernels.SquaredExponential(0.7, lengthscales=np.full(columns, 0.8))


def one_layer(X, Y, Z, *, is_global, mean_function=None):
    """One layer, at inducing inputs Z of the model or of its own."""
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    where = {"num_inducing": len(Z)} if is_global else {"inducing_inputs": Z}
    posterior = Optimal(X, Y, likelihood, **where)
    layer = GPLayer(kernel(), Y.shape[1], posterior, mean_function=mean_function)
    return DeepGP([layer], likelihood, num_data=len(X), inducing_inputs=Z if is_global else None)


def two_layers(X, Y, lower="full"):
    """Two layers, of which the lower one is uncertain."""
    model = build_deep_gp(
        X,
        Y,
        inference=[lower, "optimal"],
        num_inducing=M,
        kernel=kernel,
        likelihood=gpflow.likelihoods.Gaussian(NOISE),
    )
    q = model.layers[0].posterior
    if lower == "global":
        q.pseudo_precision.assign(np.full(M, 3.0))
    else:
        q.q_sqrt.assign(0.7 * q.q_sqrt)
    return model


@pytest.mark.parametrize("is_global", [True, False])
def test_one_layer_is_sparse_gp_regression(is_global, data, rng):
    """That of GPflow, after Titsias (2009), with a mean function too."""
    X, Y = data
    mean = gpflow.functions.Linear(rng.normal(size=(D, 1)))
    model = one_layer(X, Y, X[:M], is_global=is_global, mean_function=mean)
    # The jitter of gpflow_gi is relative to the kernel's variance.
    with gpflow.config.as_context(gpflow.config.Config(jitter=0.7 * gpflow.default_jitter())):
        other = gpflow.models.SGPR(
            (X, Y), kernel(), X[:M].copy(), noise_variance=NOISE, mean_function=mean
        )
        bound, (f, variance) = other.elbo(), other.predict_f(X + 0.3)
    np.testing.assert_allclose(model.elbo((X, Y)), bound, rtol=1e-9)
    mean_f, variance_f = model.predict_f(X + 0.3)
    np.testing.assert_allclose(mean_f, f, rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(variance_f, variance, rtol=1e-6)


def test_one_layer_with_all_rows_has_the_evidence(data):
    X, Y = data
    evidence = gpflow.models.GPR((X, Y), kernel(), noise_variance=NOISE).log_marginal_likelihood()
    model = one_layer(X, Y, X, is_global=True)
    np.testing.assert_allclose(model.elbo((X, Y)), evidence, rtol=1e-5)


def bound_in_numpy(F, G, Z, Y):
    """The last layer's share of the bound: the q(u) that is optimal for rows F, meeting rows G.

    Titsias (2009), in the space of u = f(Z), and the expectation and KL of Gaussians.
    """
    k = kernel(F.shape[1])
    Kuu = k(Z).numpy() + 0.7 * gpflow.default_jitter() * np.eye(len(Z))
    Kuf, Kug = k(Z, F).numpy(), k(Z, G).numpy()
    precision = Kuu + Kuf @ Kuf.T / NOISE
    m = Kuu @ np.linalg.solve(precision, Kuf @ Y) / NOISE
    S = Kuu @ np.linalg.solve(precision, Kuu)
    A = np.linalg.solve(Kuu, Kug)
    mean = A.T @ m
    variance = 0.7 - np.sum(A * Kug, axis=0) + np.sum(A * (S @ A), axis=0)
    errors = np.square(Y - mean)[:, 0] + variance
    fit = -0.5 * np.sum(np.log(2 * np.pi * NOISE) + errors / NOISE)
    inverse = np.linalg.inv(Kuu)
    log_ratio = np.linalg.slogdet(Kuu)[1] - np.linalg.slogdet(S)[1]
    kl = 0.5 * (np.trace(inverse @ S) + float(m.T @ inverse @ m) - len(Z) + log_ratio)
    return fit - kl


@pytest.mark.parametrize(
    "lower",
    [
        pytest.param("full", marks=pytest.mark.slow),
        pytest.param("global", marks=pytest.mark.slow),
        "local",
    ],
)
def test_the_last_layer_is_optimal_for_the_means_of_the_rows(lower, data):
    X, Y = data
    model, seed = two_layers(X, Y, lower), as_seed(3)
    elbo = float(model.elbo((X, Y), 1, seed=seed))
    propagated = model.propagate(D, 1, fold_in(seed, 0))
    (hidden,) = propagated.hidden
    G = propagated.rows(tf.constant(X), fold_in(seed, 1)).numpy()
    copies = tf.constant(np.tile(X, (300, 1)))  # given the inducing outputs, rows are independent
    many = hidden.rows(copies, as_seed(0)).numpy().reshape(300, N, D)
    F = hidden.means(tf.constant(X)).numpy()
    deviations = np.std(many, axis=0)
    assert deviations.max() > 0.1  # so that it matters
    assert np.all(np.abs(np.mean(many, axis=0) - F) < 5.0 * deviations / np.sqrt(300) + 1e-6)
    last = model.layers[-1].posterior
    Z = propagated.inducing if last.inducing_inputs is None else last.inducing_inputs
    expected = bound_in_numpy(F, G, np.asarray(Z), Y)
    lower_kl = float(propagated.kl) - float(propagated.last.kl())
    np.testing.assert_allclose(elbo, expected - lower_kl, rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("lower", ["full", "global", "local"])
def test_weights_of_all_draws_agree_with_the_bound(lower, data):
    """The mean of log p - log q of all layers is the bound; the log of their mean lies above."""
    X, Y = data
    model = two_layers(X, Y, lower)
    weights = model.log_importance_weights((X, Y), 2000, seed=0).numpy()
    bound = gi.bounds.estimate_elbo(model, (X, Y), 2000)
    error = np.hypot(bound.standard_error, weights.std() / np.sqrt(len(weights)))
    assert abs(weights.mean() - bound.value) < 4.0 * error
    assert np.log(np.mean(np.exp(weights - weights.max()))) + weights.max() > bound.value + error


@pytest.mark.slow
def test_no_fixed_gaussian_gives_a_larger_bound(rng):
    """q(z) that is made for each draw of the layer below, against those of three of the draws.

    The inducing points determine the layer below well, and only their values are uncertain.
    """
    X = rng.normal(size=(N, D))
    Y = np.sin(2.0 * X[:, :1]) + 0.1 * rng.normal(size=(N, 1))
    best = two_layers(X, Y)
    best.layers[0].kernel.lengthscales.assign([4.0, 4.0])
    best.layers[0].posterior.q_sqrt.assign(np.tile(0.5 * np.eye(M), (D, 1, 1)))
    bound = gi.bounds.estimate_elbo(best, (X, Y), 1000)
    for i in range(3):
        q = best.propagate(D, 1, as_seed(i)).last._processes[0].q
        root = np.linalg.cholesky(tf.matmul(q._W, q._W, transpose_a=True))[None]
        top = GPLayer(best.layers[1].kernel, 1, FullGaussian(M, q_mu=q.mean, q_sqrt=root))
        U = best.inducing_inputs.numpy()
        other = DeepGP([best.layers[0], top], best.likelihood, num_data=N, inducing_inputs=U)
        worse = gi.bounds.estimate_elbo(other, (X, Y), 1000)
        error = np.hypot(bound.standard_error, worse.standard_error)
        assert bound.value > worse.value + 3.0 * error


@pytest.mark.parametrize("is_global", [True, False])
def test_minibatches_add_up_to_the_bound(is_global, data):
    X, Y = data
    model = one_layer(X, Y, X[:M], is_global=is_global)
    parts = [model.elbo((X[rows], Y[rows])) for rows in np.split(np.arange(N), 3)]
    np.testing.assert_allclose(np.mean(parts), model.elbo((X, Y)), rtol=1e-10)


@pytest.mark.parametrize("lower", ["full", "local"])
def test_rows_in_blocks_are_all_rows(lower, data, monkeypatch):
    """The moments of many samples are summed over blocks of rows."""
    X, Y = data
    model = two_layers(X, Y, lower)
    whole = model.elbo((X, Y), 4, seed=0)
    monkeypatch.setattr("gpflow_gi.core.linalg.MOST_ENTRIES", 5 * 4 * M)
    assert len(row_blocks(N, M, tf.zeros([4, N, D]))) == 3
    np.testing.assert_allclose(model.elbo((X, Y), 4, seed=0), whole, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("lower", ["full", "local"])
def test_gradients_pass_through_the_data(lower, data):
    """Those of the bound, against differences."""
    X, Y = data
    model = two_layers(X, Y, lower)
    last = model.layers[1]
    parameters = [model.layers[0].posterior.q_mu, last.kernel.lengthscales]
    parameters.append(model.likelihood.variance)
    parameters.append(model.inducing_inputs if lower == "full" else last.posterior.inducing_inputs)
    rng = np.random.default_rng(0)
    for parameter in parameters:
        variable = parameter.unconstrained_variable
        with tf.GradientTape() as tape:
            bound = model.elbo((X, Y), 2, seed=5)
        gradient = tape.gradient(bound, variable).numpy()
        start, direction = variable.numpy(), rng.normal(size=variable.shape)
        ends = []
        for step in (1e-5, -1e-5):
            variable.assign(start + step * direction)
            ends.append(float(model.elbo((X, Y), 2, seed=5)))
        variable.assign(start)
        slope = np.sum(gradient * direction)
        np.testing.assert_allclose((ends[0] - ends[1]) / 2e-5, slope, rtol=1e-4)


def test_a_process_may_be_below_a_last_layer_of_weights(data):
    """Its weights are those of regression on the means of the rows."""
    X, Y = data
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    hidden = GPLayer(kernel(), 3, GlobalInducing(M, 3))
    layers = [hidden, DenseLayer(3, 1, Optimal(X, Y, likelihood))]
    model = DeepGP(layers, likelihood, num_data=N, inducing_inputs=X[:M])
    propagated = model.propagate(D, 1, as_seed(0))
    F = propagated.hidden[0].means(tf.constant(X)).numpy()
    Phi = np.hstack([F, np.ones((N, 1))]) / 2.0  # a fan-in of four
    B = np.eye(4) + Phi.T @ Phi / NOISE
    new = np.random.default_rng(0).normal(size=(3, 3))
    rows = np.hstack([new, np.ones((3, 1))]) / 2.0
    mean, variance = propagated.last.predict(tf.constant(new))
    np.testing.assert_allclose(mean, rows @ np.linalg.solve(B, Phi.T @ Y) / NOISE, rtol=1e-8)
    expected = np.sum(rows * np.linalg.solve(B, rows.T).T, axis=1)
    np.testing.assert_allclose(variance[:, 0], expected, rtol=1e-8)


def test_a_process_of_its_prior_has_the_mean_zero_below_a_last_layer_of_weights(data):
    X, Y = data
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    layers = [GPLayer(kernel(), 3, Prior()), DenseLayer(3, 1, Optimal(X, Y, likelihood))]
    model = DeepGP(layers, likelihood, num_data=N)
    # The regression is on the bias alone; a fan-in of four.
    bias = np.sum(Y) / 2.0 / NOISE / (1.0 + N / 4.0 / NOISE)
    mean, _ = model.predict_f(X[:2], 4000, seed=0)
    components, _ = model.predict_f_components(X[:2], 4000, seed=0)
    error = np.std(components, axis=0) / np.sqrt(4000)
    assert np.all(np.abs(mean - bias / 2.0) < 4 * error + 1e-9)
    assert np.isfinite(model.elbo((X, Y), seed=0))


def local_below_global(X, Y):
    """A local layer of much uncertainty, below an optimal one at global inducing points."""
    likelihood = gpflow.likelihoods.Gaussian(NOISE)
    q_sqrt = np.tile(0.7 * np.eye(3), (D, 1, 1))
    lower = GPLayer(kernel(), D, LocalInducing(X[:3], D, q_sqrt=q_sqrt))
    upper = GPLayer(kernel(), 1, Optimal(X, Y, likelihood, num_inducing=M))
    return DeepGP([lower, upper], likelihood, num_data=N, inducing_inputs=X[-M:])


@pytest.mark.slow
@pytest.mark.parametrize("make", [two_layers, local_below_global])
def test_functions_have_the_moments_of_predictions(make, data):
    X, Y = data
    model, S = make(X, Y), 2000
    X_new = X[:3] + 0.2
    functions = model.sample_functions(S, seed=0)
    assert functions.is_pathwise == (make is two_layers)
    f = functions(X_new).numpy()[..., 0]
    moments = np.array([np.stack(model.predict_f(X_new, 500, seed=s)) for s in range(4)])
    mean, variance = moments.mean(axis=0)[..., 0]
    spread = moments.std(axis=0)[..., 0] / np.sqrt(3)
    errors = np.hypot(f.std(axis=0) / np.sqrt(S), spread[0])
    assert np.all(np.abs(f.mean(axis=0) - mean) < 5.0 * errors)
    squares = np.square(f - f.mean(axis=0))
    errors = np.hypot(squares.std(axis=0) / np.sqrt(S), spread[1])
    assert np.all(np.abs(squares.mean(axis=0) - variance) < 5.0 * errors)


def test_values_at_the_inducing_inputs_count_for_the_means(data):
    """Those which a local layer leaves open, and draws for the layer above."""
    X, Y = data
    model = local_below_global(X, Y)
    (hidden,) = model.propagate(D, 1, as_seed(0)).hidden
    U = tf.convert_to_tensor(model.inducing_inputs)
    np.testing.assert_allclose(hidden.means(U), hidden.rows(U, as_seed(1)), atol=1e-2)


def test_three_layers_and_blocks_take_the_means_of_all(data):
    X, Y = data
    likelihood = gpflow.likelihoods.Gaussian(NOISE)

    def chain():
        return [
            GPLayer(kernel(), D, FullGaussian(M, q_sqrt=np.tile(0.5 * np.eye(M), (D, 1, 1))))
            for _ in range(2)
        ]

    for hidden in (chain(), [Residual(chain())]):
        last = GPLayer(kernel(), 1, Optimal(X, Y, likelihood, num_inducing=M))
        model = DeepGP([*hidden, last], likelihood, num_data=N, inducing_inputs=X[:M])
        drawn = model.propagate(D, 1, as_seed(0))
        F = tf.constant(X)
        for layer in drawn.hidden:
            F = layer.means(F)
        expected = last.condition_on_rows(drawn.inducing, F)
        new = tf.constant(X[:3] + 0.3)
        for one, two in zip(drawn.last.predict(new), expected.predict(new), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9)
    inner = drawn.hidden[0]._chains[0]
    np.testing.assert_allclose(
        inner[1].means(inner[0].means(tf.constant(X))) + X, drawn.hidden[0].means(tf.constant(X))
    )


def test_a_value_that_is_not_finite_is_found_in_the_last_layer(data):
    X, Y = data
    model = two_layers(X, Y)
    assert model.first_non_finite((X, Y), seed=0) is None
    model.layers[1].kernel.lengthscales.unconstrained_variable.assign([np.nan, np.nan])
    assert "layer 2 of 2 (GPLayer with Optimal)" in model.first_non_finite((X, Y), seed=0)


def test_builders_choose_the_inducing_inputs(data):
    X, Y = data
    for lower in ("full", "global", "prior"):
        last = build_deep_gp(X, Y, inference=[lower, "optimal"], num_inducing=M).layers[-1]
        assert last.posterior.inducing_inputs is None
        assert last.posterior.uses_global_inducing
    model = build_deep_gp(X, Y, inference=["local", "optimal"], num_inducing=M)
    assert model.inducing_inputs is None
    assert model.layers[-1].posterior.inducing_inputs.shape == (M, D)
    (layer,) = build_deep_gp(X, Y, num_layers=1, inference="optimal", num_inducing=M).layers
    assert layer.posterior.inducing_inputs.shape == (M, D)


@pytest.mark.slow
@pytest.mark.parametrize("lower", ["full", "local"])
def test_training_and_files(lower, data, tmp_path):
    X, Y = data
    model = two_layers(X, Y, lower)
    before = gi.bounds.estimate_elbo(model, (X, Y), 50).value
    gi.fit(model, (X, Y), steps=50, batch_size=6, learning_rate=0.02, progress=False)
    assert gi.bounds.estimate_elbo(model, (X, Y), 50).value > before + 1.0
    gi.save(model, tmp_path / "model.gi")
    loaded = gi.load(tmp_path / "model.gi")
    assert loaded.layers[-1].posterior.likelihood is loaded.likelihood
    for one, two in zip(
        loaded.predict_y(X, num_samples=5, seed=0),
        model.predict_y(X, num_samples=5, seed=0),
        strict=True,
    ):
        np.testing.assert_array_equal(one, two)
    functions = model.sample_functions(3, seed=0)
    np.testing.assert_allclose(functions(X)[:, :2], functions(X[:2]), rtol=1e-8)


@pytest.mark.slow
def test_other_data_than_those_it_holds_are_refused(data):
    X, Y = data
    model = two_layers(X, Y)
    for other in ((X, Y[::-1].copy()), (X[::-1].copy(), Y)):
        with pytest.raises(ValueError, match="holds other rows than the data"):
            gi.fit(model, other, steps=1, progress=False)
        batches = tf.data.Dataset.from_tensor_slices(other).batch(4)
        rows = gi.training.NarrowRows(*other, standardise_inputs=False, standardise_targets=False)
        for given in (batches, rows):
            with pytest.raises(ValueError, match="holds other rows than the data"):
                gi.fit(model, given, steps=1, progress=False)
        keras = gi.interop.as_keras_model(model)
        keras.compile(optimizer="adam")
        with pytest.raises(ValueError, match="holds other rows than the data"):
            keras.fit(*other, epochs=1, verbose=0)
        with pytest.raises(ValueError, match="holds other rows than the data"):
            keras.fit(batches, epochs=1, verbose=0)
    later = tf.data.Dataset.from_tensor_slices((X, np.r_[Y[:8], Y[8:] + 1.0])).batch(4)
    with pytest.raises(ValueError, match="holds other rows than the data"):
        gi.fit(model, later, steps=3, progress=False)
    some = gi.training.NarrowRows(X[:4], Y[:4], standardise_inputs=False, standardise_targets=False)
    model.num_data = 4
    with pytest.raises(ValueError, match="holds other rows than the data"):
        gi.fit(model, some, steps=1, progress=False)
    model.num_data = N
    model.likelihood = gpflow.likelihoods.Gaussian(2.0)
    with pytest.raises(ValueError, match="another likelihood than the model"):
        gi.fit(model, (X, Y), steps=1, progress=False)
    model.likelihood = model.layers[-1].posterior.likelihood
    weighted = gi.objectives.WeightedBound(np.ones(N))
    with pytest.raises(ValueError, match="takes all rows with equal weights"):
        gi.fit(model, (X, Y), steps=1, objective=weighted, progress=False)


@pytest.mark.slow
def test_the_rows_it_holds_may_come_in_other_ways(data):
    X, Y = data
    plain = {"standardise_inputs": False, "standardise_targets": False}
    batches = tf.data.Dataset.from_tensor_slices(data).batch(4)
    for given in (batches, gi.training.NarrowRows(X, Y, **plain)):
        gi.fit(two_layers(X, Y), given, steps=1, progress=False)
    keras = gi.interop.as_keras_model(two_layers(X, Y))
    keras.compile(optimizer="adam")
    keras.fit(X, Y, epochs=1, verbose=0)
    keras.fit(batches, epochs=1, verbose=0)


@pytest.mark.slow
def test_estimators_keep_the_rows_of_a_warm_start(data):
    X, Y = data
    estimator = gi.estimators.DeepGPRegressor(
        inference=["full", "optimal"], num_inducing=M, steps=20, warm_start=True, random_state=0
    )
    estimator.fit(X, Y[:, 0])
    estimator.fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="must be the 12 rows of the earlier training"):
        estimator.fit(X[:8], Y[:8, 0])
    with pytest.raises(ValueError, match="holds other rows than the data"):
        estimator.fit(X, -Y[:, 0])
    with pytest.raises(ValueError, match="equal weights"):
        clone = gi.estimators.DeepGPRegressor(inference=["full", "optimal"], num_inducing=M)
        clone.fit(X, Y[:, 0], sample_weight=np.linspace(0.1, 1.0, N))


@pytest.mark.parametrize(
    "name, value",
    [
        ("num_inducing", None),
        ("num_inducing", -1),
        ("inducing_inputs", "no"),
        ("rows", tf.constant(np.full((N, D), np.nan))),
        ("rows", tf.zeros([N - 1, D], tf.float64)),
        ("_targets", tf.zeros([N, 1], tf.float32)),
        ("_targets", tf.zeros([N, 2], tf.float64)),
    ],
)
def test_files_with_other_contents_are_refused(name, value, data):
    model = two_layers(*data)
    check_model(model)
    setattr(model.layers[-1].posterior, name, value)
    with pytest.raises((ValueError, TypeError)):
        check_model(model)


def test_what_does_not_fit_is_refused(data):
    X, Y = data
    likelihood = gpflow.likelihoods.Gaussian()
    with pytest.raises(ValueError, match="there cannot be more"):
        Optimal(X, Y, likelihood, num_inducing=2, inducing_inputs=X[:3])
    with pytest.raises(ValueError, match="num_inducing must be an integer of at least 1"):
        Optimal(X, Y, likelihood, num_inducing=0)
    with pytest.raises(ValueError, match="inducing_inputs must be finite"):
        Optimal(X, Y, likelihood, inducing_inputs=np.full((3, D), np.nan))
    with pytest.raises(TypeError, match=r"must be a gpflow\.likelihoods\.Gaussian"):
        build_deep_gp(X, Y, inference=["full", "optimal"], likelihood=gpflow.likelihoods.StudentT())
    with pytest.raises(ValueError, match="and \"optimal\" for the last layer, but holds 'optimal'"):
        build_deep_gp(X, Y, inference=["optimal", "global"])
    with pytest.raises(ValueError, match='missing is "ignore"'):
        build_deep_gp(X, Y, inference=["full", "optimal"], missing="ignore")
    with pytest.raises(ValueError, match="latent variables of each row"):
        build_deep_gp(X, Y, inference=["full", "optimal"], latent_dim=1)
    mixed = GPLayer(kernel(), 1, Optimal(X, Y, likelihood, num_inducing=M), mixing=[[1.0]])
    with pytest.raises(ValueError, match="mixing matrix"):
        DeepGP([mixed], likelihood, num_data=N, inducing_inputs=X[:M])
    scalar = gpflow.kernels.SquaredExponential()
    own = GPLayer(scalar, 1, Optimal(X, Y, likelihood, inducing_inputs=np.ones((3, D + 1))))
    with pytest.raises(ValueError, match="holds rows of 2 columns, but the model takes 3 columns"):
        DeepGP([own], likelihood, num_data=N)
    hidden = GPLayer(scalar, 4, LocalInducing(X[:M], 4))
    with pytest.raises(ValueError, match="inducing inputs of 3 columns, but gets 4 columns"):
        DeepGP([hidden, own], likelihood, num_data=N)

"""Global inducing points beside inducing points of a layer's own."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.architectures import build_deep_gp
from gpflow_gi.core.random import as_seed
from gpflow_gi.persistence import load, save
from gpflow_gi.posteriors import FullGaussian, GlobalInducing, LocalInducing, Optimal

from ..builders import random_q_sqrt

M, K, P = 5, 3, 2  # K of the layer's own beside M of the model
ALL = M + K
FORMS = ["plain", "full precision", "each unit", "whitened", "free"]


def posterior(rng, form, *, inducing_inputs=None):
    """A posterior at M + K points; with `inducing_inputs` the last K are the layer's own."""
    if form == "free":
        start = {"q_mu": rng.normal(size=(ALL, P)), "q_sqrt": random_q_sqrt(rng, P, ALL)}
        return FullGaussian(ALL, **start, inducing_inputs=inducing_inputs)
    settings = {"pseudo_precision": rng.gamma(2.0, size=ALL)}
    if form == "full precision":
        A = rng.normal(size=(ALL, ALL))
        settings = {"pseudo_precision": A @ A.T + np.eye(ALL), "precision": "full"}
    if form == "each unit":
        settings = {"pseudo_precision": rng.gamma(2.0, size=(P, ALL)), "shared": False}
    return GlobalInducing(
        ALL,
        P,
        pseudo_outputs=rng.normal(size=(ALL, P)),
        whiten=form == "whitened",
        inducing_inputs=inducing_inputs,
        **settings,
    )


def gp_layer(posterior, **settings):
    kernel = gpflow.kernels.Matern52(lengthscales=0.8)
    return gi.layers.GPLayer(kernel, P, posterior, **settings)


def model_of(layers, U):
    likelihood = gpflow.likelihoods.Gaussian(0.3)
    return gi.models.DeepGP(layers, likelihood, num_data=9, inducing_inputs=U)


@pytest.fixture
def data(rng):
    return rng.normal(size=(9, 2)), rng.normal(size=(9, P))


@pytest.mark.parametrize("form", FORMS)
def test_in_one_layer_it_does_not_matter_whose_points_they_are(form, data, rng):
    U = rng.normal(size=(ALL, 2))
    whole = model_of([gp_layer(posterior(np.random.default_rng(1), form))], U)
    half = posterior(np.random.default_rng(1), form, inducing_inputs=U[M:])
    model = model_of([gp_layer(half)], U[:M])
    np.testing.assert_allclose(model.elbo(data), whole.elbo(data), rtol=1e-12)
    X = rng.normal(size=(4, 2))
    for ours, theirs in zip(model.predict_f(X), whole.predict_f(X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-10)


@pytest.mark.parametrize("num_samples", [1, 3])
def test_points_of_no_precision_change_nothing(num_samples, data, rng):
    """In the last layer; the one below is drawn, so that its draws are the same."""
    X, Y = data
    U, Z = rng.normal(size=(M, 2)), rng.normal(size=(K, P))
    V, Lambda = rng.normal(size=(M, P)), rng.gamma(2.0, size=M)
    below = posterior(rng, "plain", inducing_inputs=rng.normal(size=(K, 2)))
    top = GlobalInducing(M, P, pseudo_outputs=V, pseudo_precision=Lambda)
    more = GlobalInducing(
        ALL,
        P,
        pseudo_outputs=np.concatenate([V, rng.normal(size=(K, P))]),
        pseudo_precision=np.concatenate([Lambda, np.full(K, 1e-12)]),
        inducing_inputs=Z,
    )
    models = [model_of([gp_layer(below), gp_layer(each)], U) for each in (top, more)]
    one, other = (model.elbo((X, Y), num_samples, seed=3) for model in models)
    np.testing.assert_allclose(other, one, rtol=1e-9)


def test_without_precision_at_the_points_from_below_it_is_local(data, rng):
    """Above a function, where both kinds of models have exact bounds."""
    X, Y = data
    U, Z = rng.normal(size=(M, 2)), rng.normal(size=(K, 2))
    V, Lambda = rng.normal(size=(K, P)), rng.gamma(2.0, size=K)
    local = LocalInducing(Z, P, pseudo_outputs=V, pseudo_precision=Lambda)
    own = GlobalInducing(
        ALL,
        P,
        pseudo_outputs=np.concatenate([rng.normal(size=(M, P)), V]),
        pseudo_precision=np.concatenate([np.full(M, 1e-12), Lambda]),
        inducing_inputs=Z,
    )
    models = [
        model_of([gi.layers.Deterministic(tf.sin), gp_layer(each)], inputs)
        for each, inputs in ((local, None), (own, U))
    ]
    one, other = (model.elbo((X, Y)) for model in models)
    np.testing.assert_allclose(other, one, rtol=1e-9)


@pytest.mark.parametrize("form", FORMS)
def test_what_goes_on_is_the_function_at_the_points_from_below(form, rng):
    """Draws there have the moments of predictions there, and are the draws at equal rows."""
    U, Z = tf.constant(rng.normal(size=(M, 2))), rng.normal(size=(K, 2))
    layer = gp_layer(
        posterior(rng, form, inducing_inputs=Z), mean_function=gpflow.functions.Constant(0.7)
    )
    q = layer.condition(U)
    draw = q.draw(4000, as_seed(0))
    values, draw = draw.extend_inducing(U, as_seed(1))
    assert values.shape == (4000, M, P)
    mean, variance = (moment.numpy() for moment in q.predict(U))
    error = values.numpy().std(axis=0) / 4000**0.5
    assert np.all(np.abs(values.numpy().mean(axis=0) - mean) < 5 * error)
    squares = (values.numpy() - mean) ** 2
    error = squares.std(axis=0) / 4000**0.5
    assert np.all(np.abs(squares.mean(axis=0) - variance) < 5 * error)
    same, _ = draw.extend(U, as_seed(2))
    np.testing.assert_allclose(same, values, atol=7 * (2 * gpflow.default_jitter()) ** 0.5)
    ratio = draw.log_p_minus_log_q.numpy()
    assert abs(ratio.mean() + q.kl()) < 5 * ratio.std() / 4000**0.5


@pytest.mark.parametrize(
    "form", [FORMS[0], *(pytest.param(form, marks=pytest.mark.slow) for form in FORMS[1:])]
)
def test_joint_draws_have_the_bound_as_their_mean(form, data, rng):
    """Of all layers, whose density ratios are those of the bound."""
    X, Y = data
    U = rng.normal(size=(M, 2))
    layers = [
        gp_layer(posterior(rng, form, inducing_inputs=rng.normal(size=(K, 2)))) for _ in range(2)
    ]
    model = model_of(layers, U)
    weights = model.log_importance_weights((X, Y), 600, seed=0).numpy()
    bounds = np.array([model.elbo((X, Y), 50, seed=seed) for seed in range(8)])
    error = np.hypot(weights.std() / 600**0.5, bounds.std() / 8**0.5)
    assert abs(weights.mean() - bounds.mean()) < 5 * error


def test_an_optimal_last_layer_is_sparse_regression_at_all_points(data, rng):
    X, Y = data
    U = rng.normal(size=(ALL, 2))
    kernel = gpflow.kernels.Matern52(lengthscales=0.8)
    likelihood = gpflow.likelihoods.Gaussian(0.3)
    own = Optimal(X, Y, likelihood, num_inducing=ALL, inducing_inputs=U[M:])
    layer = gi.layers.GPLayer(kernel, P, own)
    model = gi.models.DeepGP([layer], likelihood, num_data=9, inducing_inputs=U[:M])
    sgpr = gpflow.models.SGPR((X, Y), kernel, U, noise_variance=0.3)
    np.testing.assert_allclose(model.elbo((X, Y)), sgpr.elbo(), rtol=1e-5)


def test_layers_of_weights_have_pseudo_data_at_all_points(data, rng):
    X, Y = data
    U = rng.normal(size=(ALL, 2))
    bounds = []
    for inputs, own in ((U, None), (U[:M], U[M:])):
        q = posterior(np.random.default_rng(1), "plain", inducing_inputs=own)
        bounds.append(model_of([gi.layers.DenseLayer(2, P, q)], inputs).elbo((X, Y)))
    np.testing.assert_allclose(bounds[1], bounds[0], rtol=1e-12)


def test_convolutions_have_pseudo_data_at_all_images(rng):
    images = rng.normal(size=(6, 4, 4, 1))
    V, Lambda = rng.normal(size=(6, 4, 4, 2)), rng.gamma(2.0, size=6)
    found = []
    for inputs, own in ((images, None), (images[:4], images[4:])):
        q = GlobalInducing(
            6, (4, 4, 2), pseudo_outputs=V, pseudo_precision=Lambda, inducing_inputs=own
        )
        layer = gi.layers.Conv2DLayer((4, 4, 1), 2, 2, q)
        above = gi.layers.DenseLayer(32, 2, GlobalInducing(len(inputs), 2))
        likelihood = gpflow.likelihoods.Gaussian(0.3)
        gi.models.DeepGP([layer, above], likelihood, num_data=6, inducing_inputs=inputs)
        given = layer.condition(tf.constant(inputs.reshape(len(inputs), -1)))
        found.append([given.kl(), *given.predict(tf.constant(images.reshape(6, -1)))])
    for ours, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("num_layers", [1, 3])
@pytest.mark.parametrize("method", ["global", "full"])
def test_the_builder_starts_at_the_same_functions(method, num_layers, data):
    """In one layer at the same bound; above, points of a layer's own start at their means."""
    X, Y = data
    models = [
        build_deep_gp(
            X,
            Y,
            num_layers=num_layers,
            inference=[method] * (num_layers - 1) + ["global"],
            num_inducing=6,
            own_share=share,
        )
        for share in (0.0, 0.5)
    ]
    assert models[1].inducing_inputs.shape == (3, 2)
    for layer in models[1].layers:
        assert layer.posterior.inducing_inputs.shape == (3, 2)
        np.testing.assert_array_equal(
            layer.posterior.inducing_inputs, models[0].inducing_inputs[3:]
        )
    if num_layers == 1:
        np.testing.assert_allclose(models[1].elbo((X, Y)), models[0].elbo((X, Y)), rtol=1e-10)
        return
    mean, _ = models[0].predict_f(X, 200, seed=0)
    np.testing.assert_allclose(models[1].predict_f(X, 200, seed=0)[0], mean, atol=0.1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        {},
        pytest.param({"latent_dim": 1}, marks=pytest.mark.slow),
        pytest.param({"inference": ["full", "optimal"]}, marks=pytest.mark.slow),
    ],
)
def test_training_and_files(settings, data, tmp_path):
    X, Y = data
    model = build_deep_gp(X, Y, num_inducing=6, own_share=0.5, **settings)
    before = model.elbo((X, Y), 20, seed=0)
    starts = [layer.posterior.inducing_inputs.numpy() for layer in model.layers[-2:]]
    gi.fit(model, (X, Y), steps=60, seed=0)
    assert model.elbo((X, Y), 20, seed=0) > before + 1
    for layer, start in zip(model.layers[-2:], starts, strict=True):
        assert np.abs(layer.posterior.inducing_inputs - start).max() > 0.01
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    for ours, theirs in zip(again.predict_y(X, seed=1), model.predict_y(X, seed=1), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_points_at_all_rows_are_mixed(rng):
    """Different rows are sorted; those of a layer's own are not all at one side."""
    X = rng.normal(size=(40, 2))
    with pytest.warns(UserWarning, match="only 40 different rows"):
        model = build_deep_gp(X, X, num_inducing=60, own_share=0.5)
    below, own = model.inducing_inputs.numpy(), model.layers[0].posterior.inducing_inputs.numpy()
    assert len(below) == len(own) == 20
    np.testing.assert_array_equal(
        np.unique(np.concatenate([below, own]), axis=0), np.unique(X, axis=0)
    )
    assert below[:, 0].min() < np.median(X[:, 0]) < below[:, 0].max()
    assert own[:, 0].min() < np.median(X[:, 0]) < own[:, 0].max()


def test_functions_agree_with_the_inducing_activations(data):
    X, Y = data
    model = build_deep_gp(X, Y, num_layers=3, num_inducing=6, own_share=0.5)
    levels = model.inducing_activations(4, seed=0)
    assert [level.shape for level in levels] == [(4, 3, 2)] * 3 + [(4, 3, P)]


def test_what_does_not_fit_is_refused(data, rng):
    X, Y = data
    U = rng.normal(size=(M, 2))
    with pytest.raises(ValueError, match="5 rows, the layer's own among its num_inducing=5"):
        GlobalInducing(M, P, inducing_inputs=U)
    with pytest.raises(ValueError, match="inducing_inputs must be finite"):
        GlobalInducing(ALL, P, inducing_inputs=np.full((K, 2), np.nan))
    with pytest.raises(ValueError, match="which needs num_inducing too"):
        FullGaussian(inducing_inputs=U)
    with pytest.raises(ValueError, match="6 rows, the layer's own among its num_inducing=5"):
        Optimal(X, Y, gpflow.likelihoods.Gaussian(), num_inducing=5, inducing_inputs=X[:6])
    own = GlobalInducing(ALL, P, inducing_inputs=rng.normal(size=(K, 2)))
    with pytest.raises(ValueError, match="have 4 rows and the layer has 3 of its own; num_induc"):
        model_of([gp_layer(own)], U[:4])
    own = GlobalInducing(ALL, P, inducing_inputs=rng.normal(size=(K, 3)))
    with pytest.raises(ValueError, match="has inducing inputs of 3 columns, but gets 2 columns"):
        model_of([gp_layer(own)], U)
    with pytest.raises(ValueError, match="own_share must be below 1, but is 1"):
        build_deep_gp(X, Y, own_share=1.0)
    with pytest.raises(ValueError, match="own_share must not be negative"):
        build_deep_gp(X, Y, own_share=-0.1)
    model = build_deep_gp(X, Y, num_inducing=6, own_share=0.5)
    with pytest.raises(ValueError, match="inducing inputs of their own, but layer 1 has 3"):
        model.update((X, Y))

"""Frozen posteriors: predictions of the model, and the same at every call."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi

D, S = 2, 150


def data(rng, N=30):
    X = rng.normal(size=(N, D))
    return X, np.sin(2 * X[:, :1]) + 0.1 * rng.normal(size=(N, 1))


KINDS = {
    "global": lambda X, Y: gi.architectures.build_deep_gp(X, Y, num_inducing=6, num_layers=3),
    "local": lambda X, Y: gi.architectures.build_deep_gp(X, Y, inference="local", num_inducing=6),
    "local then global": lambda X, Y: gi.architectures.build_deep_gp(
        X, Y, inference=["local", "global"], num_inducing=6
    ),
    "network": lambda X, Y: gi.architectures.build_bnn(X, Y, widths=(5,), num_inducing=6),
    "softmax": lambda X, Y: gi.architectures.build_deep_gp(
        X,
        (Y > 0).astype(float),
        num_inducing=6,
        likelihood=gpflow.likelihoods.Softmax(2),
    ),
}


def made(kind, rng):
    X, Y = data(rng)
    model = KINDS[kind](X, Y)
    for layer in model.layers[:-1]:
        if isinstance(layer, gi.layers.GPLayer):
            layer.kernel.variance.assign(0.5)  # so that there is something to sample
    return model, X, (Y > 0).astype(float) if kind == "softmax" else Y


def test_predictions_of_a_network_are_those_of_the_model_with_its_seed(rng):
    """Without a residual all of a layer is in its drawn weights."""
    model, X, Y = made("network", rng)
    frozen = model.posterior(S, seed=4)
    for ours, expected in (
        (frozen.predict_f(X), model.predict_f(X, S, seed=4)),
        (frozen.predict_y(X), model.predict_y(X, S, seed=4)),
        (frozen.predict_log_density((X, Y)), model.predict_log_density((X, Y), S, seed=4)),
    ):
        np.testing.assert_allclose(ours, expected, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind",
    [
        pytest.param("global", marks=pytest.mark.longest),
        pytest.param("local then global", marks=pytest.mark.longest),
        "local",
        pytest.param("softmax", marks=pytest.mark.longest),
    ],
)
def test_predictions_are_those_of_the_model(kind, rng):
    """Up to the noise of S samples, whose size the spread over seeds tells."""
    model, X, Y = made(kind, rng)
    X, Y = X[:6], Y[:6]

    def all_of(predict_f, predict_y, predict_log_density):
        return np.concatenate(
            [np.ravel(one) for one in (*predict_f(X), *predict_y(X), predict_log_density((X, Y)))]
        )

    def of_model(seed):
        return all_of(
            lambda X: model.predict_f(X, S, seed=seed),
            lambda X: model.predict_y(X, S, seed=seed),
            lambda data: model.predict_log_density(data, S, seed=seed),
        )

    def of_frozen(seed):
        frozen = model.posterior(S, seed)
        return all_of(frozen.predict_f, frozen.predict_y, frozen.predict_log_density)

    expected, found = ([one(seed) for seed in range(8)] for one in (of_model, of_frozen))
    error = np.sqrt((np.var(expected, 0, ddof=1) + np.var(found, 0, ddof=1)) / 8)
    assert np.all(np.abs(np.mean(found, 0) - np.mean(expected, 0)) < 5 * error + 1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_a_row_has_the_same_numbers_in_whatever_batch(kind, rng):
    model, X, Y = made(kind, rng)
    frozen = model.posterior(20, seed=1)
    whole = [*frozen.predict_f(X), *frozen.predict_y(X), frozen.predict_log_density((X, Y))]
    order = rng.permutation(len(X))[:11]
    part = [
        *frozen.predict_f(X[order]),
        *frozen.predict_y(X[order]),
        frozen.predict_log_density((X[order], Y[order])),
    ]
    for one, other in zip(whole, part, strict=True):
        np.testing.assert_allclose(one.numpy()[order], other, rtol=1e-8, atol=1e-10)


@pytest.mark.slow
def test_training_the_model_does_not_change_it(rng):
    model, X, Y = made("local then global", rng)
    frozen = model.posterior(5, seed=1)
    before = frozen.predict_f(X[:4])[0].numpy()
    gi.fit(model, (X, Y), steps=3, progress=False)
    np.testing.assert_array_equal(frozen.predict_f(X[:4])[0], before)
    np.testing.assert_array_equal(model.posterior(5, seed=2).predict_f(X)[0].shape, (30, 1))
    assert not np.array_equal(model.posterior(5, seed=1).predict_f(X[:4])[0], before)


@pytest.mark.compiled
@pytest.mark.parametrize(
    "kind",
    [
        "local then global",
        *(pytest.param(k, marks=pytest.mark.slow) for k in ("global", "network")),
    ],
)
def test_inside_tf_function_with_gradients(kind, rng):
    model, X, _ = made(kind, rng)
    frozen = model.posterior(5, seed=1)

    @tf.function(input_signature=[tf.TensorSpec([None, D], tf.float64)], autograph=False)
    def mean_and_gradient(X):
        with tf.GradientTape() as tape:
            tape.watch(X)
            mean = frozen.predict_f(X)[0]
        return mean, tape.gradient(mean, X)

    compiled, gradient = mean_and_gradient(X)  # the first call of all is inside the function
    np.testing.assert_allclose(compiled, frozen.predict_f(X)[0], rtol=1e-8, atol=1e-10)
    assert gradient.shape == X.shape and np.isfinite(gradient).all()


def test_what_does_not_fit_is_refused(rng):
    model, _, _ = made("network", rng)
    with pytest.raises(ValueError, match="num_samples must be"):
        model.posterior(0)
    with pytest.raises(ValueError, match="X has 3 columns"):
        model.posterior(2).predict_f(np.zeros((2, 3)))

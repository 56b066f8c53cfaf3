"""The importance weighted bound."""

import gc
import weakref

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.models import importance

from ..builders import bounds, mean_and_standard_error, random_bnn, random_data, random_deep_gp


def weights(model, data, num_samples, repeats):
    """Log weights of independent calls, [repeats, num_samples]."""

    @tf.function(autograph=False)
    def estimate(seed):
        return model.log_importance_weights(data, num_samples, seed=seed)

    return np.array([estimate(tf.constant([1, i])) for i in range(repeats)])


def iwbo(log_weights):
    """IWBO estimates of each row."""
    largest = log_weights.max(axis=1, keepdims=True)
    return np.log(np.mean(np.exp(log_weights - largest), axis=1)) + largest[:, 0]


MODELS = {
    **{
        f"bnn {'-'.join(kinds)} {prior}": (random_bnn, kinds, {"prior": prior})
        for kinds, prior in [
            (("global", "full"), "neal"),
            (("own", "local", "own full"), "neal"),
            (("factorised", "global"), "scale"),
            (("prior", "factorised"), "scale"),
            (("local",), "standard"),
        ]
    },
    **{
        f"gp {'-'.join(kinds)}": (random_deep_gp, kinds, {})
        for kinds in [
            ("local", "full"),
            ("free", "full"),
            ("global", "global"),
            ("prior", "local"),
            ("full",),
        ]
    },
}


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("make, kinds, options", MODELS.values(), ids=MODELS.keys())
def test_one_sample_gives_the_elbo_and_more_give_more(make, kinds, options, rng):
    data = random_data(rng, N=6)
    model = make(rng, kinds, num_data=6, noise=1.0, **options)
    elbo, elbo_error = mean_and_standard_error(bounds(model, data, 50, 60))
    log_weights = weights(model, data, 64, 60)
    sampled, error = mean_and_standard_error(log_weights.ravel())
    assert abs(sampled - elbo) < 5 * np.hypot(error, elbo_error)
    # IWBO_K <= IWBO_2K for every set of weights that is split in two, by Jensen's inequality
    # on the mean of two means, up to the noise of an estimate of both from the same weights.
    values = {K: iwbo(log_weights.reshape(-1, K)) for K in (1, 4, 16, 64)}
    means = [np.mean(value) for value in values.values()]
    assert means == sorted(means)
    assert means[-1] > elbo


@pytest.mark.compiled
@pytest.mark.parametrize("kernel", ["dense", pytest.param("gp", marks=pytest.mark.slow)])
def test_weights_are_unbiased_for_the_evidence(kernel, rng):
    """One linear layer: the evidence is known, and the weights of any q average to it."""
    N, D, noise = 5, 2, 0.5
    X, Y = random_data(rng, N=N, D=D)
    pseudo_data = {
        "pseudo_outputs": Y + 0.2 * rng.normal(size=Y.shape),
        "pseudo_precision": np.exp(0.2 * rng.normal(size=N)) / noise,
    }
    posterior = gi.posteriors.GlobalInducing(N, 1, **pseudo_data)
    if kernel == "dense":
        layer = gi.layers.DenseLayer(D, 1, posterior)
        units = np.hstack([X, np.ones((N, 1))])
        K = units @ units.T / 3
    else:
        kernel = gpflow.kernels.Matern32(1.3, 0.8)
        layer = gi.layers.GPLayer(kernel, 1, posterior)
        K = kernel(X).numpy()
    model = gi.models.DeepGP(
        [layer], gpflow.likelihoods.Gaussian(noise), num_data=N, inducing_inputs=X
    )
    covariance = K + noise * np.eye(N)
    evidence = -0.5 * (
        (Y.T @ np.linalg.solve(covariance, Y)).item() + np.linalg.slogdet(2 * np.pi * covariance)[1]
    )
    w = np.exp(weights(model, (X, Y), 500, 40).ravel() - evidence)
    mean, error = mean_and_standard_error(w)
    assert abs(mean - 1) < 5 * error and error < 0.05
    elbo = model.elbo((X, Y))
    estimates = [float(model.iwbo((X, Y), 20, seed=seed)) for seed in range(50)]
    mean, error = mean_and_standard_error(estimates)
    assert elbo < mean < evidence + 5 * error


def test_every_chunk_has_noise_of_its_own(monkeypatch, rng):
    monkeypatch.setattr(importance, "MOST_SAMPLES_AT_ONCE", 2)
    model = random_bnn(rng, ("global", "own"), num_data=6, noise=1.0)
    X, Y = map(tf.constant, random_data(rng, N=6))
    assert len(set(importance.log_weights(model, X, Y, 5, as_seed(3)).numpy())) == 5


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize(
    "make, kinds", [(random_bnn, ("global", "own")), (random_deep_gp, ("local", "full"))]
)
def test_chunks_are_independent_and_alike(make, kinds, monkeypatch, rng):
    data = random_data(rng, N=6)
    model = make(rng, kinds, num_data=6, noise=1.0)
    whole = np.array(model.log_importance_weights(data, 48, seed=3))
    assert len(set(whole)) == 48
    monkeypatch.setattr(importance, "MOST_SAMPLES_AT_ONCE", 5)
    importance._COMPILED.clear()
    assert importance.samples_at_once(model.numbers_per_sample(6), 48) == 5
    parts = model.log_importance_weights(data, 48, seed=3).numpy()
    assert parts.shape == (48,) and len(set(parts)) == 48
    monkeypatch.setattr(importance, "CACHED_SIZE", 0)
    importance._COMPILED.clear()
    assert importance.samples_at_once(model.numbers_per_sample(6), 48) == 1
    one_by_one = model.log_importance_weights(data, 48, seed=3).numpy()
    assert len(set(one_by_one)) == 48
    for other in (parts, one_by_one):
        (mean, error), (expected, expected_error) = map(mean_and_standard_error, (other, whole))
        assert abs(mean - expected) < 5 * np.hypot(error, expected_error)


@pytest.mark.slow
@pytest.mark.compiled
def test_eager_calls_are_compiled_once_and_notice_a_new_part(rng):
    data = random_data(rng, N=6)
    model = random_bnn(rng, ("global", "global"), num_data=6)
    first = model.iwbo(data, 30, seed=1)
    compiled = tf.function(lambda model: model.iwbo(data, 30, seed=1), autograph=False)
    np.testing.assert_allclose(first, compiled(model), rtol=1e-12)
    traced = importance._COMPILED[model][1].traced
    assert model.iwbo(data, 30, seed=1) == first != model.iwbo(data, 30, seed=2)
    assert traced.cache_info().misses == 1
    model.inducing_inputs.assign(model.inducing_inputs + 0.1)  # the same part, another value
    moved = model.iwbo(data, 30, seed=1)
    assert moved != first and traced.cache_info().misses == 1
    model.layers[0].prior = gi.priors.NealPrior(2.0)
    assert model.iwbo(data, 30, seed=1) not in (first, moved)
    model.layers[0].prior = gi.priors.ScalePrior()
    scaled = model.iwbo(data, 30, seed=1)
    model.layers[0].prior.rate = 9.0  # a number, not a parameter
    assert model.iwbo(data, 30, seed=1) != scaled
    reference = weakref.ref(model)
    del model, traced, compiled
    gc.collect()
    assert reference() is None  # the compiled function does not keep it


def test_gradients_pass_through_the_chunks(monkeypatch, rng):
    monkeypatch.setattr(importance, "MOST_SAMPLES_AT_ONCE", 4)
    data = random_data(rng, N=6)
    model = random_bnn(rng, ("global", "factorised"), num_data=6)

    @tf.function(autograph=False)
    def gradients():
        with tf.GradientTape() as tape:
            value = model.iwbo(data, 12, seed=0)
        return tape.gradient(value, model.trainable_variables)

    assert all(np.all(np.isfinite(gradient)) for gradient in gradients())


def test_what_is_no_bound_is_refused(rng):
    model = random_bnn(rng, ("global",), num_data=9)
    X, Y = random_data(rng, N=9)
    with pytest.raises(ValueError, match=r"all 9 rows .* X has 5"):
        model.iwbo((X[:5], Y[:5]), 10)
    with pytest.raises(ValueError, match="num_samples must be an integer"):
        model.iwbo((X, Y), 0)


@pytest.mark.slow
def test_a_change_of_the_jitter_reaches_a_compiled_bound():
    """The settings of GPflow are constants of a compiled function."""
    X, Y = random_data(np.random.default_rng(0))

    def build():
        return random_deep_gp(np.random.default_rng(1), ("global",))

    model = build()
    before = model.iwbo((X, Y), 3, seed=0)
    with gpflow.config.as_context():
        gpflow.config.set_default_jitter(0.1)
        after, expected = (one.iwbo((X, Y), 3, seed=0) for one in (model, build()))
    np.testing.assert_allclose(after, expected)
    assert abs(after - before) > 1e-3
    np.testing.assert_allclose(model.iwbo((X, Y), 3, seed=0), before)


class Scale:
    """A function whose constant may change unnoticed."""

    def __init__(self, factor):
        self.factor = factor

    def __call__(self, X):
        return self.factor * X


@pytest.mark.parametrize("part", ["layer", "mean function"])
def test_a_constant_of_a_users_function_counts(part, rng):
    X, Y = random_data(rng)
    scale = Scale(1.0)
    layers = [
        gi.layers.GPLayer(
            gpflow.kernels.SquaredExponential(),
            1,
            gi.posteriors.GlobalInducing(4, 1),
            mean_function=(lambda X: scale(X[..., :1])) if part == "mean function" else None,
        )
    ]
    if part == "layer":
        layers = [scale, *layers]
    model = gi.models.DeepGP(
        layers, gpflow.likelihoods.Gaussian(0.1), num_data=len(X), inducing_inputs=X[:4]
    )
    Y = Y[:, :1]
    before = model.iwbo((X, Y), 5, seed=0)
    scale.factor = 0.3
    after = model.iwbo((X, Y), 5, seed=0)
    fresh = gi.models.DeepGP(model.layers, model.likelihood, num_data=len(X), inducing_inputs=X[:4])
    np.testing.assert_allclose(after, fresh.iwbo((X, Y), 5, seed=0), rtol=1e-10)
    assert abs(after - before) > 0.1

"""Divergences from a classifier: exact ratios, training, and how far they are off."""

import math
from pathlib import Path

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed, fold_in, standard_normal, start_seed
from gpflow_gi.inference import Gaussian, Implicit, WeightSpace
from gpflow_gi.models import NoDensityError
from gpflow_gi.objectives import DensityRatioKL, classifier_kl
from gpflow_gi.objectives.classifier import classifier_loss, new_classifier
from gpflow_gi.objectives.drawn import Drawn
from gpflow_gi.objectives.two_contrasts import contrasted, loss_of_both, symmetrised_kl
from gpflow_gi.training.progress import describe

from ..builders import mean_and_standard_error, random_bnn, random_data

DOCS = Path(__file__).resolve().parents[2] / "docs"

NUM_DRAWS = 2000


class Shift(gpflow.Module):
    """theta = mean + scale * noise: a sampler whose density the tests know."""

    def __init__(self, mean, scale=1.0):
        super().__init__()
        self.mean, self.scale = gpflow.Parameter(mean), scale

    def __call__(self, num_samples, seed):
        return self.mean + self.scale * standard_normal(
            [num_samples, self.mean.shape[0]], seed, tf.float64
        )


def network(rng):
    return random_bnn(rng, ["prior", "prior"], width=3)


def shifted(rng, scale=1.0):
    model = network(rng)
    mean = rng.normal(size=WeightSpace(model).size)
    return Implicit(model, Shift(mean, scale)), mean


def second_terms(objective, model, data, repeats=20):
    batch = tuple(map(tf.constant, data))
    values = [objective.terms(model, batch, 1, as_seed(i))[1] for i in range(repeats)]
    return mean_and_standard_error(values)


@pytest.mark.parametrize("symmetrised", [False, True])
def test_with_the_exact_ratio_the_divergence_is_exact(symmetrised, rng):
    """Between N(m, I) and N(0, I) log q / p = m x - |m|^2 / 2, a network without hidden layers."""
    model, m = shifted(rng)
    objective = DensityRatioKL(
        (), symmetrised=symmetrised, adaptive_contrast=False, num_draws=NUM_DRAWS
    )
    data = random_data(rng)
    objective.build(model, data)
    objective.log_ratio.weights[0].assign(m[:, None])
    objective.log_ratio.biases[0].assign([-0.5 * m @ m])
    mean, error = second_terms(objective, model, data)
    assert abs(mean - 0.5 * m @ m) < 5 * error  # KL(p || q) is the same number
    # There the loss is stationary, for any other number of draws too.
    q, p = (standard_normal([100_000, len(m)], as_seed(i), tf.float64) for i in range(2))
    T = [objective.log_ratio(x)[:, 0] for x in (q + m, p)]
    exact = classifier_loss(*T)
    for other in (0.8, 1.2):
        assert classifier_loss(*(other * t for t in T)) > exact + 1e-3


def test_the_contrast_is_exact_for_a_gaussian(rng):
    """Then T = 0, and the rest is KL(N(m, s^2) || N(0, I)), however far apart they are."""
    model, m = shifted(rng, scale=0.01)
    objective = DensityRatioKL((), num_draws=NUM_DRAWS)
    data = random_data(rng)
    objective.build(model, data)
    objective.log_ratio.weights[0].assign(np.zeros([len(m), 1]))
    objective.log_ratio.biases[0].assign([0.0])
    mean, error = second_terms(objective, model, data)
    true = 0.5 * np.sum(0.01**2 + m**2 - 1 - 2 * np.log(0.01))
    # Moments of the same draws replace those of q: L / S of bias.
    assert true > 50.0 and abs(mean - true) < 5 * error + len(m) / NUM_DRAWS


def two_normals(m, s):
    """N(m, s^2) as q and N(0, I) as a prior, in L dimensions."""

    def sample(mean, scale):
        return lambda S, seed: mean + scale * standard_normal([S, len(m)], seed, tf.float64)

    return Drawn(len(m), sample(m, s), sample(0.0 * m, 1.0))


def test_two_contrasts_are_exact_for_gaussians(rng):
    """Then both classifiers are 0, and the rest is the symmetrised divergence, however large."""
    m, s = rng.normal(size=30), 0.1

    def zero(x):
        return tf.zeros(tf.shape(x)[:1], x.dtype)

    values = [
        symmetrised_kl(contrasted(two_normals(m, s), NUM_DRAWS, as_seed(i)), zero, zero)
        for i in range(20)
    ]
    mean, error = mean_and_standard_error(values)
    # 1/2 [KL(q || p) + KL(p || q)], where the determinants cancel
    true = 0.25 * np.sum((s**2 + m**2) + (1 + m**2) / s**2 - 2)
    # Moments of the same draws replace those of q, and 1 / s^2 has a bias of 3 / S.
    assert true > 500 and abs(mean - true) < 5 * error + 5 / NUM_DRAWS * true
    # The classifiers have nothing to tell: zero has the smallest loss, 4 log 2.
    both = contrasted(two_normals(m, s), 100_000, as_seed(0))
    least = loss_of_both(both, zero, zero, as_seed(1))
    np.testing.assert_allclose(least, 4 * np.log(2))
    for T in (lambda x: 0.1 * x[:, 0], lambda x: 0.1 * x[:, 0] ** 2):
        assert loss_of_both(both, T, zero, as_seed(1)) > least
        assert loss_of_both(both, zero, T, as_seed(1)) > least


@pytest.mark.slow
@pytest.mark.parametrize("is_of_q", [True, False])
def test_two_contrasts_are_exact_with_the_exact_ratios(is_of_q):
    """One of them is a Laplace distribution, which its Gaussian is not; the other is Gaussian."""
    b, at = 0.6, 0.4

    def laplace(S, seed):
        u = tf.random.stateless_uniform([S, 1], seed, -1.0, 1.0, tf.float64)
        return -b * tf.sign(u) * tf.math.log1p(-tf.abs(u))

    def gaussian(S, seed):
        return at + standard_normal([S, 1], seed, tf.float64)

    def T(x):  # in units of the standard deviation, sqrt(2) b
        return 0.5 * np.log(np.pi) - np.sqrt(2) * tf.abs(x[:, 0]) + 0.5 * x[:, 0] ** 2

    def zero(x):
        return tf.zeros(tf.shape(x)[:1], x.dtype)

    drawn = Drawn(1, laplace, gaussian) if is_of_q else Drawn(1, gaussian, laplace)
    ratios = (T, zero) if is_of_q else (zero, T)
    both = [contrasted(drawn, NUM_DRAWS, as_seed(i)) for i in range(100)]
    values = [symmetrised_kl(one, *ratios) for one in both]
    mean, error = mean_and_standard_error(values)
    x = np.linspace(-20, 20, 400_001)
    log_q = -np.abs(x) / b - np.log(2 * b)
    log_p = -0.5 * (x - at) ** 2 - 0.5 * np.log(2 * np.pi)
    true = 0.5 * np.sum((np.exp(log_q) - np.exp(log_p)) * (log_q - log_p)) * (x[1] - x[0])
    assert abs(mean - true) < 5 * error + 5 / NUM_DRAWS
    assert abs(np.mean([symmetrised_kl(one, zero, zero) for one in both]) - true) > 10 * error
    # The exact ratio has a smaller loss than others, its negative among them.
    losses = [
        np.mean([loss_of_both(one, *pair, as_seed(i)) for i, one in enumerate(both[:20])])
        for pair in (
            [(lambda x, c=c: c * T(x), zero) for c in (1.0, 0.0, -1.0, 2.0)]
            if is_of_q
            else [(zero, lambda x, c=c: c * T(x)) for c in (1.0, 0.0, -1.0, 2.0)]
        )
    ]
    assert losses[0] == min(losses)
    assert sorted(losses)[1] > losses[0] + 0.002


def test_gradients_of_two_contrasts_pass_through_the_draws_alone():
    """d/dm of 1/2 E_q [log r - log t] with fixed moments: m / 2 for N(m, s^2) and N(0, 1)."""
    m = tf.Variable(np.full(3, 0.5))

    def sample_q(S, seed):
        return m + 0.3 * standard_normal([S, 3], seed, tf.float64)

    def sample_prior(S, seed):
        return standard_normal([S, 3], seed, tf.float64)

    def zero(x):
        return tf.zeros(tf.shape(x)[:1], x.dtype)

    with tf.GradientTape() as tape:
        both = contrasted(Drawn(3, sample_q, sample_prior), 100_000, as_seed(0))
        kl = symmetrised_kl(both, zero, zero)
    # d log r has the mean zero; that of -log t is x.
    np.testing.assert_allclose(tape.gradient(kl, m), 0.25, atol=5 / np.sqrt(100_000))


@pytest.mark.slow
def test_two_contrasts_train_the_process_too(rng):
    """Parameters of the prior have gradients from both halves, and both classifiers are trained."""
    X = rng.normal(size=(20, 2))
    Y = np.sin(X[:, :1])
    model = gi.architectures.build_sip(X, Y, num_inducing=5, num_draws=12)
    objective = DensityRatioKL((5,), alpha=0.5, symmetrised=True, adaptive_contrast=True)
    objective.build(model, (X, Y))
    assert len(objective.auxiliary_variables) == 8
    batch = (tf.constant(X), tf.constant(Y))
    with tf.GradientTape(persistent=True) as tape:
        _, kl = objective.terms(model, batch, 5, as_seed(0))
        loss = objective.auxiliary_loss(model, batch, 5, as_seed(1))
    process = model.layers[0].process.trainable_variables
    assert all(np.any(g != 0) for g in tape.gradient(kl, process) if g is not None)
    assert any(g is not None for g in tape.gradient(kl, process))
    assert all(np.any(g != 0) for g in tape.gradient(loss, objective.auxiliary_variables))
    record = gi.fit(model, (X, Y), steps=3, objective=objective, progress=False, seed=0)
    assert math.isfinite(record.reports[-1].objective)


def test_only_the_data_term_is_scaled(rng):
    """Halves of the rows stand for all of them; the divergence is of all weights at once."""
    X, Y = random_data(rng, N=8)
    model, _ = shifted(rng)
    model.network.num_data = 8
    objective = DensityRatioKL((3,), alpha=0.5, num_draws=10)
    objective.build(model, (X, Y))
    rows = ((0, 8), (0, 4), (4, 8))
    (whole, kl), *halves = [
        objective.terms(model, (tf.constant(X[i:j]), tf.constant(Y[i:j])), 5, as_seed(0))
        for i, j in rows
    ]
    np.testing.assert_allclose(np.mean([half[0] for half in halves]), whole, rtol=1e-12)
    assert all(half[1] == kl for half in halves)


def test_what_is_compared_by_default():
    """The papers' experiments have a contrast in weights, and none in inducing outputs."""
    assert DensityRatioKL().adaptive_contrast
    assert not DensityRatioKL(symmetrised=True).adaptive_contrast


@pytest.mark.parametrize(
    ("samplers", "error", "message"),
    [
        ({"sample_q": 3}, TypeError, "sample_q must be a callable"),
        ({"sample_prior": lambda S: S}, ValueError, "sample_prior=.* failed for 2 samples"),
        ({"sample_q": lambda S, seed: tf.zeros([S], tf.float64)}, ValueError, r"shape \[S, L\]"),
        ({"sample_q": lambda S, seed: tf.zeros([S, 3], tf.float64)}, ValueError, "have 3 and 1"),
        ({"sample_prior": lambda S, seed: tf.zeros([S, 1])}, ValueError, "of type float32"),
    ],
)
def test_samplers_that_do_not_fit_are_refused(samplers, error, message):
    def good(S, seed):
        return standard_normal([S, 1], seed, tf.float64)

    with pytest.raises(error, match=message):
        classifier_kl(**{"sample_q": good, "sample_prior": good, **samplers}, steps=1)


def test_the_contrast_is_a_constant_of_the_gradient(rng):
    """d KL / d mean = mean, as in closed form, though the contrast follows q."""
    model, m = shifted(rng, scale=0.1)
    objective = DensityRatioKL((), num_draws=NUM_DRAWS)
    data = random_data(rng)
    objective.build(model, data)
    objective.log_ratio.weights[0].assign(np.zeros([len(m), 1]))
    objective.log_ratio.biases[0].assign([0.0])
    with tf.GradientTape() as tape:
        _, kl = objective.terms(model, tuple(map(tf.constant, data)), 1, as_seed(0))
    (gradient,) = tape.gradient(kl, model.sampler.trainable_variables)
    np.testing.assert_allclose(gradient, m, atol=5 * 0.1 / np.sqrt(NUM_DRAWS) + 1e-9)


def test_the_data_term_is_that_of_the_power(rng):
    model, _ = shifted(rng)
    data = tuple(map(tf.constant, random_data(rng)))
    for alpha in (0.0, 0.5):
        objective = DensityRatioKL((), alpha=alpha, num_draws=2)
        objective.build(model, data)
        first, _ = objective.terms(model, data, 4, as_seed(1))
        F, _ = model.draw_for(data[0], 4, as_seed(1)).moments(data[0], None)
        log_p = -0.5 * ((data[1] - F) ** 2 / 0.3 + np.log(2 * np.pi * 0.3)).numpy()[..., 0]
        per_row = log_p.mean(0)
        if alpha:
            per_row = (np.logaddexp.reduce(alpha * log_p, axis=0) - np.log(4)) / alpha
        np.testing.assert_allclose(first, per_row.sum(), rtol=1e-10)


@pytest.mark.slow
@pytest.mark.compiled
def test_a_classifier_is_trained_beside_the_model_and_resumed(rng, tmp_path):
    data = random_data(rng)
    model, _ = shifted(rng)
    start = gpflow.utilities.deepcopy(model)
    settings = {"batch_size": 4, "seed": 3, "progress": False, "learning_rate": 0.01}

    def run(steps, model, **more):
        objective = DensityRatioKL((5,), alpha=0.5, num_draws=10)
        record = gi.fit(model, data, steps=steps, objective=objective, **settings, **more)
        return record, objective

    record, objective = run(12, model)
    report = record.reports[-1]
    assert record.shortcoming is None  # the divergence, small at first, grows with the classifier
    assert report.name == objective.name == "density-ratio objective (alpha 0.5)"
    assert math.isfinite(report.objective) and math.isnan(report.bound)
    assert describe(report, 9).startswith("density-ratio objective (alpha 0.5) per row")
    assert "ELBO" not in describe(report, 9)
    fresh = DensityRatioKL((5,), num_draws=10)
    fresh.build(model, data)
    assert not np.allclose(fresh.log_ratio.weights[0], objective.log_ratio.weights[0])
    assert objective.auxiliary_optimizer.iterations == 12

    resumed = gpflow.utilities.deepcopy(start)
    run(5, gpflow.utilities.deepcopy(start), checkpoint_dir=tmp_path)
    _, again = run(12, resumed, checkpoint_dir=tmp_path)
    np.testing.assert_array_equal(resumed.sampler.mean, model.sampler.mean)
    for one, other in zip(again.auxiliary_variables, objective.auxiliary_variables, strict=True):
        np.testing.assert_array_equal(one, other)
    with pytest.raises(ValueError, match=r"objective\.(alpha|num_draws|classifier)"):
        other = DensityRatioKL((5,), alpha=0.5, num_draws=11)
        gi.fit(resumed, data, steps=13, objective=other, checkpoint_dir=tmp_path, **settings)


def test_an_implicit_posterior_has_predictions_and_no_bound(rng):
    model, m = shifted(rng)
    data = random_data(rng)
    assert model.predict_log_density(data, 10, seed=0).shape == [9]
    theta, log_q = model.sample(3, as_seed(0))
    assert theta.shape == [3, len(m)] and log_q is None
    for bound in (gi.bounds.estimate_elbo, gi.bounds.estimate_iwbo, gi.bounds.pareto_smoothed):
        with pytest.raises(NoDensityError, match=r"implicit posterior.*no bound.*DensityRatioKL"):
            bound(model, data, 30)
    with pytest.raises(NoDensityError, match="DensityRatioKL"):
        gi.fit(model, data, steps=1, progress=False)


def test_errors(rng):
    model, _ = shifted(rng)
    data = random_data(rng)
    for arguments, message in (
        ({"classifier": 50}, "widths must be a list"),
        ({"alpha": -0.5}, "alpha must not be negative"),
        ({"num_draws": 1}, "num_draws must be at least 2"),
        ({"learning_rate": 0.0}, "learning_rate must be positive"),
    ):
        with pytest.raises(ValueError, match=message):
            DensityRatioKL(**arguments)
    objective = DensityRatioKL()
    with pytest.raises(TypeError, match=r"density ratio is estimated for .*WeightPosterior"):
        objective.check(network(rng), None)
    objective.build(model, data)
    wider = random_bnn(rng, ["prior", "prior"], width=5)
    q = Gaussian(wider, np.zeros(WeightSpace(wider).size), np.eye(WeightSpace(wider).size))
    with pytest.raises(ValueError, match="used for 13 variables before, and the model has 21"):
        objective.build(q, data)
    L = WeightSpace(wider).size
    with pytest.raises(ValueError, match=rf"must return {L} whitened weights .* \[2, {L}\]"):
        Implicit(wider, Shift(np.zeros(3)))
    with pytest.raises(TypeError, match="sampler must be a callable"):
        Implicit(wider, np.zeros(3))
    with pytest.raises(ValueError, match=r"sampler=.* failed for 2 samples"):
        Implicit(wider, lambda S: S)


def table_of_the_page():
    """Rows of numbers: dimensions, m, s, true divergence, estimates of 100 and 500 draws."""
    lines = (DOCS / "objectives.md").read_text("utf-8").splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| dimensions | m | s |"))
    rows = lines[start + 2 : start + 6]
    return [[float(cell) for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize(
    ("row", "num_draws"),
    [
        pytest.param(0, 100, marks=pytest.mark.longest),
        pytest.param(1, 100, marks=pytest.mark.slow),
        pytest.param(2, 100, marks=pytest.mark.longest),
        pytest.param(3, 100, marks=pytest.mark.longest),
        pytest.param(1, 500, marks=pytest.mark.longest),
        pytest.param(3, 500, marks=pytest.mark.longest),
    ],
)
def test_a_classifier_underestimates_large_divergences(row, num_draws):
    """The table of the page on objectives, by the program below it."""
    D, m, s, true, *estimates = table_of_the_page()[row]
    assert true == pytest.approx(0.5 * D * (s**2 + m**2 - 1 - 2 * math.log(s)), abs=0.005)

    def normal(S, seed):
        return tf.random.stateless_normal([S, int(D)], seed, dtype=tf.float64)

    estimate, error = classifier_kl(
        lambda S, seed: m + s * normal(S, seed), normal, num_draws=num_draws
    )
    # On another processor 6,000 steps round differently.
    expected = estimates[(100, 500).index(num_draws)]
    assert abs(estimate - expected) < 5 * error + 0.05 * expected
    if D >= 50:
        assert estimate < 0.95 * true


def test_inducing_outputs_of_a_sparse_implicit_process(rng):
    """q and the prior are those of the layer's draws, and both halves have their gradients."""
    X, Y = random_data(rng)
    model = gi.architectures.build_sip(X, Y, num_inducing=4, num_draws=20)
    objective = DensityRatioKL((5,), alpha=0.5, symmetrised=True, num_draws=10)
    assert objective.name == "symmetrised density-ratio objective (alpha 0.5)"
    objective.check(model, None)
    objective.build(model, (X, Y))
    assert objective.log_ratio.weights[0].shape == [4, 5]
    batch = tuple(map(tf.constant, (X, Y)))
    with tf.GradientTape() as tape:
        first, kl = objective.terms(model, batch, 3, as_seed(0))
    assert np.isfinite(first) and np.isfinite(kl)
    (layer,) = model.implicit_layers
    parts = [layer.posterior.sampler.trainable_variables, layer.process.trainable_variables]
    gradients = tape.gradient(kl, [variable for part in parts for variable in part])
    assert all(gradient is not None and np.all(np.isfinite(gradient)) for gradient in gradients)
    seed = fold_in(as_seed(0), 3)
    q = layer.sample_q(10, fold_in(fold_in(seed, 0), 0))
    p = layer.sample_prior(10, fold_in(fold_in(seed, 1), 0))
    T = [tf.reduce_mean(objective.log_ratio(u)) for u in (q, p)]
    np.testing.assert_allclose(kl, 0.5 * (T[0] - T[1]), rtol=1e-10)


@pytest.mark.slow
def test_a_network_of_noise_is_built_saved_and_loaded(rng, tmp_path):
    X, Y = random_data(rng)
    model = gi.architectures.build_bnn(X, Y, widths=(3,), inference="implicit", seed=1)
    theta, log_q = model.sample(5, as_seed(0))
    assert theta.shape == [5, WeightSpace(model.network).size] and log_q is None
    starts = [
        gi.architectures.build_bnn(X, Y, widths=(3,), inference="implicit", seed=seed)
        for seed in range(10)
    ]
    spread = np.std([start.sample(5, as_seed(0))[0] for start in starts])
    assert 0.7 < spread < 1.5  # about the prior's 1
    gi.save(model, tmp_path / "model")
    loaded = gi.load(tmp_path / "model")
    for one, other in zip(loaded.predict_y(X, 4, 0), model.predict_y(X, 4, 0), strict=True):
        np.testing.assert_array_equal(one, other)
    model.sampler = gi.posteriors.NoiseNetwork(3)
    gi.save(model, tmp_path / "spoiled")
    with pytest.raises(gi.persistence.LoadError, match="sampler"):
        gi.load(tmp_path / "spoiled")


def test_the_start_shares_no_random_numbers_with_the_first_step():
    """With one seed for both, as by default."""
    X = np.linspace(-1.0, 1.0, 12)[:, None]
    starts, steps = [], []

    def of_start(weights):
        starts.append(weights.numpy().ravel()[:20])

    model = gi.architectures.build_bnn(X, X, inference="implicit")
    of_start(model.sampler.network.weights[0])
    of_start(gi.implicit.NeuralSampler(1).network.weights[0])
    objective = DensityRatioKL(num_draws=5)

    def noise(S, seed):
        found = standard_normal([S, 100], as_seed(seed), tf.float64)
        tf.py_function(lambda drawn: steps.append(drawn.numpy().ravel()[:20]), [found], [])
        return model.sampler.network(found)

    other = gi.inference.Implicit(model.network, noise)
    gi.fit(other, (X, X), steps=1, objective=objective, progress=False)
    # The classifier's start, before its first step moved it by its rate at most
    of_start(new_classifier(other.space.size, (50, 50), start_seed(0)).weights[0])
    before = new_classifier(other.space.size, (50, 50), start_seed(objective.seed))
    np.testing.assert_allclose(objective.log_ratio.weights[0], before.weights[0], atol=2e-3)
    assert len(steps) >= 3  # the check of the sampler, the data term, the comparisons
    for start in starts:
        for step in steps[1:]:
            # Weights are normal numbers times a scale.
            assert abs(np.corrcoef(start, step)[0, 1]) < 0.9

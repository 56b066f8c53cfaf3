"""Scores from samples, and the functional divergence whose gradient they give."""

import math

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.core.random import as_seed
from gpflow_gi.objectives import FunctionalKL
from gpflow_gi.objectives.functional_kl import draws_of, prior_draws
from gpflow_gi.objectives.spectral_stein import SpectralStein, median_distances

from ..builders import mean_and_standard_error, random_bnn, random_data, random_deep_gp


def by_the_equations(samples, X, share):
    """Shi, Sun & Zhu (2018), eq. 8 to 15, one eigenfunction at a time, by automatic gradients."""
    S, D = samples.shape
    width = math.sqrt(D) * np.array(
        [
            np.sort(np.abs(d[:, None] - d)[np.triu_indices(S, 1)])[S * (S - 1) // 4]
            for d in samples.T
        ]
    )

    def k(a, b):
        return tf.exp(-0.5 * tf.reduce_sum(((a[:, None] - b[None]) / width) ** 2, axis=-1))

    values, vectors = np.linalg.eigh(k(samples, samples).numpy())
    score, total = 0.0, 0.0
    for value, u in zip(values[::-1], vectors.T[::-1], strict=True):
        if total >= share * values.sum():
            break
        total += value
        points = tf.constant(samples)
        with tf.GradientTape() as tape:
            tape.watch(points)
            psi = math.sqrt(S) / value * tf.linalg.matvec(k(points, tf.constant(samples)), u)
        beta = -tf.reduce_mean(tape.gradient(psi, points), axis=0)
        psi = math.sqrt(S) / value * tf.linalg.matvec(k(X, samples), u)
        score = score + psi[:, None] * beta
    return score


def test_the_estimator_is_that_of_its_equations(rng):
    samples, X = rng.normal(size=(15, 3)), rng.normal(size=(4, 3))
    for share in (0.8, 0.99):
        estimate = SpectralStein(tf.constant(samples), share)(tf.constant(X))
        np.testing.assert_allclose(estimate, by_the_equations(samples, X, share), rtol=1e-7)


def test_the_median_of_distances(rng):
    samples = rng.normal(size=(6, 2))
    pairs = np.abs(samples[:, None] - samples)[np.triu_indices(6, 1)]
    np.testing.assert_allclose(median_distances(samples), np.median(pairs, axis=0))


@pytest.mark.parametrize("dimension", [1, 2])
def test_the_score_of_a_gaussian(dimension, rng):
    """grad log N(x; m, C) = -C^-1 (x - m), at new points."""
    root = np.eye(dimension) + 0.3 * np.tri(dimension)
    m, P = rng.normal(size=dimension), np.linalg.inv(root @ root.T)
    errors, slopes = [], []
    for _ in range(10):
        x, new = (m + rng.normal(size=(400, dimension)) @ root.T for _ in range(2))
        true = -(new - m) @ P
        estimate = SpectralStein(tf.constant(x))(tf.constant(new)).numpy()
        errors.append(np.mean((estimate - true) ** 2) / np.mean(true**2))
        slopes.append(np.sum(estimate * true) / np.sum(true**2))
    assert np.mean(errors) < 0.3
    slope, error = mean_and_standard_error(slopes)
    assert abs(slope - 1.0) < 5 * error and error < 0.05


def test_the_units_of_the_samples_do_not_matter(rng):
    x = rng.normal(size=(50, 2))
    scale, shift = np.array([100.0, 0.01]), np.array([5.0, -3.0])
    plain = SpectralStein(tf.constant(x))(tf.constant(x))
    moved = tf.constant(shift + scale * x)
    np.testing.assert_allclose(SpectralStein(moved)(moved), plain / scale, rtol=1e-5, atol=1e-7)


def test_samples_that_are_not_finite_have_no_score(rng):
    x = rng.normal(size=(5, 2))
    x[2] = np.nan
    assert np.all(np.isnan(SpectralStein(tf.constant(x))(tf.constant(x))))


def linear(mean, scale):
    """f(x) = w x, with w ~ N(mean, scale^2), and N(0, 1) in the prior."""
    layer = gi.layers.DenseLayer(
        1, 1, gi.posteriors.Prior(), prior=gi.priors.StandardPrior(1.0), bias=False
    )
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(0.1), num_data=3)
    return gi.inference.Gaussian(model, [mean], diagonal=[scale])


@pytest.mark.slow
def test_the_gradient_of_the_divergence():
    """KL(N(m, s^2) || N(0, 1)): m for the mean, s^2 - 1 for log s; its value is not known."""
    m, s = 1.0, 0.6
    model = linear(m, s)
    objective = FunctionalKL(lambda X, seed: tf.ones([1, 1], X.dtype), num_draws=300)
    batch = (tf.constant([[0.0], [0.5], [1.0]]), tf.zeros([3, 1], tf.float64))
    batch = tf.cast(batch[0], tf.float64), batch[1]
    objective.build(model, batch)
    slopes = []
    for i in range(20):
        with tf.GradientTape() as tape:
            _, kl = objective.terms(model, batch, 1, as_seed(i))
        assert kl == 0.0
        gradients = tape.gradient(
            kl, [model.mean.unconstrained_variable, model.diagonal.unconstrained_variable]
        )
        slopes.append([float(g[0]) for g in gradients])
    slope, error = mean_and_standard_error(slopes)
    # Scores from 300 draws are biased: a tenth of them is allowed beside the noise.
    np.testing.assert_array_less(np.abs(slope - [m, s**2 - 1]), 4 * error + 0.1)
    assert np.all(error < 0.1)


@pytest.mark.slow
def test_measurement_points_are_from_the_rows_and_the_box(rng):
    X, Y = random_data(rng, N=30)
    model = random_bnn(rng, ["factorised", "factorised"], num_data=30)
    objective = FunctionalKL(10)
    gi.fit(model, (X, Y), steps=1, batch_size=5, objective=objective, progress=False)
    rows = tf.constant(X[:8])
    points = objective._points(rows, as_seed(0)).numpy()
    assert points.shape == (10, 2)
    assert all(np.any(np.all(X[:8] == point, axis=1)) for point in points[:5])
    assert len(np.unique(points[:5], axis=0)) == 5
    others = points[5:]
    assert np.all((X.min(0) <= others) & (others <= X.max(0)))
    assert not np.any(np.isin(others, X))
    assert np.any(objective._points(rows, as_seed(1)).numpy() != points)
    assert objective._points(rows[:2], as_seed(0)).shape == [10, 2]


@pytest.mark.longest
def test_the_box_is_that_of_the_data_wherever_they_are(rng):
    X, Y = random_data(rng, N=30)
    settings = {"steps": 1, "progress": False}

    def model():
        return random_bnn(np.random.default_rng(0), ["factorised"] * 2, num_data=30)

    objective = FunctionalKL(10)
    gi.fit(model(), (X, Y), batch_size=5, objective=objective, **settings)
    np.testing.assert_array_equal(objective.box, [X.min(0), X.max(0)])
    rows = gi.training.NarrowRows(X, Y, standardise_inputs=False)
    gi.fit(model(), rows, batch_size=5, objective=objective, **settings)
    np.testing.assert_allclose(objective.box, [X.min(0), X.max(0)])
    batches = tf.data.Dataset.from_tensor_slices((X, Y)).batch(5, drop_remainder=True).repeat()
    with pytest.raises(ValueError, match="batches of a dataset do not show: give it box="):
        gi.fit(model(), batches, objective=FunctionalKL(10), **settings)
    given = FunctionalKL(10, box=([-9.0, -9.0], [9.0, 9.0]))
    gi.fit(model(), batches, objective=given, **settings)
    np.testing.assert_array_equal(given.box, [[-9.0, -9.0], [9.0, 9.0]])
    everywhere = FunctionalKL(lambda X, seed: X)  # needs none
    gi.fit(model(), batches, objective=everywhere, **settings)
    with pytest.raises(ValueError, match="box must have the least"):
        FunctionalKL(box=([1.0], [0.0]))
    with pytest.raises(ValueError, match="box has 1 columns, but the inputs have 2"):
        gi.fit(model(), (X, Y), objective=FunctionalKL(box=([0.0], [1.0])), **settings)


@pytest.mark.parametrize("kind", ["weights", "network", "deep GP"])
def test_draws_of_the_prior_are_of_the_present_one(kind, rng):
    if kind == "deep GP":
        model = random_deep_gp(rng, ["global", "local"], mean_functions=False)
        parameter = model.layers[-1].kernel.variance
    else:
        model = random_bnn(rng, ["factorised", "factorised"], prior="standard")
        if kind == "weights":
            L = gi.inference.WeightSpace(model).size
            model = gi.inference.Gaussian(model, np.zeros(L), diagonal=np.ones(L))
        network = model.network if kind == "weights" else model
        parameter = None
    X = tf.constant(rng.normal(size=(3, 2)))
    draws = prior_draws(model)(X, 4000, as_seed(0)).numpy()
    assert draws.shape == (4000, 3, 1)
    if kind == "deep GP":
        before = np.var(draws)
        parameter.assign(4.0 * parameter)
        after = np.var(prior_draws(model)(X, 4000, as_seed(0)))
        np.testing.assert_allclose(after, 4.0 * before, rtol=1e-4)
    else:
        expected = network.sample_prior(4000, seed=1)(X).numpy()
        error = np.sqrt(2 / 4000) * 3
        np.testing.assert_allclose(draws.var(0), expected.var(0), rtol=5 * error)


@pytest.mark.slow
def test_a_process_takes_the_place_of_the_prior(rng):
    """Draws of its kernel; and N(0, 4) in place of N(0, 1) for the weight of a line."""
    kernel = gpflow.kernels.Matern52(variance=2.0)
    X = tf.constant(rng.normal(size=(3, 1)))
    draws = draws_of(gi.implicit.KernelProcess(kernel, 1))(X, 4000, as_seed(0)).numpy()[..., 0]
    np.testing.assert_allclose(np.cov(draws.T), kernel(X), atol=5 * 2.0 * np.sqrt(2 / 4000))

    m, s, wide = 1.0, 0.6, 2.0
    model = linear(m, s)
    process = gi.implicit.KernelProcess(gpflow.kernels.Linear(wide**2), 1)
    objective = FunctionalKL(lambda X, seed: tf.ones([1, 1], X.dtype), num_draws=300, prior=process)
    batch = (tf.ones([3, 1], tf.float64), tf.zeros([3, 1], tf.float64))
    objective.build(model, batch)
    slopes = []
    for i in range(20):
        with tf.GradientTape() as tape:
            _, kl = objective.terms(model, batch, 1, as_seed(i))
        (slope,) = tape.gradient(kl, [model.mean.unconstrained_variable])
        slopes.append(float(slope[0]))
    slope, error = mean_and_standard_error(slopes)
    assert abs(slope - m / wide**2) < 4 * error + 0.1
    assert error < 0.05  # 1 under the model's own prior


@pytest.mark.slow
@pytest.mark.compiled
def test_training_is_resumed_with_the_same_prior_alone(rng, tmp_path):
    data = random_data(rng)
    model = random_bnn(rng, ["factorised", "factorised"])

    def run(lengthscale):
        kernel = gpflow.kernels.Matern52(lengthscales=lengthscale)
        objective = FunctionalKL(4, num_draws=6, prior=gi.implicit.KernelProcess(kernel, 2))
        kernel.lengthscales.assign(99.0)  # the objective has a copy
        gi.fit(model, data, steps=2, objective=objective, progress=False, checkpoint_dir=tmp_path)

    run(1.0)
    run(1.0)
    with pytest.raises(ValueError, match=r"objective\.prior\.kernel\.lengthscales"):
        run(0.5)


@pytest.mark.slow
@pytest.mark.compiled
def test_training_is_resumed_with_the_same_numbers(rng, tmp_path):
    data = random_data(rng)
    models = [random_bnn(np.random.default_rng(0), ["factorised", "global"]) for _ in range(3)]
    settings = {"batch_size": 4, "seed": 3, "progress": False, "learning_rate": 0.01}

    def run(steps, model, **more):
        objective = FunctionalKL(4, alpha=0.5, num_draws=6)
        return gi.fit(model, data, steps=steps, objective=objective, **settings, **more)

    record = run(6, models[0])
    run(2, models[1], checkpoint_dir=tmp_path)
    run(6, models[2], checkpoint_dir=tmp_path)
    for one, other in zip(models[0].variables, models[2].variables, strict=True):
        np.testing.assert_array_equal(one, other)
    report = record.reports[-1]
    assert report.name == "data term (alpha 0.5) of the functional objective"
    assert math.isnan(report.bound) and math.isfinite(report.objective)


def test_errors(rng):
    for arguments, message in (
        ({"measurement_points": 0}, "measurement_points must be"),
        ({"num_draws": 1}, "num_draws must be at least 2"),
        ({"noise": 0.0}, "noise must be positive"),
        ({"share": 1.5}, "share must be at most 1"),
    ):
        with pytest.raises(ValueError, match=message):
            FunctionalKL(**arguments)
    data = random_data(rng)
    model = random_bnn(rng, ["factorised", "factorised"])
    for points, message in (
        (lambda X: X, "measurement_points=.* failed on 2 rows"),
        (lambda X, seed: X[:, :1], r"points of 2 columns, but returned shape \[2, 1\]"),
    ):
        with pytest.raises(ValueError, match=message):
            FunctionalKL(points).build(model, tuple(map(tf.constant, data)))
    process = gi.implicit.NetworkProcess(3, 2)
    with pytest.raises(TypeError, match=r"prior must be one of .*, but is 'rbf'"):
        FunctionalKL(prior="rbf")
    with pytest.raises(ValueError, match="prior has 2 outputs, but the model has 1"):
        FunctionalKL(prior=process).check(model, None)
    with pytest.raises(ValueError, match="input_dim=3, but X has 2 columns"):
        FunctionalKL(prior=process).build(model, tuple(map(tf.constant, data)))
    with pytest.raises(TypeError, match="FunctionalKL needs a model of rows"):
        FunctionalKL().check(gpflow.kernels.Matern32(), None)


@pytest.mark.slow
@pytest.mark.parametrize("layer", ["dense", "convolution"])
def test_the_scale_of_the_model_keeps_its_posterior(layer, rng):
    """Draws of the prior take its scale from p(s); q(s) of the model is left alone, and learns."""
    X, Y = random_data(rng)
    if layer == "dense":
        model = gi.architectures.build_bnn(X, Y, widths=(3,), num_inducing=5, prior="scale")
        own = [(one.alpha, one.beta) for one in (model.layers[0].prior, model.layers[2].prior)]
        own = [parameter for pair in own for parameter in pair]
    else:
        prior = gi.priors.SpatialIWPrior((2, 2), nu=5.0, psi=4.0)
        convolution = gi.layers.Conv2DLayer(
            (2, 2, 1), 2, 2, gi.posteriors.Factorised(), padding="valid", prior=prior
        )
        last = gi.layers.DenseLayer(2, 1, gi.posteriors.Factorised())
        X, Y = rng.normal(size=(6, 2, 2, 1)), rng.normal(size=(6, 1))
        model = gi.models.DeepGP(
            [convolution, last], gpflow.likelihoods.Gaussian(0.1), num_data=len(X)
        )
        own = [prior.nu, prior.psi]
    before = [parameter.numpy() for parameter in own]
    seed = as_seed(0)
    values = prior_draws(model)(model.check_inputs(X), 5, seed)
    again = prior_draws(model)(model.check_inputs(X), 5, seed)
    np.testing.assert_array_equal(values, again)
    FunctionalKL(4, num_draws=6).check(model, None)
    for parameter, value in zip(own, before, strict=True):
        np.testing.assert_array_equal(parameter, value)
        assert parameter.trainable
    gi.fit(model, (X, Y), steps=3, objective=FunctionalKL(4, num_draws=6), seed=0, progress=False)
    for parameter in own:
        assert parameter.trainable
    gi.fit(model, (X, Y), steps=2, progress=False)  # the bound learns them
    assert not np.array_equal(own[0].numpy(), before[0])


def test_the_scale_of_the_prior_is_drawn_from_p(rng):
    """Of one linear layer without a bias: f(x) = x w with w ~ N(0, 1 / s), s ~ Gamma."""
    prior = gi.priors.ScalePrior(shape=5.0, rate=3.0, alpha=40.0, beta=1.0)
    layer = gi.layers.DenseLayer(1, 1, gi.posteriors.Factorised(), prior=prior, bias=False)
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(0.1), num_data=3)
    R = 20_000
    squares = prior_draws(model)(np.ones((1, 1)), R, as_seed(0)).numpy().ravel() ** 2
    mean, error = mean_and_standard_error(squares)
    assert abs(mean - 3.0 / (5.0 - 1.0)) < 6 * error  # E 1 / s = rate / (shape - 1)


@pytest.mark.slow
def test_a_network_of_keras_is_part_of_the_prior(rng):
    tf_keras = gpflow.keras.tf_keras
    X, Y = random_data(rng)
    network = tf_keras.Sequential([tf_keras.layers.Dense(2, dtype="float64")])
    posterior = gi.posteriors.GlobalInducing(4, 1)
    layer = gi.layers.GPLayer(gpflow.kernels.SquaredExponential(), 1, posterior)
    model = gi.models.DeepGP(
        [network, layer], gpflow.likelihoods.Gaussian(0.1), num_data=len(X), inducing_inputs=X[:4]
    )
    gi.fit(model, (X, Y), steps=2, objective=FunctionalKL(4, num_draws=6), progress=False)
    draws, seed = prior_draws(model), as_seed(0)
    before = draws(X, 3, seed)
    network.layers[0].kernel.assign(2.0 * network.layers[0].kernel)
    after = draws(X, 3, seed)
    np.testing.assert_array_equal(after, prior_draws(model)(X, 3, seed))
    assert np.max(np.abs(after - before)) > 0.01

"""Models in Trieste: its protocols, its stacks, and its own loop of Bayesian optimisation."""

import copy
import importlib.util
import json
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.interop import as_trieste_model

ROOT = Path(__file__).resolve().parents[2]

S = 400
"""Samples of predictions in tests."""


@pytest.fixture(scope="module")
def trieste():
    return pytest.importorskip("trieste", reason="Trieste has an environment of its own")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(30, 2))
    return X, np.sin(6.0 * X[:, :1]) + X[:, 1:] ** 2 + 0.05 * rng.normal(size=(30, 1))


@pytest.fixture(scope="module")
def trained(trieste, data):
    model = gi.architectures.build_deep_gp(*data, num_inducing=15)
    gi.fit(model, data, steps=60, progress=False)
    # So that hidden layers are uncertain, and predictions differ between their samples.
    model.layers[0].posterior.pseudo_precision.assign(np.full(15, 20.0))
    model.layers[0].kernel.variance.assign(0.2)
    return model


@pytest.fixture
def wrapped(trieste, trained):
    model = gpflow.utilities.deepcopy(trained)
    return as_trieste_model(model, steps=60, num_samples=S, learning_rate=0.01)


@pytest.fixture
def dataset(trieste, data):
    return trieste.data.Dataset(*map(tf.constant, data))


def at(number, seed=3):
    return np.random.default_rng(seed).uniform(size=(number, 2))


def test_a_missing_library_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "trieste", None)
    with pytest.raises(ImportError, match=r"pip install 'gpflow-gi\[trieste\]'"):
        as_trieste_model(None)


@pytest.mark.parametrize("temperature", [1.0, 0.5])
def test_the_objective_is_logged(monkeypatch, data, temperature):
    """Without Trieste, of which only the functions that write are needed."""
    written = []
    logging = SimpleNamespace(
        get_tensorboard_writer=lambda: SimpleNamespace(as_default=lambda step: nullcontext()),
        get_step_number=lambda: 3,
        scalar=lambda name, value: written.append((name, float(value))),
    )
    library = SimpleNamespace(logging=logging)
    monkeypatch.setattr("gpflow_gi.interop.trieste._import_trieste", lambda: library)
    model = gi.architectures.build_deep_gp(*data, num_layers=1, num_inducing=5)
    wrapped = as_trieste_model(model, steps=2, temperature=temperature)
    wrapped.log()
    assert not written  # not trained yet
    record = wrapped.optimize(SimpleNamespace(query_points=data[0], observations=data[1]))
    wrapped.log()
    last = record.reports[-1]
    assert written == [(last.name, last.objective)] and np.isfinite(last.objective)


def test_every_protocol_is_there(wrapped):
    from trieste.models import interfaces

    for protocol in (
        "TrainableProbabilisticModel", "SupportsPredictJoint", "SupportsPredictY",
        "SupportsGetObservationNoise", "HasTrajectorySampler", "HasReparamSampler",
    ):  # fmt: skip
        assert isinstance(wrapped, getattr(interfaces, protocol)), protocol


def test_a_single_layer_predicts_as_itself(trieste, data):
    model = gi.architectures.build_deep_gp(*data, num_layers=1, num_inducing=15)
    X = at(6)
    wrapped = as_trieste_model(model)
    for got, expected in [
        (wrapped.predict(X), model.predict_f(X)),
        (wrapped.predict_y(X), model.predict_y(X)),
        (wrapped.predict_joint(X), model.predict_f(X, full_cov=True)),
        (
            wrapped.predict(X.reshape(2, 3, 2)),
            [m.numpy().reshape(2, 3, 1) for m in model.predict_f(X)],
        ),
    ]:
        for a, b in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-10)


def test_moments_are_those_of_the_mixture(wrapped):
    """Against independent samples of the model: the mean within five standard errors."""
    X, model = at(5), wrapped.model
    mean, variance = model.predict_f(X, num_samples=20_000, seed=1)
    components, _ = model.predict_f_components(X, S, seed=2)
    spread = components.numpy().std(0)
    assert spread.max() > 0.02  # the mixture is one
    error = 5.0 * spread / np.sqrt(S)
    for got in (wrapped.predict(X), wrapped.predict_joint(X)):
        assert np.all(np.abs(got[0] - mean) < error + 1e-6)
    covariance = wrapped.predict_joint(X)[1].numpy()
    # A variance of S samples has a relative error near sqrt(2 / S).
    bound = 6.0 * np.sqrt(2.0 / S) * variance.numpy()
    assert np.all(np.abs(wrapped.predict(X)[1] - variance) < bound)
    assert np.all(np.abs(np.diagonal(covariance[0])[:, None] - variance) < bound)
    exact = model.predict_f(X, num_samples=20_000, full_cov=True, seed=4)[1].numpy()[0]
    scale = np.sqrt(np.outer(variance, variance))
    assert np.all(np.abs(covariance[0] - exact) < 6.0 * np.sqrt(2.0 / S) * scale)


def test_predictions_are_smooth_functions_of_the_row(wrapped):
    X = tf.constant(at(6))
    alone = [wrapped.predict(X[i : i + 1])[0][0] for i in range(6)]
    np.testing.assert_allclose(wrapped.predict(X)[0], alone, rtol=1e-8)
    with tf.GradientTape() as tape:
        tape.watch(X)
        total = tf.reduce_sum(wrapped.predict(X)[0])
    gradient = tape.gradient(total, X).numpy()
    step = np.array([[1e-5, 0.0]])
    difference = (wrapped.predict(X + step)[0] - wrapped.predict(X - step)[0]).numpy() / 2e-5
    np.testing.assert_allclose(gradient[:, :1], difference, rtol=1e-4, atol=1e-6)


def test_compiled_predictions_follow_the_parameters(wrapped, dataset):
    compiled = tf.function(wrapped.predict)
    sampler = wrapped.reparam_sampler(3)
    samples = tf.function(sampler.sample)
    X = tf.constant(at(4))
    before = compiled(X)[0], samples(X[:, None])
    wrapped.optimize(dataset)
    for now, eager, earlier in [
        (compiled(X)[0], wrapped.predict(X)[0], before[0]),
        (samples(X[:, None]), sampler.sample(X[:, None]), before[1]),
    ]:
        np.testing.assert_allclose(now, eager, rtol=1e-6)
        assert np.abs(now - earlier).max() > 1e-4


def test_trajectories_are_functions_with_the_models_moments(wrapped):
    sampler, each, B = wrapped.trajectory_sampler(), 60, 600
    trajectory = sampler.get_trajectory()
    X = tf.constant(at(4))
    points = tf.tile(X[:, None], [1, each, 1])
    values = trajectory(points)
    assert values.shape == [4, each, 1]
    np.testing.assert_array_equal(values, trajectory(points))
    np.testing.assert_allclose(values[2:], trajectory(points[2:]), rtol=1e-8, atol=1e-10)
    others = [sampler.update_trajectory(trajectory)(points) for _ in range(B // each - 1)]
    assert np.abs(values - others[0]).max() > 1e-3
    values = tf.concat([values, *others], axis=1)
    mean, variance = (m.numpy() for m in wrapped.model.predict_f(X, num_samples=20_000, seed=1))
    error = np.sqrt(variance / B)
    assert np.all(np.abs(values.numpy().mean(1) - mean) < 5.0 * error)
    assert np.all(np.abs(values.numpy().var(1) / variance - 1.0) < 6.0 * np.sqrt(2.0 / B) + 0.1)


def test_each_column_of_a_trajectory_is_one_function(wrapped):
    trajectory = wrapped.trajectory_sampler().get_trajectory()
    X = tf.constant(at(3))
    pair = trajectory(tf.stack([X, X], axis=1)).numpy()
    mixed = trajectory(tf.stack([X, X[::-1]], axis=1)).numpy()
    np.testing.assert_allclose(mixed[:, 0], pair[:, 0], rtol=1e-8, atol=1e-10)
    np.testing.assert_allclose(mixed[::-1, 1], pair[:, 1], rtol=1e-8, atol=1e-10)
    assert np.abs(pair[:, 0] - pair[:, 1]).max() > 1e-3


def test_samples_have_triestes_shapes_and_the_models_moments(wrapped):
    X = at(6)
    mean, variance = (m.numpy() for m in wrapped.model.predict_f(X, num_samples=20_000, seed=1))
    B = 600
    for values in (wrapped.sample(X, B), wrapped.reparam_sampler(B).sample(X)):
        assert values.shape == [B, 6, 1]
        assert np.all(np.abs(values.numpy().mean(0) - mean) < 5.0 * np.sqrt(variance / B))
        ratio = values.numpy().var(0) / variance
        assert np.all(np.abs(ratio - 1.0) < 6.0 * np.sqrt(2.0 / B) + 0.1)
    assert wrapped.sample(X.reshape(3, 2, 2), 7).shape == [3, 7, 2, 1]
    sampler = wrapped.reparam_sampler(7)
    first = sampler.sample(X.reshape(3, 2, 2))
    assert first.shape == [3, 7, 2, 1]
    np.testing.assert_array_equal(first, sampler.sample(X.reshape(3, 2, 2)))
    sampler.reset_sampler()
    assert np.abs(first - sampler.sample(X.reshape(3, 2, 2))).max() > 1e-3


def test_noise_is_the_likelihoods(trieste, data, wrapped):
    np.testing.assert_allclose(
        wrapped.get_observation_noise(), wrapped.model.likelihood.variance.numpy()
    )
    of_classes = gi.architectures.build_deep_gp(
        data[0], (data[1] > 0).astype(float), likelihood=gpflow.likelihoods.Bernoulli()
    )
    with pytest.raises(NotImplementedError, match="Bernoulli"):
        as_trieste_model(of_classes).get_observation_noise()
    for noise, said in (
        ({"scale": 0.3}, None),
        ({"variance": gpflow.functions.Constant(0.1)}, "one number, not for this Gaussian"),
        ({"variance": np.array([0.1, 0.2])}, "one number, not for this Gaussian"),
    ):
        wrapped.model.likelihood = gpflow.likelihoods.Gaussian(**noise)
        if said is None:
            np.testing.assert_allclose(wrapped.get_observation_noise(), 0.09)
            continue
        with pytest.raises(NotImplementedError, match=said):
            wrapped.get_observation_noise()


def test_optimize_raises_the_bound_and_copies_are_independent(trieste, wrapped, dataset):
    X = at(5)
    more = dataset + trieste.data.Dataset(tf.constant(X), tf.constant(np.sin(6.0 * X[:, :1])))
    other = copy.deepcopy(wrapped)
    before = wrapped.predict(X)[0]
    wrapped.update(more)
    assert (wrapped.model.num_data, other.model.num_data) == (35, 30)
    np.testing.assert_array_equal(wrapped.predict(X)[0], before)  # update does not train

    def bound():
        return float(wrapped.model.elbo(more.astuple(), num_samples=100, seed=0))

    start = bound()
    record = wrapped.optimize(more)
    assert record.step == 60
    assert bound() > start + 1.0
    np.testing.assert_array_equal(other.predict(X)[0], before)
    assert np.abs(wrapped.predict(X)[0] - before).max() > 1e-3


def test_models_of_a_fixed_number_of_rows_are_refused(trieste, data):
    model = gi.architectures.build_deep_gp(*data, num_inducing=10, latent_dim=1)
    with pytest.raises(ValueError, match=r"Layer 1 \(LatentVariableLayer\).*fixed number of rows"):
        as_trieste_model(model)
    with pytest.raises(TypeError, match="one of this library's"):
        as_trieste_model(gpflow.models.GPR(data, gpflow.kernels.RBF()))


def test_mistaken_data_are_refused_in_words(trieste, wrapped):
    wide = trieste.data.Dataset(tf.zeros([4, 3], tf.float64), tf.zeros([4, 1], tf.float64))
    for call in (wrapped.update, wrapped.optimize):
        with pytest.raises(ValueError, match="X has 3 columns, but the model takes 2"):
            call(wide)


@pytest.mark.slow
def test_stacks_for_several_objectives(wrapped, dataset):
    from trieste.models.interfaces import TrainablePredictJointReparamModelStack

    second = copy.deepcopy(wrapped)
    stack = TrainablePredictJointReparamModelStack((wrapped, 1), (second, 1))
    X = at(4)
    assert stack.predict(X)[0].shape == [4, 2]
    assert stack.predict_joint(X)[1].shape == [2, 4, 4]
    samples = stack.reparam_sampler(50).sample(X[:, None])
    assert samples.shape == [4, 50, 1, 2]
    # Two objectives are independent, though the models are equal.
    assert np.abs(np.corrcoef(samples[0, :, 0, 0], samples[0, :, 0, 1])[0, 1]) < 5 / np.sqrt(50)
    both = type(dataset)(dataset.query_points, tf.tile(dataset.observations, [1, 2]))
    assert len(stack.optimize(both)) == 2


def test_predictions_of_observations_add_the_noise(wrapped):
    X = at(3)
    f, y = wrapped.predict(X), wrapped.predict_y(X)
    np.testing.assert_allclose(y[0], f[0], rtol=1e-10)
    np.testing.assert_allclose(y[1] - f[1], wrapped.get_observation_noise(), rtol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("acquisition", ["EI", "Thompson", "discrete Thompson", "MC"])
def test_triestes_own_loop_finds_the_minimum(trieste, acquisition):
    from trieste.acquisition import function
    from trieste.acquisition.rule import DiscreteThompsonSampling, EfficientGlobalOptimization
    from trieste.objectives import utils

    def observed(X):
        return 5.0 * tf.reduce_sum(tf.square(X - 0.3), axis=1, keepdims=True)

    box = trieste.space.Box([0.0, 0.0], [1.0, 1.0])
    X = box.sample(8, seed=0)
    Y = observed(X)
    rule = {
        "EI": lambda: EfficientGlobalOptimization(function.ExpectedImprovement()),
        "Thompson": lambda: EfficientGlobalOptimization(
            function.GreedyContinuousThompsonSampling(), num_query_points=2
        ),
        "discrete Thompson": lambda: DiscreteThompsonSampling(200, 2),
        "MC": lambda: EfficientGlobalOptimization(
            function.BatchMonteCarloExpectedImprovement(20), num_query_points=2
        ),
    }[acquisition]()
    # The function has no noise; with the builder's 0.1 at the start the bowl would be taken for it.
    model = gi.architectures.build_deep_gp(
        X.numpy(), Y.numpy(), num_inducing=8, likelihood=gpflow.likelihoods.Gaussian(1e-3)
    )
    wrapped = as_trieste_model(model, steps=50, num_samples=5, learning_rate=0.02)
    result = trieste.bayesian_optimizer.BayesianOptimizer(
        utils.mk_observer(observed), box
    ).optimize(3, trieste.data.Dataset(X, Y), wrapped, rule)
    data = result.try_get_final_dataset()
    rows = {"EI": 11}.get(acquisition, 14)
    assert len(data) == rows == result.try_get_final_model().model.num_data
    assert len(result.history) == 3  # copies of the model, one for each step
    assert float(tf.reduce_min(data.observations)) < 0.5 * float(tf.reduce_min(Y))


@pytest.mark.longest
def test_all_of_it_in_an_environment_of_its_own(tmp_path):
    """The tests above, and the fast comparison of regrets, in what `make trieste` made or makes."""
    if importlib.util.find_spec("trieste"):
        pytest.skip("this is such an environment")
    command = ["make", "trieste", f"BENCH=--fast --out {tmp_path}", f"PYTHON={sys.executable}"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 0, (run.stdout + run.stderr)[-3000:]
    numbers = [json.loads(line) for line in (tmp_path / "trieste_regret-fast.jsonl").open()]
    assert (tmp_path / "trieste_regret-fast.png").is_file()
    assert len(numbers) == 9  # three functions with three models
    assert all(np.all(np.diff(row["regret"]) <= 0) for row in numbers)
    assert all(row["regret"][-1] > -1e-6 for row in numbers)


@pytest.mark.slow
def test_copies_have_their_own_objective_and_optimizer(monkeypatch):
    """Trieste itself is not needed for this."""
    monkeypatch.setattr("gpflow_gi.interop.trieste._import_trieste", lambda: None)
    X = np.linspace(-1.0, 1.0, 8)[:, None]
    data = SimpleNamespace(query_points=X, observations=np.sin(3.0 * X))
    layer = gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, gi.posteriors.LocalInducing(X[:3], 1))
    model = gi.models.DeepGP([layer], gpflow.likelihoods.Gaussian(), num_data=8)
    optimizer = gpflow.keras.tf_keras.optimizers.Adam(0.01)
    one = as_trieste_model(model, steps=3, optimizer=optimizer)
    one.optimize(data)
    other = copy.deepcopy(one)
    other.optimize(data)
    one.optimize(data)
    weights = gi.objectives.WeightedBound(np.ones(8))
    with pytest.raises(ValueError, match="weights of a fixed number of rows"):
        as_trieste_model(model, objective=weights)

"""The same seed gives the same numbers, compiled or not, and touches no global generator."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi

from ..builders import random_data, random_deep_gp

METHODS: dict[str, Callable[..., Any]] = {
    "elbo": lambda model, data, seed: model.elbo(data, num_samples=2, seed=seed),
    "predict_f": lambda model, data, seed: model.predict_f(data[0], num_samples=2, seed=seed),
    "predict_f full_cov": lambda model, data, seed: model.predict_f(
        data[0], num_samples=2, full_cov=True, seed=seed
    ),
    "predict_y": lambda model, data, seed: model.predict_y(data[0], num_samples=2, seed=seed),
    "predict_y_components": lambda model, data, seed: model.predict_y_components(
        data[0], num_samples=2, seed=seed
    ),
    "predict_log_density": lambda model, data, seed: model.predict_log_density(
        data, num_samples=2, seed=seed
    ),
    "predict_f_samples": lambda model, data, seed: model.predict_f_samples(data[0], 2, seed=seed),
    "predict_f_samples by rows": lambda model, data, seed: model.predict_f_samples(
        data[0], 2, full_cov=False, seed=seed
    ),
}
EAGER_METHODS: dict[str, Callable[..., Any]] = {
    **METHODS,
    "training_loss_closure": lambda model, data, seed: model.training_loss_closure(
        data, compile=False, seed=seed
    )(),
    "sample_functions": lambda model, data, seed: model.sample_functions(2, seed)(data[0]),
}


@pytest.fixture
def model(rng) -> gi.models.DeepGP:
    return random_deep_gp(rng, ("local", "global"), mean_functions=False)


@pytest.fixture
def data(rng) -> tuple[np.ndarray, np.ndarray]:
    return random_data(rng, N=4)


def numbers(method: Callable[..., Any], *arguments: Any) -> list[np.ndarray]:
    return [np.array(value) for value in tf.nest.flatten(method(*arguments))]


def assert_equal(some: list[np.ndarray], others: list[np.ndarray], rtol: float = 0.0) -> None:
    for one, other in zip(some, others, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol)


def assert_differ(some: list[np.ndarray], others: list[np.ndarray]) -> None:
    for one, other in zip(some, others, strict=True):
        assert np.all(one != other)


@pytest.fixture(scope="module")
def two_global_numbers() -> list[float]:
    """Two numbers of TensorFlow's global generator, with nothing in between."""
    tf.random.set_seed(4)
    return [tf.random.uniform([]).numpy() for _ in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("method", EAGER_METHODS.values(), ids=EAGER_METHODS)
def test_seeds(method, model, data, two_global_numbers):
    tf.random.set_seed(4)
    global_numbers = [tf.random.uniform([]).numpy()]
    values = numbers(method, model, data, 1)
    assert_equal(numbers(method, model, data, tf.constant([0, 1])), values)
    assert_differ(numbers(method, model, data, 2), values)
    global_numbers.append(tf.random.uniform([]).numpy())
    assert global_numbers == two_global_numbers

    # Without a seed each call is fresh, and tf.random.set_seed decides.
    tf.random.set_seed(4)
    fresh = numbers(method, model, data, None)
    assert_differ(numbers(method, model, data, None), fresh)
    tf.random.set_seed(4)
    assert_equal(numbers(method, model, data, None), fresh)

    with pytest.raises(ValueError, match="seed must be"):
        method(model, data, 1.5)


COMPILED = ("elbo", "predict_f", "predict_log_density", "predict_f_samples")


@pytest.mark.slow
@pytest.mark.compiled
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_is_eager(name, model, data):
    compiled = tf.function(lambda seed: METHODS[name](model, data, seed), autograph=False)
    for seed in (1, 2):
        values = numbers(compiled, tf.constant(seed))
        assert_equal(values, numbers(METHODS[name], model, data, seed), rtol=1e-9)


@pytest.mark.slow
@pytest.mark.compiled
def test_compiled_without_a_seed_is_fresh_at_every_call(model, data):
    method = METHODS["elbo"]
    for compiled in (
        tf.function(lambda: method(model, data, None)),
        model.training_loss_closure(data),
    ):
        assert_differ(numbers(compiled), numbers(compiled))


@pytest.mark.compiled
def test_chunks_do_not_repeat_each_other(model, data, monkeypatch):
    X = np.tile(data[0][:1], (6, 1))
    numbers_per_row = 2 * model.width()
    monkeypatch.setattr("gpflow_gi.models.chunks.TARGET_SIZE", 3 * numbers_per_row)
    means, _ = model.predict_y_components(X, num_samples=2, seed=1)
    assert len(np.unique(means[0])) == 6

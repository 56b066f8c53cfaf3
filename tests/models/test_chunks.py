"""Prediction in chunks of bounded size."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.kernels import batched
from gpflow_gi.models import chunks, prediction, predictive

from ..builders import random_data, random_deep_gp


def test_chunks_cover_every_row_once():
    X = tf.reshape(tf.range(22, dtype=tf.float64), [11, 2])
    sizes = []

    def function(i, X):
        sizes.append(X.shape[0])
        return X + 1.0, tf.reduce_sum(X, axis=1)

    for chunk in (1, 2, 3, 10, 11, 12):
        plus, sums = chunks.in_chunks(function, [X], chunk)
        np.testing.assert_array_equal(plus, X + 1.0)
        np.testing.assert_array_equal(sums, tf.reduce_sum(X, axis=1))
        assert plus.shape[1] == 2


def test_no_rows_at_all():
    (values,) = chunks.in_chunks(lambda i, X: (X,), [tf.zeros([0, 2])], 5)
    assert values.shape == (0, 2)


@pytest.mark.slow
@pytest.mark.compiled
def test_rows_of_unknown_number_are_chunked_alike(rng, monkeypatch):
    """Eager with a known number of rows, and compiled for any number: the same noise."""
    # 4 rows to a chunk: for each row and sample the likelihood's 20 quadrature points are most.
    monkeypatch.setattr(chunks, "TARGET_SIZE", 4 * 3 * 20)
    model = random_deep_gp(rng, ("local", "global"))
    X, _ = random_data(rng, N=10)

    @tf.function(input_signature=[tf.TensorSpec([None, 2], tf.float64)])
    def compiled(X):
        return model.predict_f(X, num_samples=3, seed=0)

    for one, other in zip(model.predict_f(X, num_samples=3, seed=0), compiled(X), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_a_prediction_does_not_depend_on_the_chunks_but_through_its_noise(rng, monkeypatch):
    model = random_deep_gp(rng, ("full",))  # one layer: no noise
    X, Y = random_data(rng, N=10)
    whole = [*model.predict_y(X), model.predict_log_density((X, Y))]
    monkeypatch.setattr(chunks, "TARGET_SIZE", 1)
    np.testing.assert_allclose(model.predict_f(X)[0], model.predict_f(X, full_cov=True)[0])
    for one, other in zip(
        whole, [*model.predict_y(X), model.predict_log_density((X, Y))], strict=True
    ):
        np.testing.assert_allclose(one, other, atol=1e-12)


def test_samples_of_rows_come_in_chunks(rng, monkeypatch):
    model = random_deep_gp(rng, ("local", "global"))
    X, _ = random_data(rng, N=10)
    monkeypatch.setattr(chunks, "TARGET_SIZE", 4 * 3 * 20)
    sizes = []
    monkeypatch.setattr(
        prediction,
        "in_chunks",
        lambda function, rows, chunk: chunks.in_chunks(
            lambda i, *part: sizes.append(len(part[0])) or function(i, *part), rows, chunk
        ),
    )
    samples = model.predict_f_samples(X, 3, full_cov=False, seed=0)
    assert samples.shape == (3, 10, 1)
    assert sizes == [4, 4, 2]


@pytest.mark.slow
def test_an_eager_caller_is_not_traced_anew(rng, monkeypatch):
    """Neither for its chunks nor for kernels of many samples: that would take memory each time."""
    model = random_deep_gp(rng, ("global", "global"))
    X, _ = random_data(rng, N=10)
    monkeypatch.setattr(chunks, "TARGET_SIZE", 4 * 12 * 20)
    model.predict_f(X, num_samples=12, seed=0)
    model.predict_f(X, num_samples=12, seed=0)
    kernel = model.layers[1].kernel
    count = batched._compiled(kernel, 2).experimental_get_tracing_count()
    for _ in range(3):
        model.predict_f(X, num_samples=12, seed=0)
    assert batched._compiled(kernel, 2).experimental_get_tracing_count() == count
    # Other parameters are seen, and so is another parameter object.
    before = model.predict_f(X, num_samples=12, seed=0)[0].numpy()
    kernel.lengthscales.assign(2 * kernel.lengthscales)
    changed = model.predict_f(X, num_samples=12, seed=0)[0].numpy()
    kernel.lengthscales = gpflow.Parameter(kernel.lengthscales.numpy() / 2)
    again = model.predict_f(X, num_samples=12, seed=0)[0].numpy()
    assert np.max(np.abs(changed - before)) > 1e-3
    np.testing.assert_allclose(again, before, atol=1e-10)


def test_chunks_shrink_with_samples_and_inducing_points():
    assert chunks.rows_per_chunk(100 * 100) == 400
    assert chunks.rows_per_chunk(10**9) == 1
    assert predictive.DEFAULT_PREDICTION_SAMPLES == 100

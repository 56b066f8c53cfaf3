"""Training on a tf.data.Dataset of batches."""

import gpflow
import numpy as np
import pytest
import tensorflow as tf

import gpflow_gi as gi
from gpflow_gi.training import NonFiniteError, dataset
from gpflow_gi.training.dataset import DatasetBatches

from .models import FailingModel, LinearModel, assert_same, linear_data, noisy, svgp, train

pytestmark = pytest.mark.compiled
N, B = 20, 5
X, Y = linear_data()


def batches(size=B, rows=(X, Y)):
    return tf.data.Dataset.from_tensor_slices(rows).batch(size)


@pytest.mark.slow
def test_one_batch_of_all_rows_is_the_same_as_arrays():
    one, other = LinearModel(N), LinearModel(N)
    settings = {"steps": 130, "kl_warmup": 3, "seed": 4, "learning_rate": 0.05}
    record = train(one, batches(N), **settings)
    expected = train(other, (X, Y), **settings)
    assert_same(one, other)
    assert record.reports[-1].bound == pytest.approx(expected.reports[-1].bound, rel=1e-12)
    assert record.settings["batch_size"] == N


@pytest.mark.slow
def test_steps_take_the_batches_in_turn_and_begin_again():
    """Plain gradient ascent, step by step, on the batch whose turn it is."""
    model, by_hand = svgp(N), svgp(N)
    rate = 2.0**-6
    optimizer = gpflow.keras.tf_keras.optimizers.SGD(rate)
    train(model, batches(), steps=11, optimizer=optimizer)
    variables = by_hand.trainable_variables
    for step in range(11):
        rows = slice(B * (step % 4), B * (step % 4) + B)
        with tf.GradientTape() as tape:
            loss = by_hand.training_loss((X[rows], Y[rows]))
        gradients = tape.gradient(loss, variables)
        for variable, gradient in zip(variables, gradients, strict=True):
            variable.assign_sub(rate * tf.convert_to_tensor(gradient))
    assert_same(model, by_hand, 1e-10)


@pytest.mark.slow
def test_the_division_into_calls_has_no_effect(monkeypatch):
    one, other = LinearModel(N), LinearModel(N)
    train(one, batches(), steps=300)
    monkeypatch.setattr(dataset, "MOST_NUMBERS", 2 * B * 3)  # two batches of three columns
    record = train(other, batches(), steps=300)
    assert_same(one, other)
    assert max(np.diff([report.step for report in record.reports])) == 2


def test_batches_can_be_repeated_since_the_call_before():
    rows = np.arange(12.0)[:, None]
    held = DatasetBatches(batches(1, (rows, rows)), None, tf.constant([0, 0]))
    held.ready(0, 3, None)
    held.ready(3, 8, None)
    for start, stop in ((8, 11), (5, 7), (3, 4), (8, 11), (11, 14)):
        first, _ = held.ready(start, stop, None)
        assert first == start
        np.testing.assert_array_equal(held.data[0][:, 0, 0], np.arange(start, stop) % 12)
    assert min(held._kept) == 8


def test_a_failure_keeps_the_last_good_parameters():
    model = FailingModel(0.55, fails="bound")
    with pytest.raises(NonFiniteError, match="at step 6"):
        train(model, batches(1, (X[:1, :1], Y[:1])).repeat(), steps=20, recover=False,
              optimizer=gpflow.keras.tf_keras.optimizers.SGD(0.125))  # fmt: skip
    np.testing.assert_allclose(model.level, 0.05)


@pytest.mark.slow
def test_a_deep_gp_and_augmented_rows():
    model = gi.architectures.build_deep_gp(X, Y, num_inducing=4)
    record = train(model, batches().prefetch(2), steps=6, augment=noisy)
    assert record.step == 6 and record.reports[-1].name == "augmented bound"
    assert np.isfinite(record.reports[-1].bound)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"batch_size": 5}, "batch_size cannot be used with a dataset"),
        ({"checkpoint_dir": "x"}, "checkpoint_dir cannot be used.*cannot be resumed"),
        ({"jit_compile": True}, "jit_compile cannot be used"),
        ({"objective": gi.objectives.WeightedBound(np.ones(N))}, "Weights of rows need data as"),
    ],
)
def test_what_a_dataset_does_not_support(settings, said):
    with pytest.raises(ValueError, match=said):
        train(svgp(N), batches(), steps=1, **settings)


def test_what_is_no_dataset_of_batches():
    wrong = Y.copy()
    wrong[13] = np.nan
    for given, said in (
        (batches().take(0), "The dataset has no batches"),
        (batches(7), r"Batch 2 of the dataset: X and Y have shapes \[6, 2\].*drop_remainder=True"),
        (batches(5, X), r"Batch 0 of the dataset: it must be a pair \(X, Y\)"),
        (tf.data.Dataset.from_tensor_slices((X, Y)), "Batch 0 of the dataset: X must have shape"),
        (batches(5, (X, wrong)), r"Batch 2 of the dataset: Y must be finite, but Y\[3, 0\] is nan"),
    ):
        with pytest.raises(ValueError, match=said):
            train(LinearModel(N), given, steps=8)
    model = svgp(N)
    model.num_data = None
    with pytest.raises(ValueError, match="num_data is None"):
        train(model, batches(), steps=1)


def test_free_latent_variables_are_refused():
    """The place in a batch would be taken for the number of the row."""
    x = np.linspace(-1.0, 1.0, 8)[:, None]
    layers = [
        gi.layers.LatentVariableLayer(1, num_data=8),
        gi.layers.GPLayer(gpflow.kernels.Matern52(), 1, gi.posteriors.LocalInducing(np.eye(2), 1)),
    ]
    model = gi.models.DeepGP(layers, gpflow.likelihoods.Gaussian(), num_data=8)
    rows = tf.data.Dataset.from_tensor_slices((x, x)).shuffle(8, seed=1).batch(8)
    with pytest.raises(ValueError, match="does not say which rows a batch holds"):
        gi.fit(model, rows, steps=2, progress=False)
    gi.fit(model, (x, x), steps=2, progress=False)

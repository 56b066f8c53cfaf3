"""Mirrored and shifted images, and training on rows that every step changes."""

import functools
from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.architectures import build_resnet
from gpflow_gi.core.random import as_seed, fold_in
from gpflow_gi.training import augmented
from gpflow_gi.training.minibatches import Minibatches

from .models import LinearModel, assert_same, linear_data, noisy, train

RNG = np.random.default_rng(0)
H, W, C = 3, 4, 2
IMAGE = RNG.normal(size=(H, W, C))


def candidates(image, flip, padding):
    """Every image that may come of one, by (mirrored, row, column)."""
    made = {}
    for mirrored in (False, True) if flip else (False,):
        frame = np.zeros((H + 2 * padding, W + 2 * padding, C))
        frame[padding : padding + H, padding : padding + W] = image[:, ::-1] if mirrored else image
        for row in range(2 * padding + 1):
            for column in range(2 * padding + 1):
                made[mirrored, row, column] = frame[row : row + H, column : column + W]
    return made


@pytest.mark.parametrize("flip", [True, False])
@pytest.mark.parametrize("padding", [0, 1])
def test_every_way_to_mirror_and_shift_is_equally_likely(flip, padding):
    num = 4000
    images = augmented(np.repeat(IMAGE[None], num, 0), 1, flip=flip, padding=padding).numpy()
    expected = candidates(IMAGE, flip, padding)
    names = {image.tobytes(): name for name, image in expected.items()}
    assert len(names) == len(expected)
    counts = Counter(names[np.ascontiguousarray(image).tobytes()] for image in images)
    assert counts.keys() == expected.keys()
    share = 1 / len(expected)
    error = np.sqrt(num * share * (1 - share))
    assert all(abs(count - num * share) <= 4.5 * error for count in counts.values())


def test_each_image_stays_itself():
    images = RNG.normal(size=(6, H, W, C))
    for mine, image in zip(augmented(images, 2, padding=1).numpy(), images, strict=True):
        assert any(np.array_equal(mine, made) for made in candidates(image, True, 1).values())


def test_seeds_and_types():
    images = np.repeat(IMAGE[None], 50, 0).astype(np.float32)
    first, same, other = (augmented(images, seed).numpy() for seed in (0, 0, 1))
    assert first.dtype == np.float32
    np.testing.assert_array_equal(first, same)
    assert np.any(first != other)
    pixels = augmented((255 * np.abs(images)).astype(np.uint8), 0)
    assert pixels.dtype == tf.uint8


@pytest.mark.compiled
def test_in_a_pipeline():
    """As the docstring shows it, but for the shuffling; batches differ in size, and epochs."""
    images, labels = np.repeat(IMAGE[None], 7, 0), np.arange(7.0)[:, None]
    batches = tf.data.Dataset.from_tensor_slices((images, labels)).batch(4).repeat()
    batches = batches.enumerate().map(lambda i, XY: (augmented(XY[0], i), XY[1]))
    parts = list(batches.take(4).as_numpy_iterator())
    assert [part[0].shape for part in parts] == 2 * [(4, H, W, C), (3, H, W, C)]
    for i, (X, Y) in enumerate(parts):
        rows = slice(4 * (i % 2), 4 * (i % 2) + 4)
        np.testing.assert_array_equal(X, augmented(images[rows], i))
        np.testing.assert_array_equal(Y, labels[rows])
    assert np.any(parts[0][0] != parts[2][0])


def test_errors():
    with pytest.raises(ValueError, match=r"images must have shape .* but have shape \(3, 4, 2\)"):
        augmented(IMAGE, 0)
    with pytest.raises(ValueError, match="padding must be an integer of at least 0, but is -1"):
        augmented(IMAGE[None], 0, padding=-1)


DATA = linear_data()
SETTINGS = {"batch_size": 6, "kl_warmup": 3, "learning_rate": 0.05, "seed": 4}


def shifted(X, seed):
    return X + tf.constant([1.0, -2.0], X.dtype)


@pytest.mark.slow
@pytest.mark.compiled
def test_rows_as_they_are_change_nothing():
    """Not a bit: the rows' seeds are of a stream that samples and minibatches do not know."""
    plain, same, other = LinearModel(20), LinearModel(20), LinearModel(20)
    expected = train(plain, DATA, steps=9, **SETTINGS).reports
    reports = train(same, DATA, steps=9, augment=lambda X, seed: X, **SETTINGS).reports
    assert_same(plain, same)
    assert [r.augmented_bound for r in reports] == [r.objective for r in expected]
    assert [r.objective for r in reports] == [r.objective for r in expected]
    train(other, DATA, steps=9, augment=noisy, **SETTINGS)
    assert np.all(other.mean.numpy() != plain.mean.numpy())


@pytest.mark.compiled
def test_what_is_maximised_is_the_bound_of_the_rows_that_steps_see():
    """Rows shifted by steps are shifted rows: the same gradients, samples and minibatches."""
    model, expected = LinearModel(20), LinearModel(20)
    record = train(model, DATA, steps=9, augment=shifted, **SETTINGS)
    of_shifted = train(expected, (shifted(DATA[0], None).numpy(), DATA[1]), steps=9, **SETTINGS)
    assert_same(model, expected)
    assert [r.objective for r in record.reports] == [r.objective for r in of_shifted.reports]
    assert all(a.bound != b.bound for a, b in zip(record.reports, of_shifted.reports, strict=True))


@pytest.mark.compiled
@pytest.mark.parametrize("batch_size", [None, 6])
def test_the_elbo_is_of_the_rows_as_they_are(batch_size):
    """At temperature 1: of the last step's rows, with its seed and the parameters after it."""
    seed, seen = as_seed(SETTINGS["seed"]), []
    model = LinearModel(20)
    minibatches = Minibatches(tuple(tf.constant(array) for array in DATA), batch_size, seed)

    def callback(report):
        step = tf.constant(report.step - 1, tf.int64)
        batch, _ = minibatches.batch(step, minibatches.initially())
        terms = model.bound_terms(batch, None, fold_in(seed, step))
        seen.append([float(term) for term in terms])

    settings = {**SETTINGS, "batch_size": batch_size, "temperature": 0.1}
    record = train(model, DATA, steps=7, augment=noisy, callbacks=[callback], **settings)
    found = [(r.expected_log_likelihood, r.kl) for r in record.reports]
    np.testing.assert_allclose(found, seen, rtol=1e-12)
    assert [r.bound for r in record.reports] == [first - kl for first, kl in found]
    assert len(found) == 7
    for report in record.reports:
        assert report.objective != report.expected_log_likelihood - report.kl_weight * report.kl
        assert report.objective_name == "tempered augmented bound"


@pytest.mark.compiled
def test_every_step_sees_other_rows(monkeypatch):
    """With a seed of its own; all is traced once, however many the steps."""
    seeds, traces = [], []

    def watched(X, seed):
        traces.append(X.shape)
        tf.py_function(lambda s: seeds.append(tuple(s.numpy())), [seed], [])
        return noisy(X, seed)

    monkeypatch.setattr("gpflow_gi.training.pace.FEWEST_CALLS", 1)
    model = LinearModel(20)
    train(model, DATA, steps=30, augment=watched, **SETTINGS)
    of_steps = seeds[1:]  # the first is of the check before the run
    assert len(set(of_steps)) == len(of_steps) == 30
    run = as_seed(SETTINGS["seed"])
    of_samples = {tuple(fold_in(run, step).numpy()) for step in range(-10, 30)}
    of_epochs = {tuple(fold_in(fold_in(run, -1), epoch).numpy()) for epoch in range(30)}
    assert not set(of_steps) & (of_samples | of_epochs)
    assert traces == [[6, 2], [6, 2]]  # before the run and in it
    assert model.num_traces == 2  # the step, and the ELBO of the rows as they are


@pytest.mark.longest
@pytest.mark.slow
@pytest.mark.compiled
def test_images_are_given_as_they_are():
    """Though the network takes rows of pixels."""
    rng, shapes = np.random.default_rng(1), []
    X, Y = rng.normal(size=(12, 4, 4, 1)), np.arange(12.0)[:, None] % 3
    model = build_resnet(X, Y, width=2, num_blocks=1, num_inducing=4)

    def watched(X, seed):
        shapes.append(X.shape)
        return augmented(X, seed, flip=False, padding=1)

    record = train(model, (X, Y), steps=2, batch_size=5, augment=watched, num_samples=2)
    assert set(map(tuple, shapes)) == {(5, 4, 4, 1)}
    assert all(np.isfinite([r.bound, r.objective]).all() for r in record.reports)
    assert record.settings["augment"].endswith("watched")
    augment = functools.partial(augmented, padding=1, flip=False)
    record = train(model, (X, Y), steps=1, augment=augment)
    assert record.settings["augment"] == "augmented(flip=False, padding=1)"


@pytest.mark.longest
@pytest.mark.compiled
def test_xla():
    """Images are those that there are, and no step is compiled anew."""
    images, seed = np.repeat(IMAGE[None], 5, 0), tf.constant([0, 1])
    compiled = tf.function(functools.partial(augmented, padding=1), jit_compile=True)
    for image in compiled(tf.constant(images), seed).numpy():
        assert any(np.array_equal(image, one) for one in candidates(IMAGE, True, 1).values())
    model = LinearModel(20)
    record = train(model, DATA, steps=5, augment=noisy, jit_compile=True, **SETTINGS)
    assert len(record.reports) == 5
    assert model.num_traces == 2  # the step, and the ELBO of the rows as they are

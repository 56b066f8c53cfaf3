"""Mirrored and shifted images."""

from collections import Counter

import numpy as np
import pytest
import tensorflow as tf

from gpflow_gi.training import augmented

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

"""Images that are none of the digits: their sizes, and what makes them what they are."""

import numpy as np

from gpflow_gi.experiments.outside_images import letters, outside_images, scaled


def test_sets_are_like_the_digits_in_form(rng):
    digits = rng.uniform(size=(5, 8, 8, 1))
    sets = outside_images(digits, 3)
    assert list(sets) == ["noise", "rotated", "scaled", "letters"]
    for X in sets.values():
        assert X.shape == digits.shape and X.min() >= 0.0 and X.max() <= 1.0
    for name, X in outside_images(digits, 3).items():
        np.testing.assert_array_equal(X, sets[name])
    assert np.any(outside_images(digits, 4)["letters"] != sets["letters"])
    # A quarter turn: rows become columns.
    np.testing.assert_array_equal(sets["rotated"][:, ::-1, :, 0], digits[..., 0].swapaxes(1, 2))


def test_scaled_images_keep_a_quarter_of_their_light(rng):
    X = rng.uniform(size=(3, 8, 8))
    small = scaled(X)
    np.testing.assert_allclose(small.sum(axis=(1, 2)), X.sum(axis=(1, 2)) / 4)
    assert np.all(small[:, :2] == 0.0) and np.all(small[:, :, -2:] == 0.0)
    np.testing.assert_allclose(small[:, 2, 2], X[:, :2, :2].mean(axis=(1, 2)))


def test_letters_fill_the_image_and_differ():
    drawn = letters(30, 8, np.random.default_rng(0))
    assert np.all(drawn.max(axis=(1, 2)) > 0.5) and np.all(drawn.mean(axis=(1, 2)) < 0.7)
    assert np.all(drawn.max(axis=2)[:, 1:-1] > 0)  # strokes in every inner row
    assert len(np.unique(drawn.reshape(30, -1), axis=0)) == 30

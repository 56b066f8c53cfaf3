"""Grey images that are none of the digits trained on: what a classifier should not be sure of."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

Array = NDArray[np.float64]

LETTERS = "ACEFHJKLMNPRTUVWXY"
"""Capital letters that do not look like digits, as B, D, G, I, O, Q, S and Z do."""

FONTS = ("DejaVu Sans", "DejaVu Sans Mono", "DejaVu Serif", "STIXGeneral")
"""Fonts that ship with matplotlib."""

DOTS = 4
"""Black and white dots along a side of a pixel, as in scikit-learn's digits."""


def outside_images(digits: Array, seed: int) -> dict[str, Array]:
    """Sets of images, by name: as many as digits, of the same size, in [0, 1].

    "noise" has independent uniform pixels; "rotated" are the digits, turned by 90 degrees; "scaled"
    are the digits at half of their size, in the middle; "letters" are capital letters, in fonts
    that ship with matplotlib, regular or bold, and turned by up to 10 degrees.

    :param digits: test images, [N, H, H, 1], in [0, 1]; H is a multiple of 4.
    :param seed: of the noise, and of the choice of letters.
    """
    N, H = digits.shape[:2]
    rng = np.random.default_rng(seed)
    return {
        "noise": rng.uniform(size=digits.shape),
        "rotated": np.rot90(digits, axes=(1, 2)).astype(float),
        "scaled": scaled(digits[..., 0].astype(float))[..., None],
        "letters": letters(N, H, rng)[..., None],
    }


def scaled(X: Array) -> Array:
    """Images [N, H, H] at half of their size, in the middle of black; H is a multiple of 4."""
    N, H = X.shape[:2]
    small = X.reshape(N, H // 2, 2, H // 2, 2).mean(axis=(2, 4))
    return np.pad(small, ((0, 0), (H // 4, H // 4), (H // 4, H // 4)))


def letters(number: int, size: int, rng: np.random.Generator) -> Array:
    """White letters on black, [number, size, size]: shares of white dots in each pixel."""
    canvas = FigureCanvasAgg(Figure(figsize=(1, 1), dpi=size * DOTS, facecolor="black"))
    drawn: list[Any] = []
    for _ in range(number):
        canvas.figure.clear()
        canvas.figure.text(
            0.5,
            0.5,
            rng.choice(list(LETTERS)),
            color="white",
            fontsize=72 * rng.uniform(1.1, 1.3),  # a capital takes 0.7 of it, the figure 72
            family=rng.choice(FONTS),
            weight=rng.choice(["normal", "bold"]),
            rotation=rng.uniform(-10.0, 10.0),
            ha="center",
            va="center_baseline",
        )
        canvas.draw()
        dots = np.asarray(canvas.buffer_rgba())[..., 0] > 127
        drawn.append(dots.reshape(size, DOTS, size, DOTS).mean(axis=(1, 3)))
    return np.array(drawn)

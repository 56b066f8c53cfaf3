"""Images with one label each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.validation import real_array, shown
from .errors import DataError
from .table import row_numbers

_LABELS = "whole numbers from 0"

_MOST_CLASSES = 1_000_000
"""Largest number of classes; larger labels are probably not labels."""


@dataclass(frozen=True, eq=False)
class Images:
    """Images with one label each; use :func:`as_images` for your own arrays.

    :param name: name of the set in reports: "digits".
    :param X: [N, H, W, C], floats; in [0, 1] if they came as bytes.
    :param Y: [N, 1], float64: whole numbers from 0, which count the classes.
    :param class_names: names of the classes, one for each.
    """

    name: str
    X: NDArray[np.floating[Any]]
    Y: NDArray[np.float64]
    class_names: tuple[str, ...]

    def rows(self, index: NDArray[np.intp]) -> Images:
        """The images numbered `index`, in that order.

        :param index: [n], integers in [0, N).
        :return: n images.
        :raises IndexError: if an image does not exist.
        :raises ValueError: if `index` does not hold integers.
        """
        index = row_numbers(index)
        return Images(self.name, self.X[index], self.Y[index], self.class_names)


def as_images(
    X: Any, labels: Any, *, name: str = "images", class_names: Sequence[str] | None = None
) -> Images:
    """Images from arrays, checked.

    :param X: [N, H, W, C]. Bytes (uint8) become float32 in [0, 1]; floats stay as they are.
    :param labels: [N] or [N, 1], whole numbers from 0, which count the classes.
    :param name: name of the set in reports.
    :param class_names: names of the classes, one for each; by default the numbers up to the
        greatest label. Give them if a part of a set may lack its last class.
    :return: the images, with labels [N, 1].
    :raises DataError: if a shape is wrong, if pixels are neither bytes nor finite floats, or if a
        label is not a class.
    """
    try:
        X, labels = real_array("X", X), real_array("labels", labels, _LABELS)
    except ValueError as error:
        raise DataError(f"{name}: {error}") from None
    if X.ndim != 4 or X.size == 0:
        hint = " Write X[..., None] for one channel." if X.ndim == 3 else ""
        raise DataError(
            f"{name}: X must have shape [images, height, width, channels], but has shape "
            f"{list(X.shape)}.{hint}"
        )
    if X.dtype == np.uint8:
        X = X.astype(np.float32) / np.float32(255)
    elif X.dtype.kind != "f":
        raise DataError(f"{name}: X must hold floats, or bytes (uint8), but holds {X.dtype}.")
    elif not np.isfinite(X).all():
        image = int(np.argwhere(~np.isfinite(X))[0, 0])
        raise DataError(f"{name}: image {image} (counted from 0) has pixels that are not finite.")
    if labels.shape not in ((len(X),), (len(X), 1)):
        raise DataError(
            f"{name}: there must be one label for each of the {len(X)} images, but the labels have "
            f"shape {list(labels.shape)}."
        )
    labels = labels.reshape(len(X))
    if class_names is None:
        if labels.dtype.kind == "b" or not np.isfinite(labels).all():
            raise DataError(f"{name}: labels must be whole numbers from 0, not {labels.dtype}.")
        if labels.max() >= _MOST_CLASSES:
            raise DataError(
                f"{name}: labels count the classes, but one is {labels.max():g}: number the "
                "classes 0, 1, 2 and so on, or give class_names."
            )
        class_names = [str(i) for i in range(int(labels.max()) + 1)]
    elif not isinstance(class_names, Sequence) or not all(
        isinstance(one, str) for one in class_names
    ):
        raise DataError(f"{name}: class_names must be names, but is {shown(class_names)}.")
    wrong = ~np.isin(labels, np.arange(len(class_names)))
    if wrong.any():
        image = int(np.argmax(wrong))
        raise DataError(
            f"{name}: labels must be whole numbers from 0 to {len(class_names) - 1}, but that of "
            f"image {image} (counted from 0) is {labels[image]!r}."
        )
    return Images(name, X, labels.astype(np.float64)[:, None], tuple(class_names))

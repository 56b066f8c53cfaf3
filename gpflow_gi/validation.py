"""Checks at the border: what a user gets wrong is said in words, with the argument's name."""

from typing import Any

import numpy as np


def positive_integer(name: str, value: Any) -> int:
    """`value` as an int.

    :raises ValueError: if it is not a whole number of at least one.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} must be an integer of at least 1, but is {value!r}.")
    return int(value)


def output_shape(output_dim: Any) -> tuple[int, ...]:
    """(P,), or (H, W, P) where the outputs are images.

    :param output_dim: P or (H, W, P).
    :raises ValueError: if it is neither.
    """
    if not isinstance(output_dim, tuple | list):
        return (positive_integer("output_dim", output_dim),)
    if len(output_dim) not in (1, 3):
        raise ValueError(
            "output_dim must be an integer or, for a convolution, its (height, width, filters), "
            f"but is {output_dim!r}."
        )
    return tuple(positive_integer("output_dim", size) for size in output_dim)


def rows_or_images(name: str, value: Any) -> np.ndarray:
    """`value` as an array of GPflow's default float type, [rows, columns] or [rows, H, W, C].

    :raises ValueError: as :func:`finite_array` does.
    """
    array = finite_array(name, value)
    return array if array.ndim == 4 else finite_array(name, array, (None, None))


def positive_number(name: str, value: Any) -> float:
    """`value` as a float.

    :raises ValueError: if it is not one positive, finite number in GPflow's default float type.
    """
    number = finite_array(name, value, ())
    if number <= 0:
        raise ValueError(f"{name} must be positive, but is {number}.")
    return float(number)


def finite_array(name: str, value: Any, shape: tuple[int | None, ...] | None = None) -> np.ndarray:
    """`value` as an array of GPflow's default float type.

    :param shape: what the shape must be; None leaves a dimension, or all of it, free.
    :raises ValueError: if it is not numeric, is empty, has another shape, or holds NaN or infinity;
        the message names the first offending entry.
    """
    import gpflow  # here, so that what is NumPy's alone does not wait for TensorFlow

    try:
        array = np.asarray(value, dtype=gpflow.default_float())
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be an array of numbers: {error}.") from None
    if shape is not None and not (
        len(array.shape) == len(shape)
        and all(want in (None, have) for want, have in zip(shape, array.shape, strict=True))
    ):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        one_column = array.ndim == 1 and shape[1:] in ((None,), (1,))
        hint = f" Write {name}[:, None] for one column." if one_column else ""
        raise ValueError(
            f"{name} must have shape [{wanted}], but has shape {list(array.shape)}.{hint}"
        )
    if array.size == 0:
        raise ValueError(f"{name} must not be empty, but has shape {list(array.shape)}.")
    if array.ndim == 0 and not np.isfinite(array):
        raise ValueError(f"{name} must be finite, but is {array}.")
    if not np.all(np.isfinite(array)):
        where = ", ".join(str(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} must be finite, but {name}[{where}] is not.")
    return array

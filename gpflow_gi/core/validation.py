"""Checks of users' arguments, with messages that name the argument.

They read values, so they are complete in eager calls only. Inside ``tf.function`` a tensor has no
value yet: there only types and shapes are checked, and NaN in the input gives NaN in the output.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .real_array import kind_of, real_array, shown
from .real_array import refuse_masked as refuse_masked  # for modules that need this check alone

if TYPE_CHECKING:
    import tensorflow as tf

_LARGEST_INTEGER = 2**31 - 1
"""Largest size in TensorFlow."""

_LONGEST_PATH = 4096
"""Largest number of characters of a path, on Linux."""


# ---------------------------------------------------------------------------------------- numbers


def integer(name: str, value: Any, least: int) -> int:
    """`value` as an int.

    :param least: the smallest value allowed.
    :raises ValueError: if it is not a whole number, too small, or beyond 32 bits.
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} must be an integer of at least {least}, but is {shown(value)}.")
    if value > _LARGEST_INTEGER:
        raise ValueError(
            f"{name} must be an integer of at most {_LARGEST_INTEGER}, but is {shown(value)}."
        )
    return int(value)


positive_integer = partial(integer, least=1)
non_negative_integer = partial(integer, least=0)


def positive_number(name: str, value: Any) -> float:
    """`value` as a float.

    :raises ValueError: if it is not one positive, finite number in GPflow's default float type.
    """
    number = finite_array(name, value, ())
    least = np.finfo(number.dtype).tiny  # smaller numbers lose digits, and so do their logarithms
    if number < least:
        more = f", and at least {least:.2g}" if number > 0 else ""
        raise ValueError(f"{name} must be positive{more}, but is {number}.")
    return float(number)


def non_negative_number(name: str, value: Any) -> float:
    """`value` as a float.

    :raises ValueError: if it is not one finite number of at least zero.
    """
    number = float(finite_array(name, value, ()))
    if number < 0.0:
        raise ValueError(f"{name} must not be negative, but is {number:g}.")
    return number


def share_below_one(name: str, value: Any) -> float:
    """`value` as a float.

    :raises ValueError: if it is not a number from 0 to below 1.
    """
    share = non_negative_number(name, value)
    if share >= 1:
        raise ValueError(f"{name} must be below 1, but is {share:g}.")
    return share


def probability(name: str, value: Any) -> float:
    """`value` as a float.

    :raises ValueError: if it is not one number above zero and below one.
    """
    number = real_array(name, value, "a number")
    if number.ndim or not 0 < number < 1:
        raise ValueError(f"{name} must lie in (0, 1), but is {shown(value)}.")
    return float(number)


def true_or_false(name: str, value: Any) -> bool:
    """`value` as a bool; it may be NumPy's.

    :raises TypeError: if it is neither.
    """
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name} must be True or False, but is {shown(value)}.")
    return bool(value)


def is_one_of(value: Any, names: Iterable[str]) -> bool:
    """True if the value is one of the names; an array, for example, never is."""
    return isinstance(value, str) and value in tuple(names)


def file_path(name: str, value: Any) -> Path:
    """`value` as a path.

    :raises TypeError: if it is neither text nor a path.
    :raises ValueError: if no file can have that name.
    """
    if not isinstance(value, str | os.PathLike) or not isinstance(os.fspath(value), str):
        raise TypeError(f"{name} must be a path, but is {shown(value)}.")
    text = os.fspath(value)
    if not text or "\0" in text or len(text) > _LONGEST_PATH:
        raise ValueError(f"{name} must be a path, but is {shown(value)}.")
    return Path(value)


def numpy_seed(name: str, value: Any) -> int:
    """`value` as an int that NumPy and scikit-learn accept as a seed.

    :raises ValueError: if they do not accept it.
    """
    if not isinstance(value, int | np.integer) or not 0 <= value < 2**32:
        raise ValueError(f"{name} must be an integer from 0 to 2^32 - 1, but is {shown(value)}.")
    return int(value)


def output_shape(output_dim: Any) -> tuple[int, ...]:
    """Shape (P,), or (H, W, P) if the outputs are images.

    :param output_dim: P or (H, W, P).
    :raises ValueError: if it is neither.
    """
    if not isinstance(output_dim, tuple | list):
        return (positive_integer("output_dim", output_dim),)
    if len(output_dim) not in (1, 3):
        raise ValueError(
            "output_dim must be an integer or, for a convolution, its (height, width, filters), "
            f"but is {shown(output_dim)}."
        )
    return tuple(positive_integer("output_dim", size) for size in output_dim)


def widths_of_layers(widths: Any) -> list[int]:
    """The widths of hidden layers as a list.

    :param widths: a list or a tuple of positive integers; it may be empty.
    :raises ValueError: if it is none, or holds something else.
    """
    if not isinstance(widths, list | tuple):
        raise ValueError(
            f"widths must be a list with the width of each hidden layer, but is {shown(widths)}."
        )
    return [positive_integer(f"widths[{i}]", width) for i, width in enumerate(widths)]


# ----------------------------------------------------------------------------------------- arrays


def finite_array(
    name: str,
    value: Any,
    shape: tuple[int | None, ...] | None = None,
    *,
    images: bool = False,
    own_type: bool = False,
    infinite: bool = False,
    empty: bool = False,
) -> NDArray[Any]:
    """`value` as an array of floats, by default of GPflow's default type.

    :param shape: the required shape; None leaves a dimension, or all of it, free.
    :param images: accept [rows, H, W, C] too, whatever `shape` is.
    :param own_type: keep float32 and float64, and convert all others to float64.
    :param infinite: accept infinity; NaN is never accepted.
    :param empty: accept an array without entries.
    :raises ValueError: if it is not numeric (see :func:`real_array`), is empty, has another shape,
        or holds NaN or infinity; the message names the first such entry.
    """
    array = real_array(name, value, "a number" if shape == () else "an array of numbers")
    if shape is not None and not (images and array.ndim == 4):
        _check_shape(name, array, shape)
    if not empty:
        _refuse_empty(name, array)
    if not own_type:
        import gpflow  # imported here, so that code for NumPy alone does not wait for TensorFlow

        return _finite(name, array, gpflow.default_float())
    # Few functions support NumPy's long doubles, and squares of half floats overflow at 65504.
    is_usual = array.dtype.kind == "f" and 4 <= array.dtype.itemsize <= 8
    return _finite(name, array, array.dtype if is_usual else np.float64, infinite)


finite_floats = partial(finite_array, own_type=True)
"""Like :func:`finite_array`, but keeps the type and needs no TensorFlow."""


def shares(name: str, value: Any) -> NDArray[Any]:
    """Numbers from zero to one in one row, [n].

    :param value: [...].
    :raises ValueError: if there are none, or if one is outside of [0, 1].
    """
    values = np.ravel(finite_floats(name, value))
    if not (values.min() >= 0 and values.max() <= 1):
        raise ValueError(f"{name} must hold numbers in [0, 1], and at least one.")
    return values


def finite_tensor(name: str, value: Any, *, of_its_type: bool = False) -> tf.Tensor:
    """`value` as a tensor of GPflow's default float type; it may have no rows.

    A tensor stays a tensor, so that gradients flow through it.

    :param of_its_type: keep the type.
    :raises ValueError: if it is not numeric (see :func:`real_array`), or is known to hold NaN or
        infinity; the values of a graph's tensors are not known.
    """
    import gpflow
    import tensorflow as tf

    if isinstance(value, tf.Tensor | tf.Variable | gpflow.Parameter):
        if not (value.dtype.is_floating or value.dtype.is_integer or value.dtype.is_bool):
            raise ValueError(
                f"{name} must be an array of numbers, but is a tensor of {value.dtype.name}."
            )
        dtype = value.dtype if of_its_type else gpflow.default_float()
        # A variable that is cast to its own type is still a variable.
        tensor = tf.convert_to_tensor(tf.cast(value, dtype))
        if hasattr(tensor, "numpy"):
            _check_finite(name, tensor.numpy(), value.numpy())
        return tensor
    if tf.executing_eagerly() or not isinstance(value, list | tuple):
        array = real_array(name, value)
        is_own = of_its_type and array.dtype != np.longdouble
        return tf.constant(_finite(name, array, array.dtype if is_own else gpflow.default_float()))
    try:  # a list may hold tensors of the graph
        return gpflow.utilities.to_default_float(value)
    except (TypeError, ValueError, tf.errors.OpError):
        raise ValueError(f"{name} must be an array of numbers.") from None


def tensor_with_missing(name: str, value: Any) -> tf.Tensor:
    """Like :func:`finite_tensor`, but NaN is accepted, for what is missing.

    :raises ValueError: if it is not numeric, or is known to hold infinity.
    """
    import tensorflow as tf

    if tf.is_tensor(value) and not hasattr(value, "numpy"):
        return finite_tensor(name, value)
    array = real_array(name, value)
    is_missing = np.isnan(array)
    tensor = finite_tensor(name, np.where(is_missing, array.dtype.type(0), array))
    return tf.where(is_missing, tf.constant(np.nan, tensor.dtype), tensor)


def check_float_type(model: Any, name: str = "model") -> None:
    """Check that a model is of GPflow's default float type, to which data are converted.

    :param model: a module; its first parameter of floats is looked at.
    :param name: of the module, in the message.
    :raises ValueError: if GPflow's default has changed since the model was built.
    """
    import gpflow

    def is_float(part: Any) -> bool:
        return isinstance(part, gpflow.Parameter) and part.dtype.is_floating

    parts = model._flatten(predicate=is_float)
    first = next(iter(parts), None)
    default = np.dtype(gpflow.default_float())
    if first is not None and first.dtype.as_numpy_dtype != default.type:
        raise ValueError(
            f"The {name} is in {first.dtype.name}, and GPflow's default is {default.name}: call "
            f"gpflow.config.set_default_float(np.{first.dtype.name}) first."
        )


def data_pair(data: Any) -> tuple[Any, Any]:
    """X and Y, unchanged.

    :raises ValueError: if `data` is not a pair.
    """
    if not isinstance(data, list | tuple) or len(data) != 2:
        raise ValueError(f"data must be a pair (X, Y), but is {kind_of(data)}.")
    return data[0], data[1]


def check_data(data: Any, *, missing: bool = False) -> tuple[tf.Tensor, tf.Tensor]:
    """X and Y as tensors of GPflow's default float.

    :param data: X [N, D], or images [N, H, W, C], and Y [N, P]; arrays, data frames or tensors.
    :param missing: accept NaN in Y.
    :raises ValueError: if `data` is not a pair, has the wrong shape, is empty, is not numeric, or
        holds NaN or infinity.
    """
    X, Y = data_pair(data)
    X = finite_tensor("X", X)
    Y = tensor_with_missing("Y", Y) if missing else finite_tensor("Y", Y)
    for name, rows in (("X", X), ("Y", Y)):
        check_rank(name, rows, images=name == "X")
        _refuse_empty(name, rows)
    check_same_rows(X, Y)
    return X, Y


def check_rank(name: str, rows: Any, images: bool = False) -> None:
    """Check that the array has shape [rows, columns].

    :param rows: an array or a tensor.
    :param images: accept [rows, H, W, C] too.
    :raises ValueError: if it has another shape.
    """
    rank = len(rows.shape)
    if rank != 2 and not (images and rank == 4):
        or_images = ", or [rows, height, width, channels] of images" if images else ""
        raise ValueError(
            f"{name} must have shape [rows, columns]{or_images}, but has shape "
            f"{list(rows.shape)}.{_hint(name) if rank == 1 else ''}"
        )


def check_same_rows(X: Any, Y: Any) -> None:
    """Check that X and Y have the same number of rows, if both numbers are known.

    :raises ValueError: if the numbers differ.
    """
    if None not in (X.shape[0], Y.shape[0]) and X.shape[0] != Y.shape[0]:
        raise ValueError(
            f"X and Y must have the same number of rows, but X has {X.shape[0]} "
            f"and Y has {Y.shape[0]}."
        )


def _hint(name: str) -> str:
    return f" Write {name}[:, None] for one column."


def _check_shape(name: str, array: np.ndarray, shape: tuple[int | None, ...]) -> None:
    have = array.shape
    fits = len(have) == len(shape)
    if fits and all(want in (None, size) for want, size in zip(shape, have, strict=True)):
        return
    wanted = ", ".join("any" if size is None else str(size) for size in shape)
    one_column = array.ndim == 1 and shape[1:] in ((None,), (1,))
    raise ValueError(
        f"{name} must have shape [{wanted}], but has shape {list(have)}."
        f"{_hint(name) if one_column else ''}"
    )


def _refuse_empty(name: str, array: Any) -> None:
    if 0 in array.shape:
        raise ValueError(f"{name} must not be empty, but has shape {list(array.shape)}.")


def _finite(name: str, array: np.ndarray, dtype: Any, infinite: bool = False) -> np.ndarray:
    with np.errstate(over="ignore"):  # numbers too large for float32 are found and named below
        cast = array.astype(dtype, copy=False)
    _check_finite(name, cast, array, infinite)
    return cast


def all_finite(array: np.ndarray) -> bool:
    """True if no entry is NaN or infinite."""
    # The sum needs no second array. It can overflow although every number is finite.
    with np.errstate(all="ignore"):
        return bool(np.isfinite(array.sum()) or np.isfinite(array).all())


def _check_finite(name: str, array: np.ndarray, given: np.ndarray, infinite: bool = False) -> None:
    """Name the first entry that is NaN or infinite; infinity may be allowed by `infinite`."""
    if all_finite(array):
        return
    wrong = np.isnan(array) if infinite else ~np.isfinite(array)
    count = np.count_nonzero(wrong)
    if not count:
        return
    index = tuple(np.argwhere(wrong)[0])
    entry = f"{name}[{', '.join(str(i) for i in index)}]" if index else name
    number = given[index]
    if infinite:
        raise ValueError(f"{name} must not hold NaN, but {entry} is nan.")
    if np.isfinite(number):
        raise ValueError(
            f"{name} must be finite in {array.dtype.name}, but {entry} is {number}, which is too "
            "large for it."
        )
    more = f" ({count} of its {np.size(array)} numbers are not finite)" if count > 1 else ""
    where = f"{entry} " if index else ""
    raise ValueError(f"{name} must be finite, but {where}is {number}{more}.")

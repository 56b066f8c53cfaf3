"""Arrays of real numbers, and the errors for all other values."""

from __future__ import annotations

import numbers
from decimal import Decimal
from typing import Any

import numpy as np


def shown(value: Any) -> str:
    """`value` as one short line of a message."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 120 else f"{text[:117]}..."


def refuse_masked(name: str, value: Any, wanted: str = "an array of numbers") -> None:
    """Refuse masked arrays: most functions would read the values under the mask.

    :param wanted: description of the right value, for the message.
    :raises ValueError: if a value is masked.
    """
    if np.ma.is_masked(value):
        raise ValueError(
            f"{name} must be {wanted}, but {int(np.ma.count_masked(value))} of them are masked: "
            "leave their rows out, or fill them in."
        )


def real_array(name: str, value: Any, wanted: str = "an array of numbers") -> np.ndarray:
    """`value` as an array of booleans, integers or floats, of their own type.

    Arrays of Python objects are accepted if each object is a real number, and masked arrays if
    nothing is masked. Values whose conversion would lose something are refused: sparse arrays,
    complex numbers, dates, and text, even if it spells a number.

    :param wanted: description of the right value, for the message.
    :raises ValueError: if the value is refused.
    """
    must = f"{name} must be {wanted}"
    refuse_masked(name, value, wanted)
    if np.ma.isMaskedArray(value):
        value = np.ma.getdata(value)
    if hasattr(value, "toarray") and hasattr(value, "nnz"):
        raise ValueError(f"{must}, but is a sparse {type(value).__name__}: write .toarray().")
    if type(value).__name__ == "SparseTensor":
        raise ValueError(f"{must}, but is a SparseTensor: write tf.sparse.to_dense(...).")
    try:
        array = np.asarray(value)
    except Exception as error:  # an object's own __array__ may raise anything
        unequal = "inhomogeneous" in str(error)
        reason = "its rows are of unequal lengths" if unequal else f"is {kind_of(value)}"
        raise ValueError(f"{must}, but {reason}.") from None
    if array.dtype.kind in "biuf":
        return array
    if array.dtype.kind == "c":
        raise ValueError(f"{must} that are real, but holds complex numbers.")
    if array.dtype.kind in "mM":
        raise ValueError(
            f"{must}, but holds dates or times: convert them to numbers, such as days since a date."
        )
    if array.dtype.kind in "SU":
        holds = f"is the text {shown(value)}" if array.ndim == 0 else _holds(array)
        raise ValueError(f"{must}, but {holds}.")
    if array.dtype != object or (array.ndim == 0 and not _is_real(array[()])):
        raise ValueError(f"{must}, but is {kind_of(value)}.")
    for entry in array.flat:
        if not _is_real(entry):
            raise ValueError(f"{must}, but holds {shown(entry)}.")
    try:
        return array.astype(np.float64)
    except (OverflowError, TypeError, ValueError):
        raise ValueError(f"{must}, but one is too large for float64.") from None


def _is_real(value: Any) -> bool:
    return isinstance(value, numbers.Real | np.bool_ | Decimal)


def kind_of(value: Any) -> str:
    """A value's kind, for a message."""
    return "None" if value is None else f"of type {type(value).__name__}"


def _holds(array: np.ndarray) -> str:
    return f"holds text such as {shown(str(array.flat[0]))}" if array.size else "holds text"

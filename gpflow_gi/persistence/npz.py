"""A reader of NumPy's files of arrays with limits on memory, checked before memory is taken.

NumPy's own reader takes memory for any shape in a header, and evaluates the header as a Python
expression.
"""

from __future__ import annotations

import io
import math
import re
import struct
import zipfile

import numpy as np

from .sizes import MOST_ARRAYS, TooLargeError

KINDS = "biufcSU"
"""Kinds of arrays that a file may hold: numbers and text."""

_HEADER = re.compile(
    rb"\{'descr': '([<|=][a-zA-Z]\d{1,6})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18},? ?)*)\), \}\s*"
)


class DamagedError(ValueError):
    """Error: bytes are not NumPy arrays, or not as many as the header says."""


def read_arrays(content: bytes, largest: int) -> dict[str, np.ndarray]:
    """Read the arrays of an NPZ file by name. They share the memory of `content` and are read-only.

    :param content: bytes of the file, as ``np.savez`` writes it.
    :param largest: largest total number of bytes of the arrays.
    :raises DamagedError: if it is not such a file.
    :raises TooLargeError: if there are too many arrays, or too large ones.
    """
    check_number_of_members(content, MOST_ARRAYS)
    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise DamagedError("arrays are compressed twice")
        # This check ensures that no two arrays use the same bytes.
        if sum(member.file_size for member in members) > min(largest, len(content)):
            raise TooLargeError(f"its arrays take more than {min(largest, len(content))} bytes")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays:
                raise DamagedError("two arrays have the same name")
            arrays[name] = _array(archive.read(member))
    return arrays


def check_number_of_members(content: bytes, most: int) -> None:
    """Check the number of files in a ZIP file before its list is read.

    :param content: bytes of the ZIP file.
    :param most: largest number of files.
    :raises TooLargeError: if there are more.
    """
    if content.count(b"PK\1\2") > most:
        raise TooLargeError(f"it holds more than {most} files")


def _array(content: bytes) -> np.ndarray:
    """Read one array from the bytes of an NPY file."""
    if content[:6] != b"\x93NUMPY" or content[6:8] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise DamagedError("an array is not in NumPy's format")
    start, form = (10, "<H") if content[6] == 1 else (12, "<I")
    (length,) = struct.unpack(form, content[8:start])
    header = _HEADER.fullmatch(content[start : start + length]) if length < 10_000 else None
    if header is None:
        raise DamagedError("the header of an array is not in NumPy's format")
    description, fortran_order, sizes = (part.decode() for part in header.groups())
    if description[1] not in KINDS:
        raise DamagedError(f"an array is of type {description}")
    dtype = np.dtype(description)
    shape = tuple(int(size) for size in re.findall(r"\d+", sizes))
    begin = start + length
    if math.prod(shape) * dtype.itemsize != len(content) - begin or dtype.itemsize == 0:
        raise DamagedError("an array does not have the size that its header gives")
    flat = np.frombuffer(content, dtype, offset=begin)
    return flat.reshape(shape, order="F" if fortran_order == "True" else "C")

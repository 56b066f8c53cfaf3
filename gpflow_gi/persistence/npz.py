"""NumPy's files of arrays, read within bounds: sizes are compared with what there is beforehand.

NumPy's own reader takes memory for whatever shape a header names, and evaluates the header as a
Python expression.
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
"""Of arrays that a file may hold: numbers and text."""

_HEADER = re.compile(
    rb"\{'descr': '([<|=][a-zA-Z]\d{1,6})', 'fortran_order': (True|False), "
    rb"'shape': \(((?:\d{1,18},? ?)*)\), \}\s*"
)


class DamagedError(ValueError):
    """Bytes that are no arrays of NumPy's, or not as many as they say."""


def read_arrays(content: bytes, largest: int) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file, by name. They share the memory of `content` and cannot be written.

    :param content: of the file, as ``np.savez`` writes it.
    :param largest: the number of bytes that all arrays may come to.
    :raises DamagedError: if it is no such file.
    :raises TooLargeError: if there are too many arrays, or too large ones.
    """
    check_number_of_members(content, MOST_ARRAYS)
    arrays: dict[str, np.ndarray] = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise DamagedError("arrays are compressed twice")
        # So that no two can be the same bytes.
        if sum(member.file_size for member in members) > min(largest, len(content)):
            raise TooLargeError(f"its arrays take more than {min(largest, len(content))} bytes")
        for member in members:
            name = member.filename.removesuffix(".npy")
            if name in arrays:
                raise DamagedError("two arrays have the same name")
            arrays[name] = _array(archive.read(member))
    return arrays


def check_number_of_members(content: bytes, most: int) -> None:
    """Check how many files a ZIP file lists, before the list is read.

    :param content: of the ZIP file.
    :param most: how many there may be.
    :raises TooLargeError: if there are more.
    """
    if content.count(b"PK\1\2") > most:
        raise TooLargeError(f"it holds more than {most} files")


def _array(content: bytes) -> np.ndarray:
    """One array, of the bytes of an NPY file."""
    if content[:6] != b"\x93NUMPY" or content[6:8] not in (b"\1\0", b"\2\0", b"\3\0"):
        raise DamagedError("an array is not in NumPy's format")
    start, form = (10, "<H") if content[6] == 1 else (12, "<I")
    (length,) = struct.unpack(form, content[8:start])
    header = _HEADER.fullmatch(content[start : start + length]) if length < 10_000 else None
    if header is None:
        raise DamagedError("the header of an array is not one that NumPy writes")
    description, fortran_order, sizes = (part.decode() for part in header.groups())
    if description[1] not in KINDS:
        raise DamagedError(f"an array is of type {description}")
    dtype = np.dtype(description)
    shape = tuple(int(size) for size in re.findall(r"\d+", sizes))
    begin = start + length
    if math.prod(shape) * dtype.itemsize != len(content) - begin or dtype.itemsize == 0:
        raise DamagedError("an array is not of the size that its header names")
    flat = np.frombuffer(content, dtype, offset=begin)
    return flat.reshape(shape, order="F" if fortran_order == "True" else "C")

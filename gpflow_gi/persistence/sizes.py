"""Limits on the unpacked size of a file, checked before memory is taken."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

LEAST_BYTES = 2**28
"""Number of bytes of numbers, 256 MiB, that any file may unpack to, however small."""

TIMES_THE_FILE = 20
"""Ratio of unpacked bytes to file size that a file may reach beyond :data:`LEAST_BYTES`."""

LARGEST_TEXT = 2**24
"""Largest number of bytes of the architecture, as text."""

MOST_PARTS = 500_000
"""Largest number of parts (numbers, strings, lists) of the architecture, counting every use."""

DEEPEST = 150
"""Largest depth of nested brackets in the architecture."""

MOST_ARRAYS = 100_000
"""Largest number of arrays in the file."""


class TooLargeError(ValueError):
    """Error: a file exceeds a limit. The message names the limit, without a full stop."""


def largest_content(file_size: int) -> int:
    """The largest number of bytes of numbers that a file may unpack to.

    :param file_size: in bytes.
    """
    return max(LEAST_BYTES, TIMES_THE_FILE * file_size)


def check_text(text: bytes) -> None:
    """Check the size of an architecture without parsing it.

    :param text: JSON.
    :raises TooLargeError: if it has too many parts, or is nested too deeply.
    """
    if len(text) > LARGEST_TEXT:
        raise TooLargeError(f"its architecture takes more than {LARGEST_TEXT} bytes")
    # Count brackets and commas, but not those in strings.
    marks = re.sub(rb'"(?:[^"\\]|\\.)*"|[^\[\]{},"]+', b"", text)
    if len(marks) > 2 * MOST_PARTS:
        raise TooLargeError(f"its architecture has more than {MOST_PARTS} parts")
    opened = np.frombuffer(marks, np.uint8)
    steps = np.isin(opened, list(b"[{")).astype(np.int32) - np.isin(opened, list(b"]}"))
    if steps.size and np.max(np.cumsum(steps)) > DEEPEST:
        raise TooLargeError(f"its architecture is nested more than {DEEPEST} deep")


def largest_result(shapes: Iterable[tuple[int, ...]]) -> int:
    """A bound on the size of the result if arrays are added or multiplied entry by entry.

    :param shapes: shapes of the arrays.
    """
    known = list(shapes)
    try:
        return int(np.prod(np.broadcast_shapes(*known), dtype=object))
    except ValueError:
        sizes = sorted((int(np.prod(shape, dtype=object)) for shape in known), reverse=True)
        return int(np.prod(sizes[:2], dtype=object))

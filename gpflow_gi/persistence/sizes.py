"""Limits on what a file may unpack to, held to before memory is taken."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

LEAST_BYTES = 2**28
"""A file may unpack to this many bytes of numbers, 256 MiB, however small it is."""

TIMES_THE_FILE = 20
"""A file may unpack to so many times what it holds where that is more than :data:`LEAST_BYTES`."""

LARGEST_TEXT = 2**24
"""Bytes of the architecture, as text."""

MOST_PARTS = 500_000
"""Numbers, strings, lists and so on in the architecture; what is referred to twice counts twice."""

DEEPEST = 150
"""Brackets within brackets in the architecture."""

MOST_ARRAYS = 100_000
"""Arrays in the file."""


class TooLargeError(ValueError):
    """A file that is beyond a limit. The message says which, without a full stop."""


def largest_content(file_size: int) -> int:
    """Bytes of numbers that a file may unpack to.

    :param file_size: in bytes.
    """
    return max(LEAST_BYTES, TIMES_THE_FILE * file_size)


def check_text(text: bytes) -> None:
    """Check how much an architecture will be, without reading it.

    :param text: JSON.
    :raises TooLargeError: if it has too many parts, or is nested too deeply.
    """
    if len(text) > LARGEST_TEXT:
        raise TooLargeError(f"its architecture takes more than {LARGEST_TEXT} bytes")
    # Brackets and commas, but not those in strings.
    marks = re.sub(rb'"(?:[^"\\]|\\.)*"|[^\[\]{},"]+', b"", text)
    if len(marks) > 2 * MOST_PARTS:
        raise TooLargeError(f"its architecture has more than {MOST_PARTS} parts")
    opened = np.frombuffer(marks, np.uint8)
    steps = np.isin(opened, list(b"[{")).astype(np.int32) - np.isin(opened, list(b"]}"))
    if steps.size and np.max(np.cumsum(steps)) > DEEPEST:
        raise TooLargeError(f"its architecture is nested more than {DEEPEST} deep")


def largest_result(shapes: Iterable[tuple[int, ...]]) -> int:
    """A bound on the numbers that come of arrays that are added or multiplied entry by entry.

    :param shapes: of the arrays.
    """
    known = list(shapes)
    try:
        return int(np.prod(np.broadcast_shapes(*known), dtype=object))
    except ValueError:
        sizes = sorted((int(np.prod(shape, dtype=object)) for shape in known), reverse=True)
        return int(np.prod(sizes[:2], dtype=object))

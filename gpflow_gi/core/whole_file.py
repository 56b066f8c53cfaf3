"""Files that appear whole or not at all."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any


def write_whole(path: Path, unfinished: str, write_to: Callable[[IO[bytes]], Any]) -> None:
    """Put a file in its place once all of it is on the disk.

    :param path: of the file.
    :param unfinished: its name until then. If it is always the same, then what a kill leaves behind
        is used again.
    :param write_to: called with the open file.
    :raises OSError: if it cannot be written. There is then no trace of it.
    """
    part = path.with_name(unfinished)
    try:
        with part.open("wb") as file:
            write_to(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise
    # The new name too. Some file systems cannot, and do without.
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

"""Files that are written completely or not at all."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO, Any


def write_whole(path: Path, unfinished: str, write_to: Callable[[IO[bytes]], Any]) -> None:
    """Write a file under another name and rename it when all of it is on the disk.

    :param path: of the file.
    :param unfinished: its name until then. With a fixed name, the file that a killed process left
        behind is overwritten.
    :param write_to: called with the open file.
    :raises OSError: if it cannot be written. Nothing of it is then left.
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
    # The new name is written to the disk too. Some file systems cannot do that, which is accepted.
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)

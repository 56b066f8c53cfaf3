"""Writing of files, completely or not at all, and removal of the remains of killed writers."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # on Windows an open file cannot be removed by another process
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(r"\.gpflow-gi-[0-9a-f]{16}\.tmp")
"""Names of temporary files, which are renamed when they are complete."""


def replace(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a temporary file beside the old one, then rename it.

    Temporary files of killed processes are removed from the folder. A new file has the mode that
    the umask gives; a replaced file keeps its mode.

    :param path: of the file.
    :param write: called with the open file.
    :raises OSError: if it cannot be written.
    """
    remove_left_behind(path.parent)
    temporary, file = _locked_file(path.parent)
    try:
        with file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
            with suppress(OSError):
                os.chmod(temporary, path.stat().st_mode & 0o777)
            if fcntl is not None:  # a locked file is not removed as a remain
                os.replace(temporary, path)
        if fcntl is None:
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def remove_left_behind(folder: Path) -> None:
    """Remove temporary files of this library that no living process is writing, and no others.

    :param folder: the folder, without its subfolders.
    """
    with suppress(OSError):  # the error of writing is clearer
        for entry in os.scandir(folder):
            if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_unless_locked(Path(entry.path))


def _locked_file(folder: Path) -> tuple[Path, IO[bytes]]:
    """Make a new file with a lock of the kernel, which ends with the process."""
    # os.open applies the umask; the functions of tempfile do not.
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    while True:
        temporary = folder / f".gpflow-gi-{os.urandom(8).hex()}.tmp"
        file = os.fdopen(os.open(temporary, flags, 0o666), "wb")
        if fcntl is None:
            return temporary, file
        with suppress(OSError):  # some file systems have no locks, and are not cleaned up either
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()  # another process removed it before it was locked


def _remove_unless_locked(temporary: Path) -> None:
    with suppress(OSError):
        if fcntl is None:
            os.unlink(temporary)
            return
        with temporary.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(temporary)

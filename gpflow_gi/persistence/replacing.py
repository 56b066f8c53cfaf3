"""Writing a file that appears whole or not at all, and clearing up after those who could not."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # on Windows nobody can remove what another process has opened
    fcntl = None  # type: ignore[assignment]

_NAME = re.compile(r"\.gpflow-gi-[0-9a-f]{16}\.tmp")
"""Of the files that are written here, and renamed when they are whole."""


def replace(path: Path, write: Callable[[IO[bytes]], None]) -> None:
    """Write a file beside the one that it replaces, then put it in its place.

    What killed processes have left behind in the folder is removed. A new file has the mode that
    the umask gives; one that is replaced keeps its own.

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
            if fcntl is not None:  # while it is locked, so that nobody takes it for left behind
                os.replace(temporary, path)
        if fcntl is None:
            os.replace(temporary, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise


def remove_left_behind(folder: Path) -> None:
    """Remove temporary files of ours that no living process is writing; leave all else alone.

    :param folder: to look in, and not below.
    """
    with suppress(OSError):  # writing says it better
        for entry in os.scandir(folder):
            if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                _remove_unless_locked(Path(entry.path))


def _locked_file(folder: Path) -> tuple[Path, IO[bytes]]:
    """A new file, with a lock of the kernel's that ends with the process, however that ends."""
    # os.open heeds the umask, as the functions of tempfile do not.
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    while True:
        temporary = folder / f".gpflow-gi-{os.urandom(8).hex()}.tmp"
        file = os.fdopen(os.open(temporary, flags, 0o666), "wb")
        if fcntl is None:
            return temporary, file
        with suppress(OSError):  # some disks know no locks, and are not cleared up either
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink:
            return temporary, file
        file.close()  # removed by another process before the lock was there


def _remove_unless_locked(temporary: Path) -> None:
    with suppress(OSError):
        if fcntl is None:
            os.unlink(temporary)
            return
        with temporary.open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(temporary)

"""File locks for trials and their records.

A worker holds a file lock while it runs a trial. The locked file is beside the future record; the
record is written into it, and the file is then renamed. The lock is the kernel's, so it ends with
the process that holds it, however that ends. A worker that has waited for the lock checks for a
record again. So a trial is never run by two workers at the same time, nor again once it has a
record, even if a cluster takes a living worker for dead.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from . import records

RESERVED = 64 * 1024
"""Bytes of disk space that are reserved before the trial, so that a full disk is noticed before the
work and not after it. Most records are smaller."""


class RecordNotWrittenError(Exception):
    """Error: a record cannot be written. The message is one line with its path and the reason."""


def part_of(path: Path) -> Path:
    """The locked file into which a trial's record is written.

    :param path: path of the record.
    """
    return path.with_name(f".{path.stem}.part")


@contextmanager
def claimed(path: Path, replaces: str | None) -> Iterator[Callable[[bytes], None] | None]:
    """Claim a trial, or wait until the process that has claimed it is done or gone.

    :param path: path of the record.
    :param replaces: "started" of the record that this one replaces.
    :return: a context manager that returns the function to write the record's content, or None
        if there is a record already.
    :raises RecordNotWrittenError: if there is no space or no permission. The function raises it
        too.
    """
    part, written = part_of(path), False

    def write(content: bytes) -> None:
        nonlocal written
        with _explained(path):
            file.seek(0)
            _write(file, content)
            file.truncate()
            os.fsync(file.fileno())
            os.replace(part, path)
            written = True
            _sync_folder(path.parent)

    with _explained(path):
        file = _locked(part)
    with file:
        try:
            with _explained(path):
                has_record = _has_record(path, replaces)
            if has_record:
                yield None
                return
            with _explained(path):
                _write(file, RESERVED * b" ")
            yield write
        finally:
            # While the lock is held. After the rename, the old name may belong to another process.
            if not written:
                part.unlink(missing_ok=True)


def remove_unclaimed(folder: Path) -> None:
    """Remove the files of trials whose worker is gone, as far as possible.

    :param folder: folder of records.
    """
    for part in folder.glob(".*.part"):
        # Open for writing: otherwise NFS gives no exclusive lock.
        with suppress(OSError), part.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def _locked(part: Path) -> FileIO:
    while True:
        # Without a buffer, whose content would be written again when the file is closed.
        file = FileIO(os.open(part, os.O_RDWR | os.O_CREAT, 0o666), "r+")
        fcntl.flock(file, fcntl.LOCK_EX)
        # The previous holder may have renamed or removed it.
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file.fileno()), part.stat()):
                return file
        file.close()


def _has_record(path: Path, replaces: str | None) -> bool:
    try:
        record = records.read(path)
        return replaces is None or bool(record.get("started") != replaces)
    except FileNotFoundError:
        return False
    except records.DamagedRecordError:
        records.set_aside(path)
        return False


def _write(file: FileIO, content: bytes) -> None:
    while content:
        content = content[file.write(content) :]


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise RecordNotWrittenError(f"{path} cannot be written: {error.strerror}.") from None

"""The right to run a trial and to write its record.

Whoever runs a trial holds the lock of a file beside the record that is to be. The record is written
into that file, which is then renamed. The lock is the kernel's, so it is gone with whoever held it,
however that came about; and whoever has waited for it looks whether there is a record by now. So a
trial is never run by two at a time, nor again once it has a record: not even where a cluster takes
a worker for dead that is not.
"""

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from io import FileIO
from pathlib import Path

from . import records

RESERVED = 64 * 1024
"""Bytes of room that are taken before the trial is run, so that a full disk is noticed before the
work is done, and not after it. Most records are smaller."""


class RecordNotWrittenError(Exception):
    """A record cannot be written. The message is one line and says which and why."""


def part_of(path: Path) -> Path:
    """The file that whoever has claimed a trial is writing.

    :param path: of the record.
    """
    return path.with_name(f".{path.stem}.part")


@contextmanager
def claimed(path: Path, replaces: str | None) -> Iterator[Callable[[bytes], None] | None]:
    """Claim a trial, or wait until whoever has claimed it is done or gone.

    :param path: of the record.
    :param replaces: "started" of a record that is to be replaced by this one.
    :return: a context manager that gives the function to write the record's content with, or None
        if there is a record already.
    :raises RecordNotWrittenError: if there is no room or no leave to write. The function, too.
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
            # While the lock is held. The name of a file that was renamed may be somebody else's.
            if not written:
                part.unlink(missing_ok=True)


def remove_unclaimed(folder: Path) -> None:
    """Remove what is left of trials whose worker is gone, as far as that can be done.

    :param folder: of records.
    """
    for part in folder.glob(".*.part"):
        # For writing, without which NFS gives no exclusive lock.
        with suppress(OSError), part.open("r+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            part.unlink()


def _locked(part: Path) -> FileIO:
    while True:
        # Without a buffer, which would be written once more when the file is closed.
        file = FileIO(os.open(part, os.O_RDWR | os.O_CREAT, 0o666), "r+")
        fcntl.flock(file, fcntl.LOCK_EX)
        # Whoever had it before may have renamed or removed it.
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

"""One sweep at a time in a folder."""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import gethostname
from uuid import uuid4

_NAME = ".lock"


class SweepRunningError(Exception):
    """Error: there is another sweep. The message is one line."""


@contextmanager
def only_sweep(records: Path) -> Iterator[str]:
    """Hold the lock of the only sweep that writes records in a folder.

    The lock is the kernel's: it ends with the process, however that ends.

    :param records: the folder of records, which must exist.
    :return: a context manager that returns a text unique to this sweep; see :func:`is_running`.
    :raises SweepRunningError: if another process has the lock.
    :raises OSError: if the file of the lock cannot be written.
    """
    with (records / _NAME).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            holder = file.read().rpartition(",")[0]
            raise SweepRunningError(
                f"another sweep is running in {records.parent} ({holder})."
            ) from None
        token = f"{gethostname()}, process {os.getpid()}, {uuid4().hex}"
        file.truncate(0)
        file.write(token)
        file.flush()
        try:
            yield token
        finally:
            file.truncate(0)


def is_running(records: Path, token: str) -> bool:
    """True if a sweep has not ended, as far as this process can see.

    A sweep whose process was killed counts as running until another one starts.

    :param records: the folder of records.
    :param token: the result of :func:`only_sweep`.
    """
    try:
        return (records / _NAME).read_text() == token
    except OSError:
        return False

"""What the commands say, and where."""

import os
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from gpflow_gi.core.printable import printable

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


def say_error(message: str, code: int) -> int:
    """Say in one line on standard error what went wrong, and pass on the exit code."""
    line = printable(" ".join(message.split()))
    print(f"gpflow-gi: error: {line}", file=sys.stderr, flush=True)
    return code


def say(paragraph: str) -> None:
    """A paragraph, at most 80 columns wide."""
    print(textwrap.fill(printable(" ".join(paragraph.split())), 80), flush=True)


@contextmanager
def import_noise_hidden() -> Iterator[None]:
    """Keep what TensorFlow says of drivers and instruction sets while it is imported to itself.

    Some of it is written before TF_CPP_MIN_LOG_LEVEL is looked at, and straight to the process's
    standard error. Whoever has set that variable to 0 or 1 wants to see it.
    """
    if os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3") in ("0", "1"):
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with tempfile.TemporaryFile() as hidden:
        os.dup2(hidden.fileno(), 2)
        try:
            yield
        except Exception:
            hidden.seek(0)
            os.write(kept, hidden.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


@contextmanager
def unwritable_escaped() -> Iterator[None]:
    """Write escapes where standard output cannot have a letter, as standard error does anyway.

    Names of files need not be UTF-8, and not every terminal has ±.
    """
    output, before = sys.stdout, getattr(sys.stdout, "errors", None)
    if before is None or not hasattr(output, "reconfigure"):
        yield
        return
    output.reconfigure(errors="backslashreplace")
    try:
        yield
    finally:
        output.flush()
        output.reconfigure(errors=before)


def announce(name: str) -> None:
    """What comes next."""
    print(f"\n{name}", flush=True)

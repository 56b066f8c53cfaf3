"""Output of the commands."""

import os
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager

from gpflow_gi.core.printable import printable

FAILED, MISUSED, INTERRUPTED = 1, 2, 130


def say_error(message: str, code: int) -> int:
    """Print an error in one line on standard error, and return the exit code."""
    line = printable(" ".join(message.split()))
    print(f"gpflow-gi: error: {line}", file=sys.stderr, flush=True)
    return code


def say(paragraph: str) -> None:
    """Print a paragraph, at most 80 columns wide."""
    print(textwrap.fill(printable(" ".join(paragraph.split())), 80), flush=True)


@contextmanager
def import_noise_hidden() -> Iterator[None]:
    """Hide TensorFlow's messages about drivers and instruction sets during its import.

    Some are written before TF_CPP_MIN_LOG_LEVEL is read, directly to the process's standard error.
    If that variable is 0 or 1, all messages are shown.
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
    """Write escapes for letters that standard output cannot encode, as standard error does anyway.

    Names of files need not be UTF-8, and some terminals do not have ±.
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
    """Print the name of the next part."""
    print(f"\n{name}", flush=True)

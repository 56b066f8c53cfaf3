"""Names of users' functions, and the messages of their errors."""

import dataclasses
import functools
import re
from collections.abc import Callable
from typing import Any

_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def name_of(function: Callable[..., Any]) -> str:
    """A name that distinguishes callables; the arguments of a partial are part of it."""
    if isinstance(function, functools.partial):
        # Without addresses, which differ from run to run.
        arguments = [_ADDRESS.sub("", repr(value)) for value in function.args]
        arguments += [
            f"{name}={_ADDRESS.sub('', repr(value))}"
            for name, value in sorted(function.keywords.items())
        ]
        return f"{name_of(function.func)}({', '.join(arguments)})"
    if dataclasses.is_dataclass(function) and not isinstance(function, type):
        return repr(function)
    return str(getattr(function, "__qualname__", type(function).__name__))


def reason_of(error: Exception) -> str:
    """The message of an error that a user's function raised, in one line."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else type(error).__name__

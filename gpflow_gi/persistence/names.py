"""Classes and functions by name, which is how a file refers to code."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any

PACKAGES = ("gpflow", "gpflow_gi", "tensorflow", "tensorflow_probability", "tf_keras")
"""A file may name what is in these. All else has to be handed to whoever reads the file: a file
must not be able to call any function that happens to be installed."""


def name_of(thing: Any) -> str | None:
    """Such as "gpflow.kernels.stationaries:Matern52"; None if it has no name to be found by.

    :param thing: a class or a function.
    """
    module, path = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    if module is None or path is None:
        return None
    try:
        found = _get(importlib.import_module(module), path)
    except (ImportError, AttributeError):
        return None
    return f"{module}:{path}" if found is thing else None


def is_ours(name: str) -> bool:
    """Whether it is in one of :data:`PACKAGES`."""
    return name.partition(":")[0].partition(".")[0] in PACKAGES


def thing_of(name: str, custom: Mapping[str, Any]) -> Any:
    """The class or function of a name.

    :param custom: what is not in :data:`PACKAGES`, by the last part of its name.
    :raises LookupError: if there is no such thing, or if it is not allowed; says what to do.
    """
    module, _, path = name.partition(":")
    last = path.rpartition(".")[2]
    if last in custom:
        return custom[last]
    if not is_ours(name):
        raise LookupError(
            f"the file uses {last!r} of the module {module}, which is not part of this library: "
            f'pass it as custom_objects={{"{last}": ...}}'
        )
    try:
        return _get(importlib.import_module(module), path)
    except (ImportError, AttributeError):
        raise LookupError(
            f"the file uses {name}, which the installed version of {module.partition('.')[0]} "
            "does not have"
        ) from None


def _get(module: Any, path: str) -> Any:
    found = module
    for part in path.split("."):
        found = getattr(found, part)
    return found

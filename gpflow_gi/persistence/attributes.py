"""Names of the attributes of a class's objects; a file may set these only."""

from __future__ import annotations

import dis
import inspect
from collections.abc import Iterator
from functools import cache
from types import CodeType
from typing import Any

import tensorflow as tf

from ..core.structure import INTERNAL


@cache
def attributes_of(cls: type) -> frozenset[str]:
    """Names to which the code of a class, or of one of its bases, assigns, or which it declares.

    So a new attribute of a class can be stored without a change here, and a file cannot replace a
    method.

    :param cls: any class.
    """
    names = {"_name"} if issubclass(cls, tf.Module) else set[str]()
    for each in cls.__mro__:
        if each is object or each.__module__.partition(".")[0] == "tensorflow":
            continue
        names.update(inspect.get_annotations(each))
        names.update(getattr(each, "__dataclass_fields__", ()))
        for member in vars(each).values():
            for function in _functions(member):
                names.update(_stored(function.__code__))
    return frozenset(name for name in names if can_be_set(cls, name))


def can_be_set(cls: type, name: str) -> bool:
    """Return True if setting an attribute does not replace code.

    :param cls: class of the object.
    :param name: name of the attribute.
    """
    if not name.isidentifier() or name.startswith(("__", *INTERNAL)):
        return False
    there = inspect.getattr_static(cls, name, None)
    is_data = there is None or isinstance(there, bool | int | float | str | tuple)
    return is_data or (inspect.isdatadescriptor(there) and not isinstance(there, property))


def _functions(member: Any) -> Iterator[Any]:
    if isinstance(member, property):
        parts = [member.fget, member.fset]
    elif isinstance(member, staticmethod | classmethod):
        parts = [member.__func__]
    else:
        parts = [member]
    for part in parts:
        unwrapped = inspect.unwrap(part) if callable(part) else None
        if inspect.isfunction(unwrapped):
            yield unwrapped


def _stored(code: CodeType) -> Iterator[str]:
    """Names of attributes that code, or a function within it, assigns to."""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "STORE_ATTR":
            yield str(instruction.argval)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _stored(constant)

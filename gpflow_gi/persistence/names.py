"""Classes and functions by name, which is how a file refers to code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from ..core.validation import shown as described
from . import lists

Use: TypeAlias = Literal["object", "made", "named"]
"""How a file uses a thing: by setting attributes, by a call, or as it is."""

MOVED = {
    "gpflow_gi.convolution": "gpflow_gi.core.convolution",
    "gpflow_gi.nonlinearities": "gpflow_gi.kernels.nonlinearities",
}
"""Modules by the names that they have in files of earlier versions."""


def name_of(thing: Any) -> str | None:
    """Such as "gpflow.kernels.stationaries:Matern52"; None if it has no name to be found by.

    :param thing: a class or a function.
    """
    name = own_name(thing)
    if name is None:
        return None
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    return name if found is thing else None


def own_name(thing: Any) -> str | None:
    """The module and the path in it that a thing gives as its own, joined by a colon.

    :param thing: a class or a function; anything else has none.
    """
    module, path = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    return f"{module}:{path}" if isinstance(module, str) and isinstance(path, str) else None


def present_name(name: str) -> str:
    """The name that a thing has now, of one that it has or had.

    :param name: as :func:`name_of` gives it, or gave it in an earlier version.
    """
    module, colon, path = name.partition(":")
    return f"{MOVED.get(module, module)}{colon}{path}"


class Names:
    """What a file may name: the lists, and what whoever loads it trusts.

    Names are looked up among things that are there already. No module is imported, and no attribute
    is followed, because a file says so.
    """

    def __init__(
        self, trusted: Iterable[Any] = (), custom_objects: Mapping[str, Any] | None = None
    ) -> None:
        """Add to the lists.

        :param trusted: classes and functions, under their own names.
        :param custom_objects: the same, under the last part of the name that is in the file.
        :raises TypeError: if one of them is neither a class nor a function, or if `custom_objects`
            is no dictionary.
        """
        if isinstance(trusted, str | Mapping) or not isinstance(trusted, Iterable):
            raise TypeError(
                "trusted must be a list of classes and functions, as trusted=[MyLayer], but is "
                f"{trusted!r}."
            )
        self._trusted: dict[str, Any] = {}
        for thing in trusted:
            name = own_name(thing)
            if name is None:
                raise TypeError(
                    "trusted must be a list of classes and functions, but holds "
                    f"{thing!r}, which has no name of its own."
                )
            self._trusted[name] = thing
        if not isinstance(custom_objects, Mapping | None):
            raise TypeError(
                "custom_objects must be a dictionary from names to classes and functions, as "
                f'{{"MyLayer": MyNewLayer}}, but is {described(custom_objects)}.'
            )
        self.by_last_part = dict(custom_objects or {})
        """Things of `custom_objects`."""

    def find(self, name: Any, use: Use) -> Any:
        """The class or function of a name.

        :param name: as :func:`name_of` gives it.
        :param use: what is to be done with it.
        :raises LookupError: if it is not allowed; says what to do.
        """
        if not isinstance(name, str):
            raise LookupError(f"the file has {shown(name)} for a name")
        found = self.trusted(name)
        if found is None:
            found = _listed(use).get(present_name(name))
        if found is None:
            raise LookupError(_refusal(name, use))
        return found

    def trusted(self, name: str) -> Any:
        """The thing of a name that whoever loads the file has named in the call, or None.

        :param name: as :func:`name_of` gives it.
        """
        return self._trusted.get(name, self.by_last_part.get(last_part(name)))

    def trusted_as(self, last: str) -> Iterator[Any]:
        """Things that are trusted and are called so, wherever they are defined.

        :param last: as :func:`last_part` gives it.
        """
        return (thing for name, thing in self._trusted.items() if last_part(name) == last)


def is_listed(thing: Any, use: Use) -> bool:
    """Whether a thing can be loaded without being trusted.

    :param thing: a class or a function.
    :param use: what a file does with it.
    """
    return _listed(use).get(own_name(thing) or "") is thing


def last_part(name: str) -> str:
    """What a thing is called where it is defined.

    :param name: as :func:`name_of` gives it.
    """
    return name.rpartition(":")[2].rpartition(".")[2]


def shown(text: Any) -> str:
    """Something from a file in a message: short, on one line, and with nothing that a terminal
    would obey.

    :param text: anything.
    """
    said = ascii(text)
    return said if len(said) <= 100 else f"{said[:97]}..."


_LISTED: dict[Use, dict[str, Any]] = {}


def _listed(use: Use) -> dict[str, Any]:
    if not _LISTED:
        things: dict[Use, tuple[Any, ...]] = {
            "object": lists.objects(),
            "made": lists.constructed(),
            "named": lists.values(),
        }
        for each, listed in things.items():
            _LISTED[each] = {own_name(thing) or "": thing for thing in listed}
    return _LISTED[use]


def _refusal(name: str, use: Use) -> str:
    doing = "asks to call" if use == "made" else "uses"
    module, colon, path = name.partition(":")
    parts = [*module.split("."), *path.split(".")]
    if not (colon and len(name) < 200 and name.isascii() and all(map(str.isidentifier, parts))):
        return f"the file {doing} {shown(name)}, which is no name of a class or a function"
    return (
        f"the file {doing} {shown(last_part(name))} of the module {shown(module)}, which is not on "
        "the lists of what a file may name. If you know it and trust it, import it and pass it: "
        f"gi.load(path, trusted=[{last_part(name)}])"
    )

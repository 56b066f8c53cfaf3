"""Names of classes and functions, by which a file refers to code."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, TypeAlias

from ..core.validation import shown as described
from . import lists

Use: TypeAlias = Literal["object", "made", "named"]
"""Use of an object by a file: set its attributes, call it, or take it as it is."""

MOVED = {
    "gpflow_gi.convolution": "gpflow_gi.core.convolution",
    "gpflow_gi.nonlinearities": "gpflow_gi.kernels.nonlinearities",
}
"""New names of modules, by their names in files of earlier versions."""


def name_of(thing: Any) -> str | None:
    """A name such as "gpflow.kernels.stationaries:Matern52"; None if the object has no usable name.

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
    """An object's own module and the path in it, joined by a colon.

    :param thing: a class or a function; other objects have none.
    """
    module, path = getattr(thing, "__module__", None), getattr(thing, "__qualname__", None)
    return f"{module}:{path}" if isinstance(module, str) and isinstance(path, str) else None


def present_name(name: str) -> str:
    """The present name of an object, given its present or an earlier name.

    :param name: a name from :func:`name_of`, of this or an earlier version.
    """
    module, colon, path = name.partition(":")
    return f"{MOVED.get(module, module)}{colon}{path}"


class Names:
    """Names that a file may use: those on the lists, and those that the user trusts.

    Names are found only among objects that exist already. A name in a file never imports a module
    or reads an attribute.
    """

    def __init__(
        self, trusted: Iterable[Any] = (), custom_objects: Mapping[str, Any] | None = None
    ) -> None:
        """Add to the lists.

        :param trusted: classes and functions, under their own names.
        :param custom_objects: the same, under the last part of the name in the file.
        :raises TypeError: if one of them is neither a class nor a function, or if `custom_objects`
            is not a dictionary.
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
        """Objects of `custom_objects`."""

    def find(self, name: Any, use: Use) -> Any:
        """The class or function with a name.

        :param name: a name from :func:`name_of`.
        :param use: the use of the object.
        :raises LookupError: if it is not allowed; the message gives a remedy.
        """
        if not isinstance(name, str):
            raise LookupError(f"the file has {shown(name)} where a name should be")
        found = self.trusted(name)
        if found is None:
            found = _listed(use).get(present_name(name))
        if found is None:
            raise LookupError(_refusal(name, use))
        return found

    def trusted(self, name: str) -> Any:
        """The trusted object with a name, or None.

        :param name: a name from :func:`name_of`.
        """
        return self._trusted.get(name, self.by_last_part.get(last_part(name)))

    def trusted_as(self, last: str) -> Iterator[Any]:
        """Trusted objects with this last part of their names, in any module.

        :param last: the result of :func:`last_part`.
        """
        return (thing for name, thing in self._trusted.items() if last_part(name) == last)


def is_listed(thing: Any, use: Use) -> bool:
    """True if an object can be loaded without being trusted.

    :param thing: a class or a function.
    :param use: the use of the object by a file.
    """
    return _listed(use).get(own_name(thing) or "") is thing


def last_part(name: str) -> str:
    """The last part of a name, without module and enclosing classes.

    :param name: a name from :func:`name_of`.
    """
    return name.rpartition(":")[2].rpartition(".")[2]


def shown(text: Any) -> str:
    """Text from a file in a message: short, on one line, and without characters that a terminal
    would execute.

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

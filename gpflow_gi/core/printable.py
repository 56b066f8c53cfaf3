"""Names and messages from outside, made safe for a terminal, a page, a figure or a table."""

import hashlib
from collections.abc import Iterable

MOST_SHOWN = 40
"""Largest number of characters of a name in tables and figures."""

_DIGITS = 8
"""Number of hexadecimal digits of a name's SHA-256 that are shown to distinguish it."""


def printable(text: str) -> str:
    r"""The same text, with invisible and unwritable characters replaced by escapes.

    These are control characters (which a terminal would execute), line ends, invisible characters,
    and surrogates, which stand for bytes that are not UTF-8.

    >>> print(printable("a\tb\udcff"))
    a\tb\udcff
    """
    if text.isprintable():
        return text
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape").decode()
        for character in text
    )


def labels(names: Iterable[str], most: int = MOST_SHOWN) -> dict[str, str]:
    """Labels for names: short, printable, and all different.

    The first digits of its SHA-256 are added to a name that looks like another one or was cut.

    :param names: any texts.
    :param most: approximate number of characters of a label.
    :return: labels by name.
    """
    found = {name: _label(name, most) for name in dict.fromkeys(names)}
    shown = list(found.values())
    return {
        name: f"{label} [{_digits(name)}]" if shown.count(label) > 1 else label
        for name, label in found.items()
    }


def _label(name: str, most: int) -> str:
    inner = name.strip(" ")
    if not inner:
        return f"({len(name)} spaces)" if name else "(no name)"
    start, end = name.index(inner), len(name) - len(inner) - name.index(inner)
    # Tables trim spaces at the ends.
    text = start * r"\x20" + printable(inner) + end * r"\x20"
    if len(text) <= most:
        return text
    return f"{text[: most - _DIGITS - 2]}… {_digits(name)}"


def _digits(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]

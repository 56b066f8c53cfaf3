"""Names and messages of others, as they can be shown in a terminal, a page, a figure or a table."""

import hashlib
from collections.abc import Iterable

MOST_SHOWN = 40
"""Characters of a name. Tables and figures have no room for more."""

_DIGITS = 8
"""Hexadecimal digits of the SHA-256 of a name, where it takes them to tell it from others."""


def printable(text: str) -> str:
    r"""The same text, with escapes in the place of what cannot be seen or written.

    These are control characters, which a terminal would obey, line ends, invisible characters and
    surrogates, which stand for bytes that are not UTF-8.

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
    """What to show for each of some names: short, printable, and not the same for any two.

    Names that look like others, and those that were cut, have the first digits of their SHA-256
    behind them.

    :param names: any texts.
    :param most: characters of a label, more or less.
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

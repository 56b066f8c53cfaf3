"""Signatures and docstrings on the API's pages.

Sphinx breaks a long signature into lines, and counts whole module names, which it then does not
show. It has no field for warnings.
"""

import re
from typing import Any

from sphinx.application import Sphinx

# A class of elsewhere, ~tensorflow.python.framework.tensor.Tensor, which is shown as Tensor.
QUALIFIED = re.compile(r"~(?!gpflow_gi\b)(\w+)\.(?:\w+\.)*(\w+)")
ROOTS = {"tensorflow": "~tf.", "numpy": "~np.", "typing": "", "collections": ""}


def shorten(
    app: Any, what: str, name: str, obj: Any, options: Any, signature: Any, returns: Any
) -> tuple[str | None, str | None]:
    """A signature in short names, and in Python: ``<factory>`` is none."""

    def short(text: str | None) -> str | None:
        return text and QUALIFIED.sub(
            lambda match: ROOTS.get(match[1], f"~{match[1]}.") + match[2], text
        ).replace("<factory>", "...")

    return short(signature), short(returns)


def tidy(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A docstring in which warnings look as errors do, and nothing is Python's own."""
    text = "\n".join(lines)
    text = re.sub(r":warns (\w+):", r":Warns: **\1** –", text)
    text = re.sub(r"Create new instance of \w+\(.*\)", "", text)  # of named tuples
    lines[:] = text.split("\n")


def setup(app: Sphinx) -> dict[str, Any]:
    """Stand between the code and its pages."""
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-process-docstring", tidy)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

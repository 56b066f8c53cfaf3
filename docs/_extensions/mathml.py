"""Equations as MathML, by docutils' own converter.

Every browser of today shows MathML by itself: pages need no script and no network, and TeX that
is not understood is a warning, which `make docs` takes for an error.
"""

import re
from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.util import logging

logger = logging.getLogger(__name__)

APPLY = "<mo>&ApplyFunction;</mo>"


def to_mathml(tex: str, as_block: bool) -> str:
    """An equation as MathML.

    :raises MathError: if the TeX is not understood.
    """
    for opening, closing in ((r"(?<!\\){", r"(?<!\\)}"), (r"\\left\b", r"\\right\b")):
        if len(re.findall(opening, tex)) != len(re.findall(closing, tex)):
            raise MathError("Not everything that is opened is closed.")  # which docutils overlooks
    mathml = str(tex2mathml(tex, as_block=as_block))
    # Browsers leave no space between "log" and what it is of.
    return mathml.replace(APPLY, APPLY + '<mspace width="0.17em"></mspace>')


def convert(node: Any, as_block: bool) -> str:
    """The equation of a node as MathML, or as TeX if it cannot be converted."""
    try:
        return to_mathml(node.astext(), as_block)
    except MathError as error:
        logger.warning("TeX not understood: %s in %r", error, node.astext(), location=node)
        return f"<code>{escape(node.astext())}</code>"


def visit_inline(self: Any, node: nodes.math) -> None:
    """An equation within a line."""
    self.body.append(convert(node, as_block=False))
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """An equation of its own, in a frame that scrolls where the page is too narrow."""
    self.body.append(f'<div class="equation">{convert(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Say what Sphinx can ask for as ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    app.config.html_math_renderer = "mathml"  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}

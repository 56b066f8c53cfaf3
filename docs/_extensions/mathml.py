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
THIN = '<mspace width="0.17em"></mspace>'
# What a function's name follows at a distance: anything but an operator or an opening bracket.
FACTOR = r"(</m(?:i|n|sub|sup|subsup|row|frac)>|<mo[^>]*>[)\]]</mo>)"


def to_mathml(tex: str, as_block: bool) -> str:
    """An equation as MathML.

    :raises MathError: if the TeX is not understood.
    """
    for opening, closing in ((r"(?<!\\){", r"(?<!\\)}"), (r"\\left\b", r"\\right\b")):
        if len(re.findall(opening, tex)) != len(re.findall(closing, tex)):
            raise MathError("Not everything that is opened is closed.")  # which docutils overlooks
    mathml = str(tex2mathml(tex, as_block=as_block))
    # Browsers leave no space between "log" and what it is of, nor before it, and take every "|" for
    # a relation; that is \mid, which is another sign.
    mathml = mathml.replace(APPLY, APPLY + THIN)
    mathml = re.sub(rf"{FACTOR}(\s*<mi>\w+</mi>\s*{APPLY})", rf"\1{THIN}\2", mathml)
    return mathml.replace('<mo stretchy="false">|', '<mo stretchy="false" lspace="0" rspace="0">|')


def convert(node: Any, as_block: bool) -> str:
    """The equation of a node as MathML, or as TeX if it cannot be converted."""
    try:
        return to_mathml(node.astext(), as_block)
    except MathError as error:
        logger.warning("TeX not understood: %s in %r", error, node.astext(), location=node)
        return f"<code>{escape(node.astext())}</code>"


def take_what_follows(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Let no line begin with the comma behind an equation."""
    for node in doctree.findall(nodes.math):
        text = node.next_node(descend=False, siblings=True)
        if isinstance(text, nodes.Text) and text.startswith(tuple(",.;:)?!")):
            node["follows"] = text[0]
            text.parent.replace(text, nodes.Text(text[1:]))


def visit_inline(self: Any, node: nodes.math) -> None:
    """An equation within a line, in one piece with the sign behind it."""
    follows = node.get("follows", "")
    self.body.append(f'<span class="formula">{convert(node, as_block=False)}{follows}</span>')
    raise nodes.SkipNode


def visit_display(self: Any, node: nodes.math_block) -> None:
    """An equation of its own, in a frame that scrolls where the page is too narrow."""
    self.body.append(f'<div class="equation">{convert(node, as_block=True)}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, Any]:
    """Say what Sphinx can ask for as ``html_math_renderer``."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    app.config.html_math_renderer = "mathml"  # type: ignore[attr-defined]
    app.connect("doctree-resolved", take_what_follows)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

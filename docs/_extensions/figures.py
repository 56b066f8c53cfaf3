"""Figures that stay legible on a telephone, and tables whose columns do.

A figure several panels wide has illegible labels when it is squeezed into a narrow page. So every
wide figure says how wide it must be for its labels to be read; the style sheet lets it scroll
there. Sphinx also links images of a given width to the whole image.
"""

from pathlib import Path
from typing import Any

from docutils import nodes
from PIL import Image
from sphinx.application import Sphinx

WIDE = 7.6  # inches; narrower ones can be read when they fill a telephone
LEGIBLE = 60  # CSS pixels to the inch, with which labels of ten points are eight pixels high


def least_width(path: Path) -> int | None:
    """The number of CSS pixels that a legible figure needs, or None if any page is wide enough."""
    with Image.open(path) as image:
        inches = image.width / image.info.get("dpi", (100, 100))[0]
    return round(LEGIBLE * inches) if inches > WIDE else None


def describe_images(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Give wide figures their least width, and those that say nothing a text in their place."""
    for image in doctree.findall(nodes.image):
        path = Path(app.srcdir, image["uri"])
        if path.suffix == ".png" and path.is_file() and (width := least_width(path)):
            image["width"] = f"{width}px"
        section: Any = image
        while "alt" not in image and section is not None:
            section = section.parent
            if isinstance(section, nodes.section):
                image["alt"] = f"Figure: {section[0].astext()}"


def keep_errors_whole(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Break "1.23 ± 0.04" in a table before the sign, if at all, and tell the style sheet."""
    for table in doctree.findall(nodes.table):
        for text in list(table.findall(nodes.Text)):
            if "± " in text:
                text.parent.replace(text, nodes.Text(text.replace("± ", "±\u00a0")))
                table["classes"] = sorted({*table["classes"], "errors"})


def open_doors(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Tell the style sheet which table is that of the home page."""
    if page == "index":
        for table in doctree.findall(nodes.table):
            table["classes"] = sorted({*table["classes"], "doors"})


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page before it is written."""
    app.connect("doctree-resolved", describe_images)
    app.connect("doctree-resolved", keep_errors_whole)
    app.connect("doctree-resolved", open_doors)
    return {"parallel_read_safe": True, "parallel_write_safe": True}

"""Links between the documentation and the tutorials, which are elsewhere in the repository.

On GitHub a page of ``docs/`` links to ``../tutorials/NAME.ipynb``, and a tutorial to
``../docs/PAGE.md``. In the site, tutorials are a folder within the documentation.
"""

import posixpath
import re
from typing import Any

from sphinx.application import Sphinx


def rewrite(app: Sphinx, page: str, source: list[str]) -> None:
    """Make what points from one folder to the other point to where that is in the site."""
    folder = posixpath.dirname(page)
    to_root = posixpath.relpath(".", folder or ".")
    if folder == "tutorials":
        source[0] = re.sub(r"\]\(\.\./docs/", "](../", source[0])
    else:
        up = "" if to_root == "." else to_root + "/"
        source[0] = source[0].replace(f"]({up}../tutorials/", f"]({up}tutorials/")


def setup(app: Sphinx) -> dict[str, Any]:
    """Look at every page before it is read."""
    app.connect("source-read", rewrite)
    return {"parallel_read_safe": True}

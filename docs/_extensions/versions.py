"""A menu of versions above the table of contents, off unless the build is told of their list.

``GPFLOW_GI_DOCS_VERSIONS`` is the address of a JSON file, absolute or from the site's root:
``[{"name": "0.2.0", "url": "https://.../0.2.0/"}, ...]``. One file serves the sites of all
versions, so that old ones know of new ones. Pages stay as they are if it cannot be read.
"""

import os
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FURO = [
    f"sidebar/{part}.html"
    for part in ("scroll-start", "brand", "search", "navigation", "scroll-end", "variant-selector")
]


def add_menu(app: Any, config: Any) -> None:
    """Put the menu below the search field."""
    address = os.environ.get("GPFLOW_GI_DOCS_VERSIONS", "")
    if not address:
        return
    config.html_sidebars = {"**": [*FURO[:3], "versions.html", *FURO[3:]]}
    config.html_context = {
        **config.html_context,
        "versions_address": address,
        "versions_are_relative": "://" not in address and not address.startswith("/"),
    }
    config.templates_path = [*config.templates_path, str(HERE.parent / "_templates")]
    config.html_static_path = [*config.html_static_path, str(HERE.parent / "_static")]
    app.add_js_file("versions.js", loading_method="defer")


def setup(app: Any) -> dict[str, Any]:
    """Connect with Sphinx."""
    app.connect("config-inited", add_menu)
    return {"parallel_read_safe": True}

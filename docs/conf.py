"""The configuration of the documentation's build: ``make docs``."""

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from check_shapes.config import set_rewrite_docstrings

from gpflow_gi._version import __version__

set_rewrite_docstrings("none")  # docstrings name shapes by themselves
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.append(str(HERE / "_extensions"))

from notebook_links import copy_with_links  # noqa: E402

project = "gpflow_gi"
author = "The gpflow_gi contributors"
copyright = author
version = release = __version__

extensions = [
    "myst_nb",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "api_text",
    "figures",
    "mathml",
    "outside_links",
    "versions",
]
exclude_patterns = ["_build", "_extensions", "_templates"]
nitpicky = True
# What other libraries call their own is not in this site, and theirs cannot be asked without a
# network.
nitpick_ignore_regex = [
    (
        r"py:.*",
        r"(tf|tfp|tensorflow|tf_keras|gpflow|gpflux|np|numpy|npt|check_shapes|sklearn|pd)(\..*)?",
    ),
    (r"py:.*", r"(abc|collections\.abc|os|pathlib)\..*|Axes|\w+(\.\w+)*\[\w+"),
    # What methods return, and no name for users.
    (r"py:class", r"gpflow_gi\.estimators\.(classifier\.(Classifier|C)|regressor\.(Regressor|R))"),
    (r"py:class", r"gpflow_gi\.plotting\.training\.Record"),
    (r"py:class", r"gpflow_gi\.interop\.trieste_samplers\.\w+Sampler"),
    (r"py:class", r"gpflow_gi\.(inference\.convergence\.Convergence|layers\.\w+\.Conditioned\w+)"),
]

# Pages are Markdown that GitHub shows as well: relative links, headings' own anchors, TeX in $.
myst_enable_extensions = ["dollarmath", "colon_fence"]
myst_heading_anchors = 4
myst_fence_as_directive = ["math"]
nb_execution_mode = "off"  # tutorials are kept with what they gave

autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_class_signature = "mixed"
autoclass_content = "both"
autodoc_default_options = {
    "members": True,
    "special-members": "__call__",
    "show-inheritance": True,
}
python_use_unqualified_type_names = True
maximum_signature_line_length = 80
default_role = "code"
add_module_names = False
toc_object_entries_show_parents = "hide"

html_theme = "furo"
html_title = f"gpflow_gi {version}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def copy_tutorials() -> None:
    """Put the executed tutorials where Sphinx looks for pages.

    With ``GPFLOW_GI_URL=https://github.com/OWNER/NAME`` they have links to Colab and Binder.
    """
    copies = HERE / "tutorials"
    shutil.rmtree(copies, ignore_errors=True)
    copies.mkdir()
    for notebook in sorted((ROOT / "tutorials").glob("*.ipynb")):
        copy_with_links(notebook, copies, os.environ.get("GPFLOW_GI_URL", ""))


copy_tutorials()


WITHOUT_A_PAGE = {"ABC", "object", "Classifier", "Estimator", "Regressor", "WeightFiles"}


def known_bases(bases: list[Any]) -> list[Any]:
    """The bases to show: a class without a page is replaced by its own bases."""
    known: list[Any] = []
    for base in bases:
        name, library = base.__name__, base.__module__.partition(".")[0]
        if name.startswith("_") or name in WITHOUT_A_PAGE:
            known += known_bases(getattr(base, "__bases__", []))
        else:
            is_linked = library in (project, "builtins", "typing")
            known.append(base if is_linked else f"``{name}`` of {library}")
    return list(dict.fromkeys(known))


def say_known_bases(app: Any, name: str, obj: Any, options: Any, bases: list[Any]) -> None:
    """Say of what class a class is one, if it is of one that users know."""
    bases[:] = known_bases(bases)


def leave_out_empty_bases(app: Any, domain: str, kind: str, content: Any) -> None:
    """Remove the line that Sphinx writes also where no bases are left."""
    for node in list(content.children):
        if node.astext().strip() == "Bases:":
            content.remove(node)


def setup(app: Any) -> None:
    """Connect what is above with Sphinx."""
    app.connect("autodoc-process-bases", say_known_bases)
    app.connect("object-description-transform", leave_out_empty_bases)

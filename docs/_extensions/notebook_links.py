"""Links that open a tutorial in Colab or Binder, for builds that know the repository's address."""

import re
from pathlib import Path

import nbformat

GITHUB = re.compile(r"https://github\.com/([\w.-]+)/([\w.-]+)")


def links(name: str, url: str) -> str:
    """A line of Markdown, or nothing where the repository is not on GitHub.

    :param name: file of the notebook in ``tutorials/``.
    :param url: the address of the repository, ``https://github.com/OWNER/NAME``.
    """
    if not (found := GITHUB.fullmatch(url.rstrip("/"))):
        return ""
    owner, repository = found.groups()
    at = f"{owner}/{repository}"
    colab = f"https://colab.research.google.com/github/{at}/blob/main/tutorials/{name}"
    binder = f"https://mybinder.org/v2/gh/{at}/main?labpath=tutorials%2F{name}"
    install = f"`%pip install git+https://github.com/{at}`"
    return f"Open in [Colab]({colab}) (begin with {install}) or [Binder]({binder})."


def copy_with_links(notebook: Path, folder: Path, url: str) -> None:
    """Copy a notebook, with the links below its title.

    :param notebook: an executed notebook, whose first cell begins with its title.
    :param folder: where to.
    :param url: address of the repository, or "" for a copy as it is.
    """
    read = nbformat.read(notebook, as_version=4)
    if line := links(notebook.name, url):
        title, _, rest = read.cells[0].source.partition("\n")
        read.cells[0].source = f"{title}\n\n{line}\n{rest}"
    nbformat.write(read, folder / notebook.name)
